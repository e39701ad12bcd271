"""Values of Avro as the JSON that Connect's converter writes of them."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import orjson
from fastavro import parse_schema, schemaless_reader
from fastavro.schema import SchemaParseException

from openmirror.cdc.avro.registry import WrongAvroSchema
from openmirror.cdc.avro.schemas import Tree, bare
from openmirror.cdc.decoding.connect import JsonKind

_Change = Callable[[Any], Any]
_READING = (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError)
"""What the reader raises for bytes that are not what the schema says."""


class WrongAvro(ValueError):
    """These bytes are not what their schema says."""


class AvroValues:
    """Reads the values of one schema."""

    def __init__(self, avro: Tree, connect: Tree) -> None:
        """`connect` is the same schema as Connect has it; raises WrongAvroSchema."""
        try:
            self._schema = parse_schema(bare(avro))
        except (SchemaParseException, ValueError, TypeError, KeyError, RecursionError) as error:
            raise WrongAvroSchema(f"its schema is none of Avro: {error}") from None
        self._change = _change_of(connect)

    def as_json(self, content: bytes) -> str:
        """One value; raises WrongAvro."""
        stream = BytesIO(content)
        try:
            value = schemaless_reader(stream, self._schema, None)
        except _READING as error:
            raise WrongAvro(f"it is not what its schema says: {error!r}") from None
        if stream.read(1):
            raise WrongAvro("something follows after its value")
        changed = value if self._change is None else self._change(value)
        return orjson.dumps(changed).decode()


def _change_of(schema: Tree) -> _Change | None:
    """What makes a value one that JSON has; None where it is one already."""
    change = _CHANGES[JsonKind(schema["type"])](schema)
    if change is None or not schema["optional"]:
        return change
    return lambda value: None if value is None else change(value)


def _none(_: Tree) -> _Change | None:
    return None


def _of_bytes(_: Tree) -> _Change:
    return lambda value: b64encode(value).decode()


def _of_real(_: Tree) -> _Change:
    def change(value: float) -> float | str:
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

    return change


def _of_array(schema: Tree) -> _Change | None:
    change = _change_of(schema["items"])
    return None if change is None else lambda values: [change(value) for value in values]


def _of_map(schema: Tree) -> _Change | None:
    change = _change_of(schema["values"])
    if change is None:
        return None
    return lambda values: {name: change(value) for name, value in values.items()}


def _of_struct(schema: Tree) -> _Change | None:
    changes: Mapping[str, _Change] = {
        field["field"]: change
        for field in schema["fields"]
        if (change := _change_of(field)) is not None
    }

    def changed(value: dict[str, Any]) -> dict[str, Any]:
        for name, one in changes.items():
            value[name] = one(value[name])
        return value

    return changed if changes else None


_CHANGES: dict[JsonKind, Callable[[Tree], _Change | None]] = {
    **dict.fromkeys(JsonKind, _none),
    JsonKind.BYTES: _of_bytes,
    JsonKind.FLOAT32: _of_real,
    JsonKind.FLOAT64: _of_real,
    JsonKind.ARRAY: _of_array,
    JsonKind.MAP: _of_map,
    JsonKind.STRUCT: _of_struct,
}
