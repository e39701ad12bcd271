"""A publisher of one landing zone: opens the writers of its tables, and drops tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from openmirror.errors import NotThere, UnknownName, WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath, is_unicode
from openmirror.protocol.partner import Partner
from openmirror.publishing.backlog import (
    BacklogLimit,
    BacklogWait,
    mirror_status,
    rows_not_archived,
)
from openmirror.publishing.buffer import BatchLimits
from openmirror.publishing.declaring import declared, usable_keys
from openmirror.publishing.landing import Lander
from openmirror.publishing.naming import need_own_name, table_path
from openmirror.publishing.options import WriterOptions, never_wait
from openmirror.publishing.partner import introduced
from openmirror.publishing.patience import Patience, PatientStore
from openmirror.publishing.places import ZoneCredential, ZonePlace, zone_place
from openmirror.publishing.table import TableWriter
from openmirror.publishing.tidying import tidy
from openmirror.table.layout import StorePath, join


@dataclass(frozen=True, kw_only=True)
class PublisherOptions:
    """How a publisher works, for all of its tables."""

    default_schema: str = "dbo"
    """The mirror's own: a bare `orders` and `dbo.orders` are one table to it (PROTOCOL §2.2)."""
    limits: BatchLimits = field(default_factory=BatchLimits)
    """When rows that wait become a file."""
    patience: Patience = field(default_factory=Patience)
    """How long a service that is away is asked again."""
    backlog: BacklogLimit | None = None
    """How far the mirror may be behind; None never waits for it."""
    monotonic: Callable[[], float] = time.monotonic


class Publisher:
    """Sends changes into one landing zone.

        with Publisher(Path("landing/sales/Files/LandingZone")) as zone:
            with zone.table("dbo.orders", key=["id"]) as orders:
                orders.upsert([{"id": 1, "city": "Oslo"}])

    `zone` is a folder, or the URL of one on ADLS Gen2 or OneLake. `credential` is any credential of
    azure-identity, or an account's key; without one it is the identity of the environment. Raises
    WrongRequest for what is no landing zone, CannotStart when an account cannot be asked at all.
    """

    def __init__(
        self,
        zone: str | Path,
        credential: ZoneCredential | None = None,
        options: PublisherOptions | None = None,
    ) -> None:
        self._open(zone_place(zone, credential), options or PublisherOptions())

    @classmethod
    def of_store(
        cls, store: FileStore, zone: StorePath, options: PublisherOptions | None = None
    ) -> Self:
        """A publisher into a zone of a store that is there already, which its maker closes."""
        made = cls.__new__(cls)
        made._open(ZonePlace(store, zone, lambda: None), options or PublisherOptions())
        return made

    def _open(self, place: ZonePlace, options: PublisherOptions) -> None:
        self._place = place
        self._options = options
        self._store = PatientStore(place.store, options.patience)
        self._writers: dict[TablePath, TableWriter] = {}
        self._is_held = False
        """Whether somebody closes it; else it closes with its last writer."""

    def table(
        self,
        name: str,
        key: Sequence[str] | None = None,
        *,
        source: str = "default",
        recreate: bool = False,
        limits: BatchLimits | None = None,
    ) -> TableWriter:
        """Open the writer of a table, and make its folder where there is none.

        `dbo.orders` means the folder `dbo.schema/orders`, `orders` the folder `orders`; a part with
        a dot goes in backquotes. `key` are the key columns; None takes those that are declared, and
        a table without any takes inserts only. `source` names whose positions are counted. With
        `recreate` a folder that is there is deleted first: the table begins anew.

        Raises PublishRefused for a name that no table can have, for one that another folder feeds
        already, and for keys other than the declared ones; WrongRequest while another writer of
        this publisher has the table, and for a source that is no Unicode text.
        """
        if not is_unicode(source):
            raise WrongRequest(f"source {source!r} is no Unicode text (PROTOCOL §13.2)")
        path = table_path(name)
        if path in self._writers:
            raise WrongRequest(f"{name} is open already: one writer object a table")
        need_own_name(self._store, self._place.path, path, self._options.default_schema)
        folder = self._folder(path)
        key = usable_keys(key)
        if recreate:
            self._delete(folder)
        metadata = declared(self._store, folder, key)
        incarnation = self._store.incarnation(folder)
        tidy(self._store, folder)
        writer = TableWriter(
            name,
            Lander(self._store, folder, incarnation),
            metadata,
            WriterOptions(
                source=source,
                limits=limits or self._options.limits,
                before_landing=self._before_landing(path),
                closed=partial(self._closed, path),
                monotonic=self._options.monotonic,
            ),
        )
        self._writers[path] = writer
        return writer

    def drop(self, name: str) -> None:
        """Delete a table's folder, which drops the table after a while (PROTOCOL §7.2).

        Raises UnknownName without such a folder, WrongRequest while its writer is open.
        """
        path = table_path(name)
        if path in self._writers:
            raise WrongRequest(f"{name} is open: close its writer, or abandon it")
        if not self._delete(self._folder(path)):
            raise UnknownName(f"there is no table folder {path} in {self._place.path}")

    def introduce(self, partner: str, source_type: str = "", source_version: str = "") -> None:
        """Say who publishes, and from what, for people to see (PROTOCOL §4.5)."""
        introduced(self._store, self._place.path, Partner(partner, source_type, source_version))

    def close(self) -> None:
        """Close every writer, which lands what waits in it, and let go of the store.

        Every writer is tried, also behind one that fails. Then the first failure is raised, with
        the others as its notes; the writers that failed stay open, and their rows wait.
        """
        self._is_held = True
        failures: list[Exception] = []
        for path, writer in list(self._writers.items()):
            try:
                writer.close()
            except Exception as error:  # noqa: BLE001 - raised below, once all were tried
                error.add_note(f"table {path}: what waits was not landed")
                failures.append(error)
        if failures:
            first, *others = failures
            for other in others:
                first.add_note(f"and {type(other).__name__}: {other}; {other.__notes__[-1]}")
            raise first
        self._place.close()

    def __enter__(self) -> Self:
        self._is_held = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.close()
        finally:
            for writer in list(self._writers.values()):
                writer.abandon()
            self._place.close()

    def _folder(self, path: TablePath) -> StorePath:
        return join(self._place.path, *str(path).split("/"))

    def _delete(self, folder: StorePath) -> bool:
        """Delete a folder; whether it was there."""
        try:
            self._store.delete_folder(folder)
        except NotThere:
            return False
        return True

    def _before_landing(self, path: TablePath) -> Callable[[int], None]:
        limit = self._options.backlog
        if limit is None:
            return never_wait
        read_status = partial(
            mirror_status, self._store, self._place.path, path, self._options.default_schema
        )
        not_archived = partial(rows_not_archived, self._store, self._folder(path))
        patience = self._options.patience
        return BacklogWait(
            read_status, not_archived, limit, sleep=patience.sleep, monotonic=patience.monotonic
        )

    def _closed(self, path: TablePath) -> None:
        self._writers.pop(path, None)
        if not self._is_held and not self._writers:
            self._place.close()
