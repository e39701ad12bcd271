"""From a real database to Delta tables: each holds the database's rows, whatever is killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

from openmirror.cdc.capture.jars import capture_class_path
from openmirror.cdc.capture.process import CaptureInterrupted, CaptureProcess
from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
from openmirror.cdc.capture.signals import SnapshotSignals
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.relay.document import SharedDocument, document_path, read_document
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.protocol.streams import StopCode, StreamDocument
from openmirror.spark.jars import default_cache
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath, join, landing_zone
from tests.cdc.postgres import connected
from tests.cdc.workload import TABLES, Workload
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import landed, mirrored
from tests.zone import MIRROR, Mirror, bag

_PATIENCE = 60.0
_ZONE = landing_zone(MIRROR)


@pytest.fixture
def settings(database: DatabaseUrl, tmp_path: Path) -> CaptureSettings:
    return CaptureSettings(
        url=database,
        stream="shop",
        spool=tmp_path / "spool",
        class_path=capture_class_path(default_cache(), lambda line: None),
        heartbeat_seconds=0.5,
    )


class Site:
    """A captured database and a relay that dies now and then."""

    def __init__(self, settings: CaptureSettings, mirror: Mirror, random: Random):
        self.random = random
        self._settings = settings
        self._store = LocalStore(mirror.zone.root)
        self._decoder = Decoder(mirror.spark)
        self._calls = 0
        self._capture: CaptureProcess | None = None
        self._relay: Relay | None = None
        self.deaths = 0

    @property
    def store(self) -> FileStore:
        return self._store

    def capture(self) -> CaptureProcess:
        """The capturing process, begun again if it has been ended."""
        if self._capture is None:
            self._capture = CaptureProcess(self._settings)
            self._capture.wait_ready(_PATIENCE, lambda line: None)
        return self._capture

    def end_capture(self, how: Callable[[CaptureProcess], None]) -> None:
        """Kill it, or stop it."""
        if self._capture is not None:
            how(self._capture)
            self._capture = None

    def land(self) -> int:
        """One batch, by a relay that may die anywhere in it; records that were read."""
        if self._relay is None:
            store = WatchedStore(self._store, self._dies, self._dies)
            source = SpoolReader(self._settings.spool)
            options = RelayOptions(
                most_records=self.random.choice((40, 200, 10_000)),
                takes=EXTENSIONS,
            )
            relay = Relay(store, _ZONE, "shop", source, self._decoder.decode, options)
            self._relay = relay
            try:
                relay.open()
            except Killed:
                self._relay = None
                return 1
        try:
            return self._relay.step().records
        except Killed:
            self._relay = None
            return 1

    def land_until(self, mark: int) -> None:
        """Until a mark's row has landed, and all that was captured by then."""
        self._land_while(lambda: mark not in self.marks())
        _, end = SpoolReader(self._settings.spool).ends()
        self._land_while(lambda: self.document().complete_to < end)

    def _land_while(self, wanted: Callable[[], bool]) -> None:
        ends = time.monotonic() + _PATIENCE
        while wanted():
            assert time.monotonic() < ends, self.document()
            self.capture().check()
            if self.land():
                ends = time.monotonic() + _PATIENCE
            else:
                time.sleep(0.05)

    def anew(self, table: str) -> None:
        """A new snapshot of a table, asked for as `cdc run` does, until it has landed."""
        path, signals = TablePath("public", table), SnapshotSignals(self._settings.spool)
        connector = 1
        shared = SharedDocument.of_any(self._store, _ZONE, "shop")
        shared.change(lambda there: there.wanting(path, uuid4().hex))
        ends = time.monotonic() + _PATIENCE
        while path in self.document().resnapshots:
            assert time.monotonic() < ends, self.document()
            try:
                self.capture().check()
            except CaptureInterrupted:
                self.end_capture(CaptureProcess.kill)
                connector += 1
            signals.ask(self.document().resnapshots, connector)
            if not self.land():
                time.sleep(0.05)

    def marks(self) -> set[object]:
        rows = self.landed("marks", ("id",))
        return {row["id"] for row in rows}

    def landed(self, table: str, keys: tuple[str, ...]) -> list[Mapping[str, object]]:
        """What the landed files say, by the interpreter."""
        return list(mirrored(self._store, keys, _folder(table)).rows)

    def markers(self, table: str) -> set[Marker]:
        """What the landed rows of a table do."""
        files = landed(self._store, _folder(table))
        return {change.marker for file in files for change in file.changes}

    def document(self) -> StreamDocument:
        path = document_path(_ZONE, "shop")
        return read_document(self._store.read(path).data, path)

    def _dies(self, call: Call) -> None:
        self._calls += 1
        if self.random.random() < 0.02:
            self.deaths += 1
            raise Killed(call)


def _folder(table: str) -> StorePath:
    return join(_ZONE, *str(TablePath("public", table)).split("/"))


@contextmanager
def site(settings: CaptureSettings, mirror: Mirror, random: Random) -> Iterator[Site]:
    made = Site(settings, mirror, random)
    try:
        yield made
    finally:
        made.end_capture(CaptureProcess.kill)


def rows_of(url: DatabaseUrl, table: str) -> list[dict[str, object]]:
    """A table's rows; documents as the texts that they are in a mirror."""
    with connected(url) as connection:
        set_json_loads(bytes.decode, connection)
        return connection.cursor(row_factory=dict_row).execute(f"SELECT * FROM {table}").fetchall()  # type: ignore[call-overload,no-any-return]


def test_whatever_is_killed_each_table_holds_the_databases_rows(
    settings: CaptureSettings, mirror: Mirror
) -> None:
    assert_followed(settings, mirror, 16, [CaptureProcess.kill], new_snapshots=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6))
def test_new_snapshots_do_so_again_and_again(
    settings: CaptureSettings, mirror: Mirror, seed: int
) -> None:
    assert_followed(settings, mirror, seed, [], new_snapshots=5)


def assert_mended(here: Site, workload: Workload) -> None:
    """A table that stops at a change without events goes on behind a new snapshot."""
    workload.transactions(4)
    workload.fill_column()
    workload.transactions(4)
    here.land_until(workload.mark())
    stopped = here.document().stopped
    assert [one.stop.code for one in stopped.values()] == [StopCode.RESNAPSHOT_NEEDED]
    with workload.running():
        here.anew("orders")
    here.land_until(workload.mark())
    assert here.document().stopped == {}
    assert Marker.TRUNCATE in here.markers("orders")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(8))
def test_it_does_so_over_many_ends_of_the_capture(
    settings: CaptureSettings, mirror: Mirror, seed: int
) -> None:
    kill, stop = CaptureProcess.kill, CaptureProcess.stop
    assert_followed(settings, mirror, seed, [kill, stop, kill, kill, stop])


def assert_followed(
    settings: CaptureSettings,
    mirror: Mirror,
    seed: int,
    endings: Sequence[Callable[[CaptureProcess], None]],
    *,
    new_snapshots: int = 0,
) -> None:
    """The tables equal the database's after random transactions and these ends of the capture.

    Then one of them comes anew so often, while the load goes on.
    """
    random = Random(seed)
    with connected(settings.url) as connection, site(settings, mirror, random) as here:
        workload = Workload(random, connection)
        workload.begin()
        here.capture()
        here.land_until(workload.mark())
        for ending in endings:
            workload.transactions(8)
            here.land()
            mirror.reconcile_all()
            here.end_capture(ending)
            workload.transactions(4)
            workload.add_column()
            workload.empty()
            here.capture()
            workload.transactions(8)
            here.land_until(workload.mark())
        assert here.document().stopped == {}
        if endings:
            assert here.deaths
            assert here.markers("pages") >= EXTENSIONS
        for _ in range(new_snapshots):
            assert_mended(here, workload)
    mirror.reconcile_all()
    for table in (*TABLES, "marks"):
        path = str(TablePath("public", table))
        assert bag(mirror.rows(path)) == bag(rows_of(settings.url, table))
