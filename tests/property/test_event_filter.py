"""Whatever lies in a folder, the event filter wakes for what a reconcile would move only."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.ingress.event_filter import Answer, Found, Woken, filter_event
from openmirror.plan import plan
from openmirror.plan.decisions import Pause
from openmirror.plan.wake import needs_reconcile
from openmirror.ports import ABSENT, Step
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirror_reads import RECENT_SECONDS
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.table import layout
from openmirror.table.control import Hold, Request, RequestKind, Skip
from openmirror.table.layout import join
from tests.harness.clock import START
from tests.harness.dying import Killed, dies_at
from tests.harness.examples import examples
from tests.harness.publishing import file_name, parquet, table
from tests.harness.world import World

ORDERS = table("m", "Orders")
PLACE = layout.table_folder(ORDERS)
CONTENT = {
    "good": parquet(id=[1]),
    "no key": parquet(other=[1]),
    "wrong marker": parquet(id=[1], __rowMarker__=[9]),
    "no parquet": b"id,name\n1,a\n",
    "empty": b"",
    "cut off": parquet(id=[1])[:40],
}
METADATA = {"keyed": b'{"keyColumns": ["id"]}', "broken": b"{", "other": b'{"keyColumns": ["x"]}'}

files = st.dictionaries(
    st.integers(1, 6), st.one_of(st.just("good"), st.sampled_from(sorted(CONTENT))), max_size=6
)


class OneTable(World):
    """One table, a minute after its world began."""

    def __init__(self) -> None:
        super().__init__()
        self.clock.turn(timedelta(minutes=1))
        self.store.make_folder(PLACE)

    def write(self, landed: Mapping[int, str], metadata: str | None) -> None:
        for number, content in landed.items():
            self.put(ORDERS, file_name(number), CONTENT[content])
        if metadata:
            self.put(ORDERS, "_metadata.json", METADATA[metadata])

    def apply(self) -> None:
        self.reconcile_until_idle(ORDERS)

    def wants_reconcile(self) -> bool:
        observed = self.observed(ORDERS)
        return needs_reconcile(observed, plan(observed, self.limits, observed.at))

    def answer(self, name: str) -> Answer:
        path = join(PLACE, name)
        event = LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, size=1)
        return filter_event(self.ports, event)

    def wakes(self, name: str) -> bool:
        return isinstance(self.answer(name), Woken)


HOLDS = ("hold", "hold the mirror", "unmount")


def _hold(world: OneTable, how: str) -> None:
    """Hold the table, or let it go on if it is held so already."""
    documents = Documents(world.store)
    if how == "hold":
        own = world.control(ORDERS).hold
        hold = None if own else Hold(START, "ann")
        world.change(ORDERS, lambda control: replace(control, hold=hold))
    elif how == "hold the mirror":
        stored = documents.mirror("m")
        held = replace(stored.value, hold=None if stored.value.hold else Hold(START, "ann"))
        documents.save_mirror("m", held, stored.etag)
    else:
        world.store.put(layout.mirror_settings("m"), b'{"properties": {"mountedTables": []}}')
    # For so long the event filter may know a mirror from before, and wake in vain.
    world.clock.turn(timedelta(seconds=RECENT_SECONDS))


metadatas = st.sampled_from([None, "keyed", "keyed", "broken", "other"])


@settings(max_examples=examples(60), deadline=None)
@given(files, files, metadatas, metadatas, st.sampled_from([None, *HOLDS]))
def test_an_event_of_a_table_that_waits_is_paused_or_held_never_wakes(
    before: Mapping[int, str],
    after: Mapping[int, str],
    first: str | None,
    then: str | None,
    held: str | None,
) -> None:
    world = OneTable()
    world.write(before, first)
    world.apply()
    world.write({number: after[number] for number in after if number not in before}, then)
    world.apply()
    if held:
        _hold(world, held)
    assert not world.wants_reconcile()
    for number in {**before, **after}:
        assert not world.wakes(file_name(number))


@settings(max_examples=examples(60), deadline=None)
@given(files, st.integers(0, 6))
def test_the_next_file_of_a_table_wakes_or_is_checked_at_once(
    landed: Mapping[int, str], applied: int
) -> None:
    world = OneTable()
    world.write(dict.fromkeys(range(1, applied + 1), "good"), "keyed")
    world.apply()
    world.write({applied + number: content for number, content in landed.items()}, None)
    if applied + 1 not in {applied + number for number in landed}:
        return
    wanted = world.wants_reconcile()
    woke = world.wakes(file_name(applied + 1))
    # What the event filter has written down itself needs no reconcile any more.
    assert woke == world.wants_reconcile()
    assert wanted or not woke


ACTS = (
    *("land", "apply", "stall", "clean", "reseed", "recreate", "skip", "lose document"),
    *HOLDS,
)


def _act(world: OneTable, act: str, landed: Mapping[int, str], metadata: str | None) -> None:
    documents = Documents(world.store)
    stored = documents.table(ORDERS)
    control, record = stored.value, stored.value.record
    if act == "land":
        world.write(landed, metadata)
    elif act == "apply":
        world.apply()
    elif act == "stall":
        dying = world.process(steps=dies_at(Step.BEFORE_COMMIT))  # so a batch stays decided
        with suppress(Killed):
            reconcile_until_idle(dying, world.engine, ORDERS)
    elif act == "clean":
        clean_table(world.ports, ORDERS)
    elif act == "recreate":
        world.store.delete_folder(PLACE)
        world.store.make_folder(PLACE)
    elif act == "lose document" and stored.etag is not ABSENT:
        world.store.delete_file(layout.control_document(ORDERS))
    elif act == "reseed":
        asked = replace(control, request=Request(RequestKind.RESEED, START, "ann"))
        documents.save_table(ORDERS, asked, stored.etag)
    elif act in HOLDS:
        _hold(world, act)
    elif act == "skip" and record:
        number = Sequence(min(landed, default=1))
        skip = Skip(first=number, last=Sequence(number + 1), by="ann", at=START, why="lost")
        passed = replace(control, record=replace(record, skips=(*record.skips, skip)))
        documents.save_table(ORDERS, passed, stored.etag)


acts = st.lists(
    st.tuples(st.sampled_from(("land", "land", "apply", *ACTS)), files, metadatas), max_size=7
)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 3), acts)
def test_whatever_has_happened_the_event_filter_answers_and_finds_only_what_an_observation_finds(
    applied: int, happened: list[tuple[str, Mapping[int, str], str | None]]
) -> None:
    world = OneTable()
    world.write(dict.fromkeys(range(1, applied + 1), "good"), "keyed")
    world.apply()
    for act, landed, metadata in happened:
        _act(world, act, landed, metadata)
    for number in range(1, 8):
        decision = world.decision(ORDERS)
        answer = world.answer(file_name(number))
        if isinstance(answer, Found):
            assert isinstance(decision, Pause)
            # That another file was overwritten after it was applied, only a full observation sees.
            is_seen_by_all = decision.problem.code is Code.APPLIED_FILE_CHANGED
            assert is_seen_by_all or decision.problem.same_as(answer.problem)


# --- Tables with a ledger -------------------------------------------------------------------------

WAYS = {
    "partitions": b'{"keyColumns": ["id"], "isPartitionEnabled": true}',
    "by time": b'{"keyColumns": ["id"], "fileDetectionStrategy": "LastUpdateTimeFileDetection"}',
    "both": b'{"keyColumns": ["id"], "isPartitionEnabled": true, '
    b'"fileDetectionStrategy": "LastUpdateTimeFileDetection"}',
}

publications = st.lists(
    st.tuples(
        st.sampled_from(["Day=1/", "Day=2/", ""]),
        st.integers(1, 4),
        st.sampled_from(["good", "good", "good", "cut off", "no parquet", "same"]),
        st.booleans(),
    ),
    max_size=14,
)


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(sorted(WAYS)), publications)
def test_what_the_event_filter_wakes_for_leaves_nothing_undone_in_tables_with_a_ledger(
    way: str, published: list[tuple[str, int, str, bool]]
) -> None:
    world = OneTable()
    world.put(ORDERS, "_metadata.json", WAYS[way])
    for partition, number, content, cleans in published:
        # A file that comes with an older time than what its table is paused over is the sweep's.
        world.clock.turn(timedelta(seconds=1))
        name = ("" if way == "by time" else partition) + file_name(number)
        if content != "same":
            world.put(ORDERS, name, CONTENT[content])
        if world.wakes(name):
            world.apply()
        # Which one of several overwritten files a paused table names, the sweep may decide anew.
        assert not world.wants_reconcile() or _is_paused(world)
        # What was read once wakes nobody any more, however often its event comes.
        assert not world.wakes(name) or _is_behind(world, join(PLACE, name))
        if cleans:
            clean_table(world.ports, ORDERS)


def _is_paused(world: OneTable) -> bool:
    observed = world.observed(ORDERS)
    decision = plan(observed, world.limits, observed.at)
    return isinstance(decision, Pause) and observed.control.problem is not None


def _is_behind(world: OneTable, path: str) -> bool:
    """Whether a file is there and not applied: one that waits, or whose name was used before."""
    observed = world.observed(ORDERS)
    there = (*observed.files.values(), *observed.ledger.reused, *observed.ledger.skipped)
    waiting = [file for view in observed.ledger.partitions for file in view.waiting]
    return any(
        file.path == path and (file in waiting or not 0 < file.sequence <= observed.applied)
        for file in (*there, *waiting)
    )
