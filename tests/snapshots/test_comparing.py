"""The differences of random snapshots make one of the other, for every kind of key."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.stores import Call, WatchedStore
from tests.snapshots.zone import bag, memory_store, mirrored, publish

MOMENTS = [
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
]
KEYS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "byte": (pa.int8(), [-128, 0, 127]),
    "short": (pa.int16(), [-(1 << 15), 7]),
    "integer": (pa.int32(), [-(1 << 31), 7]),
    "long": (pa.int64(), [-(1 << 63), 0, (1 << 63) - 1]),
    "unsigned": (pa.uint64(), [0, (1 << 64) - 1]),
    "float": (pa.float32(), [0.0, 0.1, float("nan"), float("inf")]),
    "double": (pa.float64(), [0.0, 5e-324, -1e300, float("nan"), float("-inf")]),
    "decimal": (pa.decimal128(38, 2), [Decimal("0.10"), -Decimal("9" * 20)]),
    "string": (pa.string(), ["", "a", "A", "a ", "e\u0301", "\u00e9", "\0", "NULL", "|2:x=s"]),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"a"]),
    "fixed": (pa.binary(2), [b"ab", b"\0\0"]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", "UTC"), MOMENTS),
    "zoneless": (pa.timestamp("us"), [m.replace(tzinfo=None) for m in MOMENTS]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
}
VALUES = st.one_of(st.none(), st.sampled_from(["", "x", "xy", ":", "1:s", "NULL"]))


def snapshots(kind: str) -> st.SearchStrategy[list[pa.Table]]:
    """Three snapshots of one table, whose columns come and go."""
    arrow, values = KEYS[kind]
    key = st.tuples(st.one_of(st.none(), st.sampled_from(values)), st.sampled_from([1, 2]))

    def table(rows: list[tuple[tuple[Any, int], Any, Any]], with_b: bool, shuffled: bool) -> Any:
        columns = {
            "k": pa.array([k for (k, _), _, _ in rows], arrow),
            "part": pa.array([part for (_, part), _, _ in rows], pa.int64()),
            "a": pa.array([a for _, a, _ in rows], pa.string()),
        }
        if with_b:
            columns["B"] = pa.array([b for _, _, b in rows], pa.string())
        names = sorted(columns, reverse=shuffled)
        return pa.table({name: columns[name] for name in names})

    rows = st.lists(
        st.tuples(key, VALUES, VALUES),
        max_size=6,
        unique_by=lambda row: (repr(row[0][0]), row[0][1]),
    )
    return st.lists(st.builds(table, rows, st.booleans(), st.booleans()), min_size=2, max_size=3)


@pytest.mark.parametrize("kind", KEYS)
def test_every_kind_of_key_is_found_again(tmp_path: Path, kind: str) -> None:
    """For each value, and NULL: a row that stays, that changes, that goes and that comes."""
    arrow, values = KEYS[kind]
    keys = [None, *values]

    def table(parts: str) -> pa.Table:
        rows = [(key, part.lower(), part) for key in keys for part in parts]
        columns = {
            "k": pa.array([key for key, _, _ in rows], arrow),
            "part": [part for _, part, _ in rows],
            "v": [value for _, _, value in rows],
        }
        return pa.table(columns)

    store = memory_store()
    publish(store, table("abc"), tmp_path / "1", ("k", "part"), file_rows=1000)
    second = table("aBd")
    found = publish(store, second, tmp_path / "2", ("k", "part"), file_rows=1000).differences
    assert (found.added, found.changed, found.deleted) == (len(keys),) * 3
    assert bag(mirrored(store, ("k", "part")).rows) == bag(_as_in_tables(second))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(kind=st.sampled_from(list(KEYS)), data=st.data())
def test_any_snapshots_in_a_row_give_the_newest(kind: str, data: st.DataObject) -> None:
    """With a crash at some call of the store, before it or after."""
    _check(kind, data)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KEYS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data())
def test_many_snapshots_in_a_row_give_the_newest(kind: str, data: st.DataObject) -> None:
    _check(kind, data)


def _check(kind: str, data: st.DataObject) -> None:
    store = memory_store()
    made = data.draw(snapshots(kind))
    deaths = data.draw(st.lists(st.integers(0, 60), max_size=2))
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(made):
            for attempt, at in enumerate(deaths):
                _publish_until(store, rows, Path(folder) / f"{number}-{attempt}", at)
            publish(store, rows, Path(folder) / str(number), ("k", "part"))
            assert bag(mirrored(store, ("k", "part")).rows) == bag(_as_in_tables(rows))


class Died(BaseException):
    """The process ends."""


def _publish_until(store: Any, rows: pa.Table, temp: Path, at: int) -> None:
    seen = iter(range(10_000))

    def die(_: Call) -> None:
        if next(seen) == at // 2:
            raise Died

    watched = WatchedStore(store, **{"before" if at % 2 else "after": die})
    try:
        publish(watched, rows, temp, ("k", "part"))
    except Died:
        return


def _as_in_tables(rows: pa.Table) -> list[dict[str, Any]]:
    """The rows as the table holds them: unsigned numbers of 64 bits are decimals."""
    columns = [
        column.cast(pa.decimal128(20, 0)) if column.type == pa.uint64() else column
        for column in rows.columns
    ]
    found: list[dict[str, Any]] = pa.table(columns, names=rows.column_names).to_pylist()
    return found


@pytest.mark.parametrize(("before", "after"), [(0.0, -0.0), (-0.0, 0.0)])
def test_minus_zero_is_the_key_zero(tmp_path: Path, before: float, after: float) -> None:
    store = memory_store()
    publish(store, pa.table({"id": [before], "v": ["a"]}), tmp_path / "1")
    outcome = publish(store, pa.table({"id": [after], "v": ["b"]}), tmp_path / "2")
    assert (outcome.differences.changed, outcome.differences.total) == (1, 1)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (pa.int32(), pa.int64(), 0),
        (pa.float32(), pa.float64(), 0),
        (pa.int32(), pa.decimal128(12, 2), 2),
        (pa.date32(), pa.timestamp("us", "UTC"), 2),
    ],
)
def test_a_type_that_grows_keeps_keys_and_rows(
    tmp_path: Path, before: pa.DataType, after: pa.DataType, changed: int
) -> None:
    """Rows whose values are written otherwise in the new type are sent once more."""
    store = memory_store()
    values = pa.array([1, 2], pa.int32()).cast(before)
    publish(store, pa.table({"id": values, "v": values}), tmp_path / "1")
    grown = values.cast(after)
    outcome = publish(store, pa.table({"id": grown, "v": grown}), tmp_path / "2")
    found = outcome.differences
    assert (found.added, found.changed, found.deleted) == (0, changed, 0)
