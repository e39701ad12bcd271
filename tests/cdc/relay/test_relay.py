"""Whatever is killed, repeated or cut anywhere: what landed is the source's rows, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from openmirror.cdc.decoded import SourceColumn
from openmirror.cdc.relay import selecting
from openmirror.cdc.relay.composing import StreamComposer
from openmirror.cdc.relay.document import document_path, read_document
from openmirror.cdc.relay.folders import LandedRecords
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.cdc.relay.selecting import Before, TableRecords
from openmirror.cdc.relay.source_order import NewChanges, SeenChanges, SourceChange
from openmirror.cdc.stops import EventsLost, StreamReplaced, StreamStopped
from openmirror.errors import UnknownName, WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS, Marker, interpret
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import START, Offset, StopCode, StreamDocument, StreamIdentity
from openmirror.publishing.newest import ZoneState
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join
from tests.cdc.relay.sources import (
    COLUMNS,
    Database,
    Event,
    Rows,
    Stream,
    stream_of,
)
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import ZONE, archive_applied, landed, memory, publisher

ONE, TWO = TablePath("app", "one"), TablePath("app", "two")


def folder(path: TablePath = ONE) -> StorePath:
    return join(ZONE, *str(path).split("/"))


def relay(
    store: FileStore, stream: Stream, records: int = 1000, takes: frozenset[Marker] = EXTENSIONS
) -> Relay:
    options = RelayOptions(most_records=records, idle_seconds=0, takes=takes)
    return Relay(store, ZONE, "shop", stream, stream.decode, options)


def drained(
    store: FileStore, stream: Stream, records: int = 1000, takes: frozenset[Marker] = EXTENSIONS
) -> Relay:
    """Open a relay, and land all that is there."""
    made = relay(store, stream, records, takes)
    made.open()
    while made.step().records:
        pass
    return made


def document(store: FileStore) -> StreamDocument:
    path = document_path(ZONE, "shop")
    return read_document(store.read(path).data, path)


def states(store: FileStore, path: TablePath = ONE) -> list[Rows]:
    """What the table holds after each file, from none on."""
    files = landed(store, folder(path))
    found = []
    for many in range(len(files) + 1):
        rows = interpret(files[:many], ["id"]).rows
        found.append({int(str(row["id"])): row.get("text") for row in rows})
    return found


def assert_each_state_was_the_sources(store: FileStore, database: Database) -> None:
    """Each file ends where the source was once, and none goes back; the last is the present."""
    for table in database.tables:
        assert_follows(store, TablePath("app", table), database.history[table])


def assert_follows(store: FileStore, path: TablePath, history: list[Rows]) -> None:
    """Each file of a table ends where its history was, none goes back, and the last is its end."""
    at = 0
    for state in states(store, path):
        later = [n for n, rows in enumerate(history) if n >= at and rows == state]
        assert later, f"{path}: {state} was not there after {history[at]}"
        at = later[0]
    assert states(store, path)[-1] == history[-1]


class Dying:
    """Dies before or after the n-th call of a store, counted over all its starts."""

    def __init__(self, store: MemoryStore, random: Random) -> None:
        self._random = random
        self._left = random.randint(1, 150)
        self.store = WatchedStore(store, self._count, self._count)

    def _count(self, call: Call) -> None:
        self._left -= 1
        if self._left == 0:
            self._left = self._random.randint(1, 150)
            raise Killed(call)


def lands_all_although_it_dies(seed: int) -> None:
    """Raises AssertionError where what landed is not what the source had."""
    random = Random(seed)
    database = Database(random, has_commits=random.random() < 0.5)
    snapshot = database.snapshot()
    stream = stream_of(random, database, random.randint(1, 12))
    stream.events = [*snapshot, *stream.events]
    store = memory()
    dying = Dying(store, random)
    for _ in range(1000):
        made = relay(dying.store, stream, random.randint(1, 12))
        try:
            made.open()
            while made.step().records:
                if random.random() < 0.2:
                    for path in (ONE, TWO):
                        archive_applied(store, folder(path))
            break
        except Killed:
            continue
    assert_each_state_was_the_sources(store, database)
    assert document(store).complete_to == len(stream.events)
    assert not document(store).stopped


@pytest.mark.parametrize("seed", range(40))
def test_a_relay_that_dies_anywhere_lands_the_sources_rows_in_order_once(seed: int) -> None:
    lands_all_although_it_dies(seed)


def _all_new(seen: SeenChanges, changes: Sequence[SourceChange], **named: bool) -> NewChanges:
    del named
    return NewChanges([True] * len(changes), seen)


def _with_what_landed(composer: StreamComposer, state: ZoneState) -> Before:
    before = _BEFORE(composer, state)
    # Only of its own files, or it would land the same ones for ever.
    return before if composer.rows else replace(before, through=START)


def _with_nothing_seen(composer: StreamComposer, state: ZoneState) -> Before:
    return replace(_BEFORE(composer, state), seen=SeenChanges())


def _past_what_is_held(made: Relay, end: Offset, *given: Any, **named: Any) -> None:
    made._held = {}
    _ADVANCE(made, end, *given, **named)


def _document_first(made: Relay, path: TablePath, records: TableRecords) -> LandedRecords:
    made._change(lambda there: there.advanced(records.end, [], {}))
    return _LAND(made, path, records)


_BEFORE, _ADVANCE, _LAND = StreamComposer._before, Relay._advance, Relay._land
MISTAKES: dict[str, tuple[object, str, object]] = {
    "changes that come again are not dropped": (selecting, "new_changes", _all_new),
    "what landed is not left out": (StreamComposer, "_before", _with_what_landed),
    "what was seen is forgotten": (StreamComposer, "_before", _with_nothing_seen),
    "half a change of key is landed": (selecting, "_open_pair", lambda pieces: (None, False)),
    "what is held is passed over": (Relay, "_advance", _past_what_is_held),
    "the document moves before the files": (Relay, "_land", _document_first),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_rule_is_missed_when_it_is_left_out(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*MISTAKES[mistake])
    for seed in range(40):
        try:
            lands_all_although_it_dies(seed)
        except (AssertionError, EventsLost):
            return
    pytest.fail(f"nobody misses it: {mistake}")


@pytest.mark.parametrize("seed", range(15))
def test_two_relays_of_one_stream_land_each_change_once(seed: int) -> None:
    random = Random(1000 + seed)
    database = Database(random, has_commits=random.random() < 0.5)
    stream = stream_of(random, database, 8)
    store = memory()
    others = [relay(store, stream, random.randint(1, 9)) for _ in range(2)]
    for other in others:
        other.open()

    def overtaken(call: Call) -> None:
        if random.random() < 0.1:
            others[0].step()

    watched = WatchedStore(store, overtaken)
    first = relay(watched, stream, random.randint(1, 9))
    first.open()
    while first.step().records or others[1].step().records:
        pass
    assert_each_state_was_the_sources(store, database)


def test_a_document_that_is_lost_costs_reading_and_nothing_else() -> None:
    random = Random(5)
    database = Database(random, has_commits=random.random() < 0.5)
    stream = stream_of(random, database, 8)
    store = memory()
    drained(store, stream, 7)
    before = states(store)
    store.delete_file(document_path(ZONE, "shop"))
    drained(store, stream, 5)
    assert states(store) == before
    assert document(store).complete_to == len(stream.events)


def test_a_document_that_is_deleted_under_a_relay_is_made_again_of_what_that_knows() -> None:
    stop = Event("one", "c", 5, bad=StopCode.SOURCE_VALUE_INVALID)
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1), stop], lets_go=False)
    store = memory()
    first = drained(store, stream)
    before = document(store)
    store.delete_file(document_path(ZONE, "shop"))
    stream.events.append(Event("one", "c", 2, "behind it", (0, 9), 2))
    first.step()
    made = document(store).made
    assert made != before.made, "other relays would not see that it lacks what they know"
    assert document(store) == replace(before, complete_to=Offset(3), made=made)
    assert states(store)[-1] == {1: "x"}


def test_a_relay_puts_stops_back_that_another_one_did_not_know_of() -> None:
    stop = Event("one", "c", 5, bad=StopCode.SOURCE_VALUE_INVALID)
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1), stop], lets_go=False)
    store = memory()
    first = drained(store, stream)
    store.delete_file(document_path(ZONE, "shop"))
    relay(store, stream).open()
    assert not document(store).stopped
    stream.events.append(Event("one", "c", 2, "behind it", (0, 9), 2))
    first.step()
    assert ONE in document(store).stopped
    assert states(store)[-1] == {1: "x"}


def test_a_table_whose_folder_was_deleted_stops() -> None:
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1)])
    store = memory()
    made = drained(store, stream)
    store.delete_folder(folder())
    stream.events.append(Event("one", "c", 2, "y", (0, 2), 2))
    made.step()
    stop = document(store).stopped[ONE].stop
    assert stop.code is StopCode.RESNAPSHOT_NEEDED
    assert "--anew" in stop.remedy


def test_a_table_that_is_emptied_behind_a_lost_document_is_empty() -> None:
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1)])
    store = memory()
    drained(store, stream)
    store.delete_file(document_path(ZONE, "shop"))
    stream.events.append(Event("one", "t", None, None, (9, 99), 9))
    drained(store, stream)
    assert states(store)[-1] == {}


def test_a_stop_outlives_the_document_where_its_records_are_gone() -> None:
    rows = [Event("one", "c", n, "x", (0, n), n) for n in range(3)]
    after = [Event(t, "c", 8, "later", (100, 100), 10) for t in ("one", "two")]
    stream = Stream(events=[*rows, STOPS[StopCode.RESNAPSHOT_NEEDED], *after])
    store = memory()
    drained(store, stream)
    stopped = document(store).stopped
    assert stream.earliest == len(stream.events)
    store.delete_file(document_path(ZONE, "shop"))
    stream.events.append(Event("one", "c", 9, "behind the gap", (101, 101), 11))
    drained(store, stream)
    assert document(store).stopped == stopped
    assert 9 not in states(store)[-1]


def test_what_landed_is_forgotten_in_the_stream() -> None:
    stream = Stream(events=[Event("one", "c", n, "x", (1, n), n) for n in range(9)])
    drained(memory(), stream, 4)
    assert stream.earliest == 9


def test_records_about_no_row_move_the_stream_on() -> None:
    store, stream = memory(), Stream(events=[None] * 5)
    drained(store, stream)
    assert document(store).complete_to == 5
    assert not document(store).tables


def test_a_changed_key_is_never_cut_in_two() -> None:
    pair = [
        Event("one", "d", 1, None, (1, 5), 2, "newkey"),
        Event("one", "c", 2, "x", (1, 5), 2, "oldkey"),
    ]
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1), pair[0]])
    store = memory()
    made = drained(store, stream, 1)
    assert states(store) == [{}, {1: "x"}]
    assert document(store).complete_to == 1, "a restart reads the first half again"
    stream.events.append(pair[1])
    made.step()
    assert states(store) == [{}, {1: "x"}, {2: "x"}]
    assert document(store).complete_to == 3


def test_a_changed_key_is_whole_after_a_restart_between_its_halves() -> None:
    stream = Stream(
        events=[
            Event("one", "c", 1, "x", (0, 1), 1),
            Event("one", "d", 1, None, (1, 5), 2, "newkey"),
        ]
    )
    store = memory()
    drained(store, stream)
    stream.events += [
        stream.events[1],
        Event("one", "c", 2, "x", (1, 5), 2, "oldkey"),
    ]
    drained(store, stream)
    assert states(store) == [{}, {1: "x"}, {2: "x"}]


def test_a_changed_key_whose_new_row_never_came_stops_the_table() -> None:
    stream = Stream(
        events=[
            Event("one", "c", 1, "x", (0, 1), 1),
            Event("one", "d", 1, None, (1, 5), 2, "newkey"),
            Event("one", "c", 3, "y", (6, 9), 3),
        ]
    )
    store = memory()
    drained(store, stream)
    (stopped,) = document(store).stopped.values()
    assert (stopped.at, stopped.stop.code) == (1, StopCode.EVENTS_LOST)
    assert states(store)[-1] == {1: "x"}


STOPS: dict[StopCode, Event] = {
    StopCode.TRUNCATE_UNSUPPORTED: Event("one", "t", None, None, (9, 99), 9),
    StopCode.VALUE_UNAVAILABLE: Event("one", "u", 1, None, (9, 99), 9, absent=("text",)),
    StopCode.SOURCE_VALUE_INVALID: Event("one", "c", 1, bad=StopCode.SOURCE_VALUE_INVALID),
    StopCode.RESNAPSHOT_NEEDED: Event(
        "one",
        "c",
        7,
        "x",
        (9, 99),
        9,
        columns=(*COLUMNS, replace(COLUMNS[1], name="more", has_default=True)),
        more=("default",),
    ),
    StopCode.CHANGE_REFUSED: Event(
        "one",
        "c",
        7,
        5,
        (9, 99),
        9,
        columns=(COLUMNS[0], replace(COLUMNS[0], name="text")),  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("code", STOPS)
def test_a_table_that_cannot_go_on_stops_alone_and_before_that_record(code: StopCode) -> None:
    rows = [Event("one", "c", n, "x", (0, n), n) for n in range(3)]
    after = [Event(t, "c", 8, "later", (100, 100), 10) for t in ("one", "two")]
    stream = Stream(events=[*rows, STOPS[code], *after])
    store = memory()
    drained(store, stream, takes=frozenset())
    (stopped,) = document(store).stopped.items()
    assert (stopped[0], stopped[1].at, stopped[1].stop.code) == (ONE, 3, code)
    assert states(store)[-1] == {0: "x", 1: "x", 2: "x"}
    assert states(store, TWO)[-1] == {8: "later"}
    assert document(store).complete_to == 6
    kept = 6 if code.needs_snapshot else 3
    assert stream.earliest == kept, "what helps the table is kept, and nothing else"


def test_a_stopped_table_that_is_tried_again_lands_all_it_has_missed() -> None:
    bad = Event("one", "c", 1, "mended", (0, 5), 2, bad=StopCode.SOURCE_VALUE_INVALID)
    before, after = Event("one", "c", 0, "x", (0, 1), 1), Event("one", "u", 0, "y", (6, 7), 3)
    stream = Stream(events=[before, bad, after, Event("two", "c", 1, "x", (8, 9), 4), None])
    store = memory()
    made = drained(store, stream, 1)
    assert states(store)[-1] == {0: "x"}
    made.retry(ONE)
    assert document(store).stopped[ONE].at == 1, "nothing was mended"
    stream.events[1] = replace(bad, bad=None)
    drained(store, stream).retry(ONE)
    assert not document(store).stopped
    assert states(store)[-1] == {0: "y", 1: "mended"}


def test_only_a_stopped_table_can_be_tried_again() -> None:
    with pytest.raises(UnknownName, match="has not stopped"):
        drained(memory(), Stream()).retry(ONE)


def test_a_table_that_only_a_snapshot_helps_is_not_tried_again() -> None:
    filled = Event("one", "c", 1, "x", (0, 1), 1)
    emptied = Stream(events=[filled, STOPS[StopCode.TRUNCATE_UNSUPPORTED]])
    made = drained(memory(), emptied, takes=frozenset())
    with pytest.raises(WrongRequest, match=r"was emptied.*new snapshot"):
        made.retry(ONE)


def test_a_row_that_is_made_with_values_that_the_log_lacks_stops_its_table() -> None:
    gone = Event("one", "d", 1, None, (2, 3), 2, pair="newkey")
    made = Event("one", "c", 2, None, (2, 4), 2, pair="oldkey", absent=("text",))
    store = memory()
    drained(store, Stream(events=[Event("one", "c", 1, "x", (0, 1), 1), gone, made]))
    (stopped,) = document(store).stopped.values()
    assert (stopped.at, stopped.stop.code) == (1, StopCode.VALUE_UNAVAILABLE)
    assert "REPLICA IDENTITY FULL" in stopped.stop.remedy
    assert states(store)[-1] == {1: "x"}


def test_an_update_whose_values_the_log_lacks_keeps_them() -> None:
    before = Event("one", "c", 1, "large", (0, 1), 1)
    update = Event("one", "u", 1, None, (2, 3), 2, absent=("text",))
    store = memory()
    drained(store, Stream(events=[before, replace(before, id=2), update]))
    assert states(store)[-1] == {1: "large", 2: "large"}
    assert not document(store).stopped


def test_an_empty_table_that_is_emptied_gets_no_folder() -> None:
    store = memory()
    truncate = Event("one", "t", None, None, (9, 99), 9, keys=())
    drained(store, Stream(events=[truncate, Event("two", "c", 1, "x", (0, 1), 1)]))
    assert store.incarnation(folder()) is None
    assert not document(store).stopped


def test_a_truncate_whose_record_comes_alone_empties_its_table() -> None:
    rows = [Event("one", "c", n, "x", (0, n), n) for n in range(3)]
    truncate = Event("one", "t", None, None, (9, 99), 9, keys=())
    store = memory()
    drained(store, Stream(events=[*rows, truncate]), 3)
    assert states(store)[-1] == {}


def test_a_table_without_a_key_gets_no_folder() -> None:
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1, keys=())])
    store = memory()
    drained(store, stream)
    (stopped,) = document(store).stopped.values()
    assert stopped.stop.code is StopCode.SOURCE_KEY_MISSING
    assert store.incarnation(folder()) is None


def test_a_record_of_no_known_table_stops_the_stream_before_it() -> None:
    bad = Event("one", "c", 1, bad=StopCode.RECORD_UNDECODABLE, nowhere=True)
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1), bad])
    store = memory()
    made = relay(store, stream, 1)
    made.open()
    made.step()
    with pytest.raises(StreamStopped, match=r"record 1 of topic s\.t: it is broken\. Mend it\."):
        made.step()
    assert document(store).complete_to == 1


def test_a_column_that_is_added_empty_goes_on_by_itself() -> None:
    more = (*COLUMNS, replace(COLUMNS[1], name="more"))
    events = [
        Event("one", "c", 1, "x", (0, 1), 1),
        Event("one", "c", 2, "y", (1, 2), 2, columns=more, more=("z",)),
    ]
    store = memory()
    drained(store, Stream(events=[*events]))
    assert not document(store).stopped
    rows = interpret(landed(store, folder()), ["id"]).rows
    assert rows == [{"id": 1, "text": "x", "more": None}, {"id": 2, "text": "y", "more": "z"}]


def test_a_type_that_has_become_narrower_needs_a_new_snapshot() -> None:
    narrow = (
        COLUMNS[0],
        COLUMNS[1],
        SourceColumn("price", ColumnType("decimal(12,2)"), True, False),
    )
    wide = (*COLUMNS, replace(narrow[2], type=ColumnType("decimal(14,3)")))
    events = [
        Event("one", "c", 1, "x", (0, 1), 1, columns=narrow, more=(Decimal("1.25"),)),
        Event("one", "c", 2, "x", (1, 2), 2, columns=wide, more=(Decimal("1.125"),)),
        Event("one", "c", 3, "x", (3, 4), 3, columns=wide, more=(Decimal("1.125"),)),
    ]
    store = memory()
    stream = Stream(events=[*events])
    drained(store, stream, 1)
    assert not document(store).stopped, "a wider type goes on by itself"
    stream.events.append(replace(events[0], id=4, place=(5, 6), transaction=4))
    drained(store, stream)
    (stopped,) = document(store).stopped.values()
    assert (stopped.at, stopped.stop.code) == (3, StopCode.RESNAPSHOT_NEEDED)
    assert "'price' was decimal(14,3) and is decimal(12,2) now" in stopped.stop.detail


def test_a_column_that_is_renamed_needs_a_new_snapshot() -> None:
    renamed = (COLUMNS[0], replace(COLUMNS[1], name="note"))
    stream = Stream(
        events=[
            Event("one", "c", 1, "x", (0, 1), 1),
            Event("one", "c", 2, "y", (1, 2), 2, columns=renamed),
        ]
    )
    store = memory()
    drained(store, stream)
    (stopped,) = document(store).stopped.values()
    assert stopped.stop.code is StopCode.RESNAPSHOT_NEEDED
    assert "renamed" in stopped.stop.detail


def test_a_column_that_is_dropped_and_added_again_needs_a_new_snapshot() -> None:
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1)])
    store = memory()
    drained(store, stream)
    stream.events.append(Event("one", "c", 2, None, (2, 3), 3, columns=COLUMNS[:1]))
    drained(store, stream)
    assert not document(store).stopped
    stream.events.append(Event("one", "c", 3, "back", (4, 5), 5))
    drained(store, stream)
    (stopped,) = document(store).stopped.values()
    assert "added again" in stopped.stop.detail


def test_a_folder_that_was_deleted_needs_a_new_snapshot_and_is_not_made_again() -> None:
    stream = Stream(events=[Event("one", "c", 1, "x", (0, 1), 1)])
    store = memory()
    drained(store, stream)
    store.delete_folder(folder())
    stream.events.append(Event("one", "c", 2, "y", (1, 2), 2))
    drained(store, stream)
    (stopped,) = document(store).stopped.values()
    assert stopped.stop.code is StopCode.RESNAPSHOT_NEEDED
    assert store.incarnation(folder()) is None


def test_a_folder_that_others_publish_into_is_left_alone() -> None:
    store = memory()
    with publisher(store) as other, other.table("app.one", key=["id"]) as table:
        table.insert([{"id": 9, "text": "theirs"}])
    drained(store, Stream(events=[Event("one", "c", 1, "x", (0, 1), 1)]))
    (stopped,) = document(store).stopped.values()
    assert stopped.stop.code is StopCode.CHANGE_REFUSED
    assert states(store)[-1] == {9: "theirs"}


OTHER = StreamIdentity("f" * 32)


def test_a_stream_that_replaces_another_one_begins_only_when_asked() -> None:
    store = memory()
    drained(store, Stream(events=[Event("one", "c", 1, "x", (0, 1), 1)]))
    after = Stream(OTHER, [Event("one", "r", 2, "y"), Event("one", "u", 2, "z", (0, 1), 1)])
    with pytest.raises(StreamReplaced, match=r"--anew.*app\.schema/one"):
        relay(store, after).open()
    assert states(store)[-1] == {1: "x"}
    made = relay(store, after)
    made.open(anew=True)
    made.step()
    assert states(store)[-1] == {2: "z"}


def test_a_first_snapshot_that_did_not_end_is_begun_anew_by_itself() -> None:
    store = memory()
    drained(store, Stream(events=[Event("one", "r", 1, "x"), Event("one", "r", 2, "x")]))
    after = Stream(OTHER, [Event("one", "r", 2, "y"), Event("one", "u", 2, "z", (0, 1), 1)])
    drained(store, after)
    assert states(store)[-1] == {2: "z"}, "a row that was deleted meanwhile is gone"
    with pytest.raises(StreamReplaced):
        relay(store, Stream()).open()


def test_a_stream_of_which_nothing_landed_is_replaced_by_itself() -> None:
    store = memory()
    drained(store, Stream(events=[None]))
    drained(store, Stream(OTHER, [Event("one", "r", 1, "x")]))
    assert states(store)[-1] == {1: "x"}


def test_a_stream_that_does_not_reach_back_has_lost_events() -> None:
    store = memory()
    stream = Stream(events=[Event("one", "c", n, "x", (0, n), n) for n in range(3)])
    made = relay(store, stream, 1)
    made.open()
    made.step()
    stream.earliest = Offset(2)
    with pytest.raises(EventsLost, match="begins at record 2, and record 1 is needed"):
        relay(store, stream).open()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 2}', b'{"version": 1}'])
def test_a_document_that_cannot_be_read_is_named_with_its_remedy(content: bytes) -> None:
    if not content:
        content = b"\0"
    store = memory()
    store.write(document_path(ZONE, "shop"), content)
    with pytest.raises(WrongRequest, match=r"_streams/shop\.json cannot be read.*Remove it"):
        relay(store, Stream()).open()
