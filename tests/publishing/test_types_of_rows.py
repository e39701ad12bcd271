"""Types of all kinds: what is taken can be written, and means what a mirror would have read."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.errors import PublishRefused, WrongRequest
from openmirror.formats.parquet.conversion import read_parquet
from openmirror.formats.parquet.inspecting import ParquetInspector
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.rules import Code
from openmirror.publishing import TableWriter
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, join
from tests.publishing.zones import ORDERS, ZONE, landed, memory, numbers, publisher

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
ODD = {
    "seconds": pa.array([1, None], pa.timestamp("s")),
    "zone": pa.array([1, None], pa.timestamp("ms", "Europe/Oslo")),
    "times in a dictionary": pa.array([1000, 2000], pa.timestamp("ns")).dictionary_encode(),
    "dates": pa.array([dt.date(2024, 2, 29), None], pa.date64()),
    "time of day": pa.array([1, None], pa.time32("s")),
    "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
    "half": pa.array([1.5, None], pa.float16()),
    "duration": pa.array([5, None], pa.duration("ms")),
    "fixed bytes": pa.array([b"ab", None], pa.binary(2)),
    "view": pa.array(["a", None]).cast(pa.string_view()),
    "views in a dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, None]), pa.array(["a"]).cast(pa.string_view())
    ),
    "runs": pc.run_end_encode(pa.array([7, 7])),
    "list": pa.array([[1, None], None]),
    "lists in a dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, None]), pa.array([["x", "y"]])
    ),
    "struct": pa.array([{"b": True, "at": NOON}, None]),
    "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    "decimal": pa.array([Decimal("1.50"), None], pa.decimal256(20, 2)),
    "identifier": pa.array([b"0123456789abcdef", None], pa.uuid()),
}


def decoded(column: pa.Array) -> pa.Array:
    """For a writer that knows fewer arrays than are taken."""
    if pa.types.is_run_end_encoded(column.type):
        return pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if pa.types.is_string_view(values.type):
            values = values.cast(pa.string())
        return pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return column


def as_mirrored(store: MemoryStore, path: StorePath) -> list[dict[str, Any]]:
    """A file's rows as a mirror reads and converts them."""
    entry = next(e for e in store.list_folder(ORDERS).entries if path.endswith(e.name))
    facts = ParquetInspector(store).inspect(path, entry)
    read = read_parquet(io.BytesIO(store.read(path).data), facts, ReadRules())
    return [row for rows in read for row in rows.batch.to_pylist()]


@pytest.mark.parametrize("what", ODD)
def test_odd_types_land_as_what_a_mirror_would_have_made_of_them(what: str) -> None:
    store = memory()
    rows = pa.table({"id": [1, 2], "x": ODD[what]})
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert(rows)
    plain = io.BytesIO()
    pq.write_table(rows.set_column(1, "x", decoded(ODD[what])), plain, store_schema=False)
    other = join(ORDERS, f"{2:020d}.parquet")
    store.write(other, plain.getvalue())
    ours = join(ORDERS, f"{1:020d}.parquet")
    assert as_mirrored(store, ours) == as_mirrored(store, other)
    entry = next(e for e in store.list_folder(ORDERS).entries if ours.endswith(e.name))
    facts = ParquetInspector(store).inspect(ours, entry)
    assert not facts.needs_conversion


NEVER = {
    "beyond microseconds": (pa.array([0, 2**62], pa.timestamp("s")), "row 2, column 'x'"),
    "no whole microseconds": (
        pa.array([1, 1], pa.timestamp("ns")).dictionary_encode(),
        "row 1, column 'x': 1 nanoseconds",
    ),
    "no time of day": (
        pa.array([0, 86_400], pa.int32()).cast(pa.time32("s"), safe=False),
        "row 2, column 'x'",
    ),
    "a key twice in a map": (
        pa.array([[], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())),
        "row 2, column 'x'",
    ),
}


@pytest.mark.parametrize("what", NEVER)
def test_a_value_that_could_not_be_written_or_read_is_refused_before_it_is_taken(what: str) -> None:
    values, where = NEVER[what]
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        with pytest.raises(PublishRefused, match=where) as refused:
            orders.upsert(pa.table({"id": [1, 2], "x": values}))
        assert (refused.value.code, refused.value.section) == (Code.VALUE_INVALID, "6.5")
        orders.upsert([{"id": 1}])
    assert len(landed(store)) == 1


@pytest.mark.parametrize(
    "values",
    [pa.array([Decimal("1E2")], pa.decimal128(5, -2)), pa.array([{}], pa.struct([]))],
    ids=["negative scale", "struct of nothing"],
)
def test_a_type_that_parquet_cannot_have_is_refused_as_a_type_and_not_as_a_full_disk(
    values: pa.Array,
) -> None:
    orders = publisher(memory()).table("dbo.orders", key=["id"])
    with pytest.raises(PublishRefused, match="column 'x'") as refused:
        orders.upsert(pa.table({"id": [1], "x": values}))
    assert (refused.value.code, refused.value.section) == (Code.COLUMN_TYPE_UNSUPPORTED, "6.5")


WIDTHS: dict[str, tuple[pa.DataType, pa.DataType, str]] = {
    "integers": (pa.int32(), pa.int64(), "long"),
    "an integer and a decimal": (pa.int16(), pa.decimal128(10, 2), "decimal(10,2)"),
    "an integer and a double": (pa.int32(), pa.float64(), "double"),
}


@pytest.mark.parametrize("what", WIDTHS)
def test_types_that_alternate_share_a_file_in_the_type_that_holds_both(what: str) -> None:
    one, other, wide = WIDTHS[what]
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        for number in range(20):
            kind = other if number % 2 else one
            orders.upsert(pa.table({"id": [number], "x": pa.array([number], kind)}))
    (file,) = landed(store)
    assert [change.row["x"] for change in file.changes] == list(range(20))
    assert [column.type for column in orders.columns.columns] == ["long", wide]


def test_texts_of_every_size_and_category_share_a_file() -> None:
    texts = pa.array(["a", "b"])
    kinds = (texts, texts.cast(pa.large_string()), texts.dictionary_encode(), pa.nulls(2))
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        for kind in kinds:
            orders.insert(pa.table({"id": [1, 2], "x": kind}))
    (file,) = landed(store)
    assert [change.row["x"] for change in file.changes] == ["a", "b"] * 3 + [None, None]


def test_bytes_of_every_size_and_category_share_a_file() -> None:
    values = pa.array([b"a", b"b"])
    kinds = (values.dictionary_encode(), values, values.cast(pa.binary(1)))
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        for kind in kinds:
            orders.insert(pa.table({"id": [1, 2], "x": kind}))
    (file,) = landed(store)
    assert [change.row["x"] for change in file.changes] == [b"a", b"b"] * 3


NUMBERS = [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.decimal128(9, 2)]


@given(
    calls=st.lists(
        st.tuples(st.sampled_from(NUMBERS), st.lists(st.integers(0, 99), max_size=3)), max_size=8
    ),
    rows=st.integers(1, 7),
)
@settings(max_examples=40, deadline=None)
def test_numbers_of_any_widths_however_cut_land_in_order_and_as_they_are(
    calls: list[tuple[pa.DataType, list[int]]], rows: int
) -> None:
    store = memory()
    with publisher(store, rows=rows).table("dbo.orders", key=["id"]) as orders:
        for kind, values in calls:
            orders.upsert(
                pa.table({"id": pa.array(values, pa.int64()), "x": pa.array(values, kind)})
            )
    given_rows = [value for _, values in calls for value in values]
    files = landed(store)
    assert [change.row["x"] for file in files for change in file.changes] == given_rows
    assert len(files) == -(-len(given_rows) // rows)


def test_times_with_a_zone_and_without_never_share_a_file() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        for zone in (None, "UTC"):
            orders.upsert(pa.table({"id": [1], "at": pa.array([1], pa.timestamp("us", zone))}))
    assert numbers(store) == [1, 2]


def test_old_and_new_keys_may_have_other_widths() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.change_key([{"id": 1}], pa.table({"id": pa.array([2], pa.int32())}))
    (file,) = landed(store)
    assert [change.row["id"] for change in file.changes] == [1, 2]


def test_numbers_in_dicts_have_the_type_of_their_column_where_none_of_them_changes() -> None:
    types = {"i": pa.int32(), "f": pa.float64(), "d": pa.decimal128(10, 2), "s": pa.float32()}
    values = {"i": 7, "f": 2, "d": 3, "s": 1.5}
    store = memory()
    with publisher(store).table("dbo.orders", key=["i"]) as orders:
        orders.upsert(pa.table({name: pa.array([1], kind) for name, kind in types.items()}))
        before = orders.columns
        orders.upsert([values])
        assert orders.columns == before
        orders.upsert([{"i": 2**40, "f": 2.5, "d": Decimal("0.125"), "s": 0.1}])
        with pytest.raises(PublishRefused, match="column 'i'"):
            orders.upsert([{"i": 2.5}])
    assert [column.type for column in orders.columns.columns] == [
        "long",
        "double",
        "decimal(11,3)",
        "double",
    ]
    assert landed(store)[0].changes[1].row == values


FRAMES: dict[str, tuple[Callable[[], object], str]] = {
    "mixed": (lambda: pd.DataFrame({"x": [1, "a"]}), "column 'x'"),
    "a date and a moment": (
        lambda: pd.DataFrame({"x": [dt.date(2024, 1, 1), NOON]}),
        "date and datetime",
    ),
    "complex": (lambda: pd.DataFrame({"x": np.array([1 + 2j])}), "column 'x'.* of complex128"),
    "half a character in a name": (lambda: [{"\ud800": 1}], "no Unicode text"),
    "half a character": (lambda: [{"x": "\ud800"}], "column 'x'"),
    "no columns": (lambda: pl.Series([1, 2]), "without columns"),
}


@pytest.mark.parametrize("what", FRAMES)
def test_values_that_are_no_column_are_refused_in_words(what: str) -> None:
    rows, why = FRAMES[what]
    store = memory()
    with publisher(store).table("log") as log, pytest.raises(WrongRequest, match=why):
        log.insert(rows())
    assert numbers(store, join(ZONE, "log")) == []


def test_a_frame_with_one_name_twice_is_refused_as_any_rows_are() -> None:
    orders = publisher(memory()).table("dbo.orders", key=["id"])
    with pytest.raises(PublishRefused) as refused:
        orders.insert(pd.DataFrame([[1, 2]], columns=["id", "id"]))
    assert (refused.value.code, refused.value.section) == (Code.COLUMNS_DUPLICATE, "6.1")


def test_a_sparse_column_lands_with_all_of_its_values() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert(pd.DataFrame({"id": [1, 2], "x": pd.arrays.SparseArray([0, 5])}))
    assert [change.row["x"] for change in landed(store)[0].changes] == [0, 5]


def test_no_rows_are_taken_by_every_call() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        for call in (orders.insert, orders.upsert, orders.update, orders.delete, orders.publish):
            call([])
        orders.change_key([], [])
    assert numbers(store) == []


def given_up(orders: TableWriter) -> None:
    with orders.batch(1):
        orders.insert([{"id": 1, "v": "text"}])
        raise ZeroDivisionError


def test_columns_of_rows_that_were_given_up_are_no_columns_of_the_table() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert([{"id": 1, "w": 1}])
        with pytest.raises(ZeroDivisionError):
            given_up(orders)
        orders.insert([{"id": 1, "v": 5}], position=1)
        orders.insert([{"id": 1, "skipped": "as landed"}], position=1)
    assert [(c.name, c.type) for c in orders.columns.columns] == [
        ("id", "long"),
        ("w", "long"),
        ("v", "long"),
    ]
