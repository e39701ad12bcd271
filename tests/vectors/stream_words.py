"""Vectors of streams: what connectors wrote, and the tables that must come of it."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cdc.decoding.minted import Record, Tree, compact

FOLDER, NAME = "streams", "stream.json"


@dataclass(frozen=True, kw_only=True)
class StreamVector:
    """One stream."""

    name: str
    title: str
    records: Sequence[Record]
    tables: Sequence[Mapping[str, Any]] = ()
    stopped: Sequence[Mapping[str, Any]] = ()
    protocol: str = "13.4"


def table(columns: str, *rows: Sequence[Any], folder: str = "public.schema/t") -> dict[str, Any]:
    """The table that must be there: `name:type` for each column, and its rows."""
    pairs = [[name, kind] for name, _, kind in (word.rpartition(":") for word in columns.split())]
    return {"folder": folder, "columns": pairs, "rows": [list(row) for row in rows]}


def stops(code: str, record: int, folder: str = "public.schema/t") -> dict[str, Any]:
    """A table that goes no further than this record, counted from 0."""
    return {"folder": folder, "code": code, "record": record}


def write(target: Path, vectors: Iterable[StreamVector]) -> None:
    """A file for each, the same ones each time."""
    for one in vectors:
        folder = target / FOLDER / one.name
        folder.mkdir(parents=True)  # a name that is used twice stops here
        (folder / NAME).write_text(_document(one), encoding="utf-8")


def _document(one: StreamVector) -> str:
    schemas: dict[str, Tree] = {}
    records = [
        {
            "topic": topic,
            "key": _part(key, schemas, "key"),
            "value": _part(value, schemas, "value"),
            **({"headers": _headers(headers)} if headers else {}),
        }
        for topic, key, value, headers in one.records
    ]
    document: dict[str, Any] = {"title": one.title, "protocol": [one.protocol]}
    document |= {
        "schemas": schemas,
        "records": records,
        "tables": list(one.tables),
        "stopped": list(one.stopped),
    }
    return "{\n" + ",\n".join(_member(name, part) for name, part in document.items()) + "\n}\n"


def _member(name: str, part: Any) -> str:
    """With a line for each record, schema and row, so that a difference shows in a review."""
    if isinstance(part, dict) and part:
        lines = [f"  {_text(key)}: {_text(value)}" for key, value in part.items()]
        return f" {_text(name)}: {{\n" + ",\n".join(lines) + "\n }"
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return f" {_text(name)}: [\n" + ",\n".join(f"  {_text(one)}" for one in part) + "\n ]"
    return f" {_text(name)}: {_text(part)}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _headers(headers: Mapping[str, bytes]) -> dict[str, str]:
    return {name: value.decode() for name, value in headers.items()}


def _part(content: bytes | None, schemas: dict[str, Tree], what: str) -> Any:
    """As README.md has it: a schema's name and a payload, the exact text, or bytes."""
    if content is None:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode()}
    if "\0" in text:
        return {"base64": b64encode(content).decode()}
    try:
        tree = json.loads(text)
    except ValueError:
        return text
    if not isinstance(tree, dict) or tree.keys() != {"schema", "payload"}:
        return text
    if not isinstance(tree["schema"], dict) or compact(tree) != text or "NaN" in text:
        return text
    known = {compact(schema): name for name, schema in schemas.items()}
    name = known.get(compact(tree["schema"]))
    if name is None:
        name = f"{what}{sum(key.startswith(what) for key in schemas) + 1}"
        schemas[name] = tree["schema"]
    return {"schema": name, "payload": tree["payload"]}
