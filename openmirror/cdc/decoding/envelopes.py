"""What a schema announces: changes of a table's rows, or records about none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from openmirror.cdc.decoded import SourceColumn
from openmirror.cdc.decoding.connect import JsonKind, MalformedSchema, Schema, schema_from
from openmirror.cdc.decoding.types import Reading, WrittenAs, inexact, reading_of
from openmirror.cdc.decoding.unchanged import Unchanged, left_out
from openmirror.protocol.schema import duplicate_column
from openmirror.protocol.streams import StopCode, StopReason

_ENVELOPE = ".Envelope"
_OF_CONNECTORS = "io.debezium.connector."
_SOURCE = ("connector", "db", "table")
_TIMES_BEYOND_A_DAY = {f"{_OF_CONNECTORS}{name}.Source" for name in ("mysql", "mariadb")}
_RESERVED = "__"


@dataclass(frozen=True)
class ChangeEnvelope:
    """Changes of rows that have these columns."""

    schema: Schema
    """Of the whole payload."""
    columns: tuple[SourceColumn, ...]
    readings: tuple[Reading, ...]
    """One for each column."""
    left_out: Mapping[str, Unchanged]
    """Columns whose values the source's log leaves out of updates without a word."""


@dataclass(frozen=True)
class WithoutRows:
    """A heartbeat, an end of a transaction, a message or a notification."""


def announced(text: str) -> ChangeEnvelope | WithoutRows | StopReason:
    """What a record's schema (its JSON) announces, or why nobody can decode its payload."""
    try:
        schema = schema_from(json.loads(text))
    except MalformedSchema as error:
        return no_envelope(f"its schema is none of Kafka Connect's: {error}")
    if not schema.name.endswith(_ENVELOPE):
        if schema.name.startswith(_OF_CONNECTORS):
            return WithoutRows()
        return no_envelope(f"it is no envelope of Debezium: its schema is {schema.name!r}")
    row, source, operation = (schema.find(name) for name in ("after", "source", "op"))
    if row is None or source is None or operation is None or row.kind is not JsonKind.STRUCT:
        return no_envelope("its envelope has no after, source and op")
    if not all(source.find(name) for name in _SOURCE):
        return no_envelope(f"the source of its envelope does not have {', '.join(_SOURCE)}")
    return _with_columns(schema, row, source)


def no_envelope(detail: str) -> StopReason:
    """A record that no connector writes with the settings of this product."""
    return StopReason(
        StopCode.RECORD_UNDECODABLE,
        detail,
        "Let the connector write whole envelopes as JSON with schemas: no transforms that unwrap "
        "or change them, key.converter and value.converter of Kafka Connect's JsonConverter with "
        "schemas.enable=true; or in Avro by a schema registry. Then take a new snapshot of the "
        "table.",
    )


def _with_columns(schema: Schema, row: Schema, source: Schema) -> ChangeEnvelope | StopReason:
    names = [field.name for field in row.fields]
    twice = duplicate_column(names)
    if twice is not None:
        return _refused(twice.detail)
    reserved = [name for name in names if name.startswith(_RESERVED)]
    if reserved:
        return _refused(f"column {reserved[0]!r} begins with {_RESERVED}, as columns of ours do")
    readings = []
    for field in row.fields:
        reading = reading_of(field.name, field.schema)
        if isinstance(reading, StopReason):
            return reading
        if reading.form is WrittenAs.ISO_TIME and source.name in _TIMES_BEYOND_A_DAY:
            return inexact(
                field.name,
                "a time in text, which is NULL where it is negative or beyond a day",
                "Set time.precision.mode=adaptive_time_microseconds in the connector",
            )
        readings.append(reading)
    large = left_out(row, source)
    if isinstance(large, StopReason):
        return large
    columns = tuple(
        SourceColumn(field.name, reading.type, field.schema.optional, field.schema.has_default)
        for field, reading in zip(row.fields, readings, strict=True)
    )
    return ChangeEnvelope(schema, columns, tuple(readings), large)


def _refused(detail: str) -> StopReason:
    return StopReason(
        StopCode.CHANGE_REFUSED,
        detail,
        "Rename the column in the database, or leave it out with column.exclude.list.",
    )
