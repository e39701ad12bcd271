"""The interpreter over Arrow: keys may be cut anywhere, and values pass by untouched."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from openmirror.spark.interpreter import interpreter_of, orderable, whole_keys

_MOST = 2**63 - 1


def _sorted_rows(draw: random.Random, keys: int) -> pa.Table:
    rows = [
        (key, draw.choice([-1, 7]), draw.choice([0, 1, 2, 4]), draw.choice([None, 1, 2, 3]))
        for key in range(keys)
        for _ in range(draw.randint(1, 9))
    ]
    rows.sort(key=lambda row: row[:2])
    numbers, _, markers, guards = zip(*rows, strict=True)
    return pa.table(
        {
            "c0": pa.array([n * 10 for n in numbers]),
            "c1": pa.array(guards, pa.int64()),
            "c2": pa.array(
                [draw.randrange(-_MOST, _MOST) for _ in rows], pa.timestamp("us", "UTC")
            ),
            "marker": pa.array(markers, pa.int32()),
            "key_sequence": pa.array([1] * len(rows), pa.int64()),
            "key_row": pa.array(numbers, pa.int64()),
        }
    )


def _cut(draw: random.Random, table: pa.Table) -> Iterator[pa.RecordBatch]:
    start = 0
    while start < len(table):
        length = draw.choice([0, 1, 2, 5, 30])
        yield from table.slice(start, length).combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], table.schema)
        ]
        start += length


@pytest.mark.parametrize("seed", range(20))
def test_keys_come_whole_however_the_rows_were_cut(seed: int) -> None:
    draw = random.Random(seed)
    table = _sorted_rows(draw, draw.choice([1, 3, 40]))
    whole = list(whole_keys(_cut(draw, table)))
    assert pa.concat_tables(whole).combine_chunks() == table.combine_chunks()
    seen = [set(part.column("key_row").to_pylist()) for part in whole]
    assert sum(map(len, seen)) == len(set().union(*seen)), "a key is in two parts"


@pytest.mark.parametrize("seed", range(20))
def test_however_rows_are_cut_the_same_comes_of_them(seed: int) -> None:
    draw = random.Random(seed)
    table = _sorted_rows(draw, 40)
    work = interpreter_of(["c0", "c1", "c2"], "c1", "marker", "kind", "delete", "extra")
    at_once = pa.Table.from_batches(work(iter(table.combine_chunks().to_batches())))
    in_parts = pa.Table.from_batches(work(_cut(draw, table)))
    assert _bag(at_once) == _bag(in_parts)
    deleted = at_once.filter(pc.equal(at_once["kind"], "delete"))
    assert sorted(deleted.column("c0").to_pylist()) == [key * 10 for key in range(40)]
    assert set(_bag(at_once.drop(["kind"]))) <= set(_bag(table.select(["c0", "c1", "c2"])))


def _bag(table: pa.Table) -> list[tuple[object, ...]]:
    """Rows to compare; times as numbers, since these are of years that Python does not have."""
    columns = [
        table.column(at).cast(pa.int64()) if name == "c2" else table.column(at)
        for at, name in enumerate(table.column_names)
    ]
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=repr)


@pytest.mark.parametrize(
    "ascending",
    [
        pa.array(["", "10", "9", "Z", "a", "a ", "é", "\uff5e", "\U0001f600"]),
        pa.array([b"", b"\x00", b"\x7f\xff", b"\x80"]),
        pa.array([-_MOST, 0, _MOST], pa.timestamp("us", "UTC")),
        pa.array([-_MOST, 0, _MOST], pa.timestamp("us")),
        pa.array([date(1, 1, 1), date(9999, 12, 31)]),
        pa.array([Decimal("-0.01"), Decimal("0.00"), Decimal("0.01")]),
        pa.array([False, True]),
        pa.array([-_MOST, 0, _MOST]),
    ],
    ids=lambda values: str(values.type),
)
def test_values_are_ordered_as_the_protocol_compares_them(ascending: pa.Array) -> None:
    values = orderable(pa.chunked_array([ascending]))
    assert all(low < high for low, high in pairwise(values))  # type: ignore[operator]


def test_text_that_is_no_text_is_ordered_by_its_bytes() -> None:
    broken = pa.array([b"\xc3", b"\xff"]).cast(pa.binary())
    text = pa.StringArray.from_buffers(2, broken.buffers()[1], broken.buffers()[2])
    assert orderable(pa.chunked_array([text])) == [b"\xc3", b"\xff"]
