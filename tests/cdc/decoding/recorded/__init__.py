"""What connectors wrote: each file has schemas once, and records that refer to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.cdc.decoding.minted import Record, batch

FOLDER = Path(__file__).parent


def recorded(name: str) -> pa.Table:
    content = json.loads((FOLDER / f"{name}.json").read_text())

    def whole(part: tuple[int, str] | None) -> bytes | None:
        if part is None:
            return None
        return f'{content["schemas"][part[0]]},"payload":{part[1]}}}'.encode()

    records: list[Record] = [
        (topic, whole(key), whole(value), {name: text.encode() for name, text in headers})
        for topic, key, value, headers in content["records"]
    ]
    return batch(records)


def own_columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("__")}


def present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def written(records: list[Any]) -> str:
    """The content of such a file."""
    schemas: list[str] = []

    def parts(content: bytes | None) -> list[Any] | None:
        if content is None:
            return None
        schema, payload = content.decode().split(',"payload":', 1)
        if schema not in schemas:
            schemas.append(schema)
        return [schemas.index(schema), payload[:-1]]

    lines = [[topic, parts(key), parts(value), headers] for topic, key, value, headers in records]
    texts = (",\n".join(json.dumps(x, ensure_ascii=False) for x in of) for of in (schemas, lines))
    return '{{"schemas": [\n{}\n], "records": [\n{}\n]}}\n'.format(*texts)
