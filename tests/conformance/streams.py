"""Vectors of streams as tests read them (tests/vectors/README.md)."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from openmirror.cdc.records import RECORDS
from openmirror.protocol.streams import Offset, StreamIdentity
from tests.conformance.vectors import HERE
from tests.vectors.stream_words import FOLDER, NAME


@dataclass(frozen=True)
class StreamCase:
    """One vector on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.parent.name

    @cached_property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return found

    @property
    def records(self) -> pa.Table:
        """What the connector wrote, by the offsets from 0 on."""
        rows = [
            {
                "offset": offset,
                "topic": record["topic"],
                "key": self._bytes(record["key"]),
                "value": self._bytes(record["value"]),
                "headers": [
                    {"name": name, "value": value.encode()}
                    for name, value in record.get("headers", {}).items()
                ],
            }
            for offset, record in enumerate(self.document["records"])
        ]
        return pa.Table.from_pylist(rows, schema=RECORDS)

    def _bytes(self, part: Any) -> bytes | None:
        if part is None or isinstance(part, str):
            return None if part is None else part.encode()
        if "base64" in part:
            return b64decode(part["base64"])
        whole = {"schema": self.document["schemas"][part["schema"]], "payload": part["payload"]}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True)
class StreamOfCase:
    """A `RecordSource` of a vector's records."""

    records: pa.Table
    identity: StreamIdentity = StreamIdentity("0" * 32)  # noqa: RUF009 - text

    @property
    def forgets_by_itself(self) -> bool:
        return False

    def ends(self) -> tuple[Offset, Offset]:
        return Offset(0), Offset(len(self.records))

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        del most_bytes
        return self.records.slice(start, most_records)

    def forget(self, before: Offset) -> None:
        """They stay."""


STREAMS = [StreamCase(path) for path in sorted((HERE / FOLDER).glob(f"*/{NAME}"))]
