"""Whatever lies in a folder, the event filter wakes for what a reconcile would move only."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ingress.event_filter import Found, Woken, filter_event
from openmirror.plan import plan
from openmirror.plan.decisions import Pause
from openmirror.plan.wake import needs_reconcile
from openmirror.ports import ABSENT
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.control import Hold, Request, RequestKind, Skip
from openmirror.table.layout import join
from tests.unit.paper import PaperEngine, table

ORDERS = table("m", "Orders")
PLACE = layout.table_folder(ORDERS)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


CONTENT = {
    "good": _parquet(id=[1]),
    "no key": _parquet(other=[1]),
    "wrong marker": _parquet(id=[1], __rowMarker__=[9]),
    "no parquet": b"id,name\n1,a\n",
    "empty": b"",
    "cut off": _parquet(id=[1])[:40],
}
METADATA = {"keyed": b'{"keyColumns": ["id"]}', "broken": b"{", "other": b'{"keyColumns": ["x"]}'}

files = st.dictionaries(
    st.integers(1, 6), st.one_of(st.just("good"), st.sampled_from(sorted(CONTENT))), max_size=6
)


class World:
    """One table in memory."""

    def __init__(self) -> None:
        self.now = NOW + timedelta(minutes=1)
        self.store = MemoryStore(lambda: self.now)
        self.ports = RootPorts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=lambda: self.now,
        )
        self.store.make_folder(PLACE)

    def write(self, landed: Mapping[int, str], metadata: str | None) -> None:
        for number, content in landed.items():
            self.store.put(join(PLACE, f"{number:020d}.parquet"), CONTENT[content])
        if metadata:
            self.store.put(join(PLACE, "_metadata.json"), METADATA[metadata])

    def wants_reconcile(self) -> bool:
        observed = observe(self.ports, ORDERS).observed
        return needs_reconcile(observed, plan(observed, self.ports.limits, observed.at))

    def wakes(self, number: int) -> bool:
        path = join(PLACE, f"{number:020d}.parquet")
        event = LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, size=1)
        return isinstance(filter_event(self.ports, event), Woken)


metadatas = st.sampled_from([None, "keyed", "keyed", "broken", "other"])


@settings(max_examples=300, deadline=None)
@given(files, files, metadatas, metadatas, st.booleans())
def test_an_event_of_a_table_that_waits_is_paused_or_held_never_wakes(
    before: Mapping[int, str],
    after: Mapping[int, str],
    first: str | None,
    then: str | None,
    held: bool,
) -> None:
    world = World()
    world.write(before, first)
    reconcile_until_idle(world.ports, PaperEngine(world.store), ORDERS)
    world.write({number: after[number] for number in after if number not in before}, then)
    reconcile_until_idle(world.ports, PaperEngine(world.store), ORDERS)
    if held:
        documents = Documents(world.store)
        stored = documents.table(ORDERS)
        control = replace(stored.value, hold=Hold(NOW, "ann"))
        documents.save_table(ORDERS, control, stored.etag)
    assert not world.wants_reconcile()
    for number in {**before, **after}:
        assert not world.wakes(number)


@settings(max_examples=300, deadline=None)
@given(files, st.integers(0, 6))
def test_the_next_file_of_a_table_wakes_or_is_checked_at_once(
    landed: Mapping[int, str], applied: int
) -> None:
    world = World()
    world.write(dict.fromkeys(range(1, applied + 1), "good"), "keyed")
    reconcile_until_idle(world.ports, PaperEngine(world.store), ORDERS)
    world.write({applied + number: content for number, content in landed.items()}, None)
    if applied + 1 not in {applied + number for number in landed}:
        return
    wanted = world.wants_reconcile()
    woke = world.wakes(applied + 1)
    # What the event filter has written down itself needs no reconcile any more.
    assert woke == world.wants_reconcile()
    assert wanted or not woke


class Stalled(PaperEngine):
    """An engine whose process dies before its commit: a batch stays decided."""

    def commit(self, *args: Any, **more: Any) -> Any:
        raise KeyboardInterrupt


ACTS = ("land", "apply", "stall", "clean", "reseed", "recreate", "skip", "hold", "lose document")


def _act(world: World, act: str, landed: Mapping[int, str], metadata: str | None) -> None:
    documents = Documents(world.store)
    stored = documents.table(ORDERS)
    control, record = stored.value, stored.value.record
    if act == "land":
        world.write(landed, metadata)
    elif act == "apply":
        reconcile_until_idle(world.ports, PaperEngine(world.store), ORDERS)
    elif act == "stall":
        with suppress(KeyboardInterrupt):
            reconcile_until_idle(world.ports, Stalled(world.store), ORDERS)
    elif act == "clean":
        clean_table(world.ports, ORDERS)
    elif act == "recreate":
        world.store.delete_folder(PLACE)
        world.store.make_folder(PLACE)
    elif act == "lose document" and stored.etag is not ABSENT:
        world.store.delete_file(layout.control_document(ORDERS))
    elif act == "reseed":
        asked = replace(control, request=Request(RequestKind.RESEED, NOW, "ann"))
        documents.save_table(ORDERS, asked, stored.etag)
    elif act == "hold":
        held = replace(control, hold=None if control.hold else Hold(NOW, "ann"))
        documents.save_table(ORDERS, held, stored.etag)
    elif act == "skip" and record:
        number = Sequence(min(landed, default=1))
        skip = Skip(first=number, last=Sequence(number + 1), by="ann", at=NOW, why="lost")
        passed = replace(control, record=replace(record, skips=(*record.skips, skip)))
        documents.save_table(ORDERS, passed, stored.etag)


acts = st.lists(
    st.tuples(st.sampled_from(("land", "land", "apply", *ACTS)), files, metadatas), max_size=7
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 3), acts)
def test_whatever_has_happened_the_event_filter_answers_and_finds_only_what_an_observation_finds(
    applied: int, happened: list[tuple[str, Mapping[int, str], str | None]]
) -> None:
    world = World()
    world.write(dict.fromkeys(range(1, applied + 1), "good"), "keyed")
    reconcile_until_idle(world.ports, PaperEngine(world.store), ORDERS)
    for act, landed, metadata in happened:
        _act(world, act, landed, metadata)
    for number in range(1, 8):
        observed = observe(world.ports, ORDERS).observed
        path = join(PLACE, f"{number:020d}.parquet")
        event = LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, size=1)
        answer = filter_event(world.ports, event)
        if isinstance(answer, Found):
            decision = plan(observed, world.ports.limits, observed.at)
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


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(WAYS)), publications)
def test_what_the_event_filter_wakes_for_leaves_nothing_undone_in_tables_with_a_ledger(
    way: str, published: list[tuple[str, int, str, bool]]
) -> None:
    world = World()
    world.store.put(join(PLACE, "_metadata.json"), WAYS[way])
    for partition, number, content, cleans in published:
        # A file that comes with an older time than what its table is paused over is the sweep's.
        world.now += timedelta(seconds=1)
        path = join(PLACE, f"{'' if way == 'by time' else partition}{number:020d}.parquet")
        if content != "same":
            world.store.put(path, CONTENT[content])
        event = LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, size=1)
        if isinstance(filter_event(world.ports, event), Woken):
            reconcile_until_idle(world.ports, PaperEngine(world.store), ORDERS)
        # Which one of several overwritten files a paused table names, the sweep may decide anew.
        assert not world.wants_reconcile() or _is_paused(world)
        # What was read once wakes nobody any more, however often its event comes.
        assert not isinstance(filter_event(world.ports, event), Woken) or _is_behind(world, path)
        if cleans:
            clean_table(world.ports, ORDERS)


def _is_paused(world: World) -> bool:
    observed = observe(world.ports, ORDERS).observed
    decision = plan(observed, world.ports.limits, observed.at)
    return isinstance(decision, Pause) and observed.control.problem is not None


def _is_behind(world: World, path: str) -> bool:
    """Whether a file is there and not applied: one that waits, or whose name was used before."""
    observed = observe(world.ports, ORDERS).observed
    there = (*observed.files.values(), *observed.ledger.reused, *observed.ledger.skipped)
    waiting = [file for view in observed.ledger.partitions for file in view.waiting]
    return any(
        file.path == path and (file in waiting or not 0 < file.sequence <= observed.applied)
        for file in (*there, *waiting)
    )
