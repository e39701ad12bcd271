"""Rows in every form that a program may have them in, and files that keep every value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from openmirror.formats.parquet.inspecting import ParquetInspector
from openmirror.plan.facts import Completeness
from openmirror.table.layout import join
from tests.publishing.zones import ORDERS, landed, memory, numbers, publisher

TABLE = pa.table({"id": [1, 2], "city": ["Oslo", None]})
FORMS: dict[str, Callable[[], object]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "pandas": lambda: pd.DataFrame({"id": [1, 2], "city": ["Oslo", None]}, index=[7, 9]),
    "dicts": lambda: [{"id": 1, "city": "Oslo"}, {"id": 2}],
    "generator": lambda: iter([{"id": 1, "city": "Oslo"}, {"id": 2}]),
    "polars": lambda: pl.DataFrame(
        {"id": [1, 2], "city": ["Oslo", None]}, schema_overrides={"city": pl.Categorical}
    ),
    "pandas with categories": lambda: pd.DataFrame(
        {"id": [1, 2], "city": pd.Series(["Oslo", None], dtype="category")}
    ),
    "duckdb": lambda: duckdb.sql("SELECT * FROM (VALUES (1, 'Oslo'), (2, NULL)) AS t(id, city)"),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_land_whatever_form_they_have(form: str) -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.insert(FORMS[form]())
    (file,) = landed(store)
    assert file.columns == ("id", "city")
    assert [dict(change.row) for change in file.changes] == [
        {"id": 1, "city": "Oslo"},
        {"id": 2, "city": None},
    ]


VALUES = {
    "id": [1],
    "text": ["grün"],
    "number": [Decimal("12.50")],
    "day": [dt.date(2024, 2, 29)],
    "at": [dt.datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=dt.UTC)],
    "bytes": [b"\x00\xff"],
    "yes": [True],
    "big": [2**53 + 1],
}


def test_every_value_lands_as_it_is() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.upsert(pa.table(VALUES))
        orders.upsert(pa.table({"id": [2], "at": pa.array([1000], pa.timestamp("ns", "UTC"))}))
    (file,) = landed(store)
    assert dict(file.changes[0].row) == {name: values[0] for name, values in VALUES.items()}
    assert file.changes[1].row["at"] == dt.datetime(1970, 1, 1, microsecond=1, tzinfo=dt.UTC)


class Stream:
    """What any library hands on: rows by Arrow's C interface, and nothing else."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("form", [lambda reader: reader, Stream], ids=["reader", "any stream"])
def test_a_stream_is_landed_while_it_is_read(form: Callable[[object], object]) -> None:
    store = memory()
    seen: list[int] = []

    def batches() -> object:
        for number in range(6):
            seen.append(len(numbers(store)))
            yield pa.record_batch({"id": [number, number + 100]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64())]), batches())
    with publisher(store, rows=4).table("dbo.orders", key=["id"]) as orders:
        orders.insert(form(reader))
    assert seen == [0, 0, 1, 1, 2, 2]


def test_columns_of_several_calls_are_one_files_columns() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.upsert([{"id": 1, "City": "Oslo"}])
        orders.upsert([{"id": 2, "CITY": "Rome", "n": None}])
        orders.upsert([{"id": 3, "n": 5}])
        orders.upsert(pa.table({"id": pa.array([4], pa.int32())}))
    (file,) = landed(store)
    assert file.columns == ("id", "City", "n")
    assert [change.row["id"] for change in file.changes] == [1, 2, 3, 4]


def test_a_mirror_reads_what_was_published_without_converting_it() -> None:
    store = memory()
    with publisher(store).table("dbo.orders", key=["id"]) as orders:
        orders.upsert(pa.table(VALUES))
        orders.delete([{"id": 7}])
    entry = next(e for e in store.list_folder(ORDERS).entries if e.name.endswith(".parquet"))
    facts = ParquetInspector(store).inspect(join(ORDERS, entry.name), entry)
    assert facts.completeness is Completeness.COMPLETE
    assert (facts.broken, facts.needs_conversion, facts.rows) == (None, False, 2)
    assert facts.schema == orders.columns
