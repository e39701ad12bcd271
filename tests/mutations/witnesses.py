"""Directed schedules: each shows one rule at work, and fails where the rule is broken."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from openmirror.errors import NotThere, WrongRequest
from openmirror.ingress.event_filter import Found
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.operate import requests
from openmirror.plan import Limits
from openmirror.plan.decisions import Idle
from openmirror.plan.facts import FileFacts
from openmirror.plan.maintenance_steps import Compact
from openmirror.plan.transitions import maintained
from openmirror.ports import Entry, Step
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import FENCED
from openmirror.protocol.text_format import TextFormat
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile
from openmirror.runtime.sweeping import sweep
from openmirror.table import layout
from openmirror.table.control import Maintenance
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId
from tests.simulation.publishing import FOLDER, LANDING
from tests.simulation.schedule import TABLE
from tests.unit import test_event_filter, test_ledger
from tests.unit.columnar import test_folding
from tests.unit.test_ledger import OPERATOR, QuickInspector, Table

CONTROL = layout.control_document(FOLDER)


def a_soft_fold_is_merged_as_its_changes_say() -> None:
    """A key with a live row and a marked one, and one of which nothing is there."""
    table = test_folding.Counter({(1, -1, None): 1, (1, -2, -5): 1})
    add, put, end = Marker.INSERT, Marker.UPSERT, Marker.DELETE
    changes = [(end, 1), (add, 1), (put, 1), (add, 1), (end, 1), (add, 1), (put, 2), (end, 2)]
    merged = test_folding.merged_softly(table, changes)
    assert merged == test_folding.interpreted_softly(table, changes)


def name(number: int) -> str:
    return f"{number:020d}.parquet"


MOST_RECONCILIATIONS = 50


class Restful(Table):
    """A table that has to come to rest."""

    def reconcile_until_idle(self) -> object:
        for _ in range(MOST_RECONCILIATIONS):
            done = reconcile(self.ports, self.engine, FOLDER)
            if not done.reschedule or done.delay:
                return done.decision
        raise AssertionError(
            f"still at work after {MOST_RECONCILIATIONS} reconciliations: {self.wrong}"
        )


def numbered(*numbers: int, batch_files: int = 2) -> Restful:
    """A table of numbered files that are all applied."""
    table = Restful(NamingScheme(), batch_files)
    table.land(*map(name, numbers))
    if numbers:
        assert isinstance(table.reconcile_until_idle(), Idle)
    return table


def live(table: Table) -> list[AppId]:
    log = table.engine.log_at(TABLE)
    return log.live if log else []


def meanwhile_at(table: Table, call: str, app: str, act: object) -> None:
    """Once, just before the engine's next commit under this epoch, something else happens."""
    assert callable(act)

    def stall(what: str, on: object) -> None:
        if what == call and str(on).endswith(app):
            table.engine.stall = lambda *_: None
            act()

    table.engine.stall = stall


# Epochs


def an_epoch_that_only_the_log_knows_is_fenced() -> None:
    """The table of another mirror is adopted: its epoch stands in no document of this one."""
    table = numbered(1)
    log = table.engine.log_at(TABLE)
    assert log is not None
    others = AppId(live(table)[0].replace(f"/{FOLDER.mirror}/", "/elsewhere/", 1))
    log.transactions, log.seen = {others: log.transactions[live(table)[0]]}, None
    requests.adopt(table.ports, FOLDER, OPERATOR)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert log.transactions[others] == FENCED
    assert table.applied == [name(1)]


def a_batch_planned_without_a_document_is_not_decided_under_a_second_one() -> None:
    witness = (
        test_ledger.test_what_was_planned_without_a_document_is_not_decided_once_another_was_lost
    )
    try:
        witness(test_ledger.BY_TIME, Step.CHECKED)
    except WrongRequest as refused:
        raise AssertionError(f"the table cannot be read again: {refused}") from refused


def fences_that_began_in_one_log_do_not_end_in_another() -> None:
    """A runner opens epoch 3 and has fenced 1 when the whole table, its control document with it,
    is removed and begun anew by another runner: what it holds is of a table that is no more.
    """
    table = numbered(1)
    requests.reseed(table.ports, FOLDER, OPERATOR)
    table.stopped_at(Step.DECIDED)  # epoch 2 is decided, and never commits
    table.land(name(1))  # so that it is given up for epoch 3
    begun: list[AppId] = []

    def begin_anew() -> None:
        table.store.delete_folder(TABLE)
        table.store.delete_file(CONTROL)
        table.store.delete_folder(LANDING)
        table.declare()
        table.land(name(1), name(2))
        assert isinstance(table.reconcile_until_idle(), Idle)
        begun.extend(live(table))

    meanwhile_at(table, "begin", "/2", begin_anew)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert begun
    assert not table.wrong, table.wrong
    assert table.applied == [name(1), name(2)]


def a_runner_that_loses_the_race_for_the_document_fences_nothing() -> None:
    """It has read and checked a reseed; meanwhile another runner does it, and one more."""
    table = numbered(1)
    requests.reseed(table.ports, FOLDER, OPERATOR)
    of_the_winner: list[AppId] = []

    def win() -> None:
        assert isinstance(table.reconcile_until_idle(), Idle)
        table.reseed()
        of_the_winner.extend(live(table))

    table.overtaken_at(Step.CHECKED, win)
    assert of_the_winner
    assert live(table) == of_the_winner


# Observing and cutting


class _Watched(QuickInspector):
    """Counts inspections; the first may come too late for the file that was listed."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.store)
        self.count = 0
        self.first: object = None

    def inspect(self, path: StorePath, entry: Entry, text: TextFormat | None = None) -> FileFacts:
        self.count += 1
        if self.count == 1 and callable(self.first):
            self.first()
        facts: FileFacts = super().inspect(path, entry, text)
        return facts


def an_observation_inspects_no_more_than_the_next_batch_can_hold() -> None:
    table = numbered()
    table.land(*(name(number) for number in range(1, 41)))
    watched = _Watched(table)
    observe(replace(table.ports, inspector=watched), FOLDER)
    assert 2 <= watched.count <= 3


def facts_are_of_the_content_that_was_listed() -> None:
    table = numbered()
    table.land(name(1))
    watched = _Watched(table)
    watched.first = lambda: table.land(name(1))
    observed = observe(replace(table.ports, inspector=watched), FOLDER).observed
    (file,) = observed.files.values()
    assert file.facts is not None
    assert file.facts.etag == file.etag


def a_file_above_every_limit_is_applied_alone() -> None:
    table = numbered()
    table.ports = replace(table.ports, limits=Limits(batch_rows=0))
    table.land(name(1), name(2))
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == [name(1), name(2)]


def an_append_makes_no_table_where_one_was_dropped() -> None:
    table = numbered(1)
    table.land(name(2))
    table.overtaken_at(Step.BEFORE_COMMIT, lambda: table.store.delete_folder(TABLE))
    assert not table.wrong, table.wrong
    assert table.applied == [name(1), name(2)]


def an_unreadable_zone_is_no_deleted_table() -> None:
    table = numbered(1)
    table.store.delete_folder(layout.landing_zone(FOLDER.mirror))
    table.ports = replace(table.ports, limits=Limits(drop_grace=timedelta()))
    with suppress(NotThere):
        table.reconcile_until_idle()
    assert table.applied == [name(1)]
    assert Documents(table.store).table(FOLDER).value.missing_since is None


# Maintenance


def two_runners_that_die_in_a_row_are_both_known() -> None:
    """The first has taken larger files than the second, which neither of them commits for now."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    larger = Compact(below=100, written=200, files=2, bytes=150)
    both = maintained.began(
        maintained.began(Maintenance(), larger, at), replace(larger, below=10), at
    )
    assert both.begun is not None
    assert both.begun.bound == larger.bound


# The event filter


def the_sweep_puts_an_overwritten_applied_file_before_what_the_event_filter_found() -> None:
    world = test_event_filter.Published()
    world.metadata()
    for number in (1, 2):
        world.publish(number)
    world.apply()
    world.publish(1, id=[9])
    answer = world.filter_event(world.write(name(3), b"junk" * 9))
    assert isinstance(answer, Found)
    assert sweep(world.ports, ["m"], QueueWaker(world.work, "sweep")).woken == [
        test_event_filter.ORDERS
    ]
    world.apply()
    problem = world.control(test_event_filter.ORDERS).problem
    assert problem is not None
    assert problem.code is Code.APPLIED_FILE_CHANGED
