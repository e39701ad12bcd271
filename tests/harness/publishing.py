"""What publishers write, in tests that ask for nothing special."""

from __future__ import annotations

import io
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.errors import ConditionFailed
from openmirror.ports import ABSENT, FileStore
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.table import layout
from openmirror.table.layout import join

KEYED = b'{"keyColumns": ["id"]}'


def table(mirror: str, path: str) -> TableFolder:
    return TableFolder(mirror, TablePath.parse(path))


def file_name(sequence: int, extension: str = "parquet") -> str:
    return f"{sequence:020d}.{extension}"


def encoded(rows: pa.Table, **options: object) -> bytes:
    """A Parquet file of these rows."""
    sink = io.BytesIO()
    pq.write_table(rows, sink, **options)
    return sink.getvalue()


def parquet(**columns: object) -> bytes:
    """A small Parquet file: two rows with the key `id`, or these columns."""
    return encoded(pa.table(columns or {"id": [1, 2]}))


def land(
    store: FileStore, folder: TableFolder, *numbers: int, keyed: bool = True, **columns: object
) -> None:
    """Publish small change files, and before them the key columns, unless metadata is there."""
    place, data = layout.table_folder(folder), parquet(**columns)
    if keyed:
        with suppress(ConditionFailed):
            store.write(join(place, "_metadata.json"), KEYED, only_if=ABSENT)
    for number in numbers:
        store.write(join(place, file_name(number)), data)
