"""The Arrow type of each column type: what parts for Spark are written with."""

from __future__ import annotations

import re

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.schema import ColumnType

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)\Z")


def arrow_type(kind: ColumnType) -> pa.DataType:
    """The Arrow type that Parquet writes as exactly this column type.

    Timestamps are microseconds: as Spark reads any other unit, it may lose digits.
    """
    if decimal := _DECIMAL.match(kind):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return {
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }[kind]
