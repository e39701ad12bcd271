"""One large file of delimited text: many changes of few keys, and newlines in most values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, interpret

DOCUMENT: dict[str, Any] = {
    "keyColumns": ["id"],
    "FileFormat": "DelimitedText",
    "FileExtension": "csv",
    "SchemaDefinition": {
        "Columns": [
            {"Name": "id", "DataType": "Int64"},
            {"Name": "n", "DataType": "Int64"},
            {"Name": "v", "DataType": "String"},
        ]
    },
}
_HEADER = b"id,n,v,__rowMarker__\r\n"
# A reader that starts in the middle of a value finds what looks like rows.
_PIECES = ("\r\n", "\r\n\r\n", "\n", '\r\n7,-1,"x",2\r\n', "\r\n8,-1,,4", '"', "\\", "ü", ",,", "a")
_WEIGHTS = (6, 6, 2, 2, 2, 1, 1, 1, 1, 2)


@dataclass(frozen=True)
class BigFile:
    """A file on disk and the table that its changes leave."""

    rows: int
    table: Table
    content: bytes | None
    """Only of a file that was small enough to keep."""


def write_big_file(path: Path, seed: int, least_bytes: int, keys: int) -> BigFile:
    """Write changes until the file is this large."""
    count = 0

    def counted(file: BinaryIO) -> Iterator[Change]:
        nonlocal count
        for change in _written(file, random.Random(seed), least_bytes, keys):
            count += 1
            yield change

    with path.open("wb") as file:
        changes: Any = counted(file)
        table = interpret([ChangeFile(("id", "n", "v"), changes)], ["id"])
    content = path.read_bytes() if least_bytes < 2**26 else None
    return BigFile(count, table, content)


def _written(file: BinaryIO, draw: random.Random, least_bytes: int, keys: int) -> Iterator[Change]:
    size = file.write(_HEADER)
    n = 0
    while size < least_bytes:
        n += 1
        key = draw.randrange(keys)
        marker = draw.choices((4, 1, 2, 0), (80, 10, 8, 2))[0]
        value = "".join(draw.choices(_PIECES, _WEIGHTS, k=draw.randint(1, 40)))
        escaped = value.replace("\\", "\\\\").replace('"', draw.choice(('""', '\\"')))
        size += file.write(f'{key},{n},"{escaped}",{marker}\r\n'.encode())
        yield Change(Marker(marker), {"id": key, "n": n, "v": value})
