"""From a real database to Delta tables: each holds the database's rows, whatever is killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from openmirror.cdc.capture.process import CaptureProcess
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.protocol.streams import StopCode
from standins.postgres import connected
from tests.cdc.site import Site, rows_of, site
from tests.cdc.workload import TABLES, Workload
from tests.zone import Mirror, bag


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
        here.anew("orders", "lines")
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
