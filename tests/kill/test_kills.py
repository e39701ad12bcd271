"""A runner may be killed anywhere: whoever comes next finishes what it began, exactly once.

A fresh JVM costs seconds, so the runners of one test die one after the other on one root, each
with several tables at the very same step, and in this process, which then drains to the end; in the
soak each is a process that kills itself. Those of a cleanup, which need no JVM, always are, and so
is a runner of the queue (test_queue_kills).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pytest

from openmirror.plan.decisions import Idle
from openmirror.ports import Step
from openmirror.runtime.sweeping import clean
from openmirror.table import layout
from openmirror.table.control import DecidedBatch
from openmirror.table.log import TableLog
from tests.kill.drains import runners_that_die
from tests.kill.publishing import Published
from tests.kill.runners import killed_at
from tests.property.test_histories import with_decided
from tests.zone import MIRROR, Mirror, bag


def _in_log(mirror: Mirror, table: Published) -> TableLog:
    log = mirror.observed(table.name).log
    assert isinstance(log, TableLog)
    return log


def _applied(mirror: Mirror, table: Published) -> int:
    return mirror.observed(table.name).applied


def _decided(mirror: Mirror, table: Published) -> DecidedBatch:
    decided = mirror.control(table.name).decided
    assert decided is not None
    return decided


def _is_decided_and_not_done(mirror: Mirror, table: Published) -> bool:
    decided, log = _decided(mirror, table), mirror.observed(table.name).log
    return not isinstance(log, TableLog) or log.transactions.get(decided.app_id, 0) < decided.last


def _assert_right(mirror: Mirror, table: Published) -> None:
    assert isinstance(mirror.reconcile_until_idle(table.name), Idle)
    assert _applied(mirror, table) == table.last
    assert _rows(mirror, table) == bag(table.expected()), table.name


def _rows(mirror: Mirror, table: Published) -> list[Any]:
    return bag(map(with_decided, mirror.rows(table.name)))


@pytest.mark.parametrize(
    "processes",
    [set(), pytest.param(set(Step), marks=pytest.mark.soak)],
    ids=["none-is-a-process", "all-are-processes"],
)
def test_tables_come_out_right_whatever_step_of_an_apply_or_a_drop_their_runners_died_at(
    mirror: Mirror, processes: Collection[Step]
) -> None:
    zone, dies_at = mirror.zone, runners_that_die(mirror, processes)
    path = zone.root / layout.mirror_settings(MIRROR)
    path.parent.mkdir(parents=True, exist_ok=True)
    traced = {"dbo.merged": {"delete": "soft", "lineage": True}}
    path.write_text(json.dumps({"openmirror": {"tables": traced}}))
    merged = Published(zone, "merged", 1, traced=True)
    appended = Published(zone, "appended", 2, keyed=False)
    born = Published(zone, "born", 3)
    tables = [merged, appended, born]
    for table in (merged, appended):
        table.send(2)
        _assert_right(mirror, table)
    before = {table.name: _applied(mirror, table) for table in tables}

    for table in tables:
        table.send(2)
    dies_at(Step.FOLDED, 3)
    for table in tables:
        assert _applied(mirror, table) == before[table.name]
    assert mirror.control(born.name).decided is None

    dies_at(Step.DECIDED, 3)
    decided = {table.name: _decided(mirror, table) for table in tables}
    for table in tables:
        assert decided[table.name].last == table.last
        assert _is_decided_and_not_done(mirror, table)

    for table in tables:
        table.send(1)
    dies_at(Step.BEFORE_COMMIT, 3)
    for table in tables:
        assert _decided(mirror, table) == decided[table.name], "a decided batch was cut anew"
        assert _is_decided_and_not_done(mirror, table)

    dies_at(Step.COMMITTED, 3)
    for table in tables:
        assert _applied(mirror, table) == decided[table.name].last == table.last - 1
        assert _rows(mirror, table) == bag(table.expected(through=table.last - 1))
    last = decided[merged.name]
    times = {
        row["_decided_at"] for row in mirror.rows(merged.name) if row["_sequence"] >= last.first
    }
    assert times == {last.at}, "the time of the decision outlives whoever made it"

    for table in (appended, born):
        table.delete()
    dies_at(Step.DROP_FENCED, 2)
    _assert_right(mirror, merged)
    for table in (appended, born):
        assert _in_log(mirror, table).live is None
        assert mirror.delta_path(table.name).exists()

    born.send(2)
    retained = mirror.observed(appended.name).table
    dies_at(Step.DROPPED, 1)
    assert not (zone.root / retained).exists()
    assert mirror.control(appended.name).dropped is not None

    old = bag(mirror.rows(merged.name))
    for table in (merged, born):
        table.delete()
    for table in tables:
        table.send(2)
    dies_at(Step.FENCED, 3)
    for table in tables:
        assert _in_log(mirror, table).live is None, (
            "two incarnations of one folder can both be applied"
        )
        assert _is_decided_and_not_done(mirror, table)
    assert bag(mirror.rows(merged.name)) == old, "readers lost a table before its new one came"

    for table in tables:
        table.send(1)
    for table in tables:
        _assert_right(mirror, table)


def test_a_cleanup_that_died_anywhere_is_finished_by_the_next_one(mirror: Mirror) -> None:
    table = Published(mirror.zone, "t", 4)
    table.send(6)
    _assert_right(mirror, table)

    killed_at(mirror.zone, Step.LINKED)
    assert table.where_files_are() == ([1, 2, 3, 4, 5, 6], [1]), "it must be under both names"
    _assert_right(mirror, table)

    killed_at(mirror.zone, Step.LINKED, count=3)
    assert table.where_files_are() == ([3, 4, 5, 6], [1, 2, 3])
    killed_at(mirror.zone, Step.MOVED, count=2)
    assert table.where_files_are() == ([5, 6], [1, 2, 3, 4])
    _assert_right(mirror, table)

    table.send(1)
    _assert_right(mirror, table)
    clean(mirror.ports, [MIRROR])
    assert table.where_files_are() == ([7], [1, 2, 3, 4, 5, 6])
    record = mirror.observed(table.name).record
    assert record is not None
    assert record.archived_through == 6
    _assert_right(mirror, table)
