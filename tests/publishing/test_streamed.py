"""A change file that is streamed lands once, whole, and its body is sent once."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.errors import (
    AccessDenied,
    ConditionFailed,
    FolderReplaced,
    NotThere,
    OpenmirrorError,
    Unavailable,
)
from openmirror.ports import FileStore, Step
from openmirror.protocol.names import ETag
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.publishing import landing, streamed
from openmirror.publishing.footer import PublishedFooter
from openmirror.publishing.landing import Compose, ComposedFile, LandedAs, Lander
from openmirror.publishing.newest import ZoneState
from openmirror.publishing.patience import Patience, PatientStore
from openmirror.publishing.read_footers import read_footer
from openmirror.publishing.streamed import StreamedParquet
from openmirror.stores.local.store import LocalStore
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore
from tests.publishing.dying import DyingStore
from tests.publishing.test_side_by_side import Mirror, sends
from tests.publishing.test_waiting import Clock, away
from tests.publishing.turns import Turns
from tests.publishing.witnesses import Once, Scene, change_file_path, raising
from tests.publishing.zones import ORDERS, archive_applied, landed, memory, numbers, publisher

COLUMNS = TableSchema((Column("id", ColumnType("long")),))
SCHEMA = pa.schema([("id", pa.int64())])
KEYS = [100, 101, 102, 103]


@pytest.fixture(autouse=True)
def _many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is a row group, each row group several parts."""
    monkeypatch.setattr(streamed, "_GROUP", 1)
    monkeypatch.setattr(streamed, "_PART", 40)


def body_of(keys: list[int]) -> StreamedParquet:
    return StreamedParquet(SCHEMA, lambda: iter([pa.table({"id": keys}, SCHEMA)]))


def composing(body: StreamedParquet, load: str) -> Compose:
    """Composes the file of a load, unless that has landed."""

    def compose(state: ZoneState) -> ComposedFile | None:
        carried = state.carried or PublishedFooter(file="", previous=None)
        if load in carried.streams:
            return None
        footer = PublishedFooter(
            file=uuid4().hex,
            previous=state.predecessor,
            sources=carried.sources,
            streams={**carried.streams, load: {}},
            columns=COLUMNS,
            rows=carried.rows + body.rows,
        )
        return ComposedFile(footer, body)

    return compose


class StreamScene(Scene):
    """A table with one file of somebody else, and a lander of ours with a body."""

    def __init__(self) -> None:
        super().__init__()
        self.body = body_of(KEYS)
        incarnation = self.store.incarnation(ORDERS)
        self.lander = Lander(self.watched, ORDERS, incarnation)
        self.watched.calls.clear()

    def load(self) -> LandedAs | None:
        return self.lander.land(composing(self.body, "load"))

    def sent(self) -> int:
        """How often a body was begun."""
        return len(self.watched.asked("stream"))


def test_a_streamed_file_lands_with_the_rows_of_its_body() -> None:
    scene = StreamScene()
    assert scene.load() == LandedAs(2, _identity(scene.store, 2))
    assert scene.keys() == [1, *KEYS]
    assert (scene.sent(), scene.staged()) == (1, [])
    found = read_footer(scene.store, change_file_path(2))
    assert found is not None
    assert found.published is not None
    assert (found.rows, found.published.rows) == (4, 5)
    assert found.columns == COLUMNS
    assert scene.load() is None
    assert scene.watched.asked("discard") == []


def _identity(store: MemoryStore, number: int) -> str:
    found = read_footer(store, change_file_path(number))
    assert found is not None
    assert found.published is not None
    return found.published.file


def test_a_body_without_rows_is_a_parquet_file() -> None:
    scene = StreamScene()
    scene.body = body_of([])
    scene.load()
    table = pq.read_table(io.BytesIO(scene.store.read(change_file_path(2)).data))
    assert (table.schema, table.num_rows) == (SCHEMA, 0)


# A race


def a_race_that_is_lost_costs_a_footer() -> None:
    scene = StreamScene()
    races: list[Call] = []

    def race(call: Call) -> None:
        if call.method == "finish" and len(races) < 3:
            races.append(call)
            scene.land("theirs", 10 + len(races))

    scene.watched.after = race
    scene.load()
    assert scene.keys() == [1, 11, 12, 13, *KEYS]
    assert (scene.sent(), scene.staged()) == (1, [])
    found = read_footer(scene.store, change_file_path(5))
    assert found is not None
    assert found.published is not None
    assert found.published.previous is not None
    assert found.published.previous.sequence == 4


def a_number_that_is_taken_at_the_rename_costs_a_footer() -> None:
    scene = StreamScene()
    once = scene.before("move_file", lambda call: scene.land("theirs", 2))
    scene.load()
    assert once.has_acted
    assert scene.keys() == [1, 2, *KEYS]
    assert (scene.sent(), scene.staged()) == (1, [])


def what_lands_while_the_body_is_sent_costs_nothing() -> None:
    scene = StreamScene()
    once = scene.before("append", lambda call: scene.land("theirs", 2, 3), at=3)
    scene.load()
    assert once.has_acted
    assert scene.keys() == [1, 2, 3, *KEYS]
    assert len(scene.watched.asked("finish")) == 1


def an_archived_number_is_not_taken_again() -> None:
    scene = StreamScene()

    def meanwhile(call: Call) -> None:
        scene.land("theirs", 2, 3)
        archive_applied(scene.store)

    once = scene.before("move_file", meanwhile)
    scene.load()
    assert once.has_acted
    assert scene.keys() == [1, 2, 3, *KEYS]
    # It was renamed, and taken away again with the number that had been used.
    assert (scene.sent(), scene.staged()) == (2, [])


# An answer that does not come


def a_lost_answer_lands_nothing_twice() -> None:
    for error in (NotThere("no source"), Unavailable("503"), ConditionFailed("changed")):
        scene = StreamScene()
        once = scene.after("move_file", raising(error))
        with suppress(Unavailable):
            scene.load()
        assert once.has_acted
        scene.load()
        assert scene.keys() == [1, *KEYS]
        assert scene.staged() == []


def a_rename_that_comes_late_lands_nothing_twice() -> None:
    for at_the_end in (False, True):
        scene = StreamScene()
        late: list[Callable[[], None]] = []
        scene.before("move_file", _lost(scene, late))
        with suppress(Unavailable):
            scene.load()

        # It is on its way still, and gets there just after we asked what had become of it.
        def arrive(call: Call | None = None, late: list[Callable[[], None]] = late) -> None:
            if call is None or (call.method == "finish" and call.data):
                with suppress(NotThere, ConditionFailed):
                    late[0]()

        if not at_the_end:
            scene.watched.before = arrive
        assert scene.load() is not None
        arrive()
        assert scene.keys() == [1, *KEYS]
        assert (scene.sent(), scene.staged()) == (1, [])


def _lost(scene: StreamScene, late: list[Callable[[], None]]) -> Callable[[Call], object]:
    def lost(call: Call) -> None:
        assert call.to is not None
        source, to = call.path, call.to
        etag = scene.store.read(source, 0, 0).etag
        late.append(lambda: scene.store.move_file(source, to, etag))
        raise Unavailable("no answer in time")

    return lost


def what_refuses_leaves_the_body_or_nothing() -> None:
    for method in ("stream", "append", "finish", "move_file", "list_folder", "incarnation"):
        for error in (AccessDenied("expired"), OSError(28, "No space left"), Unavailable("503")):
            for side in ("before", "after"):
                scene = StreamScene()
                once = getattr(scene, side)(method, raising(error))
                with suppress(OpenmirrorError, OSError):
                    scene.load()
                assert once.has_acted
                scene.load()
                assert scene.keys() == [1, *KEYS], (method, error, side)
                assert scene.staged() == [], (method, error, side)
                assert scene.sent() == (2 if method in ("stream", "append") else 1)


@pytest.mark.parametrize("method", ["stream", "append", "finish", "discard"])
def test_a_service_that_is_away_for_a_while_costs_nothing_but_time(method: str) -> None:
    store = memory()
    publisher(store).table("dbo.orders", key=["id"]).close()
    clock, body = Clock(), body_of(KEYS)
    watched = WatchedStore(store, before=away(300, clock, method))
    patience = Patience(seconds=600, sleep=clock.sleep, monotonic=clock)
    lander = Lander(PatientStore(watched, patience), ORDERS, store.incarnation(ORDERS))
    if method == "discard":
        watched.after = Once("finish", raising(AccessDenied("expired")))
        with pytest.raises(AccessDenied):
            lander.land(composing(body, "load"))
        body = body_of(KEYS)
    lander.land(composing(body, "load"))
    assert 300 <= clock.now < 400
    found = [change.row["id"] for file in landed(store) for change in file.changes]
    assert found == KEYS


def an_iterator_that_fails_leaves_nothing() -> None:
    scene = StreamScene()

    def tables() -> Iterator[pa.Table]:
        yield pa.table({"id": [100]}, SCHEMA)
        raise ValueError("not a row")

    scene.body = StreamedParquet(SCHEMA, tables)
    with suppress(ValueError):
        scene.load()
    assert scene.staged() == []
    assert len(scene.watched.asked("discard")) == 1


# What becomes of a body


def a_body_that_was_tidied_away_is_sent_again() -> None:
    for method, at in (("append", 3), ("finish", 1), ("move_file", 1)):
        scene = StreamScene()

        def away(call: Call, store: MemoryStore = scene.store) -> None:
            with suppress(NotThere):
                store.delete_file(call.path)

        scene.after("finish", lambda call, scene=scene: scene.land("theirs", 2))
        once = scene.before(method, away, at)
        scene.load()
        assert once.has_acted
        assert scene.keys() == [1, 2, *KEYS]
        assert scene.staged() == []


def another_body_is_sent_in_place_of_the_one_that_did_not_land() -> None:
    scene = StreamScene()
    scene.before("move_file", raising(Unavailable("503")))
    with suppress(Unavailable):
        scene.load()
    scene.body = body_of([7])
    scene.load()
    assert scene.keys() == [1, 7]
    assert scene.staged() == []


def a_body_that_is_wanted_no_more_is_deleted() -> None:
    scene = StreamScene()
    scene.before("move_file", raising(Unavailable("503")))
    with suppress(Unavailable):
        scene.load()
    assert len(scene.staged()) == 1
    assert scene.lander.land(lambda state: None) is None
    assert scene.staged() == []


def nothing_gets_into_a_folder_that_was_made_anew() -> None:
    for method in ("stream", "append", "finish", "move_file", "list_folder"):
        for side in ("before", "after"):
            scene = StreamScene()

            def anew(call: Call, store: MemoryStore = scene.store) -> None:
                with publisher(store).table("dbo.orders", key=["id"], recreate=True) as orders:
                    orders.insert([{"id": 7}])

            once: Once = getattr(scene, side)(method, anew)
            refused = False
            try:
                scene.load()
            except FolderReplaced:
                refused = True
            assert once.has_acted
            assert refused or (method, side) == ("move_file", "after"), (method, side)
            assert scene.keys() == [7]
            assert scene.staged() == []


def a_dropped_table_keeps_nothing_of_what_was_staged() -> None:
    for method in ("stream", "append", "finish"):
        scene = StreamScene()
        once = scene.before(method, lambda call, scene=scene: scene.store.delete_folder(ORDERS))
        refused = False
        try:
            scene.load()
        except FolderReplaced:
            refused = True
        assert once.has_acted
        assert refused
        with suppress(NotThere):
            assert scene.staged() == []


WITNESSES = [
    a_race_that_is_lost_costs_a_footer,
    a_number_that_is_taken_at_the_rename_costs_a_footer,
    what_lands_while_the_body_is_sent_costs_nothing,
    an_archived_number_is_not_taken_again,
    a_lost_answer_lands_nothing_twice,
    a_rename_that_comes_late_lands_nothing_twice,
    what_refuses_leaves_the_body_or_nothing,
    an_iterator_that_fails_leaves_nothing,
    a_body_that_was_tidied_away_is_sent_again,
    another_body_is_sent_in_place_of_the_one_that_did_not_land,
    a_body_that_is_wanted_no_more_is_deleted,
    nothing_gets_into_a_folder_that_was_made_anew,
    a_dropped_table_keeps_nothing_of_what_was_staged,
]


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda found: str(found.__name__))
def test_every_directed_schedule_holds(witness: Callable[[], None]) -> None:
    witness()


MISTAKES: dict[str, tuple[object, str, object, Callable[[], None]]] = {
    "4: a body keeps its footer while a rename may be on its way": (
        Lander,
        "_unfinish_sent",
        lambda lander: None,
        a_rename_that_comes_late_lands_nothing_twice,
    ),
    "2: a folder that came to be by staging is not noticed": (
        Lander,
        "_need_no_new_folder",
        lambda lander: None,
        a_dropped_table_keeps_nothing_of_what_was_staged,
    ),
    "a body that was lost is not sent again": (
        Lander,
        "_discard_sent",
        lambda lander: None,
        a_body_that_was_tidied_away_is_sent_again,
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_step_that_is_left_out_is_noticed(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, instead, witness = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, instead)
    monkeypatch.setattr(landing, "_MOST_RACES", 10)
    with pytest.raises((AssertionError, OpenmirrorError)):
        witness()


# Deaths


def process(store: FileStore, loads: list[str]) -> None:
    """A process that lands each load unless it has landed."""
    lander = Lander(store, ORDERS, store.incarnation(ORDERS))
    for number, load in enumerate(loads):
        lander.land(composing(body_of([10 * number, 10 * number + 1, 10 * number + 2]), load))


LOADS = ["a", "b"]


def dies_and_resumes(store: FileStore, at: int, *, after: bool, archives: bool) -> None:
    publisher(store).table("dbo.orders", key=["id"]).close()
    with suppress(Killed):
        process(DyingStore(store, at, after=after), LOADS)
    if archives:
        archive_applied(store)
    process(store, LOADS)
    found = [change.row["id"] for file in landed(store) for change in file.changes]
    assert found == [0, 1, 2, 10, 11, 12], (at, after)


def calls() -> int:
    store = memory()
    publisher(store).table("dbo.orders", key=["id"]).close()
    counting = DyingStore(store, 10_000, after=False)
    process(counting, LOADS)
    return len(counting.calls)


@pytest.mark.parametrize("archives", [False, True])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_no_call_of_the_store_is_one_at_which_a_death_loses_or_repeats_rows(
    after: bool, archives: bool
) -> None:
    for at in range(calls()):
        dies_and_resumes(memory(), at, after=after, archives=archives)


def test_a_folder_of_this_machine_bears_deaths_as_well(tmp_path: Path) -> None:
    for at in range(0, calls(), 7):
        store = LocalStore(tmp_path / str(at))
        dies_and_resumes(store, at, after=at % 2 == 0, archives=False)


def test_a_move_that_breaks_off_between_its_names_lands_the_body_once(tmp_path: Path) -> None:
    breaks = [True]

    def steps(step: Step) -> None:
        if step is Step.LINKED and breaks.pop():
            raise OSError(5, "Input/output error")

    store = LocalStore(tmp_path, steps)
    publisher(store).table("dbo.orders", key=["id"]).close()
    lander = Lander(store, ORDERS, store.incarnation(ORDERS))
    body = body_of(KEYS)
    with pytest.raises(OSError, match="Input/output"):
        lander.land(composing(body, "load"))
    assert lander.land(composing(body, "load")) is not None
    names = [entry.name for entry in store.list_folder(ORDERS).entries]
    assert names == [f"{1:020d}.parquet", "_metadata.json"]
    found = [change.row["id"] for file in landed(store) for change in file.changes]
    assert found == KEYS


# Side by side


def test_streamed_loads_beside_other_publishers_lose_and_repeat_nothing() -> None:
    for seed in range(60):
        store = memory()
        turns, mirror = Turns(store, seed), Mirror(store, purges=seed % 3 == 0)
        with publisher(store).table("dbo.orders", key=["id"], source="first") as orders:
            orders.insert([{"id": 0}], position=0)

        def mirrors(turns: Turns = turns, mirror: Mirror = mirror) -> None:
            watched = turns.store()
            for _ in range(30):
                watched.incarnation(ORDERS)  # a place to stop at
                mirror.turn()

        def loads(name: str, keys: list[int], turns: Turns = turns) -> None:
            store = turns.store()
            lander = Lander(store, ORDERS, store.incarnation(ORDERS))
            lander.land(composing(body_of(keys), name))

        turns.add(mirrors)
        turns.add(lambda loads=loads: loads("one", [11, 12, 13]))
        turns.add(lambda loads=loads: loads("two", [21, 22, 23]))
        turns.add(sends(turns.store(), "other", [31, 32, 33]))
        turns.run()
        mirror.turn()
        expected = Counter([0, 11, 12, 13, 21, 22, 23, 31, 32, 33])
        assert Counter(mirror.applied) == expected, seed
        assert max(numbers(store)) == 6, seed


# The file itself


@dataclass
class Counting:
    """A streamed file that keeps nothing but how much it was sent at once, or all of it."""

    keeps: bool = True
    largest: int = 0
    total: int = 0
    kept: bytearray = field(default_factory=bytearray)

    def append(self, data: bytes | memoryview) -> None:
        self.largest = max(self.largest, len(data))
        self.total += len(data)
        if self.keeps:
            self.kept += data

    def finish(self, tail: bytes) -> ETag:
        return ETag("")

    def discard(self) -> None:
        """Nothing was kept."""


def test_a_body_is_sent_in_parts_and_row_groups_of_bounded_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group, part = 1 << 20, 1 << 18
    monkeypatch.setattr(streamed, "_GROUP", group)
    monkeypatch.setattr(streamed, "_PART", part)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])

    def tables() -> Iterator[pa.Table]:
        # Random texts, which no compression makes smaller; many small tables, and a large one.
        at = 0
        for rows in (*[50] * 500, 60_000, 0, 1):
            texts = [uuid4().hex for _ in range(rows)]
            yield pa.table({"id": range(at, at + rows), "text": texts}, schema)
            at += rows

    made, file = StreamedParquet(schema, tables), Counting()
    made.send(file)
    assert made.rows == 85_001
    assert file.largest == part
    assert file.total > 10 * part
    whole = bytes(file.kept) + made.tail(b'{"x": 1}')
    parquet = pq.ParquetFile(io.BytesIO(whole))
    assert parquet.read()["id"].to_pylist() == list(range(85_001))
    assert parquet.schema_arrow == schema
    sizes = [parquet.metadata.row_group(n).total_byte_size for n in range(parquet.num_row_groups)]
    assert max(sizes) <= 1.1 * group
    assert sum(sizes) / len(sizes) > group / 4
    assert parquet.metadata.metadata[b"openmirror.publishing"] == b'{"x": 1}'
    assert made.tail(b"{}") == made.tail(b"{}")
    assert len(file.kept) + len(made.tail(b"{}")) == len(whole) - len(b'{"x": 1}') + 2


def test_a_row_that_is_larger_than_a_group_is_a_group_of_its_own() -> None:
    made, file = StreamedParquet(SCHEMA, lambda: [pa.table({"id": [1, 2]}, SCHEMA)]), Counting()
    made.send(file)
    parquet = pq.ParquetFile(io.BytesIO(bytes(file.kept) + made.tail(b"{}")))
    assert parquet.num_row_groups == 2


def test_a_store_that_refuses_is_heard_in_its_own_words_and_asked_no_more() -> None:
    class Refusing(Counting):
        def append(self, data: bytes | memoryview) -> None:
            super().append(data)
            raise AccessDenied("no", StorePath("x"))

    file = Refusing()
    with pytest.raises(AccessDenied):
        body_of(KEYS).send(file)
    assert file.total == file.largest > 0
