"""Which Delta type a column gets from its schema, or why it cannot be mirrored as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from openmirror.cdc.decoding.connect import Kind, Schema
from openmirror.cdc.stops import StopCode, StopReason
from openmirror.protocol.schema import ColumnType

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_PRECISION = "connect.decimal.precision"
_MOST_DIGITS = 38
_MOST_SCALE = 1000
"""PostgreSQL's own limit; the connector gives negative scales as numbers beyond it."""
_MONEY_SCALE = 2
_MONEY_DIGITS = 19


class Form(Enum):
    """How a value is written in JSON, where its Delta type does not say so already."""

    PLAIN = auto()
    """As Spark reads the JSON value into the Delta type itself."""
    DECIMAL = auto()
    """An unscaled number, big-endian in two's complement, to a decimal."""
    LONG_DECIMAL = auto()
    """The same to text, because no decimal of Delta has so many digits."""
    VARIABLE_DECIMAL = auto()
    """The same with its own scale, to text."""
    DAYS = auto()
    """Days since 1970 to a date."""
    TIME = auto()
    """Units since midnight to text."""
    TIMESTAMP = auto()
    """Units since 1970, without a zone."""
    ZONED_TIMESTAMP = auto()
    """ISO 8601 with an offset or `Z`."""
    ISO_DATE = auto()
    """`2026-11-20Z`: the `Z` means nothing."""
    ISO_TIME = auto()
    """`01:02:03.5Z`: likewise."""
    ISO_TIMESTAMP = auto()
    """`2026-11-20T01:02:03.5Z`: likewise."""
    JSON = auto()
    """Any JSON, as text."""


@dataclass(frozen=True)
class Reading:
    """How a column's JSON values become values of its Delta type."""

    type: ColumnType
    form: Form = Form.PLAIN
    scale: int = 0
    """Digits after the point, of a decimal; of a time, how many digits of a second a unit has."""


_PLAIN = {
    Kind.INT8: "byte",
    Kind.INT16: "short",
    Kind.INT32: "integer",
    Kind.INT64: "long",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.BOOLEAN: "boolean",
    Kind.STRING: "string",
    Kind.BYTES: "binary",
}


def _reading(kind: str, form: Form, scale: int = 0) -> Reading:
    return Reading(ColumnType(kind), form, scale)


_BY_NAME = {
    (Kind.INT32, "io.debezium.time.Date"): _reading("date", Form.DAYS),
    (Kind.INT32, "io.debezium.time.Time"): _reading("string", Form.TIME, 3),
    (Kind.INT64, "io.debezium.time.MicroTime"): _reading("string", Form.TIME, 6),
    (Kind.INT64, "io.debezium.time.NanoTime"): _reading("string", Form.TIME, 9),
    (Kind.INT64, "io.debezium.time.Timestamp"): _reading("timestamp_ntz", Form.TIMESTAMP, 3),
    (Kind.INT64, "io.debezium.time.MicroTimestamp"): _reading("timestamp_ntz", Form.TIMESTAMP, 6),
    (Kind.INT64, "io.debezium.time.NanoTimestamp"): _reading("timestamp_ntz", Form.TIMESTAMP, 9),
    (Kind.STRING, "io.debezium.time.ZonedTimestamp"): _reading("timestamp", Form.ZONED_TIMESTAMP),
    (Kind.STRING, "io.debezium.time.IsoDate"): _reading("date", Form.ISO_DATE),
    (Kind.STRING, "io.debezium.time.IsoTime"): _reading("string", Form.ISO_TIME),
    (Kind.STRING, "io.debezium.time.IsoTimestamp"): _reading("timestamp_ntz", Form.ISO_TIMESTAMP),
    (Kind.STRUCT, "io.debezium.data.VariableScaleDecimal"): _reading(
        "string", Form.VARIABLE_DECIMAL
    ),
}
_ALREADY_TEXT = {
    (Kind.STRING, f"io.debezium.{name}")
    for name in (
        *("data.Uuid", "data.Enum", "data.EnumSet", "data.Json", "data.Xml"),
        *("data.Ltree", "data.Tsvector", "time.ZonedTime", "time.Interval"),
    )
}
_BITS = (Kind.BYTES, "io.debezium.data.Bits")
_SHAPES = "io.debezium.data.geometry."


def reading_of(column: str, schema: Schema) -> Reading | StopReason:
    """The one Delta type that holds every value of a column's schema, and how they get there."""
    if schema.name == _DECIMAL and schema.kind is Kind.BYTES:
        return _decimal(column, schema)
    named = (schema.kind, schema.name)
    if named in _BY_NAME:
        return _BY_NAME[named]
    if schema.kind in _PLAIN and (not schema.name or named in _ALREADY_TEXT or named == _BITS):
        return Reading(ColumnType(_PLAIN[schema.kind]))
    if _is_readable(schema):
        return _reading("string", Form.JSON)
    return _unsupported(column, schema)


def _decimal(column: str, schema: Schema) -> Reading | StopReason:
    try:
        scale = int(schema.parameters["scale"])
        unstated = _MONEY_DIGITS if scale == _MONEY_SCALE else _MOST_DIGITS
        digits = int(schema.parameters.get(_PRECISION, unstated))
    except (KeyError, ValueError):
        return _stop(column, "a decimal without a scale", _REMEDIES[_DECIMAL])
    if not 0 <= scale <= _MOST_SCALE:
        return _stop(
            column,
            "a numeric with a negative scale",
            "Set decimal.handling.mode=string in the connector",
        )
    digits = max(digits, scale)
    if digits > _MOST_DIGITS:
        return _reading("string", Form.LONG_DECIMAL, scale)
    return _reading(f"decimal({digits},{scale})", Form.DECIMAL, scale)


def _is_readable(schema: Schema) -> bool:
    """Whether the JSON of a nested value says what it means without its schema."""
    if schema.name.startswith(_SHAPES):
        return True
    parts = [*(field.schema for field in schema.fields), schema.items, schema.keys]
    if schema.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT):
        return not schema.name and all(_is_readable(part) for part in parts if part is not None)
    named = (schema.kind, schema.name)
    return not schema.name or named in _ALREADY_TEXT or named in _SELF_DESCRIBING


_SELF_DESCRIBING = {
    (Kind.STRING, f"io.debezium.time.{name}")
    for name in ("ZonedTimestamp", "IsoDate", "IsoTime", "IsoTimestamp")
}
_TIME_REMEDY = "Set time.precision.mode=isostring in the connector"
_REMEDIES = {
    _DECIMAL: "Set decimal.handling.mode=string in the connector",
    "io.debezium.data.VariableScaleDecimal": "Set decimal.handling.mode=string in the connector",
    "io.debezium.time.MicroDuration": "Set interval.handling.mode=string in the connector",
    "io.debezium.time.NanoDuration": "Set interval.handling.mode=string in the connector",
    "org.apache.kafka.connect.data.Date": "Set time.precision.mode=microseconds in the connector",
    "org.apache.kafka.connect.data.Time": "Set time.precision.mode=microseconds in the connector",
    "org.apache.kafka.connect.data.Timestamp": (
        "Set time.precision.mode=microseconds in the connector"
    ),
}


def _unsupported(column: str, schema: Schema) -> StopReason:
    inner = schema
    while inner.items is not None:
        inner = inner.items
    where = "" if inner is schema else f"an {schema.kind} of "
    what = f"{inner.kind} {inner.name}".strip()
    remedy = _REMEDIES.get(inner.name)
    if remedy is None and inner.name.startswith("io.debezium.time."):
        remedy = _TIME_REMEDY
    return _stop(column, f"{where}{what}", remedy)


def _stop(column: str, what: str, remedy: str | None) -> StopReason:
    leave_out = "leave the column out with column.exclude.list"
    return StopReason(
        StopCode.SOURCE_TYPE_UNSUPPORTED,
        f"column {column!r} comes as {what}, whose values would not be exact",
        f"{remedy}, or {leave_out}." if remedy else f"{leave_out.capitalize()}.",
    )
