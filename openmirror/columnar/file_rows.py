"""The rows of one change file in this process, in the types of its batch."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.columnar.growing import grown
from openmirror.columnar.marked import Markers, markers_of
from openmirror.errors import ConditionFailed
from openmirror.formats.arrow_types import arrow_type
from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet import footer
from openmirror.formats.parquet.calendars import may_count_otherwise
from openmirror.formats.parquet.conversion import read_parquet
from openmirror.formats.parquet.unpacked import unpacked_bytes
from openmirror.formats.read_rows import ReadRows
from openmirror.formats.text.rows import read_text
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import FileStore
from openmirror.protocol.checksums import Checksum, RunningChecksum
from openmirror.protocol.names import fold_case
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import ColumnType


class TooLarge(Exception):
    """More than may be held in this process, or a shape that is better not read here."""


@dataclass(frozen=True)
class RowsInMemory:
    """All rows of one file."""

    columns: tuple[pa.ChunkedArray, ...]
    """Those of the batch's union, in its order and types."""
    markers: Markers
    checksum: Checksum
    truncated: str | None
    """The first time that lost what is finer than a microsecond."""
    bytes: int


def read_file(store: FileStore, file: LandedFile, batch: Batch, most: int) -> RowsInMemory | Broken:
    """Read a file whole, or say which rule its first wrong row breaks.

    Raises TooLarge above `most` bytes in memory, NotGrown for a value that only Spark can place,
    NotThere, ConditionFailed for a file that was replaced, and what the store raises.
    """
    facts = file.facts
    assert facts is not None  # no file is planned without
    data, checksum = planned_bytes(store, file)
    found: list[pa.RecordBatch] = []
    truncated, size = None, 0
    try:
        for rows in unpacked_rows(data, file, batch, most):
            truncated = truncated or rows.truncated
            size += rows.batch.nbytes
            if size > most:
                raise TooLarge(file.path)
            found.append(rows.batch)
    except RowsBroken as error:
        return error.broken
    table = pa.Table.from_batches(found) if found else pa.table({})
    markers = markers_in(table, file, batch)
    if isinstance(markers, Broken):
        return markers
    return RowsInMemory(typed_columns(table, file, batch), markers, checksum, truncated, size)


def planned_bytes(store: FileStore, file: LandedFile) -> tuple[bytes, Checksum]:
    """A change file as it was planned. Raises ConditionFailed for one that was replaced."""
    content = store.read(file.path)
    if file.facts is None or content.etag != file.facts.etag:
        raise ConditionFailed(f"{file.path} was replaced before it was read")
    checksum = RunningChecksum()
    checksum.update(content.data)
    return content.data, checksum.checksum


def markers_in(rows: pa.Table, file: LandedFile, batch: Batch) -> Markers | Broken:
    """The marker of each of some rows of a file; the rule that the first wrong one breaks."""
    facts = file.facts
    assert facts is not None  # no file is planned without
    marker = _by_name(rows).get(fold_case(facts.marker)) if facts.marker is not None else None
    return markers_of(marker, len(rows), facts, batch)


def typed_columns(rows: pa.Table, file: LandedFile, batch: Batch) -> tuple[pa.ChunkedArray, ...]:
    """Rows of a file, as they were read, by the columns of the batch's union, in its types.

    Raises NotGrown.
    """
    assert file.facts is not None  # no file is planned without
    by_name = _by_name(rows)
    # The marker, and what the file has of no type, are no columns of the table.
    typed = {fold_case(column.name) for column in file.facts.schema.columns}
    return tuple(
        _column(by_name.get(name) if name in typed else None, len(rows), column.type)
        for column in batch.union.schema.columns
        for name in [fold_case(column.name)]
    )


def _by_name(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {fold_case(name): rows.column(name) for name in rows.column_names}


def unpacked_rows(data: bytes, file: LandedFile, batch: Batch, most: int) -> Iterator[ReadRows]:
    """All rows of a file, some at a time. Raises RowsBroken; and TooLarge at once for a Parquet
    file that takes more than `most` bytes in memory, or that Spark reads otherwise."""
    facts, rules, content = file.facts, batch.read_rules, io.BytesIO(data)
    assert facts is not None
    if rules.text is not None:
        return read_text(content, rules, facts.schema, facts.marker)
    if _is_for_spark(content, most):
        raise TooLarge(file.path)
    return read_parquet(content, facts, rules)


def _is_for_spark(content: io.BytesIO, most: int) -> bool:
    """Whether a Parquet file unpacks to too much, its days may be others than they seem, or its
    decimals have more bytes than are read here; one that cannot be read is for here, which says
    what is wrong."""
    try:
        metadata = footer.footer_of(content)
        kinds = [kind for _, kind in footer.columns(metadata)]
        if not all(kind.simple for kind in kinds):
            return True  # JSON of nested values is as long as it likes
        if any(kind.may_be_long_decimal for kind in kinds):
            return True
        if any(kind.is_day_or_time for kind in kinds) and may_count_otherwise(metadata):
            return True
        return unpacked_bytes(content, metadata, most) > most
    except (pa.ArrowException, OSError, ValueError):
        return False


def _column(found: pa.ChunkedArray | None, rows: int, kind: ColumnType) -> pa.ChunkedArray:
    if found is None:
        return pa.chunked_array([pa.nulls(rows, arrow_type(kind))])
    chunks = [grown(chunk, kind) for chunk in found.chunks]
    return pa.chunked_array(chunks, arrow_type(kind))
