"""Change records as the connector for PostgreSQL and Kafka Connect's converter write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from openmirror.cdc.records import RECORDS

Tree = dict[str, Any]
Record = tuple[str, bytes | None, bytes | None, dict[str, bytes]]
"""Topic, key, value and headers."""


def compact(tree: Any) -> str:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def column(name: str, kind: str, meaning: str = "", *, optional: bool = True, **more: Any) -> Tree:
    """The schema of a column."""
    named = {"name": meaning, "version": 1} if meaning else {}
    return {"type": kind, "optional": optional, **named, **more, "field": name}


def struct(members: Sequence[Tree], name: str, **more: Any) -> Tree:
    return {"type": "struct", "fields": list(members), "name": name, "optional": False, **more}


def with_schema(schema: Tree, payload: Any) -> bytes:
    return compact({"schema": schema, "payload": payload}).encode()


SOURCE = [
    column("version", "string", optional=False),
    column("connector", "string", optional=False),
    column("name", "string", optional=False),
    column("ts_ms", "int64", optional=False),
    column("snapshot", "string", "io.debezium.data.Enum", default="false"),
    column("db", "string", optional=False),
    column("sequence", "string"),
    column("ts_us", "int64"),
    column("schema", "string", optional=False),
    column("table", "string", optional=False),
    column("txId", "int64"),
    column("lsn", "int64"),
]


@dataclass(frozen=True)
class MintedTable:
    """A table whose changes can be written as records."""

    columns: Sequence[Tree]
    keys: Sequence[str] = ("id",)
    name: str = "t"
    prefix: str = "pg"
    source: Mapping[str, Any] = field(default_factory=dict)
    """What its source says otherwise than usual."""

    @property
    def topic(self) -> str:
        return f"{self.prefix}.public.{self.name}"

    def envelope(self) -> Tree:
        row = struct(self.columns, f"{self.topic}.Value", optional=True)
        members = [
            {**row, "field": "before"},
            {**row, "field": "after"},
            struct(SOURCE, "io.debezium.connector.postgresql.Source", field="source"),
            column("op", "string", optional=False),
            column("ts_ms", "int64"),
        ]
        return struct(members, f"{self.topic}.Envelope", version=2)

    def key_schema(self) -> Tree:
        members = [
            {**next(c for c in self.columns if c["field"] == name), "optional": False}
            for name in self.keys
        ]
        return struct(members, f"{self.topic}.Key")

    def key(self, values: Mapping[str, Any]) -> bytes | None:
        if not self.keys:
            return None
        return with_schema(self.key_schema(), {name: values[name] for name in self.keys})

    def payload(self, op: str, row: Mapping[str, Any] | None = None, **source: Any) -> Tree:
        after = None
        if op in "cru":
            after = {c["field"]: None for c in self.columns} | dict(row or {})
        origin = {
            "version": "3.7.0.Final",
            "connector": "postgresql",
            "name": self.prefix,
            "ts_ms": 1795414440934,
            "snapshot": "true" if op == "r" else None,
            "db": "shop",
            "sequence": '["100","200"]',
            "ts_us": 1795414440934028,
            "schema": "public",
            "table": self.name,
            "txId": 773,
            "lsn": 200,
        }
        origin |= dict(self.source) | source
        return {"before": None, "after": after, "source": origin, "op": op, "ts_ms": 1795414441215}

    def change(self, op: str, row: Mapping[str, Any] | None = None, **source: Any) -> Record:
        """A record of one change; of a delete, `row` has the key."""
        key = None if op == "t" else self.key(row or {})
        return self.topic, key, with_schema(self.envelope(), self.payload(op, row, **source)), {}


def batch(records: Iterable[Record], first: int = 0) -> pa.Table:
    """Records, by their offsets from `first` on."""
    rows = [
        {
            "offset": offset,
            "topic": topic,
            "key": key,
            "value": value,
            "headers": [{"name": name, "value": content} for name, content in headers.items()],
        }
        for offset, (topic, key, value, headers) in enumerate(records, start=first)
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS)
