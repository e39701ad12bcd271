"""A small batch gives the very values that Spark's own reading gives, to the last bit."""

from __future__ import annotations

import io
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from openmirror.plan.decisions import Idle, Pause
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.rules import Code
from openmirror.table import layout
from tests.harness import odd_parquet
from tests.zone import EVERY_PATH, MIRROR, Mirror, Paths, Zone


def _parquet(columns: dict[str, Any]) -> bytes:
    to = io.BytesIO()
    pq.write_table(pa.table(columns), to)
    return to.getvalue()


def _texts(*values: bytes) -> pa.Array:
    """Text of any bytes."""
    return pa.array(values, pa.binary()).view(pa.string())


NAN = np.array([0x7FF8000000000001, 0xFFF0000000000001], dtype=np.uint64).view(np.float64)
_MARKER = Code.ROW_MARKER_INVALID
MOMENTS = [
    datetime.fromisoformat(text)
    for text in (
        "0001-01-01", "1582-10-04T23:59:59.999999", "1582-10-15", "1899-12-31T23:59:59.000001",
        "1969-12-31T23:59:59.999999", "2262-05-01", "9999-12-31T23:59:59.999999",
    )
]  # fmt: skip
COLUMNS: dict[str, pa.Array] = {
    "i8": pa.array([-128, 127, None], pa.int8()),
    "u8": pa.array([0, 255, None], pa.uint8()),
    "u16": pa.array([0, 65535, None], pa.uint16()),
    "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
    "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "i64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
    "f32": pa.array([-0.0, float("inf"), None], pa.float32()),
    "f64": pa.array([-0.0, 0.0, -float("inf"), float("nan"), 5e-324, *NAN, None]),
    "flag": pa.array([True, False, None]),
    "d9": pa.array([Decimal("-1.23"), Decimal("9999999.99"), None], pa.decimal128(9, 2)),
    "d38": pa.array([Decimal(10) ** 37, -(Decimal(10) ** 37), None], pa.decimal128(38, 0)),
    "text": pa.array([b"", b"\xc3\xa4", b"\xff\xfe", b"a\x00b", None]).view(pa.string()),
    "bytes": pa.array([b"", b"\xff\x00", None]),
    "fixed": pa.array([b"abcd", None], pa.binary(4)),
    "day": pa.array([date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(9999, 12, 31)]),
    "utc": pa.array(MOMENTS, pa.timestamp("us", tz="UTC")),
    "wall": pa.array(MOMENTS, pa.timestamp("us")),
    "milli": pa.array([MOMENTS[0], MOMENTS[2]], pa.timestamp("ms")),
    "words": pa.array(["x", "y", "x", None]).dictionary_encode(),
}
ROWS = max(map(len, COLUMNS.values()))
ASKED = {
    # Spark's own words for values, since Python would make them equal: bits, bytes, microseconds.
    "f32": "hex(encode(cast(f32 AS string), 'UTF-8'))",
    "f64": "cast(f64 AS string)",
    "text": "hex(text)",
    "bytes": "hex(bytes)",
    "fixed": "hex(fixed)",
    "day": "cast(day AS string)",
    "utc": "unix_micros(utc)",
    "wall": "cast(wall AS string)",
    "milli": "cast(milli AS string)",
    "old": "unix_micros(old)",
}


def every_type() -> pa.Table:
    columns = {
        name: pa.concat_arrays([array, pa.nulls(ROWS - len(array), array.type)])
        if not pa.types.is_dictionary(array.type)
        else pa.concat_arrays([array, pa.nulls(ROWS - len(array), array.type)]).dictionary_decode()
        for name, array in COLUMNS.items()
    }
    return pa.table({"id": pa.array(range(ROWS), pa.int32()), **columns})


@pytest.mark.parametrize("zoneless", ["utc", "ntz"])
def test_values_of_every_type_are_those_that_spark_reads(
    zoneless: str, zone: Zone, spark: SparkSession
) -> None:
    settings = {"openmirror": {"zonelessTimestamps": zoneless}}
    mirror = Mirror(zone, spark)
    (zone.root / layout.mirror_settings(MIRROR)).write_text(json.dumps(settings))
    table = every_type()
    old = pa.table({"id": pa.array(range(ROWS), pa.int32()), "old": MOMENTS + [None] * (ROWS - 7)})
    again = table.set_column(0, "id", pa.array(range(ROWS - 1, -1, -1), pa.int32()))
    marked = again.append_column("__rowMarker__", pa.array([4] * ROWS, pa.int32()))
    found = []
    for name, paths in (("here", EVERY_PATH), ("there", Paths(small_batch=0))):
        mirror.engine = paths.engine(spark, zone.root, mirror.ports.store)
        zone.metadata(name, {"keyColumns": ["id"]})
        zone.put(name, 1, table)
        _put_int96(zone, name, 2, old)
        zone.put(name, 3, marked)
        assert isinstance(mirror.reconcile_until_idle(name), Idle)
        found.append(_as_spark_says(spark, mirror.delta_path(name)))
    here, there = found
    assert here == there
    assert len(here) == 2 * ROWS


_JULIAN = 2_440_588
_NOON = 43_200_000_000_000
_VALUES = [12_345_678_901, -129, 10**17, -(10**17)]
_DECIMALS = [Decimal(value).scaleb(-2) for value in _VALUES]
_TIMES = [
    ((_NOON, _JULIAN), 43_200_000_000),
    ((-_NOON, _JULIAN), -43_200_000_000),
    ((-1_000, _JULIAN - 100_000), -100_000 * 86_400_000_000 - 1),
    # What is finer is cut towards the day.
    ((-1_500, _JULIAN), -1),
    ((1_500, _JULIAN), 1),
    # Years that nanoseconds cannot count.
    ((-_NOON, _JULIAN - 500_000), -500_000 * 86_400_000_000 - 43_200_000_000),
    ((_NOON, _JULIAN + 500_000), 500_000 * 86_400_000_000 + 43_200_000_000),
]
_ODD: dict[str, tuple[bytes, list[Any]]] = {
    **{
        f"d{length}": (odd_parquet.decimals("v", length, _VALUES, 18, 2), _DECIMALS)
        for length in (8, 9, 12, 16)
    },
    "long": (odd_parquet.decimals("v", 20, _VALUES, 38, 2), _DECIMALS),
    "times": (odd_parquet.times("v", [pair for pair, _ in _TIMES]), [at for _, at in _TIMES]),
}
_BAD = {
    "no words": (_parquet({"id": [1, 2], ROW_MARKER_COLUMN: _texts(b"4", b"\xff")}), _MARKER),
    "blank": (_parquet({"id": [1, 2], ROW_MARKER_COLUMN: ["4", "4 .0"]}), _MARKER),
    "longer": (odd_parquet.decimals("v", 20, _VALUES, 18, 2), Code.FILE_UNREADABLE),
    "far": (
        _parquet({"id": [1, 2], "t": pa.array([0, 1 << 60], pa.timestamp("ms", "UTC"))}),
        Code.VALUE_INVALID,
    ),
    "few": (odd_parquet.miscounted(3), Code.FILE_UNREADABLE),
    "none": (odd_parquet.miscounted(0), Code.FILE_UNREADABLE),
}


def test_odd_files_give_their_values_or_their_rule_whoever_reads_them(
    zone: Zone, spark: SparkSession
) -> None:
    """Decimals of more bytes than they need, and times before 1970 as older Arrow wrote them."""
    mirror = Mirror(zone, spark)
    for way, paths in (("here", EVERY_PATH), ("there", Paths(small_batch=0))):
        mirror.engine = paths.engine(spark, zone.root, mirror.ports.store)
        for name, (data, values) in _ODD.items():
            table = f"{name}_{way}"
            zone.put_bytes(table, f"{1:020d}.parquet", data)
            assert isinstance(mirror.reconcile_until_idle(table), Idle), table
            frame = spark.read.format("delta").load(str(mirror.delta_path(table)))
            value = "unix_micros(v)" if name == "times" else "v"
            found = frame.selectExpr("id", f"{value} AS v").orderBy("id").collect()
            assert [row["v"] for row in found] == values, table
        for name, (data, code) in _BAD.items():
            table = f"{name}_{way}"
            zone.metadata(table, {"keyColumns": ["id"]})
            zone.put_bytes(table, f"{1:020d}.parquet", data)
            paused = mirror.reconcile_until_idle(table)
            assert isinstance(paused, Pause), table
            assert paused.problem.code is code, (table, paused)


def _put_int96(zone: Zone, table: str, sequence: int, rows: pa.Table) -> None:
    path = zone.folder(table) / f"_{sequence}"
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    path.rename(zone.folder(table) / f"{sequence:020d}.parquet")


def _as_spark_says(spark: SparkSession, path: Path) -> list[list[Any]]:
    frame = spark.read.format("delta").load(str(path))
    asked = [ASKED.get(name, f"cast({name} AS string)") for name in frame.columns]
    rows = frame.selectExpr("id AS place", *asked).collect()
    return sorted([list(row) for row in rows], key=str)
