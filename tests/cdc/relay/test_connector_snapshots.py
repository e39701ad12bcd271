"""Snapshots that a connector takes of its own accord, and logs of the source that begin anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openmirror.cdc.relay import selecting
from openmirror.cdc.relay.connector_snapshots import SnapshotPart
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.cdc.relay.source_order import (
    ReplayDoubt,
    SeenChanges,
    SourceChange,
    SourcePlace,
    new_changes,
)
from openmirror.ports import FileStore
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.streams import START, Offset, StopCode
from tests.cdc.relay.sources import COLUMNS, Event, Stream
from tests.cdc.relay.test_relay import ONE, TWO, document, states
from tests.publishing.zones import ZONE, memory

FILLED = (*COLUMNS, replace(COLUMNS[1], name="more", has_default=True))
"""Columns that a table gets with a value for its old rows: it stops."""


def row(number: int, text: str, place: int, table: str = "one") -> Event:
    """Of a snapshot at a place in the log."""
    return Event(table, "r", number, text, (place, place))


def change(place: int, op: str, number: int, text: str | None = None, **more: object) -> Event:
    return replace(Event("one", op, number, text, (place, place), place), **more)  # type: ignore[arg-type]


def landed(store: FileStore, stream: Stream, batch: int, *, takes: bool = True) -> Relay:
    """All of it, by batches of so many records."""
    options = RelayOptions(most_records=batch, takes=EXTENSIONS if takes else frozenset())
    made = Relay(store, ZONE, "shop", stream, stream.decode, options)
    made.open()
    while made.step().records:
        pass
    return made


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_what_has_gone_when_a_connector_takes_a_new_snapshot_goes(batch: int) -> None:
    store = memory()
    first = [row(1, "a", 10), row(2, "b", 10), row(9, "nine", 10, "two"), change(12, "c", 3, "c")]
    again = [row(2, "B", 20), row(4, "d", 20), row(9, "nine", 20, "two"), change(21, "u", 2, "bb")]
    landed(store, Stream(events=[*first, *again]), batch)
    assert states(store)[-1] == {2: "bb", 4: "d"}
    assert states(store, TWO)[-1] == {9: "nine"}
    assert not document(store).stopped


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_first_snapshot_that_is_cut_short_and_taken_again_is_landed_once(batch: int) -> None:
    store = memory()
    stream = Stream(events=[row(1, "a", 10), row(2, "b", 10), row(1, "a", 15), row(3, "c", 15)])
    landed(store, stream, batch)
    landed(store, stream, batch)
    assert states(store)[-1] == {1: "a", 3: "c"}


def test_a_source_that_was_restored_goes_on_behind_a_new_snapshot() -> None:
    store = memory()
    old = [row(1, "a", 100), change(110, "u", 1, "b")]
    new = [row(1, "A", 20), change(30, "u", 1, "B"), change(31, "c", 2, "C")]
    landed(store, Stream(events=[*old, *new]), 100)
    assert states(store)[-1] == {1: "B", 2: "C"}


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_a_table_that_has_stopped_goes_on_where_a_snapshot_begins(batch: int) -> None:
    store = memory()
    stop = change(12, "u", 1, "x", columns=FILLED, more=("filled",))
    lost = change(13, "c", 7, "lost", columns=FILLED, more=("filled",))
    rows = [replace(row(n, "new", 20), columns=FILLED, more=("filled",)) for n in (1, 2)]
    after = change(21, "d", 2, columns=FILLED, more=(None,))
    stream = Stream(events=[row(1, "a", 10), stop, lost])
    landed(store, stream, batch)
    assert document(store).stopped[ONE].stop.code is StopCode.RESNAPSHOT_NEEDED
    stream.events += [*rows, after]
    landed(store, stream, batch)
    assert not document(store).stopped
    assert states(store)[-1] == {1: "new"}


def test_it_goes_on_though_the_document_did_not_hear_of_it() -> None:
    store = memory()
    stop = change(12, "u", 1, "x", columns=FILLED, more=("filled",))
    stream = Stream(events=[row(1, "a", 10), stop])
    made = landed(store, stream, 100)
    before = document(store)
    rows = [replace(row(n, "new", 20), columns=FILLED, more=("filled",)) for n in (1, 2)]
    stream.events += rows
    landed(store, stream, 100)
    # As if the relay had died between the file and the document.
    made._document.change(lambda there: before)
    stream.earliest = START
    landed(store, stream, 100)
    assert not document(store).stopped
    assert states(store)[-1] == {1: "new", 2: "new"}


def test_rows_of_the_snapshot_that_is_landed_do_not_let_a_table_go_on() -> None:
    store = memory()
    stop = change(12, "u", 1, "x", columns=FILLED, more=("filled",))
    landed(store, Stream(events=[row(1, "a", 10), stop, row(2, "b", 10)]), 100)
    assert document(store).stopped[ONE].stop.code is StopCode.RESNAPSHOT_NEEDED


def test_a_mirror_that_takes_no_truncates_stops_at_a_new_snapshot() -> None:
    store = memory()
    stream = Stream(events=[row(1, "a", 10), change(12, "c", 2, "b"), row(1, "a", 20)])
    landed(store, stream, 100, takes=False)
    stopped = document(store).stopped[ONE]
    assert (stopped.at, stopped.stop.code) == (2, StopCode.RESNAPSHOT_NEEDED)
    assert "--anew" in stopped.stop.remedy
    assert states(store)[-1] == {1: "a", 2: "b"}


@pytest.mark.parametrize(
    ("op", "earliest", "stops"),
    [("u", 0, True), ("d", 0, True), ("c", 0, False), ("c", 3, True), ("t", 3, False)],
)
def test_a_table_that_begins_with_changes_of_rows_that_nobody_sent_stops(
    op: str, earliest: int, stops: bool
) -> None:
    store = memory()
    begins = change(12, op, 1, "x")
    stream = Stream(events=[None, None, None, begins, change(13, "c", 2, "y")])
    stream.earliest = Offset(earliest)
    landed(store, stream, 100)
    codes = [one.stop.code for one in document(store).stopped.values()]
    assert codes == ([StopCode.EVENTS_LOST] if stops else [])
    if stops:
        stream.events += [row(1, "a", 20), row(2, "y", 20)]
        landed(store, stream, 100)
        assert states(store)[-1] == {1: "a", 2: "y"}


@pytest.mark.parametrize("batch", [1, 100])
def test_a_log_that_begins_anew_without_a_snapshot_stops_the_table(batch: int) -> None:
    store = memory()
    old = [row(1, "a", 100), change(110, "u", 1, "b"), change(111, "c", 2, "c")]
    replayed = [change(110, "u", 1, "b"), change(111, "c", 2, "c")]
    failed_over = [change(40, "u", 1, "B", ts=500), change(41, "d", 2, ts=501)]
    landed(store, Stream(events=[*old, *replayed, *failed_over]), batch)
    stopped = document(store).stopped[ONE]
    assert (stopped.at, stopped.stop.code) == (5, StopCode.EVENTS_LOST)
    assert "failover" in stopped.stop.detail
    assert states(store)[-1] == {1: "b", 2: "c"}


def test_changes_of_another_log_are_in_doubt() -> None:
    def at(place: int, ts: int) -> SourceChange:
        return SourceChange("u", str(place), SourcePlace(None, (place,)), ts)

    seen = new_changes(SeenChanges(), [at(100, 100), at(110, 110)]).seen
    found = new_changes(seen, [at(110, 110), at(40, 500), at(41, 501), at(40, 500)])
    assert (found.is_new, found.doubt) == ([False], ReplayDoubt.OTHER_LOG)


def test_not_emptying_the_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "emptied_first", lambda piece: piece)
    with pytest.raises(AssertionError):
        test_what_has_gone_when_a_connector_takes_a_new_snapshot_goes(100)


def test_not_seeing_a_snapshot_begin_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "by_snapshot", lambda piece, newest: [SnapshotPart(piece, None)])
    with pytest.raises(AssertionError):
        test_what_has_gone_when_a_connector_takes_a_new_snapshot_goes(100)
    with pytest.raises(AssertionError):
        test_a_source_that_was_restored_goes_on_behind_a_new_snapshot()


@pytest.mark.parametrize("batch", [1, 100])
def test_tables_of_one_name_in_two_databases_are_not_mixed(batch: int) -> None:
    store = memory()
    own = [row(1, "a", 10), change(12, "u", 1, "b")]
    other = replace(row(1, "other", 11), database="archive")
    stream = Stream(events=[*own, other, change(13, "u", 1, "c")])
    landed(store, stream, batch)
    stopped = document(store).stopped[ONE]
    assert (stopped.at, stopped.stop.code) == (2, StopCode.CHANGE_REFUSED)
    assert "archive" in stopped.stop.detail
    assert states(store)[-1] == {1: "b"}
