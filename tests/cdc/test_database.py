"""From a real database to Delta tables: each holds the database's rows, whatever is killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
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
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.protocol.streams import StopCode
from openmirror.spark.jars import default_cache
from standins.postgres import connected
from tests.cdc.landing import PATIENCE, ZONE, Landing
from tests.cdc.workload import TABLES, Workload
from tests.zone import Mirror, bag


@pytest.fixture
def settings(database: DatabaseUrl, tmp_path: Path) -> CaptureSettings:
    return CaptureSettings(
        url=database,
        stream="shop",
        spool=tmp_path / "spool",
        class_path=capture_class_path(default_cache(), lambda line: None),
        heartbeat_seconds=0.5,
    )


class Site(Landing):
    """A captured database, landed."""

    def __init__(self, settings: CaptureSettings, mirror: Mirror, random: Random):
        super().__init__(mirror, random, "shop", lambda: SpoolReader(settings.spool), "public")
        self._settings = settings
        self._capture: CaptureProcess | None = None

    def capture(self) -> CaptureProcess:
        """The capturing process, begun again if it has been ended."""
        if self._capture is None:
            self._capture = CaptureProcess(self._settings)
            self._capture.wait_ready(PATIENCE, lambda line: None)
        return self._capture

    def end_capture(self, how: Callable[[CaptureProcess], None]) -> None:
        """Kill it, or stop it."""
        if self._capture is not None:
            how(self._capture)
            self._capture = None

    def land(self) -> int:
        """One batch; the capture has not failed before."""
        self.capture().check()
        return super().land()

    def anew(self, table: str) -> None:
        """A new snapshot of a table, asked for as `cdc run` does, until it has landed."""
        path, signals = self.path(table), SnapshotSignals(self._settings.spool)
        connector = 1
        shared = SharedDocument.of_any(self.store, ZONE, self.stream)
        shared.change(lambda there: there.wanting(path, uuid4().hex))
        ends = time.monotonic() + PATIENCE
        while path in self.document().resnapshots:
            assert time.monotonic() < ends, self.document()
            try:
                landed = self.land()
            except CaptureInterrupted:
                self.end_capture(CaptureProcess.kill)
                connector += 1
                continue
            signals.ask(self.document().resnapshots, connector)
            if not landed:
                time.sleep(0.05)


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
