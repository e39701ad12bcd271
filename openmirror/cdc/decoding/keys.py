"""A record's key: which columns it has, and whether they are the row's."""

from __future__ import annotations

import json
from dataclasses import dataclass

from openmirror.cdc.decoding.connect import JsonKind, MalformedSchema, Schema, schema_from
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, no_envelope
from openmirror.cdc.decoding.types import reading_of
from openmirror.protocol.streams import StopReason


@dataclass(frozen=True)
class Key:
    """The key columns of a table, as its records' keys have them."""

    schema: Schema
    columns: tuple[str, ...]


def key_from(text: str, envelope: ChangeEnvelope) -> Key | StopReason:
    """The key that a schema (its JSON) describes, of rows of an envelope."""
    try:
        schema = schema_from(json.loads(text))
    except MalformedSchema as error:
        return no_envelope(f"the schema of its key is none of Kafka Connect's: {error}")
    if schema.kind is not JsonKind.STRUCT or not schema.fields:
        return no_envelope("its key is no struct of columns")
    readings = {
        column.name: reading
        for column, reading in zip(envelope.columns, envelope.readings, strict=True)
    }
    for field in schema.fields:
        # A delete's row comes from its key alone, so both must mean the same.
        if readings.get(field.name) != reading_of(field.name, field.schema):
            return no_envelope(f"its key has {field.name!r}, which is no such column of its row")
    return Key(schema, tuple(field.name for field in schema.fields))
