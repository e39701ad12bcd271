"""Columns that say which change made a row: where a mirror asks for them, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from openmirror.cdc.decoded import SourceColumn
from openmirror.cdc.relay.lineage import LINEAGE, with_lineage
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.ports import FileStore
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StopCode
from tests.cdc.relay.sources import COLUMNS, Event, Stream
from tests.cdc.relay.test_relay import ONE, TWO, document, drained, folder
from tests.publishing.zones import ZONE, memory, mirrored

NAMES = [column.name for column in LINEAGE]


def change(place: int, op: str, number: int, text: str | None = None, **more: object) -> Event:
    return replace(Event("one", op, number, text, (place, place), place), **more)  # type: ignore[arg-type]


def landed(store: FileStore, stream: Stream, *, lineage: bool) -> None:
    decode = with_lineage(stream.decode) if lineage else stream.decode
    made = Relay(store, ZONE, "shop", stream, decode, RelayOptions(takes=EXTENSIONS))
    made.open()
    while made.step().records:
        pass


def rows(store: FileStore, path: object = ONE) -> dict[object, Mapping[str, object]]:
    found = mirrored(store, ("id",), folder(path))  # type: ignore[arg-type]
    return {row["id"]: row for row in found.rows}


def test_each_row_names_its_last_change() -> None:
    store = memory()
    within = replace(change(7, "u", 2, "B"), transaction=None, within=(3, 1), place=(7,))
    read = Event("one", "r", 5, "e", snapshot="incremental")
    events = [Event("one", "r", 1, "a"), change(5, "c", 2, "b"), within, read, change(8, "d", 1)]
    landed(store, Stream(events=events), lineage=True)
    found = rows(store)
    assert sorted(found, key=str) == [2, 5]
    assert found[2]["_op"] == "u"
    assert found[2]["_last_op_id"] == "-".join(f"{n:020d}" for n in (7, 3, 1))
    assert str(found[2]["_source_ts"]).startswith("1970-01-01 00:00:00.000007")
    assert (found[5]["_op"], found[5]["_last_op_id"]) == ("r", None)


def test_places_sort_as_text_as_they_do_as_numbers() -> None:
    numbers = [(-1, 5), (9, 10), (10, 2), (10, 11), (2**63 - 1, 0)]
    table = Stream(events=[change(1, "c", n) for n in range(len(numbers))])
    events = [replace(e, place=p) for e, p in zip(table.events, numbers, strict=True)]  # type: ignore[type-var]
    stream = Stream(events=[*events])
    decoded = with_lineage(stream.decode)(stream.read(0, 100, 0))  # type: ignore[arg-type]
    texts = decoded.tables[0].rows.column("_last_op_id").to_pylist()
    assert texts == sorted(texts)
    assert len(set(texts)) == len(texts)


def test_it_can_be_switched_on_and_off_and_on() -> None:
    store = memory()
    stream = Stream()
    for at, lineage in enumerate([False, True, False, True]):
        stream.events.append(change(10 + at, "c", at, "x"))
        landed(store, stream, lineage=lineage)
    assert not document(store).stopped
    assert {number: row.get("_op") for number, row in rows(store).items()} == {
        0: None,
        2: None,
        1: "c",
        3: "c",
    }


def test_without_it_no_column_is_there() -> None:
    store = memory()
    drained(store, Stream(events=[change(1, "c", 1, "a")]))
    assert not set(NAMES) & set(rows(store)[1])


def test_a_table_that_has_such_a_column_stops_alone() -> None:
    store = memory()
    own = (*COLUMNS, SourceColumn("_OP", ColumnType("string"), True, False))
    taken = change(1, "c", 1, "a", columns=own, more=("mine",))
    other = change(2, "c", 9, "nine", table="two")
    landed(store, Stream(events=[taken, other]), lineage=True)
    stopped = document(store).stopped
    assert {path: one.stop.code for path, one in stopped.items()} == {ONE: StopCode.CHANGE_REFUSED}
    assert "'_OP'" in stopped[ONE].stop.detail
    assert rows(store, TWO)[9]["_op"] == "c"


def test_nothing_is_added_to_no_records() -> None:
    stream = Stream(events=[None])
    decoded = with_lineage(stream.decode)(stream.read(0, 1, 0))  # type: ignore[arg-type]
    assert decoded.tables == ()
    assert isinstance(stream.read(0, 1, 0), pa.Table)  # type: ignore[arg-type]
