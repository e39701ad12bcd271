"""Minted records in Avro, by a registry in memory: as Confluent's converter writes them."""

from __future__ import annotations

import json
from base64 import b64decode
from io import BytesIO
from typing import Any

import pyarrow as pa
from fastavro import parse_schema, schemaless_writer

from openmirror.cdc.avro.registry import SchemaId

_KINDS = {"int16": "int", "int32": "int", "int64": "long"}


class Registry:
    """The schemas that were written so far."""

    def __init__(self) -> None:
        self._schemas: list[str] = []
        self._numbers: dict[str, tuple[int, Any]] = {}

    def schema(self, id_: SchemaId) -> str:
        return self._schemas[int(id_)]

    def written(self, content: bytes | None) -> bytes | None:
        """A key or a value, from JSON with its schema."""
        if content is None:
            return None
        tree = json.loads(content)
        text = json.dumps(tree["schema"])
        if text not in self._numbers:
            avro = _avro(tree["schema"], "Envelope")
            self._numbers[text] = len(self._schemas), parse_schema(json.loads(json.dumps(avro)))
            self._schemas.append(json.dumps(avro))
        number, schema = self._numbers[text]
        stream = BytesIO()
        schemaless_writer(stream, schema, _value(tree["payload"], tree["schema"]))
        return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def in_avro(records: pa.Table, registry: Registry) -> pa.Table:
    """The same records."""
    rows = [
        {**row, **{side: registry.written(row[side]) for side in ("key", "value")}}
        for row in records.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=records.schema)


def _avro(schema: dict[str, Any], name: str) -> Any:
    made: dict[str, Any] = {"type": _KINDS.get(schema["type"], schema["type"])}
    if schema["type"] == "struct":
        fields = [
            {"name": one["field"], "type": _avro(one, f"{name}_{one['field']}")}
            for one in schema["fields"]
        ]
        made = {"type": "record", "name": name, "fields": fields}
    if "name" in schema:
        made["connect.name"] = schema["name"]
    if "parameters" in schema:
        made["connect.parameters"] = schema["parameters"]
    return ["null", made] if schema.get("optional") else made


def _value(value: Any, schema: dict[str, Any]) -> Any:
    if value is None:
        return None
    if schema["type"] == "struct":
        return {one["field"]: _value(value[one["field"]], one) for one in schema["fields"]}
    return b64decode(value) if schema["type"] == "bytes" else value
