"""Which Delta type a column gets from its schema, or why it cannot be mirrored as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from openmirror.cdc.decoding.connect import JsonKind, Schema
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StopCode, StopReason

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_VARIABLE_SCALE = "io.debezium.data.VariableScaleDecimal"
_PRECISION = "connect.decimal.precision"
_MOST_DIGITS = 38
_MOST_SCALE = 1000
"""PostgreSQL's own limit; the connector gives negative scales as numbers beyond it."""
_MONEY_SCALE = 2
_MONEY_DIGITS = 19


class WrittenAs(Enum):
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
    form: WrittenAs = WrittenAs.PLAIN
    scale: int = 0
    """Digits after the point, of a decimal; of a time, how many digits of a second a unit has."""


_PLAIN = {
    JsonKind.INT8: "byte",
    JsonKind.INT16: "short",
    JsonKind.INT32: "integer",
    JsonKind.INT64: "long",
    JsonKind.FLOAT32: "float",
    JsonKind.FLOAT64: "double",
    JsonKind.BOOLEAN: "boolean",
    JsonKind.STRING: "string",
    JsonKind.BYTES: "binary",
}


def _reading(kind: str, form: WrittenAs, scale: int = 0) -> Reading:
    return Reading(ColumnType(kind), form, scale)


def _zoneless(form: WrittenAs, digits: int = 0) -> Reading:
    return _reading("timestamp_ntz", form, digits)


_TIME = "io.debezium.time."
_DATA = "io.debezium.data."
_BY_NAME = {
    (JsonKind.INT32, _TIME + "Date"): _reading("date", WrittenAs.DAYS),
    (JsonKind.INT32, _TIME + "Time"): _reading("string", WrittenAs.TIME, 3),
    (JsonKind.INT32, _TIME + "Year"): Reading(ColumnType("integer")),
    (JsonKind.INT64, _TIME + "MicroTime"): _reading("string", WrittenAs.TIME, 6),
    (JsonKind.INT64, _TIME + "NanoTime"): _reading("string", WrittenAs.TIME, 9),
    (JsonKind.INT64, _TIME + "Timestamp"): _zoneless(WrittenAs.TIMESTAMP, 3),
    (JsonKind.INT64, _TIME + "MicroTimestamp"): _zoneless(WrittenAs.TIMESTAMP, 6),
    (JsonKind.STRING, _TIME + "ZonedTimestamp"): _reading("timestamp", WrittenAs.ZONED_TIMESTAMP),
    (JsonKind.STRING, _TIME + "IsoDate"): _reading("date", WrittenAs.ISO_DATE),
    (JsonKind.STRING, _TIME + "IsoTime"): _reading("string", WrittenAs.ISO_TIME),
    (JsonKind.STRING, _TIME + "IsoTimestamp"): _zoneless(WrittenAs.ISO_TIMESTAMP),
    (JsonKind.STRUCT, _VARIABLE_SCALE): _reading("string", WrittenAs.VARIABLE_DECIMAL),
}
_ALREADY_TEXT = {
    *(_DATA + name for name in ("Uuid", "Enum", "EnumSet", "Json", "Xml", "Ltree", "Tsvector")),
    *(_TIME + name for name in ("ZonedTime", "Interval")),
}
_CLEAR_IN_JSON = {_TIME + name for name in ("ZonedTimestamp", "IsoDate", "IsoTime", "IsoTimestamp")}
_BITS = _DATA + "Bits"
_SHAPES = _DATA + "geometry."


def reading_of(column: str, schema: Schema) -> Reading | StopReason:
    """The one Delta type that holds every value of a column's schema, and how they get there."""
    if schema.name == _DECIMAL and schema.kind is JsonKind.BYTES:
        return _decimal(column, schema)
    meaning = _BY_NAME.get((schema.kind, schema.name))
    if meaning is not None:
        return meaning
    if schema.kind in _PLAIN and (not schema.name or schema.name in {*_ALREADY_TEXT, _BITS}):
        return Reading(ColumnType(_PLAIN[schema.kind]))
    return _reading("string", WrittenAs.JSON) if _is_clear(schema) else _unsupported(column, schema)


def _decimal(column: str, schema: Schema) -> Reading | StopReason:
    try:
        scale = int(schema.parameters["scale"])
        unstated = _MONEY_DIGITS if scale == _MONEY_SCALE else _MOST_DIGITS
        digits = int(schema.parameters.get(_PRECISION, unstated))
    except (KeyError, ValueError):
        return inexact(column, "a decimal without a scale", _REMEDIES[_DECIMAL])
    if not 0 <= scale <= _MOST_SCALE:
        return inexact(column, "a numeric with a negative scale", _DECIMALS_AS_TEXT)
    digits = max(digits, scale, 1)
    if digits > _MOST_DIGITS:
        return _reading("string", WrittenAs.LONG_DECIMAL, scale)
    return _reading(f"decimal({digits},{scale})", WrittenAs.DECIMAL, scale)


def _is_clear(schema: Schema) -> bool:
    """Whether the JSON of a nested value says what it means without its schema."""
    if schema.name.startswith(_SHAPES):
        return True
    if schema.kind in _PLAIN:
        return not schema.name or schema.name in _ALREADY_TEXT or schema.name in _CLEAR_IN_JSON
    parts = [*(field.schema for field in schema.fields), schema.items, schema.keys]
    return not schema.name and all(_is_clear(part) for part in parts if part is not None)


_MICROSECONDS = "Set time.precision.mode=microseconds in the connector"
_DECIMALS_AS_TEXT = "Set decimal.handling.mode=string in the connector"
_INTERVALS_AS_TEXT = "Set interval.handling.mode=string in the connector"
_REMEDIES = {
    _DECIMAL: _DECIMALS_AS_TEXT,
    _VARIABLE_SCALE: _DECIMALS_AS_TEXT,
    _TIME + "MicroDuration": _INTERVALS_AS_TEXT,
    _TIME + "NanoDuration": _INTERVALS_AS_TEXT,
    # In 64 bits they end in 2262, and the connector begins anew in 1677, without saying so.
    _TIME + "NanoTimestamp": "Set time.precision.mode=isostring in the connector",
    "org.apache.kafka.connect.data.Date": _MICROSECONDS,
    "org.apache.kafka.connect.data.Time": _MICROSECONDS,
    "org.apache.kafka.connect.data.Timestamp": _MICROSECONDS,
}


def _unsupported(column: str, schema: Schema) -> StopReason:
    inner = schema
    while inner.items is not None:
        inner = inner.items
    where = "" if inner is schema else f"an {schema.kind} of "
    what = f"{inner.kind} {inner.name}".strip()
    remedy = _REMEDIES.get(inner.name)
    if remedy is None and inner.name.startswith(_TIME):
        remedy = "Set time.precision.mode=isostring in the connector"
    return inexact(column, f"{where}{what}", remedy)


def inexact(column: str, what: str, remedy: str | None) -> StopReason:
    """A column that comes as something whose values are not those of the database."""
    leave_out = "leave the column out with column.exclude.list"
    return StopReason(
        StopCode.SOURCE_TYPE_UNSUPPORTED,
        f"column {column!r} comes as {what}, whose values would not be exact",
        f"{remedy}, or {leave_out}." if remedy else f"{leave_out.capitalize()}.",
    )
