"""The rows of Parquet files that Spark cannot read as they are, in the table's types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.adapters.rows_broken import RowsBroken
from openmirror.plan.facts import FileFacts
from openmirror.protocol.rules import Broken, Code


def read_parquet(
    content: BinaryIO,
    size: int,  # noqa: ARG001
    facts: FileFacts,  # noqa: ARG001
) -> Iterator[pa.RecordBatch]:
    """Read a whole file, one row group after the other (PROTOCOL §6.5).

    `size` is the file's, in bytes. Columns are those of the facts. Raises RowsBroken.
    """
    try:
        with pq.ParquetFile(content) as file:
            yield from file.iter_batches()
    except (pa.ArrowException, OSError) as error:
        raise RowsBroken(Broken(Code.FILE_UNREADABLE, str(error))) from error
