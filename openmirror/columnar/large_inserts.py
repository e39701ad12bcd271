"""Large batches of inserts, written as data files of their table a few rows at a time.

No row of them is compared with another, so none has to be held. What is written is what was
checked: the commit only has to name it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.data_files import new_data_file
from openmirror.columnar.file_rows import (
    TooLarge,
    markers_in,
    planned_bytes,
    typed_columns,
    unpacked_rows,
)
from openmirror.columnar.growing import NotGrown
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet.unpacked import WIDEST_NUMBER
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile, Counts, FileStore
from openmirror.ports.new_files import (
    Codec,
    InsertsWriter,
    NewFile,
    NotWritten,
    WrittenInserts,
    new_name,
)
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence as SequenceNumber
from openmirror.table.control import Truncated

_CELL = 8
"""Bytes of a row's cell, about: change files are put together by it."""
_LEAST = 16 << 20
"""Bytes in memory for which a data file of its own is worth it."""
_UNPACKED = 8
"""Bytes in memory for one of a change file, at most, besides those of its numbers."""


@dataclass(frozen=True)
class _Written:
    """A data file, and what was seen of the change files that it has the rows of."""

    file: NewFile
    checksums: Mapping[SequenceNumber, Checksum]
    truncated: Truncated | None


class _NoInsert(Exception):
    """A row that is none, or breaks a rule: which one is for Spark to find, or for a fold."""


@dataclass
class _Left:
    """Whether a part of the batch has ended all of it."""

    why: NotWritten | None = None


class LargeInserts(InsertsWriter):
    """Writes batches whose change files have at most `most_bytes` each, and a known bound of what
    they unpack to; safe to use from several threads.

    Spark writes what this does not: larger files, nested values, and tables whose rows say when
    they were decided, which nobody knows before.
    """

    def __init__(
        self, store: FileStore, most_bytes: int, threads: int = 2, data_file: int = 128 << 20
    ) -> None:
        """`threads` data files of a batch are written at a time, each of about `data_file` bytes
        in memory."""
        self._store = store
        self._most = most_bytes
        self._threads = threads
        self._data_file = data_file

    def written(
        self, batch: Batch, codec: Codec, folder: Path
    ) -> WrittenInserts | BadFile | NotWritten:
        """As the port has it."""
        if not _may_be_inserts(batch) or any(file.size > self._most for file in batch.files):
            return NotWritten.UNTRIED
        found = self._all(batch, codec, folder)
        if isinstance(found, BadFile | NotWritten):
            return found
        truncated = next((one.truncated for one in found if one.truncated), None)
        return WrittenInserts(
            counts=Counts(inserts=sum(one.file.rows for one in found), first_truncated=truncated),
            checksums=dict(chain.from_iterable(one.checksums.items() for one in found)),
            folder=folder,
            files=[one.file for one in found if one.file.rows],
        )

    def _all(
        self, batch: Batch, codec: Codec, folder: Path
    ) -> list[_Written] | BadFile | NotWritten:
        written: list[_Written] = []
        left = _Left()
        with ThreadPoolExecutor(self._threads, thread_name_prefix="large-inserts") as pool:
            work = [
                pool.submit(self._one, files, batch, codec, folder, left)
                for files in self._parts(batch)
            ]
            try:
                for future in work:
                    found = future.result()
                    if not isinstance(found, _Written):
                        return found
                    written.append(found)
            finally:
                left.why = left.why or NotWritten.UNFIT
                pool.shutdown(cancel_futures=True)
        return written

    def _parts(self, batch: Batch) -> Iterator[list[LandedFile]]:
        """The change files of each data file, in their order."""
        columns = len(batch.union.schema.columns)
        rows = [file.facts.rows if file.facts else 0 for file in batch.files]
        sizes = [max(f.size, n * columns * _CELL) for f, n in zip(batch.files, rows, strict=True)]
        most = min(self._data_file, max(_LEAST, -(-sum(sizes) // self._threads)))
        part, size = list[LandedFile](), 0
        for file, more in zip(batch.files, sizes, strict=True):
            part.append(file)
            size += more
            if size >= most:
                yield part
                part, size = [], 0
        if part:
            yield part

    def _one(
        self, files: Sequence[LandedFile], batch: Batch, codec: Codec, folder: Path, left: _Left
    ) -> _Written | BadFile | NotWritten:
        checksums = dict[SequenceNumber, Checksum]()
        truncated: Truncated | None = None
        file = files[0]
        try:
            with new_data_file(batch.union.schema, codec, folder / new_name(codec)) as new:
                for file in files:
                    if left.why:
                        return left.why
                    data, checksums[file.sequence] = planned_bytes(self._store, file)
                    for rows in unpacked_rows(data, file, batch, self._most_unpacked(file)):
                        if rows.truncated and truncated is None:
                            truncated = Truncated(file.name, rows.truncated)
                        table = pa.Table.from_batches([rows.batch])
                        _check(table, file, batch)
                        new.add(typed_columns(table, file, batch))
        except RowsBroken as error:
            return BadFile(file.name, error.broken)
        except _NoInsert:
            left.why = NotWritten.OTHER_CHANGES
            return left.why
        except (TooLarge, NotGrown):
            left.why = NotWritten.UNFIT
            return left.why
        return _Written(new.as_written(), checksums, truncated)

    def _most_unpacked(self, file: LandedFile) -> int:
        """Numbers are never more at once than a few thousand rows have."""
        assert file.facts is not None  # no file is planned without
        cells = file.facts.rows * len(file.facts.schema.columns)
        return _UNPACKED * self._most + cells * WIDEST_NUMBER


def _may_be_inserts(batch: Batch) -> bool:
    """Whether a row that is marked as an insert, or is not marked, is one that is just added; and
    all of it is known before the batch is decided."""
    frozen = batch.frozen
    return (
        batch.insert_marker is Marker.INSERT
        and frozen.default_marker is Marker.INSERT
        and frozen.version_column is None
        and batch.lineage is not Lineage.WRITTEN
    )


def _check(rows: pa.Table, file: LandedFile, batch: Batch) -> None:
    markers = markers_in(rows, file, batch)
    if isinstance(markers, Broken) or (markers != Marker.INSERT).any():
        raise _NoInsert(file.path)
