"""The rows of one file of delimited text, in file order, as typed record batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.schema import TableSchema
from openmirror.protocol.textformat import TextFormat


def read_text(
    content: BinaryIO, text: TextFormat, facts_schema: TableSchema, marker: str | None
) -> Iterator[pa.RecordBatch]:
    """Read a whole file in a stream (PROTOCOL §4.6).

    Columns are named and ordered as in the header. Their types are those of `facts_schema`, which
    the inspector made of this header; the marker column is text. `content` is read once, forward,
    and may be compressed.

    Raises RowsBroken, whose detail names line, column and value; what `content.read` raises.
    """
    raise NotImplementedError
