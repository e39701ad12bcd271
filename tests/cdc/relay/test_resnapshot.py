"""A new snapshot of one table: it lands whole and once, beside the changes of all tables."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from openmirror.cdc.relay import resnapshots
from openmirror.cdc.relay.document import SharedDocument, document_path
from openmirror.cdc.relay.relay import Relay
from openmirror.errors import WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.rows import Marker
from openmirror.protocol.streams import StopCode
from openmirror.stores.memory.files import MemoryStore
from tests.cdc.relay.sources import COLUMNS, Event, Mark, Rows, Stream, begun, ended
from tests.cdc.relay.test_relay import (
    ONE,
    TWO,
    Dying,
    assert_follows,
    document,
    drained,
    folder,
    relay,
    states,
)
from tests.harness.dying import Killed
from tests.publishing.zones import ZONE, archive_applied, landed, memory

BROKEN = (*COLUMNS, replace(COLUMNS[1], name="more", has_default=True))
"""Columns that a table gets with a value for its old rows: it stops."""


def change(place: int, op: str, number: int, text: str | None = None, table: str = "one") -> Event:
    return Event(table, op, number, text, (place, place), place)


def row(number: int, text: str, table: str = "one") -> Event:
    return Event(table, "r", number, text, snapshot="incremental")


def want(store: FileStore, number: str = "n1") -> None:
    """As an operator does."""
    shared = SharedDocument.of_any(store, ZONE, "shop")
    shared.change(lambda there: there.wanting(ONE, number))


def landed_of(made: Relay) -> None:
    while made.step().records:
        pass


def begin() -> tuple[FileStore, Stream]:
    """Both tables have a row, and a new snapshot of one is asked for."""
    store = memory()
    stream = Stream(events=[change(1, "c", 1, "old"), change(2, "c", 9, "nine", "two")])
    drained(store, stream)
    want(store)
    return store, stream


def test_a_table_begins_anew_in_one_file_and_no_other_table_waits() -> None:
    store, stream = begin()
    made = drained(store, stream)
    stream.events += [begun("n1"), row(5, "five"), change(3, "u", 9, "ten", "two")]
    landed_of(made)
    assert states(store, TWO)[-1] == {9: "ten"}
    assert states(store)[-1] == {1: "old"}, "half of it is seen by nobody"
    stream.events += [change(4, "c", 6, "six"), row(7, "seven"), ended("n1")]
    stream.events += [change(5, "u", 5, "FIVE")]
    landed_of(made)
    assert states(store)[1:] == [
        {1: "old"},
        {5: "five", 6: "six", 7: "seven"},
        {5: "FIVE", 6: "six", 7: "seven"},
    ]
    assert not document(store).resnapshots
    markers = [one.marker for one in landed(store, folder())[1].changes]
    assert markers[0] is Marker.TRUNCATE
    assert markers.count(Marker.TRUNCATE) == 1


def test_a_part_of_a_row_is_made_good_by_what_follows_or_the_snapshot_is_taken_again() -> None:
    store, stream = begin()
    made = drained(store, stream)
    part = replace(change(3, "u", 5, None), absent=("text",))
    # The connector leaves out the row that a change has overtaken, and one that is gone.
    gone = [replace(change(4, "u", 7, None), absent=("text",)), change(5, "d", 7)]
    stream.events += [begun("n1"), part, *gone, row(6, "six"), ended("n1")]
    landed_of(made)
    asked = document(store).resnapshots[ONE]
    assert (asked.attempts, asked.since) == (2, None)
    assert states(store)[-1] == {1: "old"}
    whole = change(7, "u", 5, "whole")
    stream.events += [begun(asked.number), *gone, part, whole, row(6, "six"), ended(asked.number)]
    landed_of(made)
    assert states(store)[-1] == {5: "whole", 6: "six"}
    assert not document(store).stopped


def test_a_snapshot_that_never_has_a_whole_row_stops_the_table_and_says_why() -> None:
    store, stream = begin()
    made = drained(store, stream)
    for at in range(3):
        number = document(store).resnapshots[ONE].number
        part = replace(change(3 + at, "u", 5, None), absent=("text",))
        stream.events += [begun(number), part, ended(number)]
        landed_of(made)
    stop = document(store).stopped[ONE].stop
    assert stop.code is StopCode.RESNAPSHOT_NEEDED
    assert "3 times: an update of row [5] leaves values out" in stop.detail


def test_what_is_not_whole_is_kept_in_the_stream() -> None:
    store, stream = begin()
    made = drained(store, stream)
    stream.events += [begun("n1"), row(5, "five"), None, None]
    landed_of(made)
    assert stream.earliest == 2
    stream.events += [ended("n1"), None]
    landed_of(made)
    assert stream.earliest == len(stream.events)


def test_a_table_that_has_stopped_goes_on_behind_its_new_snapshot() -> None:
    store, stream = begin()
    stop = Event("one", "u", 1, "new", (3, 3), 3, columns=BROKEN, more=("filled",))
    stream.events += [stop]
    drained(store, stream)
    assert document(store).stopped[ONE].stop.code is StopCode.RESNAPSHOT_NEEDED
    rows = [replace(row(n, "new"), columns=BROKEN, more=("filled",)) for n in (1, 2)]
    after = replace(stop, id=2, text="after", place=(5, 5), transaction=5)
    stream.events += [begun("n1"), *rows, ended("n1"), after]
    drained(store, stream)
    assert not document(store).stopped
    assert states(store)[-1] == {1: "new", 2: "after"}
    store.delete_file(document_path(ZONE, "shop"))
    drained(store, stream)
    assert not document(store).stopped, "nothing remembers a stop that is over"


def test_an_empty_table_is_emptied() -> None:
    store, stream = begin()
    stream.events += [begun("n1"), ended("n1", "EMPTY"), change(7, "c", 3, "three")]
    drained(store, stream)
    assert states(store)[-2:] == [{}, {3: "three"}]


def test_a_repeated_change_from_before_does_not_come_back() -> None:
    store, stream = begin()
    again = [change(1, "c", 1, "old"), change(3, "d", 1)]
    stream.events += [begun("n1"), row(5, "five"), *again, ended("n1"), change(3, "d", 1)]
    drained(store, stream)
    assert states(store)[-1] == {5: "five"}


def test_a_row_that_was_read_before_a_change_does_not_undo_it() -> None:
    store, stream = begin()
    moved = [
        replace(change(5, "d", 6), pair="newkey"),
        replace(change(5, "c", 106, "moved"), pair="oldkey"),
    ]
    changes = [change(3, "u", 1, "new"), change(4, "d", 7), *moved]
    read_late = [row(1, "old"), row(5, "five"), row(6, "six"), row(7, "seven")]
    stream.events += [begun("n1"), *changes, *read_late, ended("n1")]
    drained(store, stream)
    assert states(store)[-1] == {1: "new", 5: "five", 106: "moved"}


@pytest.mark.parametrize("asked", [True, False])
def test_rows_between_the_halves_of_a_changed_key_part_them_not(asked: bool) -> None:
    store, stream = begin()
    gone = replace(change(4, "d", 1), pair="newkey")
    made = replace(change(4, "c", 2, "moved"), pair="oldkey")
    number = "n1" if asked else "other"
    stream.events += [begun(number), gone, row(5, "five"), made, ended(number)]
    drained(store, stream)
    assert not document(store).stopped
    assert states(store)[-1] == ({2: "moved", 5: "five"} if asked else {2: "moved"})


def test_values_that_the_log_lacks_are_those_of_the_snapshot() -> None:
    store, stream = begin()
    lacks = replace(change(4, "u", 5), absent=("text",))
    stream.events += [begun("n1"), row(5, "large"), lacks, ended("n1")]
    drained(store, stream)
    assert states(store)[-1] == {5: "large"}


def test_a_changed_key_at_its_end_is_not_cut_in_two() -> None:
    store, stream = begin()
    gone = replace(change(4, "d", 5), pair="newkey")
    made = replace(change(4, "c", 6, "moved"), pair="oldkey")
    stream.events += [begun("n1"), row(5, "five"), gone, ended("n1")]
    drained(store, stream)
    assert states(store)[-1] == {5: "five"}
    stream.events += [made]
    drained(store, stream)
    assert states(store)[-1] == {6: "moved"}


@pytest.mark.parametrize(
    "why", [ended("n1", "SQL_EXCEPTION"), Mark("n1", "ABORTED"), Event("one", "t", None, None)]
)
def test_one_that_is_not_whole_is_taken_again_by_itself(why: Event | Mark) -> None:
    store, stream = begin()
    is_truncate = isinstance(why, Event)
    truncate = Event("one", "t", None, None, (4, 4), 4)
    stream.events += [begun("n1"), row(5, "five"), change(3, "c", 8, "eight")]
    stream.events += [truncate, ended("n1")] if is_truncate else [why]
    stream.events += [change(5, "c", 4, "four")]
    drained(store, stream)
    (again,) = document(store).resnapshots.values()
    assert (again.since, again.attempts) == (None, 2)
    assert again.number != "n1"
    assert states(store)[-1] == {1: "old"}, "what it passed over must not be missing behind it"
    stream.events += [begun(again.number), row(8, "eight"), row(4, "four"), ended(again.number)]
    drained(store, stream)
    assert states(store)[-1] == {4: "four", 8: "eight"}
    assert not document(store).resnapshots


def test_one_that_fails_again_and_again_stops_its_table() -> None:
    store, stream = begin()
    for _ in range(3):
        (one,) = document(store).resnapshots.values()
        stream.events += [begun(one.number), ended(one.number, "SQL_EXCEPTION")]
        drained(store, stream)
    stopped = document(store).stopped[ONE]
    assert stopped.stop.code is StopCode.RESNAPSHOT_NEEDED
    assert "3 times: SQL_EXCEPTION" in stopped.stop.detail
    assert not document(store).resnapshots


def test_a_type_that_does_not_fit_the_table_stops_it_with_what_helps() -> None:
    store, stream = begin()
    other = (COLUMNS[0], replace(COLUMNS[0], name="text"))
    wrong = replace(row(5, "x"), columns=other, text=5)  # type: ignore[arg-type]
    stream.events += [begun("n1"), wrong, ended("n1")]
    drained(store, stream)
    assert document(store).stopped[ONE].stop.code is StopCode.CHANGE_REFUSED
    assert states(store)[-1] == {1: "old"}


def test_a_table_of_which_a_new_snapshot_comes_is_not_tried_again() -> None:
    store, stream = begin()
    bad = Event("one", "c", 1, bad=StopCode.SOURCE_VALUE_INVALID)
    stream.events += [bad]
    with pytest.raises(WrongRequest, match="new snapshot"):
        drained(store, stream).retry(ONE)


def test_marks_of_snapshots_that_nobody_asked_for_change_nothing() -> None:
    store, stream = begin()
    stream.events += [begun("other"), row(5, "five"), ended("other"), Mark("n1", "IN_PROGRESS")]
    drained(store, stream)
    assert states(store)[-1] == {1: "old"}
    assert document(store).resnapshots[ONE].since is None


# --- Whatever dies --------------------------------------------------------------------------------


def _history(random: Random) -> tuple[list[Event | Mark], dict[str, list[Rows]]]:
    """A stream with a new snapshot amid changes, and what each table was, from file to file."""
    rows: dict[str, Rows] = {"one": {}, "two": {}}
    seen: dict[str, list[Rows]] = {"one": [{}], "two": [{}]}
    events: list[Event | Mark] = []

    def changes(many: int, tables: tuple[str, ...] = ("one", "two")) -> None:
        for _ in range(many):
            place = len(events) + 10
            table, number = random.choice(tables), random.randint(0, 5)
            if number in rows[table] and random.random() < 0.4:
                events.append(change(place, "d", number, table=table))
                rows[table].pop(number)
            else:
                events.append(change(place, "c", number, f"v{place}", table))
                rows[table][number] = f"v{place}"
            seen[table].append(dict(rows[table]))

    changes(random.randint(2, 8))
    events.append(begun("n1"))
    before = len(seen["one"])
    left = [*sorted(rows["one"]), 7]
    rows["one"][7] = "only at the source"
    while left:
        changes(random.randint(0, 2))
        for number in left[: random.randint(1, 3)]:
            left.remove(number)
            if number in rows["one"]:
                events.append(row(number, str(rows["one"][number])))
    events.append(ended("n1"))
    # Nothing of it is seen but the whole.
    seen["one"][before:] = [dict(rows["one"])]
    changes(random.randint(0, 6))
    return events, seen


def _wanted(random: Random) -> tuple[MemoryStore, Stream, dict[str, list[Rows]]]:
    """A history whose first changes have landed when the snapshot is asked for."""
    events, seen = _history(random)
    store = memory()
    first = next(at for at, event in enumerate(events) if isinstance(event, Mark))
    stream = Stream(events=list(events[:first]))
    drained(store, stream)
    want(store)
    stream.events = list(events)
    return store, stream, seen


def _lands_although_it_dies(seed: int) -> None:
    random = Random(seed)
    store, stream, seen = _wanted(random)
    dying = Dying(store, random)
    for _ in range(1000):
        made = relay(dying.store, stream, random.randint(1, 6))
        try:
            made.open()
            while made.step().records:
                if random.random() < 0.2:
                    archive_applied(store, folder(ONE))
            break
        except Killed:
            continue
    for path, history in ((ONE, seen["one"]), (TWO, seen["two"])):
        assert_follows(store, path, history)
    assert not document(store).resnapshots
    assert document(store).complete_to == len(stream.events)


@pytest.mark.parametrize("seed", range(30))
def test_it_lands_whole_and_once_though_a_relay_dies_anywhere(seed: int) -> None:
    _lands_although_it_dies(seed)


@pytest.mark.parametrize("seed", range(8))
def test_two_relays_land_it_once(seed: int) -> None:
    random = Random(seed)
    store, stream, seen = _wanted(random)
    relays = [relay(store, stream, random.randint(1, 4)) for _ in range(2)]
    for made in relays:
        made.open()
    busy = [True, True]
    while any(busy):
        at = random.randrange(2)
        busy[at] = bool(relays[at].step().records)
    assert states(store, ONE)[-1] == seen["one"][-1]
    truncates = [
        one
        for file in landed(store, folder(ONE))
        for one in file.changes
        if one.marker is Marker.TRUNCATE
    ]
    assert len(truncates) == 1


def test_leaving_out_where_it_began_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resnapshots.Resnapshots, "begin", lambda self, marks: None)
    wrong = 0
    for seed in range(10):
        try:
            _lands_although_it_dies(seed)
        except AssertionError:
            wrong += 1
    assert wrong
