"""An event wakes for its table when a reconcile would move it, and always costs little."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from openmirror.errors import ConditionFailed, NotThere, Problem, Unavailable
from openmirror.ingress.event_filter import (
    Answer,
    Found,
    Ignored,
    Woken,
    filter_event,
    handle_event,
)
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.operate.report import statuses
from openmirror.ports import Step, WorkItem
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirror_reads import RECENT_SECONDS
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.runtime.sweeping import sweep
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.control import ControlDocument, Hold, Request, RequestKind, Skip
from openmirror.table.layout import StorePath, join
from tests.harness.clock import START
from tests.harness.dying import Killed, dies_at
from tests.harness.publishing import file_name, parquet, table
from tests.harness.stores import Call
from tests.harness.world import World

ORDERS = table("m", "Sales.schema/Orders")
PLACE = layout.table_folder(ORDERS)


class Published(World):
    """One table, the events of what is published for it, and the queue that they lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.work = MemoryWorkQueue(self.clock)
        self.events = 0

    def metadata(self, content: object = None) -> LandingEvent:
        text = json.dumps({"keyColumns": ["id"]} if content is None else content)
        return self.write("_metadata.json", text.encode())

    def publish(self, number: int, **columns: object) -> LandingEvent:
        return self.write(file_name(number), parquet(**columns))

    def write(self, name: str, data: bytes) -> LandingEvent:
        etag = self.put(ORDERS, name, data)
        return self.event(EventKind.FILE_WRITTEN, join(PLACE, name), size=len(data), etag=etag)

    def event(self, kind: EventKind, path: StorePath, **more: Any) -> LandingEvent:
        self.events += 1
        return LandingEvent(identity=f"e-{self.events}", kind=kind, path=path, **more)

    def delete(self, name: str) -> LandingEvent:
        path = join(PLACE, name)
        self.store.delete_file(path)
        return self.event(EventKind.FILE_DELETED, path)

    def apply(self) -> None:
        self.reconcile_until_idle(ORDERS)

    def filter_event(self, event: LandingEvent) -> Answer:
        return filter_event(self.ports, event)

    def cost(self, event: LandingEvent, answer: Answer) -> int:
        """How many calls of the store it takes to answer so."""
        self.watched.calls.clear()
        assert self.filter_event(event) == answer
        return len(self.watched.calls)

    def control_is_untouched(self) -> bool:
        return b'"problem"' not in self.store.read(layout.control_document(ORDERS)).data

    def wake_ups(self) -> list[WorkItem]:
        return [taken.work_item for taken in self.work.take(100) if taken.work_item]


@pytest.fixture
def world() -> Published:
    return Published()


def test_the_next_file_wakes_with_its_name_and_the_events_identity(world: Published) -> None:
    world.metadata()
    event = world.publish(1)
    assert handle_event(world.ports, world.work, event) == Woken((ORDERS,))
    assert world.wake_ups() == [WorkItem(ORDERS, file_name(1), event.identity)]


def test_a_file_whose_neighbour_lies_there_wakes(world: Published) -> None:
    world.metadata()
    world.publish(1)
    assert world.filter_event(world.publish(2)) == Woken((ORDERS,))


def test_a_file_behind_a_gap_does_not_wake_its_table_and_filling_the_gap_does(
    world: Published,
) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    late = world.filter_event(world.publish(3))
    assert isinstance(late, Ignored)
    assert f"{2:020d} is missing" in late.reason
    assert world.filter_event(world.publish(2)) == Woken((ORDERS,))


def test_every_further_file_behind_a_gap_stays_silent(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    for number in (3, 4, 5, 6):
        assert isinstance(world.filter_event(world.publish(number)), Ignored)


def test_a_gap_in_front_of_the_file_is_reported_while_earlier_ones_are_pending(
    world: Published,
) -> None:
    world.metadata()
    world.publish(1)
    answer = world.filter_event(world.publish(3))
    assert isinstance(answer, Ignored)
    assert f"{2:020d}" in answer.reason


def test_a_repeated_event_of_an_applied_file_is_ignored(world: Published) -> None:
    world.metadata()
    first, second = world.publish(1), world.publish(2)
    world.apply()
    assert world.control(ORDERS).applied is not None
    for event in (second, first, second):
        assert isinstance(world.filter_event(event), Ignored)


def test_a_file_that_was_overwritten_after_it_was_applied_wakes(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    again = world.publish(1, id=[9])
    assert world.filter_event(again) == Woken((ORDERS,))
    world.apply()
    assert world.control(ORDERS).problem is not None
    assert isinstance(world.filter_event(again), Ignored)


def test_events_of_archived_files_are_ignored(world: Published) -> None:
    world.metadata()
    events = [world.publish(number) for number in (1, 2, 3)]
    world.apply()
    assert clean_table(world.ports, ORDERS)
    for event in events:
        assert isinstance(world.filter_event(event), Ignored)
    moved = join(PLACE, "_ProcessedFiles", file_name(1))
    world.store.read(moved)
    ours = world.event(EventKind.FILE_RENAMED, moved, source=join(PLACE, file_name(1)))
    assert isinstance(world.filter_event(ours), Ignored)
    assert world.filter_event(world.publish(4)) == Woken((ORDERS,))


def test_a_number_that_came_again_below_the_archive_is_ignored(world: Published) -> None:
    world.metadata()
    for number in (1, 2, 3):
        world.publish(number)
    world.apply()
    clean_table(world.ports, ORDERS)
    assert isinstance(world.filter_event(world.publish(1, id=[7])), Ignored)


def test_a_skipped_gap_is_no_gap(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    skip = Skip(first=Sequence(2), last=Sequence(5), by="ann", at=START, why="lost")

    def passed(control: ControlDocument) -> ControlDocument:
        assert control.record is not None
        return replace(control, record=replace(control.record, skips=(skip,)))

    world.change(ORDERS, passed)
    assert world.filter_event(world.publish(6)) == Woken((ORDERS,))
    inside = world.filter_event(world.publish(4))
    assert inside == Woken((ORDERS,))


def test_a_file_that_was_opened_and_is_still_empty_is_no_error(world: Published) -> None:
    world.metadata()
    event = world.write(file_name(1), b"")
    opened = world.filter_event(replace(event, api="CreateFile"))
    assert isinstance(opened, Ignored)
    assert "empty" in opened.reason
    for api in ("FlushWithClose", "PutBlob"):  # and a file that is closed may be written again
        closed = world.filter_event(replace(event, api=api))
        assert isinstance(closed, Ignored)
    assert world.control(ORDERS).problem is None
    assert world.filter_event(world.publish(1)) == Woken((ORDERS,))


def test_files_behind_one_that_is_still_being_written_stay_silent(world: Published) -> None:
    world.metadata()
    world.write(file_name(1), parquet()[:20])
    answer = world.filter_event(world.publish(2))
    assert isinstance(answer, Ignored)
    assert "waits" in answer.reason


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("no parquet", b"id,name\n1,a\n", Code.FILE_UNREADABLE),
        ("no key", parquet(other=[1]), Code.KEY_COLUMN_MISSING),
        ("marker type", parquet(id=[1], __rowMarker__=[True]), Code.ROW_MARKER_INVALID),
        ("columns", parquet(id=[1], ID=[2]), Code.COLUMNS_DUPLICATE),
        ("schema", parquet(id=pa.array([1], pa.decimal256(39))), Code.COLUMN_TYPE_UNSUPPORTED),
        ("merge", parquet(id=["text"]), Code.SCHEMA_MERGE_FAILURE),
    ],
)
def test_a_bad_file_that_comes_next_pauses_its_table_within_the_event(
    world: Published, name: str, data: bytes, code: Code
) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    event = world.write(file_name(2), data)
    answer = handle_event(world.ports, world.work, event)
    assert isinstance(answer, Found)
    assert (answer.problem.code, answer.problem.file) == (code, file_name(2))
    assert answer.problem.etag == event.etag
    kept = world.control(ORDERS).problem
    assert kept is not None
    assert kept.same_as(answer.problem)
    assert kept.since is not None
    assert not world.wake_ups()
    (shown,) = statuses(world.ports, ["m"])
    assert shown.status == "Failed"
    # The sweep agrees: nobody needs to reconcile what is known.
    assert not sweep(world.ports, ["m"], QueueWaker(world.work, "sweep")).woken


def test_a_file_with_a_wrong_row_marker_wakes_for_whoever_reads_its_rows(world: Published) -> None:
    world.metadata()
    assert world.filter_event(
        world.write(file_name(1), parquet(id=[1], __rowMarker__=[7]))
    ) == Woken((ORDERS,))
    assert world.control(ORDERS).problem is None


def test_a_bad_file_behind_pending_ones_wakes_so_that_those_are_applied(world: Published) -> None:
    world.metadata()
    world.publish(1)
    assert world.filter_event(world.write(file_name(2), b"junk")) == Woken((ORDERS,))
    assert world.control(ORDERS).problem is None


def test_a_paused_table_stays_silent_however_many_files_come(world: Published) -> None:
    world.metadata()
    world.write(file_name(1), b"junk" * 9)
    assert isinstance(world.filter_event(world.event(EventKind.FILE_WRITTEN, at(1))), Found)
    for number in range(2, 9):
        assert isinstance(world.filter_event(world.publish(number)), Ignored)


@pytest.mark.parametrize("number", [1, 5])
def test_replacing_the_bad_file_wakes(world: Published, number: int) -> None:
    world.metadata()
    for good in range(1, number):
        world.publish(good)
    world.apply()
    world.filter_event(world.write(file_name(number), b"junk" * 9))
    assert world.control(ORDERS).problem is not None
    assert world.filter_event(world.publish(number)) == Woken((ORDERS,))


def test_a_problem_that_only_the_rows_show_stays_silent_until_something_changes(
    world: Published,
) -> None:
    world.metadata()
    event = world.publish(1)
    observed = world.store.read(join(PLACE, "_metadata.json"))
    incarnation = world.store.incarnation(PLACE)
    problem = Problem(
        code=Code.APPLY_FAILED,
        detail="out of space",
        file=file_name(1),
        etag=event.etag,
        incarnation=incarnation,
        metadata_etag=observed.etag,
    )
    world.change(ORDERS, lambda control: replace(control, problem=problem))
    assert isinstance(world.filter_event(event), Ignored)
    assert isinstance(world.filter_event(world.publish(2)), Ignored)
    assert world.filter_event(world.metadata({"keyColumns": ["id"], "x": 1})) == Woken((ORDERS,))


def test_changed_settings_of_the_mirror_let_a_paused_table_go_on(world: Published) -> None:
    world.metadata()
    settings = layout.mirror_settings("m")
    world.store.put(settings, b"{")
    answer = world.filter_event(world.publish(1))
    assert isinstance(answer, Found)
    assert answer.problem.code is Code.MIRROR_SETTINGS_INVALID
    assert isinstance(world.filter_event(world.publish(2)), Ignored)
    world.store.put(settings, b"{}")
    assert world.filter_event(world.publish(3)) == Woken((ORDERS,))


def test_a_held_table_is_not_woken_for(world: Published) -> None:
    world.metadata()
    event = world.publish(1)
    world.change(ORDERS, lambda control: replace(control, hold=Hold(START, "ann", "audit")))
    answer = world.filter_event(event)
    assert isinstance(answer, Ignored)
    assert "held by ann" in answer.reason


def test_metadata_that_comes_after_the_first_file_wakes(world: Published) -> None:
    waiting = world.filter_event(world.publish(1))
    assert isinstance(waiting, Ignored)
    assert "_metadata.json" in waiting.reason
    assert world.filter_event(world.metadata()) == Woken((ORDERS,))


def test_metadata_of_a_folder_without_files_does_not_wake_its_table(world: Published) -> None:
    assert isinstance(world.filter_event(world.metadata()), Ignored)


def test_bad_metadata_pauses_the_table_and_good_metadata_wakes_for_it(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    answer = world.filter_event(world.metadata({"keyColumns": ["other"]}))
    assert isinstance(answer, Found)
    assert answer.problem.code is Code.KEY_COLUMNS_CHANGED
    assert isinstance(world.filter_event(world.publish(2)), Ignored)
    assert world.filter_event(world.metadata()) == Woken((ORDERS,))


def test_an_event_of_a_file_that_has_gone_is_ignored(world: Published) -> None:
    world.metadata()
    event = world.publish(1)
    world.delete(file_name(1))
    assert isinstance(world.filter_event(event), Ignored)


def test_a_deleted_file_wakes_for_nothing(world: Published) -> None:
    world.metadata()
    world.publish(1)
    assert isinstance(world.filter_event(world.delete(file_name(1))), Ignored)


def test_a_renamed_file_counts_by_its_new_name(world: Published) -> None:
    world.metadata()
    world.publish(1)
    renamed = world.event(EventKind.FILE_RENAMED, at(1), source=join(PLACE, "_tmp.parquet"))
    assert world.filter_event(renamed) == Woken((ORDERS,))
    away = world.event(EventKind.FILE_RENAMED, join(PLACE, "_tmp.parquet"), source=at(1))
    assert isinstance(world.filter_event(away), Ignored)


def test_a_deleted_table_folder_wakes_so_that_its_grace_begins(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    world.store.delete_folder(PLACE)
    gone = world.event(EventKind.FOLDER_DELETED, PLACE, recursive=True)
    assert world.filter_event(gone) == Woken((ORDERS,))
    world.apply()
    assert world.control(ORDERS).missing_since is not None
    assert isinstance(world.filter_event(gone), Ignored)


def test_a_table_folder_that_moves_in_wakes_for_both_places(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    there = table("m", "Sales.schema/Sold")
    world.store.move_folder(PLACE, layout.table_folder(there))
    moved = world.event(
        EventKind.FOLDER_RENAMED, layout.table_folder(there), source=PLACE, api="RenameDirectory"
    )
    assert world.filter_event(moved) == Woken((there, ORDERS))


def test_a_table_folder_that_was_staged_elsewhere_wakes_when_it_moves_in(world: Published) -> None:
    staged = join(layout.landing_zone("m"), "_staging", "Orders")
    world.store.put(join(staged, file_name(1)), parquet())
    world.store.put(join(staged, "_metadata.json"), b'{"keyColumns": ["id"]}')
    world.store.move_folder(staged, PLACE)
    moved = world.event(EventKind.FOLDER_RENAMED, PLACE, source=staged)
    assert world.filter_event(moved) == Woken((ORDERS,))


def test_a_new_empty_table_folder_does_not_wake_its_table(world: Published) -> None:
    world.store.make_folder(PLACE)
    assert isinstance(world.filter_event(world.event(EventKind.FOLDER_CREATED, PLACE)), Ignored)


def test_a_folder_named_as_a_change_file_wakes_so_that_an_observation_names_it(
    world: Published,
) -> None:
    world.store.make_folder(at(1))
    assert world.filter_event(world.event(EventKind.FOLDER_CREATED, at(1))) == Woken((ORDERS,))


@pytest.mark.parametrize(
    "path",
    [
        "lake/m/Tables/Sales/Orders/_delta_log/00000000000000000000.json",
        "landing/m/Files/Monitoring/tables.json",
        "landing/m/Files/LandingZone/_partnerEvents.json",
        f"{PLACE}/_ProcessedFiles/{file_name(1)}",
        f"{PLACE}/_tmp",
        f"{PLACE}/../../x",
        "landing/m/Files/LandingZone/beside.parquet",
        "landing/m/Files/LandingZone/Sales.schema",
        "elsewhere/x",
    ],
)
def test_what_concerns_no_table_is_ignored_without_a_request(world: Published, path: str) -> None:
    world.metadata()
    world.publish(1)
    world.watched.calls.clear()
    answer = world.filter_event(world.event(EventKind.FILE_WRITTEN, StorePath(path), size=3))
    assert isinstance(answer, Ignored)
    assert answer.reason
    assert not world.watched.calls


@pytest.mark.parametrize("name", ["notes.txt", "1.parquet", "Year=2024/1.parquet"])
def test_a_name_that_means_nothing_in_its_table_is_ignored(world: Published, name: str) -> None:
    world.metadata()
    world.publish(1)
    path = StorePath(f"{PLACE}/{name}")
    world.store.put(path, b"abc")
    answer = world.filter_event(world.event(EventKind.FILE_WRITTEN, path, size=3))
    assert isinstance(answer, Ignored)
    assert "change file" in answer.reason


def test_a_control_document_that_cannot_be_read_wakes_for_nobody(world: Published) -> None:
    world.metadata()
    event = world.publish(1)
    world.store.put(layout.control_document(ORDERS), b"{")
    assert isinstance(world.filter_event(event), Ignored)


def test_a_problem_that_lost_the_race_for_the_document_wakes_instead(world: Published) -> None:
    world.metadata()
    event = world.write(file_name(1), b"junk" * 9)

    def lost(call: Call) -> None:
        if call.method == "write" and call.path == layout.control_document(ORDERS):
            raise ConditionFailed("somebody else wrote it")

    world.watched.before = lost
    assert world.filter_event(event) == Woken((ORDERS,))


def test_an_open_request_is_never_checked_by_a_few_files(world: Published) -> None:
    world.metadata()
    for number in (1, 2, 3):
        world.publish(number)
    world.apply()
    clean_table(world.ports, ORDERS)
    asked = Request(RequestKind.RESEED, START, "ann")
    world.change(ORDERS, lambda control: replace(control, request=asked))
    assert world.filter_event(world.publish(4)) == Woken((ORDERS,))
    assert world.control(ORDERS).problem is None


@pytest.mark.parametrize("announced", [2, 3, 4])
def test_files_of_a_batch_that_was_decided_and_not_committed_wake_their_table(
    world: Published, announced: int
) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    events = {number: world.publish(number) for number in (2, 3)}
    with pytest.raises(Killed):
        reconcile_until_idle(world.process(steps=dies_at(Step.BEFORE_COMMIT)), world.engine, ORDERS)
    decided = world.control(ORDERS).decided
    assert decided is not None
    assert [manifest.sequence for manifest in decided.files] == [2, 3]
    events[4] = world.publish(4)
    assert world.filter_event(events[announced]) == Woken((ORDERS,))


@pytest.mark.parametrize("error", [Unavailable("503"), ConditionFailed("412"), NotThere("404")])
@pytest.mark.parametrize("at_request", range(1, 13))
def test_a_store_that_fails_while_an_event_is_checked_makes_it_wake_its_table(
    world: Published, error: Exception, at_request: int
) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    event = world.publish(2)

    def failing(call: Call) -> None:
        if call.method == "read" and len(world.watched.calls) > at_request:
            raise error

    world.watched.calls.clear()
    world.watched.before = failing
    answer = world.filter_event(event)
    # What is not there may also mean: no control document, no settings, no file any more.
    assert isinstance(answer, (Woken, Ignored) if isinstance(error, NotThere) else Woken)
    assert world.control_is_untouched()


def test_killed_between_checking_and_waking_the_event_comes_again_and_wakes(
    world: Published,
) -> None:
    world.metadata()
    event = world.publish(1)
    with pytest.raises(Killed):
        handle_event(world.process(steps=dies_at(Step.FILTERED)), world.work, event)
    assert not world.wake_ups()
    handle_event(world.ports, world.work, event)
    assert len(world.wake_ups()) == 1


def test_a_queue_that_rejects_is_an_error_of_the_event_and_nothing_was_sent(
    world: Published,
) -> None:
    class Full(MemoryWorkQueue):
        def send(self, work_item: WorkItem, delay: timedelta = timedelta()) -> None:
            raise OSError("the queue rejects")

    world.metadata()
    event = world.publish(1)
    with pytest.raises(OSError, match="rejects"):
        handle_event(world.ports, Full(lambda: START), event)
    handle_event(world.ports, world.work, event)
    assert len(world.wake_ups()) == 1


@pytest.mark.parametrize(
    ("pending", "many"),
    [
        (False, 600),  # more than one batch, and applying them takes a second
        (True, 10_000),  # that they lie there takes none
    ],
    ids=["next", "with others pending"],
)
def test_an_event_costs_the_same_number_of_requests_however_many_files_there_are(
    pending: bool, many: int
) -> None:
    costs = []
    for files in (10, many):
        world = Published()
        world.metadata()
        data = parquet()
        for number in range(1, files + 1):
            world.store.put(at(number), data)
        if not pending:
            world.apply()
        event = world.publish(files + 1)
        world.filter_event(event)  # a process that has seen this table's log before
        costs.append(world.cost(event, Woken((ORDERS,))))
    assert costs[0] == costs[1] <= 6


def test_a_mirror_that_was_just_held_may_wake_in_vain_and_not_for_long(world: Published) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    assert world.filter_event(world.publish(2)) == Woken((ORDERS,))
    world.apply()
    documents = Documents(world.store)
    stored = documents.mirror("m")
    documents.save_mirror("m", replace(stored.value, hold=Hold(START, "ann")), stored.etag)
    event = world.publish(3)
    assert world.filter_event(event) == Woken((ORDERS,))
    world.clock.turn(timedelta(seconds=RECENT_SECONDS))
    assert isinstance(world.filter_event(event), Ignored)


def test_a_mirror_that_goes_on_wakes_at_once_and_problems_are_found_by_fresh_reads(
    world: Published,
) -> None:
    world.metadata()
    world.publish(1)
    world.apply()
    documents = Documents(world.store)
    stored = documents.mirror("m")
    held = documents.save_mirror("m", replace(stored.value, hold=Hold(START, "ann")), stored.etag)
    event = world.publish(2)
    assert isinstance(world.filter_event(event), Ignored)
    documents.save_mirror("m", stored.value, held.etag)
    assert world.filter_event(event) == Woken((ORDERS,))
    world.store.put(layout.mirror_settings("m"), b'{"openmirror": {"typeChange": "stop"}}')
    found = world.filter_event(world.publish(2, id=["text"]))
    assert isinstance(found, Found)
    assert found.problem.settings_etag == world.store.read(layout.mirror_settings("m")).etag


def test_every_silence_costs_only_until_the_sweep(world: Published) -> None:
    """What the event filter misses, for it reads only a few files, a full observation finds."""
    world.metadata()
    world.publish(1)
    world.apply()
    world.publish(3)
    lost = world.publish(2)  # its event never comes
    del lost
    assert sweep(world.ports, ["m"], QueueWaker(world.work, "sweep")).woken == [ORDERS]


def at(number: int) -> StorePath:
    return join(PLACE, file_name(number))


# --- Files found by their time, and partitions ----------------------------------------------------

BY_TIME = {"keyColumns": ["id"], "fileDetectionStrategy": "LastUpdateTimeFileDetection"}
PARTITIONS = {"keyColumns": ["id"], "isPartitionEnabled": True}
BOTH = {**BY_TIME, **PARTITIONS}
NORTH, SOUTH = "Year=2024/Region=North", "Year=2024/Region=South"


def _numbered(partition: str, number: int) -> str:
    return f"{partition}/{file_name(number)}"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (BY_TIME, "part-00000-0a1b.c000.snappy.parquet"),
        (BY_TIME, "orders [1] 100%.PARQUET"),
        (PARTITIONS, file_name(1)),
        (PARTITIONS, _numbered(NORTH, 1)),
        (PARTITIONS, _numbered("at=12%3A00 =x", 1)),
        (BOTH, f"{NORTH}/x y.parquet"),
        ({**BOTH, "FileFormat": "CSV"}, f"{NORTH}/x.csv"),
    ],
)
def test_a_file_of_any_name_and_place_that_its_table_reads_wakes_until_it_is_applied(
    world: Published, options: object, name: str
) -> None:
    world.metadata(options)
    data = b"id\r\n1\r\n" if name.endswith("csv") else parquet()
    event = world.write(name, data)
    assert handle_event(world.ports, world.work, event) == Woken((ORDERS,))
    assert [work_item.folder for work_item in world.wake_ups()] == [ORDERS]
    world.clock.turn(timedelta(minutes=1))
    world.apply()
    assert isinstance(world.filter_event(event), Ignored)
    assert not sweep(world.ports, ["m"], QueueWaker(world.work, "sweep")).woken
    again = world.write(name, data + data)
    assert world.filter_event(again) == Woken((ORDERS,)), "its content changed after it was applied"


@pytest.mark.parametrize("options", [{"keyColumns": ["id"]}, BY_TIME, PARTITIONS])
def test_text_wakes_a_new_table_that_declares_no_format(world: World, options: object) -> None:
    world.metadata(options)
    event = world.write(f"{1:020d}.csv", b"id\n1\n")
    assert world.filter_event(event) == Woken((ORDERS,))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (BY_TIME, "notes.txt"),
        (BY_TIME, f"{NORTH}/x.parquet"),
        (PARTITIONS, "part-1.parquet"),
        (PARTITIONS, f"{NORTH}/part-1.parquet"),
        ({**PARTITIONS, "FileFormat": "Parquet"}, f"{NORTH}/{1:020d}.csv"),
        ({**BOTH, "FileFormat": "Parquet"}, f"{NORTH}/x.csv"),
        ({**BOTH, "FileFormat": "CSV"}, f"{NORTH}/x.parquet"),
    ],
)
def test_what_is_no_change_file_there_is_ignored_in_such_tables_as_well(
    world: Published, options: object, name: str
) -> None:
    world.metadata(options)
    answer = world.filter_event(world.write(name, b"abc"))
    assert isinstance(answer, Ignored)
    assert answer.reason


@pytest.mark.parametrize(
    "name",
    [
        f"_ProcessedFiles/{NORTH}/{file_name(1)}",
        f"_tmp=1/{file_name(1)}",
        f"{NORTH}/_{file_name(1)}",
        f"North/{file_name(1)}",
        f"Year=2024/North/{file_name(1)}",
    ],
)
def test_what_can_lie_in_no_partition_is_ignored_without_a_request(
    world: Published, name: str
) -> None:
    world.metadata(PARTITIONS)
    event = world.write(name, parquet())
    world.watched.calls.clear()
    assert isinstance(world.filter_event(event), Ignored)
    assert not world.watched.calls


def test_a_file_behind_a_gap_of_its_own_partition_does_not_wake_its_table_and_others_do(
    world: Published,
) -> None:
    world.metadata(PARTITIONS)
    world.write(_numbered(NORTH, 1), parquet())
    world.apply()
    for number in (3, 5):
        late = world.filter_event(world.write(_numbered(NORTH, number), parquet()))
        assert isinstance(late, Ignored)
        assert f"{number - 1:020d} is missing" in late.reason
    assert world.filter_event(world.write(_numbered(NORTH, 4), parquet())) == Woken((ORDERS,))
    assert world.filter_event(world.write(_numbered(SOUTH, 1), parquet())) == Woken((ORDERS,))
    assert world.filter_event(world.write(_numbered(NORTH, 2), parquet())) == Woken((ORDERS,))
    world.apply()
    assert world.filter_event(world.write(_numbered(NORTH, 6), parquet())) == Woken((ORDERS,))


def test_a_file_behind_one_that_lies_there_wakes_whatever_its_extension(world: Published) -> None:
    text = {"FileFormat": "DelimitedText", "FileExtension": "csv.gz"}
    world.metadata(PARTITIONS | text)
    for number in (1, 2, 3):
        event = world.write(f"{NORTH}/{number:020d}.csv.gz", b"id\n1\n")
        assert world.filter_event(event) == Woken((ORDERS,))
        if number == 1:
            world.clock.turn(timedelta(minutes=1))
            world.apply()


def test_numbers_of_a_partition_go_on_behind_its_archive_and_behind_what_is_given_up(
    world: Published,
) -> None:
    world.metadata(PARTITIONS)
    for number in (1, 2, 3):
        world.write(_numbered(NORTH, number), parquet())
    world.apply()
    clean_table(world.ports, ORDERS)
    world.delete(_numbered(NORTH, 3))  # a publisher that cleans up behind itself
    clean_table(world.ports, ORDERS)
    assert world.filter_event(world.write(_numbered(NORTH, 4), parquet())) == Woken((ORDERS,))
    lost = Skip(
        first=Sequence(1), last=Sequence(6), by="ann", at=START, why="lost", partition=SOUTH
    )

    def passed(control: ControlDocument) -> ControlDocument:
        assert control.record is not None
        return replace(control, record=replace(control.record, skips=(lost,)))

    world.change(ORDERS, passed)
    assert world.filter_event(world.write(_numbered(SOUTH, 7), parquet())) == Woken((ORDERS,))
    assert isinstance(world.filter_event(world.write(_numbered(SOUTH, 9), parquet())), Ignored)


@pytest.mark.parametrize("options", [BY_TIME, PARTITIONS, BOTH])
def test_such_a_table_that_is_paused_or_held_stays_silent_until_that_changes(
    world: Published, options: dict[str, Any]
) -> None:
    numbered = "fileDetectionStrategy" not in options
    inside = f"{NORTH}/" if "isPartitionEnabled" in options else ""
    first, second = (inside + (file_name(n) if numbered else f"{n}.parquet") for n in (1, 2))
    world.metadata(options)
    world.write(first, b"junk" * 9)
    world.apply()
    problem = world.control(ORDERS).problem
    assert problem is not None
    assert problem.file == first
    good = world.write(second, parquet())
    assert isinstance(world.filter_event(good), Ignored)
    assert world.filter_event(world.write(first, parquet())) == Woken((ORDERS,))
    world.change(
        ORDERS, lambda control: replace(control, hold=Hold(START, "ann", "audit"), problem=None)
    )
    held = world.filter_event(good)
    assert isinstance(held, Ignored)
    assert "held by ann" in held.reason


def test_a_partition_that_moves_in_as_a_folder_wakes_and_a_new_one_does_not(
    world: Published,
) -> None:
    world.metadata(PARTITIONS)
    world.store.make_folder(join(PLACE, "Year=2024"))
    empty = world.event(EventKind.FOLDER_CREATED, join(PLACE, "Year=2024"))
    assert isinstance(world.filter_event(empty), Ignored)
    staged = join(layout.landing_zone("m"), "_staging", "2025")
    world.store.put(join(staged, file_name(1)), parquet())
    there = join(PLACE, "Year=2025")
    world.store.move_folder(staged, there)
    moved = world.event(EventKind.FOLDER_RENAMED, there, source=staged)
    assert world.filter_event(moved) == Woken((ORDERS,))


@pytest.mark.parametrize("options", [BY_TIME, PARTITIONS, BOTH])
@pytest.mark.parametrize("pending", [False, True], ids=["next", "with others pending"])
def test_an_event_costs_the_same_in_such_tables_at_10_and_at_600_files(
    options: dict[str, Any], pending: bool
) -> None:
    inside = "isPartitionEnabled" in options
    costs = []
    for files in (10, 600):
        world = Published()
        world.metadata(options)
        data = parquet()

        def name(number: int) -> str:
            of, own = (number % 5, number // 5) if inside else (0, number)
            return (f"Day={of}/" if inside else "") + file_name(own + 1)

        for number in range(files):
            world.store.put(join(PLACE, name(number)), data)
        if not pending:
            world.apply()
        event = world.write(name(files), data)
        world.filter_event(event)  # a process that has seen this table's log before
        costs.append(world.cost(event, Woken((ORDERS,))))
    assert costs[0] == costs[1] <= 6
