"""Kafka Connect's schemas: the JSON that stands before each payload, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST_LEVELS = 50
"""Far more than columns have, and far fewer than would be too many for this process."""


class MalformedSchema(ValueError):
    """This is no schema of Kafka Connect."""


class JsonKind(StrEnum):
    """What a value is in JSON, before its schema's name gives it a meaning."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    """Base64."""
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, kw_only=True)
class Schema:
    """One schema, with all that it is made of."""

    kind: JsonKind
    optional: bool = False
    name: str = ""
    """The meaning, such as `io.debezium.time.Date`; empty where the JSON value is all."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    has_default: bool = False
    fields: tuple[Field, ...] = ()
    """Of a struct; no two have one name."""
    items: Schema | None = None
    """Of an array; of a map, its values."""
    keys: Schema | None = None
    """Of a map."""

    def find(self, name: str) -> Schema | None:
        """The schema of a struct's field."""
        return next((field.schema for field in self.fields if field.name == name), None)


@dataclass(frozen=True)
class Field:
    """A field of a struct."""

    name: str
    schema: Schema


def schema_from(tree: Any, levels: int = MOST_LEVELS) -> Schema:
    """A schema from its JSON, of so many levels at most. Raises MalformedSchema."""
    if not levels:
        raise MalformedSchema("it is nested too deeply")
    if not isinstance(tree, dict):
        raise MalformedSchema("a schema is a JSON object")
    try:
        kind = JsonKind(str(tree.get("type")))
    except ValueError:
        raise MalformedSchema(f"there is no type {tree.get('type')!r}") from None
    name = tree.get("name")
    parameters = tree.get("parameters")
    if not (name is None or isinstance(name, str)) or not isinstance(parameters or {}, dict):
        raise MalformedSchema("the name of a schema is text, and its parameters an object")
    return Schema(
        kind=kind,
        optional=tree.get("optional") is True,
        name=name or "",
        parameters={str(key): str(value) for key, value in (parameters or {}).items()},
        has_default=tree.get("default") is not None,
        fields=_fields(tree, levels - 1) if kind is JsonKind.STRUCT else (),
        items=_items(tree, kind, levels - 1),
        keys=schema_from(tree.get("keys"), levels - 1) if kind is JsonKind.MAP else None,
    )


def _items(tree: dict[str, Any], kind: JsonKind, levels: int) -> Schema | None:
    if kind is JsonKind.ARRAY:
        return schema_from(tree.get("items"), levels)
    if kind is JsonKind.MAP:
        return schema_from(tree.get("values"), levels)
    return None


def _fields(tree: dict[str, Any], levels: int) -> tuple[Field, ...]:
    members = tree.get("fields")
    if not isinstance(members, list):
        raise MalformedSchema("a struct has a list of fields")
    fields = []
    for member in members:
        schema = schema_from(member, levels)
        name = member.get("field")
        if not isinstance(name, str):
            raise MalformedSchema("a field of a struct has a name")
        fields.append(Field(name, schema))
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise MalformedSchema(f"two fields have one name among {names}")
    return tuple(fields)
