"""Tables with a ledger: stopped, raced, lost at every step, purged, copied."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from openmirror.errors import DocumentUnreadable, NotThere
from openmirror.operate import requests
from openmirror.plan import Limits
from openmirror.plan.decisions import Idle, Pause, Wait
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.ports import Entry, FileStore, Step
from openmirror.progress.tables import BatchStarted, TablePaused
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.metadata import Detection
from openmirror.protocol.naming_scheme import NamingScheme, Through
from openmirror.reconcile import ledger_order
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.harness.clock import START, Clock
from tests.harness.dying import Killed, dies_at
from tests.harness.stores import WatchedStore
from tests.simulation.delta_model import DAMAGED, ModelDelta, ModelLogs
from tests.simulation.publishing import FOLDER, LANDING
from tests.simulation.schedule import SCHEMA, TABLE

BY_TIME = NamingScheme(Detection.LAST_UPDATE_TIME)
PARTITIONED = NamingScheme(Detection.SEQUENTIAL, partitioned=True)
BOTH = NamingScheme(Detection.LAST_UPDATE_TIME, partitioned=True)
OPERATOR = requests.Operator("somebody")
OF_A_BATCH = [
    Step.OBSERVED,
    Step.FOLDED,
    Step.CHECKED,
    Step.DECIDED,
    Step.WRITTEN_DOWN,
    Step.BEFORE_COMMIT,
    Step.COMMITTED,
]
OF_A_REPLACE = [Step.DECIDED, Step.WRITTEN_DOWN, Step.FENCED, Step.BEFORE_COMMIT]
"""Where a replace is decided and not yet in the log."""


BAD = b"bad"


class QuickInspector:
    """Inspects at the price of one read: every file is good that does not say otherwise."""

    def __init__(self, store: FileStore) -> None:
        self.store = store

    def inspect(self, path: StorePath, entry: Entry, text: Any = None) -> Any:
        content = self.store.read(path)
        if content.data == BAD:
            return FileFacts(
                etag=content.etag, completeness=Completeness.BROKEN, reason="it is no Parquet file"
            )
        return FileFacts(
            etag=content.etag, completeness=Completeness.COMPLETE, rows=1, schema=SCHEMA
        )


class Table:
    """One table with a ledger over a weak Delta, and whoever works on it."""

    def __init__(self, naming: NamingScheme = BY_TIME, batch_files: int = 2) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.watched = WatchedStore(self.store)
        self.wrong: list[str] = []
        self.engine = ModelDelta(
            self.store, lambda *_: None, self.wrong.append, lambda *_: None, Random(0)
        )
        self.steps: Callable[[Step], None] = lambda step: None
        self.files: list[str] = []
        """Names in the order of their first landing; a row's `sequence` is its place here."""
        self.ports = RootPorts(
            store=self.watched,
            inspector=QuickInspector(self.watched),
            logs=ModelLogs(self.engine),
            clock=self.clock,
            limits=Limits(batch_files=batch_files),
            steps=lambda step: self.steps(step),
        )
        self.naming = naming
        self.store.make_folder(layout.LAKE)
        self.declare()
        open_mirror(self.store, FOLDER.mirror)

    def declare(self) -> None:
        options = {
            "fileDetectionStrategy": self.naming.detection.value,
            "isPartitionEnabled": self.naming.partitioned,
        }
        self.store.put(join(LANDING, "_metadata.json"), json.dumps(options).encode())

    def land(self, *names: str, content: int = 1) -> None:
        """Publish files, all at the same moment; those of another content have other bytes."""
        for name in names:
            if name not in self.files:
                self.files.append(name)
            number = self.files.index(name) + 1
            record = self.store.incarnation(LANDING)
            self.store.put(join(LANDING, *name.split("/")), f"{record} {number} {content}".encode())

    def later(self, seconds: float = 1) -> None:
        self.clock.turn(timedelta(seconds=seconds))

    def reconcile_until_idle(self) -> object:
        return reconcile_until_idle(self.ports, self.engine, FOLDER).decision

    def stopped_at(self, step: Step) -> None:
        """Run until a step, and no further."""

        self.steps = dies_at(step)
        with suppress(Killed):
            self.reconcile_until_idle()
        self.steps = lambda reached: None

    def overtaken_at(self, step: Step, meanwhile: Callable[[], None]) -> None:
        """Run on; at the first such step something else happens to its end."""

        def give_way(reached: Step) -> None:
            if reached is step:
                self.steps = lambda reached: None
                meanwhile()

        self.steps = give_way
        self.reconcile_until_idle()
        self.steps = lambda reached: None

    def reseed(self) -> list[str]:
        """The order after the table was read once more from its beginning."""
        requests.reseed(self.ports, FOLDER, OPERATOR)
        assert isinstance(self.reconcile_until_idle(), Idle)
        return self.applied

    def clean(self) -> Any:
        return clean_table(self.ports, FOLDER)

    def lose(self) -> None:
        with suppress(NotThere):
            self.store.delete_file(layout.control_document(FOLDER))

    @property
    def applied(self) -> list[str]:
        """The names of what lies in the table, in the order it was applied."""
        log = self.engine.log_at(TABLE)
        return [self.files[row.sequence - 1] for row in log.rows] if log else []

    @property
    def written_down(self) -> list[str]:
        record = self.store.incarnation(LANDING)
        assert record is not None
        entries = read_entries(self.store, FOLDER, record)
        return [file.name for entry in entries for file in entry.files]

    @property
    def left(self) -> list[str]:
        """Names of files that still lie in the folder."""
        return [file.name for file in observe(self.ports, FOLDER).observed.landed]


@pytest.fixture(params=[BY_TIME, PARTITIONED, BOTH], ids=["by-time", "partitions", "both"])
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table(request.param)
    yield made
    assert not made.wrong


def names_of(table: Table, first: int, last: int) -> list[str]:
    """Names in the order in which files that landed together are applied."""
    own = range(first, last + 1)
    if not table.naming.partitioned:
        return [f"f{n:03d}.parquet" for n in own]
    if table.naming.is_numbered:
        return [f"{p}{n:020d}.parquet" for n in own for p in ("", "P=a/")]
    return [f"{p}f{n:03d}.parquet" for n in own for p in ("P=a/", "P=b/")]


def grown(table: Table, last: int = 3, *, first: int = 1) -> list[str]:
    """Publish some files, a second between one number and the next; the order they have by that."""
    order = []
    for n in range(first, last + 1):
        order += names_of(table, n, n)
        table.land(*names_of(table, n, n))
        table.later()
    return order


# How files are found by their time


def test_files_of_one_moment_are_applied_by_name() -> None:
    table = Table(batch_files=3)
    table.land("c.parquet", "a.parquet", "d.parquet", "b.parquet")
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == ["a.parquet", "b.parquet", "c.parquet", "d.parquet"]


def test_a_thousand_files_of_one_moment_cost_what_is_new() -> None:
    table = Table(batch_files=100)
    table.land(*(f"{n:04d}.parquet" for n in range(1_000)))
    table.later()
    table.watched.calls.clear()
    observe(table.ports, FOLDER)
    of_a_full_folder = len(table.watched.calls)
    assert of_a_full_folder < 101 + 20  # of each file that the next batch may hold its footer
    table.watched.calls.clear()
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == sorted(table.files)
    assert len(table.written_down) == 1_000
    assert len(table.watched.calls) < 1_000 * 2 + 500
    assert len(table.clean().moved) == 999
    table.clean()
    table.watched.calls.clear()
    observe(table.ports, FOLDER)
    assert len(table.watched.calls) < 11
    record = Documents(table.store).table(FOLDER).value.record
    assert record is not None
    assert sum(len(batch.files) for batch in record.batches) == 1


def test_a_late_file_with_an_older_time_comes_after_what_was_applied() -> None:
    table = Table()
    etag = table.store.put(StorePath("staging/late"), b"")
    table.later()
    table.land("b.parquet")
    table.reconcile_until_idle()
    record = table.store.incarnation(LANDING)
    table.files.append("a.parquet")
    table.store.delete_file(StorePath("staging/late"))
    later = table.clock()
    table.clock.turn_to(START)
    etag = table.store.put(StorePath("staging/late"), f"{record} 2 1".encode())
    table.clock.turn_to(later)
    table.land("c.parquet")
    table.store.move_file(StorePath("staging/late"), join(LANDING, "a.parquet"), etag)
    table.reconcile_until_idle()
    assert table.applied == ["b.parquet", "a.parquet", "c.parquet"]


@pytest.mark.parametrize("asked_for", [0, 20], ids=["listed", "asked for"])
def test_a_name_that_was_used_before_is_never_read_while_it_lies_there(
    asked_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_order, "MOST_ASKED_FOR", asked_for)
    table = Table()
    table.land("a.parquet", "b.parquet")
    table.reconcile_until_idle()
    assert table.clean().moved == ("a.parquet",)
    table.later()
    table.land("a.parquet")
    assert isinstance(table.reconcile_until_idle(), Idle)
    table.later(9 * 86_400)
    table.clean()
    table.later(9 * 86_400)
    table.clean()
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == ["a.parquet", "b.parquet"]


def test_a_partition_waits_for_its_gap_and_the_others_go_on() -> None:
    table = Table(PARTITIONED)
    ones, twos = names_of(table, 1, 1), names_of(table, 2, 2)
    table.land(*ones)
    table.reconcile_until_idle()
    table.land("P=a/00000000000000000003.parquet", twos[0])
    waiting = table.reconcile_until_idle()
    assert isinstance(waiting, Wait)
    assert (waiting.waiting.partition, waiting.waiting.sequence) == ("P=a", 2)
    assert table.applied == [*ones, twos[0]]
    table.land(twos[1])
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == [*ones, *twos, "P=a/00000000000000000003.parquet"]


def test_a_bad_file_stops_the_table_until_it_is_skipped_and_a_reseed_skips_it_too(
    table: Table,
) -> None:
    order = grown(table, 2)
    bad = names_of(table, 3, 3)[0]
    table.store.put(join(LANDING, *bad.split("/")), BAD)
    table.later()
    rest = names_of(table, 3, 3)[1:] + grown(table, 4, first=4)
    table.land(*rest)
    stopped = table.reconcile_until_idle()
    assert isinstance(stopped, Pause)
    assert stopped.problem.file == bad
    assert table.applied == order
    requests.skip_file(table.ports, FOLDER, bad, OPERATOR)
    assert isinstance(table.reconcile_until_idle(), Idle)
    applied = table.applied
    assert sorted(applied) == sorted(order + rest)
    table.clean()
    assert table.reseed() == applied


def test_what_is_wrong_with_a_files_data_is_emitted_once_and_read_once(table: Table) -> None:
    order = grown(table, 1)
    rotten = names_of(table, 2, 2)[0]
    table.land(rotten)
    table.store.put(join(LANDING, *rotten.split("/")), DAMAGED)
    emitted: list[ProgressEvent] = []
    table.ports = replace(table.ports, limits=Limits(batch_files=9), emit=emitted.append)
    assert isinstance(table.reconcile_until_idle(), Pause)
    assert table.applied == order
    assert [type(event) for event in emitted].count(TablePaused) == 1
    assert [type(event) for event in emitted].count(BatchStarted) == 2, "with it, and without"


# Stopped, raced


@pytest.mark.parametrize("step", [Step.OBSERVED, Step.FOLDED, Step.CHECKED, Step.DECIDED])
@pytest.mark.parametrize("naming", [BY_TIME, BOTH], ids=["by-time", "both"])
def test_what_was_planned_without_a_document_is_not_decided_once_another_was_lost(
    naming: NamingScheme, step: Step
) -> None:
    """The other one has applied a file of an older time first, so the numbers differ."""
    table = Table(naming)
    early = names_of(table, 1, 1)[0]
    table.files.append(early)
    staged = StorePath("staging/early")
    etag = table.store.put(staged, f"{table.store.incarnation(LANDING)} 1 1".encode())
    table.later()
    order = grown(table, 5, first=2)

    def meanwhile() -> None:
        table.store.move_file(staged, join(LANDING, *early.split("/")), etag)
        table.reconcile_until_idle()
        table.lose()

    table.overtaken_at(step, meanwhile)
    assert isinstance(table.reconcile_until_idle(), Idle)
    once = table.applied
    assert sorted(once) == sorted([early, *order])
    table.clean()
    assert table.reseed() == once
    assert not table.wrong


@pytest.mark.parametrize("step", OF_A_BATCH)
def test_a_runner_that_stops_at_any_step_is_gone_on_with(table: Table, step: Step) -> None:
    order = grown(table)
    table.stopped_at(step)
    order += grown(table, 4, first=4)
    assert isinstance(table.reconcile_until_idle(), Idle)
    order += grown(table, 6, first=5)
    table.stopped_at(step)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    assert table.written_down == order
    table.clean()
    assert table.reseed() == order


@pytest.mark.parametrize("step", OF_A_BATCH)
def test_two_runners_on_one_ledger_apply_each_file_once(table: Table, step: Step) -> None:
    order = grown(table, 2)

    def another_runs() -> None:
        table.reconcile_until_idle()
        number = len(order) // len(names_of(table, 1, 1)) + 1
        order.extend(grown(table, number, first=number))
        table.reconcile_until_idle()
        table.clean()

    table.overtaken_at(step, another_runs)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    order += grown(table, 5, first=4)
    table.overtaken_at(step, another_runs)
    assert table.applied == order == table.written_down


def test_a_folder_that_is_created_again_begins_a_ledger_of_its_own(table: Table) -> None:
    grown(table)
    table.reconcile_until_idle()
    table.clean()
    table.store.delete_folder(LANDING)
    table.declare()
    table.files.clear()
    order = grown(table, 2)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    assert table.written_down == order


def test_a_folder_that_is_created_again_under_a_runner_leaves_nothing_behind(table: Table) -> None:
    grown(table)

    def again() -> None:
        table.store.delete_folder(LANDING)
        table.declare()
        table.files.clear()
        grown(table, 2)

    table.overtaken_at(Step.WRITTEN_DOWN, again)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == table.files


def held_and_resumed(table: Table) -> None:
    requests.hold(table.ports, FOLDER, OPERATOR)
    requests.resume(table.ports, FOLDER, OPERATOR)


def cleaned(table: Table) -> None:
    table.clean()


def failing(table: Table) -> None:
    table.engine.failing = 1.0


@pytest.mark.parametrize("step", OF_A_REPLACE)
@pytest.mark.parametrize("meanwhile", [held_and_resumed, cleaned, failing])
def test_whoever_writes_while_a_reseed_is_decided_makes_nothing_twice(
    table: Table, step: Step, meanwhile: Callable[[Table], None]
) -> None:
    order = grown(table, 4)
    table.reconcile_until_idle()
    requests.reseed(table.ports, FOLDER, OPERATOR)
    table.overtaken_at(step, lambda: meanwhile(table))
    table.engine.failing = 0.0
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    order += grown(table, 5, first=5)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    table.clean()
    assert table.reseed() == order


@pytest.mark.parametrize("step", OF_A_REPLACE)
def test_what_a_reseed_reads_of_an_overwritten_file_is_known_whoever_writes_meanwhile(
    table: Table, step: Step
) -> None:
    order = grown(table, 4)
    table.reconcile_until_idle()
    table.land(order[0], content=2)
    assert isinstance(table.reconcile_until_idle(), Pause)
    requests.reseed(table.ports, FOLDER, OPERATOR)
    table.overtaken_at(step, lambda: held_and_resumed(table))
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order


def test_a_file_that_is_replaced_before_its_batch_was_applied_is_read_as_it_is_now() -> None:
    table = Table()
    table.land("a.parquet", "b.parquet")
    table.reconcile_until_idle()
    table.land("c.parquet", "d.parquet")
    table.stopped_at(Step.WRITTEN_DOWN)
    table.later()
    table.land("c.parquet")
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == ["a.parquet", "b.parquet", "d.parquet", "c.parquet"]
    assert table.reseed() == ["a.parquet", "b.parquet", "d.parquet", "c.parquet"]
    assert not table.wrong


# Lost, purged, copied


@pytest.mark.parametrize("step", OF_A_BATCH)
@pytest.mark.parametrize("runs_on", [True, False], ids=["runs-on", "gone"])
def test_a_control_document_that_is_lost_at_any_step_makes_nothing_twice(
    table: Table, step: Step, runs_on: bool
) -> None:
    order = grown(table, 2)

    def lost() -> None:
        table.lose()
        table.reconcile_until_idle()
        if not runs_on:
            raise Killed

    for first in (3, 5):
        with suppress(Killed):
            table.overtaken_at(step, lost)
        table.steps = lambda reached: None
        assert isinstance(table.reconcile_until_idle(), Idle)
        assert table.applied == order
        table.clean()
        order += grown(table, first + 1, first=first)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    assert table.reseed() == order


def test_a_control_document_lost_amid_a_reseed_still_reads_the_archive_to_its_end(
    table: Table,
) -> None:
    order = grown(table, 4)
    table.reconcile_until_idle()
    table.clean()
    requests.reseed(table.ports, FOLDER, OPERATOR)
    table.stopped_at(Step.COMMITTED)
    assert table.applied == order[:2]
    table.lose()
    table.land(*(more := names_of(table, 5, 5)))
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order + more


@pytest.mark.parametrize("step", OF_A_REPLACE)
@pytest.mark.parametrize("other", [Step.DECIDED, Step.COMMITTED])
def test_a_reseed_that_lands_after_its_control_document_was_lost_makes_nothing_twice(
    table: Table, step: Step, other: Step
) -> None:
    order = grown(table, 4)
    table.reconcile_until_idle()
    requests.reseed(table.ports, FOLDER, OPERATOR)

    def lost() -> None:
        table.lose()
        table.stopped_at(other)

    table.overtaken_at(step, lost)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    order += grown(table, 5, first=5)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    table.clean()
    assert table.reseed() == order


def test_a_purge_deletes_old_archived_files_and_what_was_written_down_of_them(
    table: Table,
) -> None:
    order = grown(table, 3)
    table.reconcile_until_idle()
    moved = table.clean().moved
    table.later(9 * 86_400)
    purged = table.clean().purged
    assert len([name for name in purged if name.endswith(".parquet")]) == len(moved)
    kept = set(table.written_down)
    assert kept >= set(order) - set(moved)
    assert len(kept) < len(order)
    table.lose()
    order += grown(table, 4, first=4)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order


def test_what_neither_control_document_nor_ledger_knows_is_not_guessed(table: Table) -> None:
    order = grown(table, 2)
    table.reconcile_until_idle()
    table.lose()
    table.store.delete_folder(join(layout.control_folder(FOLDER.mirror), "ledgers"))
    with pytest.raises(DocumentUnreadable, match="does not show which files were applied"):
        table.reconcile_until_idle()
    assert table.applied == order


@pytest.mark.parametrize("lost", [False, True], ids=["whole", "without control document"])
@pytest.mark.parametrize("emptied", [False, True], ids=["with files", "emptied"])
def test_a_copied_folder_that_is_adopted_goes_on_where_it_was(
    table: Table, lost: bool, emptied: bool
) -> None:
    order = grown(table, 3)
    table.reconcile_until_idle()
    table.clean()
    if emptied:
        for name in table.left:
            table.store.delete_file(join(LANDING, *name.split("/")))
    if lost:
        table.lose()
    left = {name: table.store.read(join(LANDING, *name.split("/"))) for name in table.left}
    table.store.delete_folder(LANDING)
    table.declare()
    for name, content in left.items():
        table.store.put(join(LANDING, *name.split("/")), content.data)
    requests.adopt(table.ports, FOLDER, OPERATOR)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    table.clean()
    if emptied and table.naming.is_numbered:
        # Nobody knows any more how far each partition was.
        requests.skip_through(table.ports, FOLDER, Through.parse("/3"), OPERATOR)
        requests.skip_through(table.ports, FOLDER, Through.parse("P=a/3"), OPERATOR)
    order += grown(table, 4, first=4)
    assert isinstance(table.reconcile_until_idle(), Idle)
    assert table.applied == order
    # The model takes every row of another incarnation for a mistake; here they are what was copied.
    assert all(one.startswith("a row of another incarnation") for one in table.wrong)
    table.wrong.clear()
