"""Waiting for a mirror that is behind, by the status it writes for publishers (PROTOCOL §10)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from openmirror.errors import NotThere, Unavailable
from openmirror.ports import FileStore
from openmirror.protocol.json_text import JsonError, parse_json
from openmirror.protocol.names import TablePath
from openmirror.table.layout import StorePath, folder_of, join


@dataclass(frozen=True)
class BacklogLimit:
    """How far a mirror may be behind before its publisher waits."""

    rows: int
    """Change rows that landed and are not applied."""
    seconds: float = 3600.0
    """How long to wait for it; then the publisher gives up with Unavailable."""
    poll_seconds: float = 5.0
    """Between two reads of the status."""


@dataclass(frozen=True)
class MirrorSays:
    """A mirror's status of one table."""

    status: str
    message: str
    processed_rows: int
    """Change rows applied since the table was last created or replaced."""


def mirror_status(
    store: FileStore, zone: StorePath, path: TablePath, default_schema: str
) -> MirrorSays | None:
    """The entry of `Files/Monitoring/tables.json`; None where there is none, or no such file."""
    try:
        content = store.read(_status_file(zone)).data
        document = parse_json(content).value
    except (NotThere, JsonError):
        return None
    tables = document.get("tables") if isinstance(document, dict) else None
    for entry in tables if isinstance(tables, list) else []:
        if not isinstance(entry, dict) or entry.get("sourceTableName") != path.table:
            continue
        schema = entry.get("sourceSchemaName") or default_schema
        if schema == (path.schema or default_schema):
            metrics = entry.get("metrics")
            rows = metrics.get("processedRowCount") if isinstance(metrics, dict) else 0
            return MirrorSays(
                str(entry.get("status")),
                str(entry.get("errorMessage") or ""),
                rows if isinstance(rows, int) else 0,
            )
    return None


def _status_file(zone: StorePath) -> StorePath:
    """Beside the zone, which on a machine may be the only name below its store's root."""
    beside = folder_of(zone)
    monitoring = join(beside, "Monitoring") if beside else StorePath("Monitoring")
    return join(monitoring, "tables.json")


class BacklogWait:
    """Holds a publisher back while its table's mirror has more to apply than it may have."""

    def __init__(
        self,
        read_status: Callable[[], MirrorSays | None],
        limit: BacklogLimit,
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_status = read_status
        self._limit = limit
        self._sleep = sleep
        self._monotonic = monotonic

    def __call__(self, landed_rows: int) -> None:
        """Return once the mirror is near enough; `landed_rows` as the newest footer has them.

        Raises Unavailable, with what the mirror says, when it does not come nearer in time.
        """
        until = self._monotonic() + self._limit.seconds
        while landed_rows > self._limit.rows:
            says = self._read_status()
            applied = says.processed_rows if says is not None else 0
            behind = landed_rows - applied
            if behind <= self._limit.rows:
                return
            left = until - self._monotonic()
            if left <= 0:
                status = f"{says.status} {says.message}".strip() if says else "no status"
                raise Unavailable(
                    f"the mirror is {behind:,} change rows behind, where {self._limit.rows:,} are "
                    f"allowed, and came no nearer in {self._limit.seconds:g} s; it says: {status}"
                )
            self._sleep(min(left, self._limit.poll_seconds))
