"""Requests of a publisher without a server: what it asks, and that the account does it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from openmirror.conformance.exchanges import Asked, Deed, Exchange, InjectedFault
from openmirror.conformance.history import PublisherHistory
from openmirror.conformance.retracing import read_history
from openmirror.table import layout
from openmirror.table.layout import StorePath
from tests.harness.publishing import file_name

ZONE = layout.landing_zone("check")
_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Script:
    """What a publisher asks, one request after another, a second apart."""

    def __init__(self, table: str = "Orders", before: Iterable[str] = ()) -> None:
        self.table = layout.join(ZONE, *table.split("/"))
        self.before = [layout.join(ZONE, *path.split("/")) for path in before]
        self.exchanges: list[Exchange] = []
        self.seconds = 0.0

    def path(self, name: str) -> StorePath:
        """A name of the table folder, or a whole path that begins with the container."""
        is_whole = f"{name}/".startswith("landing/")
        return StorePath(name) if is_whole else layout.join(self.table, name)

    def ask(self, deed: Deed, name: str, *, wait: float = 1, **more: object) -> Exchange:
        known = {key: more.pop(key) for key in list(more) if key in Asked.__dataclass_fields__}
        self.seconds += wait
        exchange = Exchange(
            number=len(self.exchanges) + 1,
            at=_NOON + timedelta(seconds=self.seconds),
            asked=Asked(deed=deed, path=self.path(name), **known),  # type: ignore[arg-type]
            **{"status": 201, **more},  # type: ignore[arg-type]
        )
        self.exchanges.append(exchange)
        return exchange

    def folder(self) -> None:
        self.ask(Deed.MAKE_FOLDER, self.table)

    def drop(self) -> None:
        self.ask(Deed.DELETE, self.table, recursive=True)

    def metadata(self, **content: object) -> None:
        body = json.dumps(content or {"keyColumns": ["id"]}).encode()
        self.ask(Deed.PUT, "_metadata.json", body=body, size=len(body))

    def stage(self, name: str) -> StorePath:
        self.ask(Deed.MAKE_FILE, name)
        self.ask(Deed.APPEND, name, size=100)
        self.ask(Deed.FLUSH, name, position=100, closes=True)
        return self.path(name)

    def land(
        self, number: int | str, *, rows: str | None = None, new_only: bool = True, **more: object
    ) -> Exchange:
        """Stage a file and rename it."""
        name = number if isinstance(number, str) else file_name(number)
        staged = self.stage(f"_{name}")
        return self.rename(staged, name, rows=rows, new_only=new_only, **more)

    def rename(
        self, source: StorePath, name: str, *, rows: str | None = None, **more: object
    ) -> Exchange:
        return self.ask(Deed.RENAME, name, source=source, rows_hash=rows, **more)

    def faulted(self, exchange: Exchange, fault: InjectedFault) -> None:
        """Let an exchange have been faulted, the last one mostly."""
        lost = fault in (InjectedFault.LOST, InjectedFault.RESTART_AFTER)
        status = {InjectedFault.BUSY: 503, InjectedFault.CONDITION: 412}.get(fault)
        self.exchanges[exchange.number - 1] = replace(
            exchange,
            fault=fault,
            status=status,
            done=lost,
            staged_rows=None if lost else exchange.rows_hash,
            rows_hash=exchange.rows_hash if lost else None,
        )

    def history(self) -> PublisherHistory:
        return read_history(self.exchanges, self.before)
