"""A runner may be killed amid OPTIMIZE, REORG and VACUUM: the next one goes on, nothing is lost.

Statements cannot be killed one by one, so three tables are in one of them each when their runner
dies: once when a file was written that no commit names yet, once when a VACUUM has begun to delete.
The second time its JVM goes on for a moment, and may commit what nobody waits for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from bench.soak.ageing import age
from bench.soak.following import Days, Followed
from openmirror.plan.retention import USUAL
from openmirror.runtime.isolation import Reconciler
from openmirror.table import layout
from openmirror.table.control import StepKind
from tests.kill.maintenance_driver import BEGUN
from tests.kill.publishing import Published
from tests.kill.runners import kill_group, output_of, runner
from tests.zone import MIRROR, Mirror, Paths, bag, forget_logs

_PATIENCE = 120.0
_NEVER = 1000
"""Small files that are never too many."""


class Maintained:
    """Three tables, each worth another step."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.days = Days()
        zone = mirror.zone
        self.compacted = Published(zone, "compacted", 1, keyed=False)
        self.purged = Published(zone, "purged", 2)
        self.vacuumed = Published(zone, "vacuumed", 3)
        bounds = {"everyCommits": 1, "smallFiles": _NEVER, "deletedRows": 0.01}
        tables = {
            "dbo.compacted": {"maintenanceBounds": bounds | {"smallFiles": 2}},
            "dbo.purged": {"maintenanceBounds": bounds, "deletionVectors": True},
            "dbo.vacuumed": {"maintenanceBounds": bounds},
        }
        settings = zone.root / layout.mirror_settings(MIRROR)
        settings.write_text(json.dumps({"openmirror": {"tables": tables}}))

    @property
    def tables(self) -> list[Published]:
        return [self.compacted, self.purged, self.vacuumed]

    def publish(self) -> None:
        """Debts of each kind, by a commit for each file."""
        for table in self.tables:
            for _ in range(4):
                table.send(1)
                self.mirror.reconcile_until_idle(table.name)
        self.followed = {
            table.name: Followed(self.mirror.delta_path(table.name), self.days)
            for table in self.tables
        }
        self.check()
        passed = USUAL + timedelta(days=2)
        for table in self.tables:
            folder = self.mirror.table(table.name)
            age(
                self.mirror.delta_path(table.name),
                self.mirror.zone.root / layout.control_document(folder),
                passed,
            )
        self.days.pass_by(passed)
        forget_logs(self.mirror.spark)
        # What these take out of their tables is needed for a week from now on.
        for table in self.tables:
            table.send(1)
            self.mirror.reconcile_until_idle(table.name)
        self.check()

    def check(self) -> None:
        """Rows are exact, and each file is there that a version of the last week needs."""
        for table in self.tables:
            assert bag(self.mirror.rows(table.name)) == bag(table.expected()), table.name
            followed = self.followed[table.name]
            followed.follow()
            since = self.days.now() - USUAL.total_seconds()
            kept = {name for name, dead in followed.dead.items() if dead.at > since}
            assert not (followed.live.keys() | kept) - followed.lying_there().keys(), table.name

    def begun(self) -> set[StepKind]:
        """What has begun and not ended."""
        known = [self.mirror.control(table.name).maintenance for table in self.tables]
        return {one.begun.kind for one in known if one is not None and one.begun is not None}

    def killed_once(self, *, comes: Callable[[], bool], leaves_jvm: bool) -> None:
        """A runner begins what is due, and dies as soon as this has come."""
        zone = self.mirror.zone
        (zone.root / BEGUN).unlink(missing_ok=True)
        words = ("tests.kill.maintenance_driver", str(zone.root), *(t.name for t in self.tables))
        with runner(zone, *words) as process:
            _wait_for(lambda: (zone.root / BEGUN).exists() or process.poll() is not None)
            _wait_for(lambda: comes() or process.poll() is not None)
            assert process.poll() is None, output_of(zone)
            if leaves_jvm:
                process.kill()
                process.wait()
                time.sleep(1.0)  # what it does in it is left to chance
            kill_group(process)

    def unnamed(self, name: str) -> set[str]:
        """Data files that no version names."""
        followed = self.followed[name]
        followed.follow()
        return followed.lying_there().keys() - followed.live.keys() - followed.dead.keys()

    def operations(self, name: str, operation: str) -> int:
        self.followed[name].follow()
        return self.followed[name].operations[operation]


def _wait_for(comes: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE
    while not comes():
        assert time.monotonic() < ends
        time.sleep(0.002)


@pytest.mark.spark
@pytest.mark.soak
def test_whoever_comes_after_a_runner_that_died_amid_a_statement_works_off_the_debt(
    mirror: Mirror,
) -> None:
    # Or a table this small is written again whole, and no row of it is ever marked.
    mirror.engine = Paths(small_table=0).engine(mirror.spark, mirror.zone.root, mirror.ports.store)
    world = Maintained(mirror)
    world.publish()

    world.killed_once(
        comes=lambda: bool(world.unnamed("compacted") or world.operations("compacted", "OPTIMIZE")),
        leaves_jvm=False,
    )
    assert StepKind.COMPACT in world.begun()
    world.check()

    world.killed_once(
        comes=lambda: bool(world.operations("vacuumed", "VACUUM START")), leaves_jvm=True
    )
    assert StepKind.VACUUM in world.begun()
    world.check()

    turn = Reconciler(mirror.ports, mirror.engine)
    for table in world.tables:
        table.send(1)
        while turn(mirror.table(table.name)) is not None:
            pass
    world.check()
    for table in world.tables:
        known = mirror.control(table.name).maintenance
        assert known is not None
        assert known.found is not None
        assert known.found.due is None, table.name
    compacted, purged = world.followed["compacted"], world.followed["purged"]
    assert len(compacted.live) <= 3
    found = mirror.control("purged").maintenance
    assert found is not None
    assert found.found is not None
    assert found.found.rows_deleted <= 1 * len(purged.live)
    vacuumed = world.followed["vacuumed"]
    old = [n for n, dead in vacuumed.dead.items() if world.days.now() - dead.at > _old()]
    assert old
    assert not vacuumed.lying_there().keys() & set(old)


def _old() -> float:
    return (USUAL + timedelta(days=1)).total_seconds()
