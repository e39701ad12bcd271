"""A runner may be killed anywhere: whoever comes next finishes what it began, exactly once.

A fresh JVM costs seconds, so the runners of one test die one after the other on one root, each
with several tables at the very same step; this process then drains to the end.
"""

from __future__ import annotations

from openmirror.control import DecidedBatch
from openmirror.plan.decisions import Idle
from openmirror.ports import Step
from openmirror.services.sweeping import clean
from openmirror.tablelog import TableLog
from tests.kill.publishing import Published
from tests.kill.runners import killed_at
from tests.zone import MIRROR, Mirror, bag


def _in_log(mirror: Mirror, table: Published) -> TableLog:
    log = mirror.look(table.name).log
    assert isinstance(log, TableLog)
    return log


def _applied(mirror: Mirror, table: Published) -> int:
    return mirror.look(table.name).applied


def _decided(mirror: Mirror, table: Published) -> DecidedBatch:
    decided = mirror.control(table.name).decided
    assert decided is not None
    return decided


def _is_decided_and_not_done(mirror: Mirror, table: Published) -> bool:
    decided, log = _decided(mirror, table), mirror.look(table.name).log
    return not isinstance(log, TableLog) or log.transactions.get(decided.app_id, 0) < decided.last


def _assert_right(mirror: Mirror, table: Published) -> None:
    assert isinstance(mirror.settle(table.name), Idle)
    assert _applied(mirror, table) == table.last
    assert bag(mirror.rows(table.name)) == bag(table.expected()), table.name


def test_tables_come_out_right_whatever_step_of_an_apply_or_a_drop_their_runners_died_at(
    mirror: Mirror,
) -> None:
    zone = mirror.zone
    merged, appended = Published(zone, "merged", 1), Published(zone, "appended", 2, keyed=False)
    born = Published(zone, "born", 3)
    tables = [merged, appended, born]
    for table in (merged, appended):
        table.send(2)
        _assert_right(mirror, table)
    before = {table.name: _applied(mirror, table) for table in tables}

    for table in tables:
        table.send(2)
    killed_at(zone, Step.FOLDED, count=3)
    for table in tables:
        assert _applied(mirror, table) == before[table.name]
    assert mirror.control(born.name).decided is None

    killed_at(zone, Step.DECIDED, count=3)
    decided = {table.name: _decided(mirror, table) for table in tables}
    for table in tables:
        assert decided[table.name].last == table.last
        assert _is_decided_and_not_done(mirror, table)

    for table in tables:
        table.send(1)
    killed_at(zone, Step.BEFORE_COMMIT, count=3)
    for table in tables:
        assert _decided(mirror, table) == decided[table.name], "a decided batch was cut anew"
        assert _is_decided_and_not_done(mirror, table)

    killed_at(zone, Step.COMMITTED, count=3)
    for table in tables:
        assert _applied(mirror, table) == decided[table.name].last == table.last - 1
        assert bag(mirror.rows(table.name)) == bag(table.expected(through=table.last - 1))

    for table in (appended, born):
        table.delete()
    killed_at(zone, Step.DROP_FENCED, count=2)
    _assert_right(mirror, merged)
    for table in (appended, born):
        assert _in_log(mirror, table).live is None
        assert mirror.delta_path(table.name).exists()

    born.send(2)
    aside = mirror.look(appended.name).table
    killed_at(zone, Step.DROPPED)
    assert not (zone.root / aside).exists()
    assert mirror.control(appended.name).dropped is not None

    old = bag(mirror.rows(merged.name))
    for table in (merged, born):
        table.delete()
    for table in tables:
        table.send(2)
    killed_at(zone, Step.FENCED, count=3)
    for table in tables:
        assert _in_log(mirror, table).live is None, "two lives of one folder can both be applied"
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
    clean(mirror.parts, [MIRROR])
    assert table.where_files_are() == ([7], [1, 2, 3, 4, 5, 6])
    life = mirror.look(table.name).life
    assert life is not None
    assert life.archived_through == 6
    _assert_right(mirror, table)
