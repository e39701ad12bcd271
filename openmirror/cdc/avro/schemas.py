"""Schemas of Avro as Kafka Connect's own: the way back from what its converter wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openmirror.cdc.avro.registry import WrongAvroSchema
from openmirror.cdc.decoding.connect import MOST_LEVELS, JsonKind

Tree = dict[str, Any]

_KINDS = {
    "boolean": JsonKind.BOOLEAN,
    "int": JsonKind.INT32,
    "long": JsonKind.INT64,
    "float": JsonKind.FLOAT32,
    "double": JsonKind.FLOAT64,
    "string": JsonKind.STRING,
    "bytes": JsonKind.BYTES,
    "enum": JsonKind.STRING,
    "fixed": JsonKind.BYTES,
}
_NARROW = {"int8": JsonKind.INT8, "int16": JsonKind.INT16}
_NAMED = ("record", "enum", "fixed")
_NULL = "null"
_LOGICAL = "logicalType"


def parsed(text: str) -> Tree:
    """A schema's JSON, of a record as every key and value of a connector is.

    Raises WrongAvroSchema.
    """
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongAvroSchema(f"its schema is no JSON: {error}") from None
    if not isinstance(tree, dict) or tree.get("type") != "record":
        raise WrongAvroSchema("its schema is no record of Avro")
    return tree


def bare(tree: Any) -> Any:
    """A schema of the same bytes, whose values are the plain ones: days as a number, not a date."""
    if isinstance(tree, list):
        return [bare(one) for one in tree]
    if isinstance(tree, dict):
        return {name: bare(one) for name, one in tree.items() if name != _LOGICAL}
    return tree


def connect_schema(tree: Tree) -> Tree:
    """The schema that Connect's JSON converter writes for what this one has. The converter for Avro
    keeps all that is Connect's own in properties: names with a meaning, parameters, defaults.

    Raises WrongAvroSchema, also where the properties are not there: without them a date is an
    integer, and nothing would show it.
    """
    if "connect.name" not in tree:
        raise WrongAvroSchema(
            "its schema has no connect.name, without which nobody knows what its values mean: "
            "remove connect.meta.data=false from the converter"
        )
    return _Schemas().of(tree, "", MOST_LEVELS)


class _Schemas:
    """One schema, whose types with names are used again by them."""

    def __init__(self) -> None:
        self._named: dict[str, Tree] = {}

    def of(self, tree: Any, namespace: str, levels: int) -> Tree:
        if not levels:
            raise WrongAvroSchema("its schema is nested too deeply")
        if isinstance(tree, list):
            return self._union(tree, namespace, levels)
        if isinstance(tree, str):
            return self._by_name(tree, namespace)
        if not isinstance(tree, dict):
            raise WrongAvroSchema(f"its schema has {tree!r} for a type")
        kind = tree.get("type")
        if isinstance(kind, dict | list):
            return {**self.of(kind, namespace, levels - 1), **_meaning(tree)}
        made = self._made(tree, str(kind), namespace, levels) | _meaning(tree)
        if kind in _NAMED:
            self._named[_full_name(tree, namespace)] = made
        return made

    def _by_name(self, name: str, namespace: str) -> Tree:
        if name in _KINDS and name not in _NAMED:
            return _plain(_KINDS[name])
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        if full not in self._named:
            raise WrongAvroSchema(f"its schema has no type {name!r}")
        return dict(self._named[full])

    def _union(self, branches: list[Any], namespace: str, levels: int) -> Tree:
        some = [branch for branch in branches if branch != _NULL]
        if len(some) != 1 or len(branches) > 2:
            raise WrongAvroSchema("its schema has a union of several types")
        return {**self.of(some[0], namespace, levels - 1), "optional": len(branches) == 2}

    def _made(self, tree: Tree, kind: str, namespace: str, levels: int) -> Tree:
        if kind == "record":
            return self._struct(tree, namespace, levels)
        if kind == "array":
            return _plain(JsonKind.ARRAY) | {"items": self.of(tree.get("items"), namespace, levels)}
        if kind == "map":
            values = self.of(tree.get("values"), namespace, levels)
            keys = _plain(JsonKind.STRING)
            return _plain(JsonKind.MAP) | {"keys": keys, "values": values}
        if kind not in _KINDS:
            return self._by_name(kind, namespace)
        narrow = _NARROW.get(str(tree.get("connect.type")))
        return _plain(narrow if narrow and kind == "int" else _KINDS[kind])

    def _struct(self, tree: Tree, namespace: str, levels: int) -> Tree:
        members = tree.get("fields")
        if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
            raise WrongAvroSchema("its schema has a record without a list of fields")
        inner = _full_name(tree, namespace).rpartition(".")[0]
        fields = []
        for member in members:
            made = self.of(member.get("type"), inner, levels - 1)
            if member.get("default") is not None:
                made.setdefault("default", member["default"])
            fields.append({**made, "field": member.get("name")})
        return _plain(JsonKind.STRUCT) | {"fields": fields}


def _plain(kind: JsonKind) -> Tree:
    return {"type": str(kind), "optional": False}


def _meaning(tree: Mapping[str, Any]) -> Tree:
    """What the converter keeps of Connect's schema in properties of its own."""
    kept = {
        "name": tree.get("connect.name"),
        "version": tree.get("connect.version"),
        "parameters": tree.get("connect.parameters"),
        "default": tree.get("connect.default"),
    }
    return {name: value for name, value in kept.items() if value is not None}


def _full_name(tree: Mapping[str, Any], namespace: str) -> str:
    name, own = str(tree.get("name")), tree.get("namespace", namespace)
    return name if "." in name or not own else f"{own}.{name}"
