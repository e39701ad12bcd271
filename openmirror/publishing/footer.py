"""What our publishers write into the footer of each change file (PROTOCOL §13.2).

One entry of the Parquet footer's key-value metadata, called `openmirror.publishing`, in JSON. It is
carried forward from file to file, so the newest one is all the state that a publisher needs.
Mirrors ignore it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from openmirror.errors import OtherPublisher
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.publishing.positions import CutBatch, SourceProgress

FOOTER_KEY = b"openmirror.publishing"
VERSION = 1

FileBytes: TypeAlias = "bytes | memoryview"
"""A whole file in memory."""


@dataclass(frozen=True)
class Predecessor:
    """The file that was the newest of its folder when another one landed behind it."""

    sequence: int
    file: str | None
    """Its identity; None where it has no footer of ours."""


@dataclass(frozen=True, kw_only=True)
class PublishedFooter:
    """One change file as its publisher describes it."""

    file: str
    """The file's identity: 32 hexadecimal digits, which no other file has."""
    previous: Predecessor | None
    """None for the first file of a folder."""
    sources: Mapping[str, SourceProgress] = field(default_factory=dict)
    """Of every source that ever published into this incarnation of the folder."""
    streams: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same of every change stream: what it says is the relay's alone (PROTOCOL §13.4)."""
    columns: TableSchema = TableSchema()
    """Every column that any file had, with the type that holds them all."""
    rows: int = 0
    """Change rows of this incarnation, those of this file included."""

    def as_json(self) -> bytes:
        """The value as it stands in the footer."""
        document = {
            "version": VERSION,
            "file": self.file,
            "previous": self.previous
            and {"sequence": self.previous.sequence, "file": self.previous.file},
            "sources": {name: _source_json(source) for name, source in self.sources.items()},
            "streams": self.streams,
            "columns": [[column.name, column.type] for column in self.columns.columns],
            "rows": self.rows,
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def parse_published(text: bytes) -> PublishedFooter:
    """Read the value; raises OtherPublisher for one that this version does not know."""
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            raise OtherPublisher(
                f"the newest file was published by a newer version (footer version "
                f"{document['version']}): upgrade openmirror"
            )
        previous = document["previous"]
        return PublishedFooter(
            file=document["file"],
            previous=previous and Predecessor(previous["sequence"], previous["file"]),
            sources={name: _source(of) for name, of in document["sources"].items()},
            streams={name: dict(of) for name, of in document["streams"].items()},
            columns=TableSchema(
                tuple(Column(name, ColumnType(kind)) for name, kind in document["columns"])
            ),
            rows=document["rows"],
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OtherPublisher(
            f"a footer's {FOOTER_KEY.decode()} cannot be read ({error}): another program wrote it"
        ) from error


def _source_json(source: SourceProgress) -> dict[str, object]:
    batch = source.batch
    return {
        "position": source.position,
        "batch": batch
        and {"position": batch.position, "k": batch.k, "n": batch.n, "rows": batch.rows},
        "file": source.file,
    }


def _source(document: dict[str, Any]) -> SourceProgress:
    batch = document["batch"]
    made = batch and CutBatch(batch["position"], batch["k"], batch["n"], batch["rows"])
    return SourceProgress(document["position"], made, document["file"])


def with_footer(parquet: FileBytes, value: bytes) -> bytes:
    """A Parquet file with another value under our key; every other byte stays.

    Of a file that is not in memory as a whole, its end is enough, from before the footer on.

    The footer is Thrift in its compact protocol, in which a text is its length and its bytes and
    nothing around it is counted, so only the text and the footer's own length change. The file
    must have been written with our key.
    """
    whole = memoryview(parquet)
    length = int.from_bytes(whole[-8:-4], "little")
    start = len(whole) - 8 - length
    footer = bytes(whole[start:-8])
    mark = b"\x18" + _varint(len(FOOTER_KEY)) + FOOTER_KEY + b"\x18"
    # The last: what else it may stand in, such as a column's name, comes before.
    at = footer.rindex(mark) + len(mark)
    old, begin = _read_varint(footer, at)
    changed = footer[:at] + _varint(len(value)) + value + footer[begin + old :]
    return b"".join((whole[:start], changed, len(changed).to_bytes(4, "little"), b"PAR1"))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and the place behind it."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
