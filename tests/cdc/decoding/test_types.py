"""Which Delta type each type of PostgreSQL gets, in every mode of the connector."""

from __future__ import annotations

from typing import Any

import pytest

from openmirror.cdc.decoding.connect import schema_from
from openmirror.cdc.decoding.types import Reading, reading_of
from openmirror.protocol.streams import StopCode, StopReason
from tests.cdc.decoding.minted import Tree, column

DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIME = "io.debezium.time."
DATA = "io.debezium.data."


def decimal(scale: int, precision: int | None = None) -> dict[str, Any]:
    digits = {} if precision is None else {"connect.decimal.precision": str(precision)}
    return {"parameters": {"scale": str(scale), **digits}}


def array(items: Tree) -> Tree:
    return column("c", "array", items={k: v for k, v in items.items() if k != "field"})


VARIABLE = column(
    "c",
    "struct",
    DATA + "VariableScaleDecimal",
    fields=[column("scale", "int32", optional=False), column("value", "bytes", optional=False)],
)
POINT = column(
    "c",
    "struct",
    DATA + "geometry.Point",
    fields=[column("x", "double"), column("y", "double"), column("wkb", "bytes")],
)
TYPES = {
    "smallint": (column("c", "int16"), "short"),
    "integer": (column("c", "int32"), "integer"),
    "bigint": (column("c", "int64"), "long"),
    "a byte": (column("c", "int8"), "byte"),
    "real": (column("c", "float"), "float"),
    "double precision": (column("c", "double"), "double"),
    "boolean, bit(1)": (column("c", "boolean"), "boolean"),
    "numeric(10,2)": (column("c", "bytes", DECIMAL, **decimal(2, 10)), "decimal(10,2)"),
    "numeric(38,38)": (column("c", "bytes", DECIMAL, **decimal(38, 38)), "decimal(38,38)"),
    "numeric(3,5)": (column("c", "bytes", DECIMAL, **decimal(5, 3)), "decimal(5,5)"),
    "numeric(40,2)": (column("c", "bytes", DECIMAL, **decimal(2, 40)), "string"),
    "numeric(10,40)": (column("c", "bytes", DECIMAL, **decimal(40, 10)), "string"),
    "numeric": (VARIABLE, "string"),
    "numeric as text": (column("c", "string"), "string"),
    "money": (column("c", "bytes", DECIMAL, **decimal(2)), "decimal(19,2)"),
    "date": (column("c", "int32", TIME + "Date"), "date"),
    "date as text": (column("c", "string", TIME + "IsoDate"), "date"),
    "time(3)": (column("c", "int32", TIME + "Time"), "string"),
    "time": (column("c", "int64", TIME + "MicroTime"), "string"),
    "time of nanoseconds": (column("c", "int64", TIME + "NanoTime"), "string"),
    "time as text": (column("c", "string", TIME + "IsoTime"), "string"),
    "timetz": (column("c", "string", TIME + "ZonedTime"), "string"),
    "timestamp(3)": (column("c", "int64", TIME + "Timestamp"), "timestamp_ntz"),
    "timestamp": (column("c", "int64", TIME + "MicroTimestamp"), "timestamp_ntz"),
    "timestamp as text": (column("c", "string", TIME + "IsoTimestamp"), "timestamp_ntz"),
    "timestamptz": (column("c", "string", TIME + "ZonedTimestamp"), "timestamp"),
    "interval as text": (column("c", "string", TIME + "Interval"), "string"),
    "text, inet, ranges": (column("c", "string"), "string"),
    "uuid": (column("c", "string", DATA + "Uuid"), "string"),
    "an enum": (column("c", "string", DATA + "Enum", parameters={"allowed": "a,b"}), "string"),
    "json, jsonb, hstore": (column("c", "string", DATA + "Json"), "string"),
    "xml": (column("c", "string", DATA + "Xml"), "string"),
    "ltree": (column("c", "string", DATA + "Ltree"), "string"),
    "tsvector": (column("c", "string", DATA + "Tsvector"), "string"),
    "bytea": (column("c", "bytes"), "binary"),
    "bit(3)": (column("c", "bytes", DATA + "Bits", parameters={"length": "3"}), "binary"),
    "text[]": (array(column("c", "string")), "string"),
    "integer[]": (array(column("c", "int32")), "string"),
    "uuid[]": (array(column("c", "string", DATA + "Uuid")), "string"),
    "timestamptz[]": (array(column("c", "string", TIME + "ZonedTimestamp")), "string"),
    "date[] as text": (array(column("c", "string", TIME + "IsoDate")), "string"),
    "point": (POINT, "string"),
}


@pytest.mark.parametrize(("source", "delta"), TYPES.values(), ids=TYPES)
def test_a_type_has_the_delta_type_that_holds_all_its_values(source: Tree, delta: str) -> None:
    reading = reading_of("c", schema_from(source))
    assert isinstance(reading, Reading)
    assert reading.type == delta


INEXACT = {
    "interval": (column("c", "int64", TIME + "MicroDuration"), "interval.handling.mode=string"),
    "numeric(5,-2)": (
        column("c", "bytes", DECIMAL, **decimal(2046, 5)),
        "decimal.handling.mode=string",
    ),
    "a decimal without scale": (column("c", "bytes", DECIMAL), "decimal.handling.mode=string"),
    "numeric[]": (
        array(column("c", "bytes", DECIMAL, **decimal(2, 5))),
        "decimal.handling.mode=string",
    ),
    "date[]": (array(column("c", "int32", TIME + "Date")), "time.precision.mode=isostring"),
    "timestamp of nanoseconds": (
        column("c", "int64", TIME + "NanoTimestamp"),
        "time.precision.mode=isostring",
    ),
    "timestamp in connect mode": (
        column("c", "int64", "org.apache.kafka.connect.data.Timestamp"),
        "time.precision.mode=microseconds",
    ),
    "a type that nobody knows": (column("c", "bytes", DATA + "New"), "column.exclude.list"),
}


@pytest.mark.parametrize(("source", "remedy"), INEXACT.values(), ids=INEXACT)
def test_a_type_whose_values_come_without_their_meaning_is_refused(
    source: Tree, remedy: str
) -> None:
    stop = reading_of("price", schema_from(source))
    assert isinstance(stop, StopReason)
    assert stop.code is StopCode.SOURCE_TYPE_UNSUPPORTED
    assert "'price'" in stop.detail
    assert remedy in stop.remedy
