"""Rows that Spark has written beside the change files of a table, until they have landed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import ConditionFailed, NotThere
from openmirror.ports import ABSENT, FileStore
from openmirror.table.layout import StorePath, join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STAGED_BY_SPARK = "_spark"
"""The folder in a table folder; mirrors pass over what begins so (PROTOCOL §2.1)."""

_MANIFEST = "rows.json"
_PART = re.compile(r"part-(\d+)-.*?(?:\.c(\d+))?\.[^/]*parquet\Z")


class StagedRows:
    """The rows of one DataFrame, written once: who comes again finds the same in the same order."""

    def __init__(self, store: FileStore, table: StorePath, spark_path: str, name: str) -> None:
        """`spark_path` is the table folder as Spark reaches it, `name` stands for the batch."""
        self._store = store
        self._home = join(table, STAGED_BY_SPARK, name)
        self._spark_home = f"{spark_path}/{STAGED_BY_SPARK}/{name}"

    def write(self, frame: DataFrame, rows_a_file: int) -> tuple[StorePath, ...]:
        """The files that hold the rows, in order; Spark is asked only where there are none yet."""
        with suppress(NotThere):
            return self._parts()
        attempt = uuid4().hex
        untyped = [f.name for f in frame.schema.fields if f.dataType.typeName() == "void"]
        writer = frame.drop(*untyped).write.option("maxRecordsPerFile", rows_a_file)
        writer.parquet(f"{self._spark_home}/{attempt}")
        entries = self._store.list_folder(join(self._home, attempt)).entries
        parts = sorted((e.name for e in entries if _PART.match(e.name)), key=_order)
        manifest = json.dumps([f"{attempt}/{name}" for name in parts]).encode()
        # Of two that wrote at once, the first counts for both.
        with suppress(ConditionFailed):
            self._store.write(join(self._home, _MANIFEST), manifest, ABSENT)
        return self._parts()

    def read(self, part: StorePath) -> Iterator[pa.Table]:
        """The rows of one file, in pieces."""
        data = self._store.read(part).data
        with pq.ParquetFile(pa.BufferReader(data), coerce_int96_timestamp_unit="us") as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)
            if not file.num_row_groups:
                yield file.schema_arrow.empty_table()

    def discard(self) -> None:
        """Remove them; whoever has done so before is right."""
        with suppress(NotThere):
            self._store.delete_folder(self._home)

    def _parts(self) -> tuple[StorePath, ...]:
        names = json.loads(self._store.read(join(self._home, _MANIFEST)).data)
        return tuple(join(self._home, name) for name in names)


def _order(name: str) -> tuple[int, int]:
    """Spark numbers the tasks, which a sort leaves in order, and the files of each."""
    found = _PART.match(name)
    assert found is not None
    return int(found[1]), int(found[2] or 0)
