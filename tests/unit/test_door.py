"""An event rings for its table when a visit would move it, and costs little whatever it says."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from openmirror import layout
from openmirror.adapters.changefiles import ChangeFileInspector
from openmirror.adapters.deltalog import LogReplay
from openmirror.adapters.memory import MemoryStore
from openmirror.adapters.memory_work import MemoryWorkQueue
from openmirror.control import ControlDocument, Hold, Request, RequestKind, Skip
from openmirror.errors import ConditionFailed, NotThere, Problem, Unavailable
from openmirror.events import EventKind, LandingEvent
from openmirror.layout import StorePath, join
from openmirror.ports import Content, Ring, Step
from openmirror.protocol.names import ETag, TableFolder
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Sequence
from openmirror.services.cleaning import clean_table
from openmirror.services.documents import Documents
from openmirror.services.door import Answer, Found, Ignored, Rung, admit, judge
from openmirror.services.parts import Parts
from openmirror.services.reporting import statuses
from openmirror.services.sweeping import sweep
from openmirror.services.visiting import settle
from tests.unit.paper import PaperEngine, table

ORDERS = table("m", "Sales.schema/Orders")
PLACE = layout.table_folder(ORDERS)
START = datetime(2026, 1, 1, tzinfo=UTC)


class CountingStore(MemoryStore):
    """Counts requests, and may refuse one."""

    requests = 0

    def list_folder(self, folder: StorePath) -> Any:
        self.requests += 1
        return super().list_folder(folder)

    def incarnation(self, folder: StorePath) -> Any:
        self.requests += 1
        return super().incarnation(folder)

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        self.requests += 1
        return super().read(path, offset, length)

    def write(self, path: StorePath, data: bytes, only_if: Any = None) -> ETag:
        self.requests += 1
        return super().write(path, data, only_if)


class World:
    """One mirror in memory, with an engine that keeps the books."""

    def __init__(self) -> None:
        self.now = START
        self.store = CountingStore(lambda: self.now)
        self.parts = Parts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=LogReplay(self.store),
            clock=lambda: self.now,
        )
        self.work = MemoryWorkQueue(lambda: self.now)
        self.engine = PaperEngine(self.store)
        self.store.make_folder(layout.landing_zone("m"))
        self.told = 0

    def metadata(self, content: object = None, folder: TableFolder = ORDERS) -> LandingEvent:
        text = json.dumps({"keyColumns": ["id"]} if content is None else content)
        return self.write("_metadata.json", text.encode(), folder)

    def land(self, number: int, folder: TableFolder = ORDERS, **columns: object) -> LandingEvent:
        return self.write(file_name(number), parquet(**columns), folder)

    def write(self, name: str, data: bytes, folder: TableFolder = ORDERS) -> LandingEvent:
        path = join(layout.table_folder(folder), name)
        etag = self.store.put(path, data)
        return self.event(EventKind.FILE_WRITTEN, path, size=len(data), etag=etag)

    def event(self, kind: EventKind, path: StorePath, **more: Any) -> LandingEvent:
        self.told += 1
        return LandingEvent(identity=f"e-{self.told}", kind=kind, path=path, **more)

    def delete(self, name: str) -> LandingEvent:
        path = join(PLACE, name)
        self.store.delete_file(path)
        return self.event(EventKind.FILE_DELETED, path)

    def apply(self) -> None:
        settle(self.parts, self.engine, ORDERS)

    def judge(self, event: LandingEvent) -> Answer:
        return judge(self.parts, event)

    def control(self) -> ControlDocument:
        return Documents(self.store).table(ORDERS).value

    def control_is_untouched(self) -> bool:
        path = layout.control_document(ORDERS)
        return b'"problem"' not in MemoryStore.read(self.store, path).data

    def change(self, how: Callable[[ControlDocument], ControlDocument]) -> None:
        documents = Documents(self.store)
        stored = documents.table(ORDERS)
        documents.save_table(ORDERS, how(stored.value), stored.etag)

    def rings(self) -> list[Ring]:
        return [taken.ring for taken in self.work.take(100) if taken.ring]


def file_name(number: int) -> str:
    return f"{number:020d}.parquet"


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns or {"id": [1, 2]}), buffer)
    return buffer.getvalue()


@pytest.fixture
def world() -> World:
    return World()


def test_the_next_file_rings_with_its_name_and_the_events_identity(world: World) -> None:
    world.metadata()
    event = world.land(1)
    assert admit(world.parts, world.work, event) == Rung((ORDERS,))
    assert world.rings() == [Ring(ORDERS, file_name(1), event.identity)]


def test_a_file_whose_neighbour_lies_there_rings(world: World) -> None:
    world.metadata()
    world.land(1)
    assert world.judge(world.land(2)) == Rung((ORDERS,))


def test_a_file_behind_a_gap_does_not_ring_and_filling_the_gap_does(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    late = world.judge(world.land(3))
    assert isinstance(late, Ignored)
    assert f"{2:020d} is missing" in late.reason
    assert world.judge(world.land(2)) == Rung((ORDERS,))


def test_every_further_file_behind_a_gap_stays_silent(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    for number in (3, 4, 5, 6):
        assert isinstance(world.judge(world.land(number)), Ignored)


def test_a_gap_in_front_of_the_file_is_told_while_earlier_ones_are_pending(world: World) -> None:
    world.metadata()
    world.land(1)
    answer = world.judge(world.land(3))
    assert isinstance(answer, Ignored)
    assert f"{2:020d}" in answer.reason


def test_a_repeated_event_of_an_applied_file_is_ignored(world: World) -> None:
    world.metadata()
    first, second = world.land(1), world.land(2)
    world.apply()
    assert world.control().applied is not None
    for event in (second, first, second):
        assert isinstance(world.judge(event), Ignored)


def test_a_file_that_was_overwritten_after_it_was_applied_rings(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    again = world.land(1, id=[9])
    assert world.judge(again) == Rung((ORDERS,))
    world.apply()
    assert world.control().problem is not None
    assert isinstance(world.judge(again), Ignored)


def test_events_of_archived_files_are_ignored(world: World) -> None:
    world.metadata()
    events = [world.land(number) for number in (1, 2, 3)]
    world.apply()
    assert clean_table(world.parts, ORDERS)
    for event in events:
        assert isinstance(world.judge(event), Ignored)
    moved = join(PLACE, "_ProcessedFiles", file_name(1))
    world.store.read(moved)
    ours = world.event(EventKind.FILE_RENAMED, moved, source=join(PLACE, file_name(1)))
    assert isinstance(world.judge(ours), Ignored)
    assert world.judge(world.land(4)) == Rung((ORDERS,))


def test_a_number_that_came_again_below_the_archive_is_ignored(world: World) -> None:
    world.metadata()
    for number in (1, 2, 3):
        world.land(number)
    world.apply()
    clean_table(world.parts, ORDERS)
    assert isinstance(world.judge(world.land(1, id=[7])), Ignored)


def test_a_skipped_gap_is_no_gap(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    skip = Skip(first=Sequence(2), last=Sequence(5), by="ann", at=START, why="lost")

    def passed(control: ControlDocument) -> ControlDocument:
        assert control.life is not None
        return replace(control, life=replace(control.life, skips=(skip,)))

    world.change(passed)
    assert world.judge(world.land(6)) == Rung((ORDERS,))
    inside = world.judge(world.land(4))
    assert inside == Rung((ORDERS,))


def test_a_file_that_was_opened_and_is_still_empty_is_no_error(world: World) -> None:
    world.metadata()
    event = world.write(file_name(1), b"")
    opened = world.judge(replace(event, api="CreateFile"))
    assert isinstance(opened, Ignored)
    assert "empty" in opened.reason
    for api in ("FlushWithClose", "PutBlob"):  # and a file that is closed may be written again
        closed = world.judge(replace(event, api=api))
        assert isinstance(closed, Ignored)
    assert world.control().problem is None
    assert world.judge(world.land(1)) == Rung((ORDERS,))


def test_files_behind_one_that_is_still_being_written_stay_silent(world: World) -> None:
    world.metadata()
    world.write(file_name(1), parquet()[:20])
    answer = world.judge(world.land(2))
    assert isinstance(answer, Ignored)
    assert "waits" in answer.reason


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("no parquet", b"id,name\n1,a\n", Code.FILE_UNREADABLE),
        ("no key", parquet(other=[1]), Code.KEY_COLUMN_MISSING),
        ("marker type", parquet(id=[1], __rowMarker__=[0.5]), Code.ROW_MARKER_INVALID),
        ("columns", parquet(id=[1], ID=[2]), Code.COLUMNS_DUPLICATE),
        ("schema", parquet(id=pa.array([1], pa.decimal256(39))), Code.COLUMN_TYPE_UNSUPPORTED),
        ("merge", parquet(id=["text"]), Code.SCHEMA_MERGE_FAILURE),
    ],
)
def test_a_bad_file_that_comes_next_pauses_its_table_within_the_event(
    world: World, name: str, data: bytes, code: Code
) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    event = world.write(file_name(2), data)
    answer = admit(world.parts, world.work, event)
    assert isinstance(answer, Found)
    assert (answer.problem.code, answer.problem.file) == (code, file_name(2))
    assert answer.problem.etag == event.etag
    kept = world.control().problem
    assert kept is not None
    assert kept.same_as(answer.problem)
    assert kept.since is not None
    assert not world.rings()
    (shown,) = statuses(world.parts, ["m"])
    assert shown.status == "Failed"
    # The sweep agrees: nobody needs to look at what is known.
    assert not sweep(world.parts, ["m"], _Bell(world)).rung


def test_a_file_with_a_wrong_row_marker_rings_for_whoever_reads_its_rows(world: World) -> None:
    world.metadata()
    assert world.judge(world.write(file_name(1), parquet(id=[1], __rowMarker__=[7]))) == Rung(
        (ORDERS,)
    )
    assert world.control().problem is None


def test_a_bad_file_behind_pending_ones_rings_so_that_those_are_applied(world: World) -> None:
    world.metadata()
    world.land(1)
    assert world.judge(world.write(file_name(2), b"junk")) == Rung((ORDERS,))
    assert world.control().problem is None


def test_a_paused_table_stays_silent_however_many_files_come(world: World) -> None:
    world.metadata()
    world.write(file_name(1), b"junk" * 9)
    assert isinstance(world.judge(world.event(EventKind.FILE_WRITTEN, at(1))), Found)
    for number in range(2, 9):
        assert isinstance(world.judge(world.land(number)), Ignored)


@pytest.mark.parametrize("number", [1, 5])
def test_replacing_the_bad_file_rings(world: World, number: int) -> None:
    world.metadata()
    for good in range(1, number):
        world.land(good)
    world.apply()
    world.judge(world.write(file_name(number), b"junk" * 9))
    assert world.control().problem is not None
    assert world.judge(world.land(number)) == Rung((ORDERS,))


def test_a_problem_that_only_the_rows_show_stays_silent_until_something_changes(
    world: World,
) -> None:
    world.metadata()
    event = world.land(1)
    look = world.store.read(join(PLACE, "_metadata.json"))
    incarnation = world.store.incarnation(PLACE)
    problem = Problem(
        code=Code.APPLY_FAILED,
        detail="out of space",
        file=file_name(1),
        etag=event.etag,
        incarnation=incarnation,
        metadata_etag=look.etag,
    )
    world.change(lambda control: replace(control, problem=problem))
    assert isinstance(world.judge(event), Ignored)
    assert isinstance(world.judge(world.land(2)), Ignored)
    assert world.judge(world.metadata({"keyColumns": ["id"], "x": 1})) == Rung((ORDERS,))


def test_changed_settings_of_the_mirror_let_a_paused_table_go_on(world: World) -> None:
    world.metadata()
    settings = layout.mirror_settings("m")
    world.store.put(settings, b"{")
    answer = world.judge(world.land(1))
    assert isinstance(answer, Found)
    assert answer.problem.code is Code.MIRROR_SETTINGS_INVALID
    assert isinstance(world.judge(world.land(2)), Ignored)
    world.store.put(settings, b"{}")
    assert world.judge(world.land(3)) == Rung((ORDERS,))


def test_a_held_table_is_not_rung_for(world: World) -> None:
    world.metadata()
    event = world.land(1)
    world.change(lambda control: replace(control, hold=Hold(START, "ann", "audit")))
    answer = world.judge(event)
    assert isinstance(answer, Ignored)
    assert "held by ann" in answer.reason


def test_metadata_that_comes_after_the_first_file_rings(world: World) -> None:
    waiting = world.judge(world.land(1))
    assert isinstance(waiting, Ignored)
    assert "_metadata.json" in waiting.reason
    assert world.judge(world.metadata()) == Rung((ORDERS,))


def test_metadata_of_a_folder_without_files_does_not_ring(world: World) -> None:
    assert isinstance(world.judge(world.metadata()), Ignored)


def test_bad_metadata_pauses_the_table_and_good_metadata_rings_for_it(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    answer = world.judge(world.metadata({"keyColumns": ["other"]}))
    assert isinstance(answer, Found)
    assert answer.problem.code is Code.KEY_COLUMNS_CHANGED
    assert isinstance(world.judge(world.land(2)), Ignored)
    assert world.judge(world.metadata()) == Rung((ORDERS,))


def test_an_event_of_a_file_that_has_gone_is_ignored(world: World) -> None:
    world.metadata()
    event = world.land(1)
    world.delete(file_name(1))
    assert isinstance(world.judge(event), Ignored)


def test_a_deleted_file_rings_for_nothing(world: World) -> None:
    world.metadata()
    world.land(1)
    assert isinstance(world.judge(world.delete(file_name(1))), Ignored)


def test_a_renamed_file_counts_by_its_new_name(world: World) -> None:
    world.metadata()
    world.land(1)
    renamed = world.event(EventKind.FILE_RENAMED, at(1), source=join(PLACE, "_tmp.parquet"))
    assert world.judge(renamed) == Rung((ORDERS,))
    away = world.event(EventKind.FILE_RENAMED, join(PLACE, "_tmp.parquet"), source=at(1))
    assert isinstance(world.judge(away), Ignored)


def test_a_deleted_table_folder_rings_so_that_its_grace_begins(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    world.store.delete_folder(PLACE)
    gone = world.event(EventKind.FOLDER_DELETED, PLACE, recursive=True)
    assert world.judge(gone) == Rung((ORDERS,))
    world.apply()
    assert world.control().missing_since is not None
    assert isinstance(world.judge(gone), Ignored)


def test_a_table_folder_that_moves_in_rings_for_both_places(world: World) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    there = table("m", "Sales.schema/Sold")
    world.store.move_folder(PLACE, layout.table_folder(there))
    moved = world.event(
        EventKind.FOLDER_RENAMED, layout.table_folder(there), source=PLACE, api="RenameDirectory"
    )
    assert world.judge(moved) == Rung((there, ORDERS))


def test_a_table_folder_that_was_staged_elsewhere_rings_when_it_moves_in(world: World) -> None:
    staged = join(layout.landing_zone("m"), "_staging", "Orders")
    world.store.put(join(staged, file_name(1)), parquet())
    world.store.put(join(staged, "_metadata.json"), b'{"keyColumns": ["id"]}')
    world.store.move_folder(staged, PLACE)
    moved = world.event(EventKind.FOLDER_RENAMED, PLACE, source=staged)
    assert world.judge(moved) == Rung((ORDERS,))


def test_a_new_empty_table_folder_does_not_ring(world: World) -> None:
    world.store.make_folder(PLACE)
    assert isinstance(world.judge(world.event(EventKind.FOLDER_CREATED, PLACE)), Ignored)


def test_a_folder_named_as_a_change_file_rings_so_that_a_look_names_it(world: World) -> None:
    world.store.make_folder(at(1))
    assert world.judge(world.event(EventKind.FOLDER_CREATED, at(1))) == Rung((ORDERS,))


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
def test_what_concerns_no_table_is_ignored_without_a_request(world: World, path: str) -> None:
    world.metadata()
    world.land(1)
    world.store.requests = 0
    answer = world.judge(world.event(EventKind.FILE_WRITTEN, StorePath(path), size=3))
    assert isinstance(answer, Ignored)
    assert answer.reason
    assert world.store.requests == 0


@pytest.mark.parametrize("name", ["notes.txt", "1.parquet", "Year=2024/1.parquet"])
def test_a_name_that_means_nothing_in_its_table_is_ignored(world: World, name: str) -> None:
    world.metadata()
    world.land(1)
    path = StorePath(f"{PLACE}/{name}")
    world.store.put(path, b"abc")
    answer = world.judge(world.event(EventKind.FILE_WRITTEN, path, size=3))
    assert isinstance(answer, Ignored)
    assert "change file" in answer.reason


def test_a_control_document_that_cannot_be_read_rings_for_nobody(world: World) -> None:
    world.metadata()
    event = world.land(1)
    world.store.put(layout.control_document(ORDERS), b"{")
    assert isinstance(world.judge(event), Ignored)


def test_a_problem_that_lost_the_race_for_the_document_rings_instead(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.metadata()
    event = world.write(file_name(1), b"junk" * 9)
    write = CountingStore.write

    def lost(self: CountingStore, path: StorePath, data: bytes, only_if: Any = None) -> ETag:
        if path == layout.control_document(ORDERS):
            raise ConditionFailed("somebody else wrote it")
        return write(self, path, data, only_if)

    monkeypatch.setattr(CountingStore, "write", lost)
    assert world.judge(event) == Rung((ORDERS,))


def test_an_open_request_is_never_judged_by_a_few_files(world: World) -> None:
    world.metadata()
    for number in (1, 2, 3):
        world.land(number)
    world.apply()
    clean_table(world.parts, ORDERS)
    asked = Request(RequestKind.RESEED, START, "ann")
    world.change(lambda control: replace(control, request=asked))
    assert world.judge(world.land(4)) == Rung((ORDERS,))
    assert world.control().problem is None


@pytest.mark.parametrize("announced", [2, 3, 4])
def test_files_of_a_batch_that_was_decided_and_not_committed_ring(
    world: World, announced: int
) -> None:
    class Stalled(PaperEngine):
        def commit(self, *args: Any, **more: Any) -> Any:
            raise KeyboardInterrupt

    world.metadata()
    world.land(1)
    world.apply()
    events = {number: world.land(number) for number in (2, 3)}
    with pytest.raises(KeyboardInterrupt):
        settle(world.parts, Stalled(world.store), ORDERS)
    decided = world.control().decided
    assert decided is not None
    assert [digest.sequence for digest in decided.files] == [2, 3]
    events[4] = world.land(4)
    assert world.judge(events[announced]) == Rung((ORDERS,))


@pytest.mark.parametrize("error", [Unavailable("503"), ConditionFailed("412"), NotThere("404")])
@pytest.mark.parametrize("at_request", range(1, 13))
def test_a_store_that_fails_while_an_event_is_judged_makes_it_ring(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, at_request: int
) -> None:
    world.metadata()
    world.land(1)
    world.apply()
    event = world.land(2)
    read = CountingStore.read

    def failing(
        self: CountingStore, path: StorePath, offset: int = 0, length: int | None = None
    ) -> Content:
        if self.requests >= at_request:
            self.requests += 1
            raise error
        return read(self, path, offset, length)

    world.store.requests = 0
    monkeypatch.setattr(CountingStore, "read", failing)
    answer = world.judge(event)
    # What is not there may also mean: no control document, no settings, no file any more.
    assert isinstance(answer, (Rung, Ignored) if isinstance(error, NotThere) else Rung)
    assert world.control_is_untouched()


def test_killed_between_judging_and_ringing_the_event_comes_again_and_rings(world: World) -> None:
    class Killed(BaseException):
        pass

    def kill(step: Step) -> None:
        if step is Step.JUDGED:
            raise Killed

    world.metadata()
    event = world.land(1)
    with pytest.raises(Killed):
        admit(replace(world.parts, steps=kill), world.work, event)
    assert not world.rings()
    admit(world.parts, world.work, event)
    assert len(world.rings()) == 1


def test_a_queue_that_rejects_is_an_error_of_the_event_and_nothing_was_said(world: World) -> None:
    class Full(MemoryWorkQueue):
        def send(self, ring: Ring, delay: timedelta = timedelta()) -> None:
            raise OSError("the queue rejects")

    world.metadata()
    event = world.land(1)
    with pytest.raises(OSError, match="rejects"):
        admit(world.parts, Full(lambda: START), event)
    admit(world.parts, world.work, event)
    assert len(world.rings()) == 1


@pytest.mark.parametrize(
    ("pending", "many"),
    [
        (False, 2_000),
        (True, 10_000),
    ],  # applying ten thousand takes seconds; that they lie there, none
    ids=["next", "with others pending"],
)
def test_an_event_costs_the_same_number_of_requests_at_10_and_at_thousands_of_files(
    pending: bool, many: int
) -> None:
    costs = []
    for files in (10, many):
        world = World()
        world.metadata()
        data = parquet()
        for number in range(1, files + 1):
            world.store.put(at(number), data)
        if not pending:
            world.apply()
        event = world.land(files + 1)
        world.judge(event)  # a process that has seen this table's log before
        world.store.requests = 0
        assert world.judge(event) == Rung((ORDERS,))
        costs.append(world.store.requests)
    assert costs[0] == costs[1] <= 16


def test_every_silence_costs_only_until_the_sweep(world: World) -> None:
    """What the door does not see, for it reads only a few files, a sweep with a full look does."""
    world.metadata()
    world.land(1)
    world.apply()
    world.land(3)
    lost = world.land(2)  # its event never comes
    del lost
    assert sweep(world.parts, ["m"], _Bell(world)).rung == [ORDERS]


class _Bell:
    def __init__(self, world: World) -> None:
        self._world = world

    def ring(self, folder: TableFolder) -> None:
        self._world.work.send(Ring(folder, "sweep"))


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
def test_a_file_of_any_name_and_place_that_its_table_reads_rings_until_it_is_applied(
    world: World, options: object, name: str
) -> None:
    world.metadata(options)
    data = b"id\r\n1\r\n" if name.endswith("csv") else parquet()
    event = world.write(name, data)
    assert admit(world.parts, world.work, event) == Rung((ORDERS,))
    assert [ring.folder for ring in world.rings()] == [ORDERS]
    world.now += timedelta(minutes=1)
    world.apply()
    assert isinstance(world.judge(event), Ignored)
    assert not sweep(world.parts, ["m"], _Bell(world)).rung
    again = world.write(name, data + data)
    assert world.judge(again) == Rung((ORDERS,)), "its content changed after it was applied"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (BY_TIME, "notes.txt"),
        (BY_TIME, f"{NORTH}/x.parquet"),
        (PARTITIONS, "part-1.parquet"),
        (PARTITIONS, f"{NORTH}/part-1.parquet"),
        (PARTITIONS, f"{NORTH}/{1:020d}.csv"),
        (BOTH, f"{NORTH}/x.csv"),
        ({**BOTH, "FileFormat": "CSV"}, f"{NORTH}/x.parquet"),
    ],
)
def test_what_is_no_change_file_there_is_ignored_in_such_tables_as_well(
    world: World, options: object, name: str
) -> None:
    world.metadata(options)
    answer = world.judge(world.write(name, b"abc"))
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
def test_what_can_lie_in_no_partition_is_ignored_without_a_request(world: World, name: str) -> None:
    world.metadata(PARTITIONS)
    event = world.write(name, parquet())
    world.store.requests = 0
    assert isinstance(world.judge(event), Ignored)
    assert world.store.requests == 0


def test_a_file_behind_a_gap_of_its_own_partition_does_not_ring_and_others_do(
    world: World,
) -> None:
    world.metadata(PARTITIONS)
    world.write(_numbered(NORTH, 1), parquet())
    world.apply()
    for number in (3, 5):
        late = world.judge(world.write(_numbered(NORTH, number), parquet()))
        assert isinstance(late, Ignored)
        assert f"{number - 1:020d} is missing" in late.reason
    assert world.judge(world.write(_numbered(NORTH, 4), parquet())) == Rung((ORDERS,))
    assert world.judge(world.write(_numbered(SOUTH, 1), parquet())) == Rung((ORDERS,))
    assert world.judge(world.write(_numbered(NORTH, 2), parquet())) == Rung((ORDERS,))
    world.apply()
    assert world.judge(world.write(_numbered(NORTH, 6), parquet())) == Rung((ORDERS,))


def test_a_file_behind_one_that_lies_there_rings_whatever_its_extension(world: World) -> None:
    text = {"FileFormat": "DelimitedText", "FileExtension": "csv.gz"}
    world.metadata(PARTITIONS | text)
    for number in (1, 2, 3):
        event = world.write(f"{NORTH}/{number:020d}.csv.gz", b"id\n1\n")
        assert world.judge(event) == Rung((ORDERS,))
        if number == 1:
            world.now += timedelta(minutes=1)
            world.apply()


def test_numbers_of_a_partition_go_on_behind_its_archive_and_behind_what_is_given_up(
    world: World,
) -> None:
    world.metadata(PARTITIONS)
    for number in (1, 2, 3):
        world.write(_numbered(NORTH, number), parquet())
    world.apply()
    clean_table(world.parts, ORDERS)
    world.delete(_numbered(NORTH, 3))  # a publisher that cleans up behind itself
    clean_table(world.parts, ORDERS)
    assert world.judge(world.write(_numbered(NORTH, 4), parquet())) == Rung((ORDERS,))
    lost = Skip(
        first=Sequence(1), last=Sequence(6), by="ann", at=START, why="lost", partition=SOUTH
    )

    def passed(control: ControlDocument) -> ControlDocument:
        assert control.life is not None
        return replace(control, life=replace(control.life, skips=(lost,)))

    world.change(passed)
    assert world.judge(world.write(_numbered(SOUTH, 7), parquet())) == Rung((ORDERS,))
    assert isinstance(world.judge(world.write(_numbered(SOUTH, 9), parquet())), Ignored)


@pytest.mark.parametrize("options", [BY_TIME, PARTITIONS, BOTH])
def test_such_a_table_that_is_paused_or_held_stays_silent_until_that_changes(
    world: World, options: dict[str, Any]
) -> None:
    numbered = "fileDetectionStrategy" not in options
    inside = f"{NORTH}/" if "isPartitionEnabled" in options else ""
    first, second = (inside + (file_name(n) if numbered else f"{n}.parquet") for n in (1, 2))
    world.metadata(options)
    world.write(first, b"junk" * 9)
    world.apply()
    problem = world.control().problem
    assert problem is not None
    assert problem.file == first
    good = world.write(second, parquet())
    assert isinstance(world.judge(good), Ignored)
    assert world.judge(world.write(first, parquet())) == Rung((ORDERS,))
    world.change(lambda control: replace(control, hold=Hold(START, "ann", "audit"), problem=None))
    held = world.judge(good)
    assert isinstance(held, Ignored)
    assert "held by ann" in held.reason


def test_a_partition_that_moves_in_as_a_folder_rings_and_a_new_one_does_not(world: World) -> None:
    world.metadata(PARTITIONS)
    world.store.make_folder(join(PLACE, "Year=2024"))
    empty = world.event(EventKind.FOLDER_CREATED, join(PLACE, "Year=2024"))
    assert isinstance(world.judge(empty), Ignored)
    staged = join(layout.landing_zone("m"), "_staging", "2025")
    world.store.put(join(staged, file_name(1)), parquet())
    there = join(PLACE, "Year=2025")
    world.store.move_folder(staged, there)
    moved = world.event(EventKind.FOLDER_RENAMED, there, source=staged)
    assert world.judge(moved) == Rung((ORDERS,))


@pytest.mark.parametrize("options", [BY_TIME, PARTITIONS, BOTH])
@pytest.mark.parametrize("pending", [False, True], ids=["next", "with others pending"])
def test_an_event_costs_the_same_in_such_tables_at_10_and_at_2_000_files(
    options: dict[str, Any], pending: bool
) -> None:
    inside = "isPartitionEnabled" in options
    costs = []
    for files in (10, 2_000):
        world = World()
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
        world.judge(event)  # a process that has seen this table's log before
        world.store.requests = 0
        assert world.judge(event) == Rung((ORDERS,))
        costs.append(world.store.requests)
    assert costs[0] == costs[1] <= 16
