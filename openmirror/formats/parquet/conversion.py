"""The rows of Parquet files that Spark cannot read as they are, in the table's types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, NoReturn

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.parquet import footer
from openmirror.formats.parquet.batches import batches
from openmirror.formats.parquet.calendars import first_long_ago, may_count_otherwise
from openmirror.formats.parquet.int96 import finer_in_int96
from openmirror.formats.parquet.types import ParquetType, column_type
from openmirror.formats.parquet.values import Unfit, to_column, truncated
from openmirror.formats.read_rows import ReadRows
from openmirror.plan.facts import FileFacts
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import ColumnType


def read_parquet(content: BinaryIO, facts: FileFacts, rules: ReadRules) -> Iterator[ReadRows]:
    """Read a whole file, one row group after the other (PROTOCOL §6.5).

    Columns are those of the facts, and the marker. Raises RowsBroken for a value that its column
    cannot hold, and for pages that cannot be read; `content`'s own failures may look like these.
    """
    wanted = {column.name for column in facts.schema.columns} | {facts.marker}
    try:
        metadata = footer.footer_of(content)
        found = footer.columns(metadata)
        columns = [
            _Column(number, name, kind, _type_in(facts, name, kind))
            for number, (name, kind) in enumerate(found)
            if name in wanted and not kind.is_null
        ]
        exact = [name for name in facts.int96 if rules.reads_exactly([name])]
        if exact and (finer := finer_in_int96(content, metadata, exact)):
            raise RowsBroken(Broken(Code.VALUE_INVALID, finer))
        first_row = 0
        counts_otherwise = may_count_otherwise(metadata)
        for batch in batches(content, metadata, found):
            if counts_otherwise:
                _refuse_long_ago(batch, columns, first_row)
            yield _converted(batch, columns, first_row, rules)
            first_row += batch.num_rows
        if first_row != facts.rows:
            _refuse(f"its footer says {facts.rows} rows, and there are {first_row}")
    except (pa.ArrowException, OSError, ValueError) as error:
        words = (str(error).strip().splitlines() or [type(error).__name__])[0]
        _refuse(f"its footer is valid, but its data cannot be read: {words}", error)


class _Column(NamedTuple):
    """A column that is read: its place in the file, and what it becomes."""

    number: int
    name: str
    kind: ParquetType
    of_table: ColumnType


def _type_in(facts: FileFacts, name: str, kind: ParquetType) -> ColumnType:
    """What a column becomes: what its facts say, which the table's policy may have changed."""
    of_facts = facts.schema.find(name)
    of_table = column_type(kind) if of_facts is None else of_facts.type
    assert of_table is not None  # a file without problems has no other columns
    return of_table


def _refuse(detail: str, cause: Exception | None = None) -> NoReturn:
    raise RowsBroken(Broken(Code.FILE_UNREADABLE, detail)) from cause


def _refuse_long_ago(batch: pa.RecordBatch, columns: list[_Column], first_row: int) -> None:
    for number, name, kind, _ in columns:
        row = first_long_ago(batch.column(number)) if kind.is_day_or_time else None
        if row is not None:
            raise RowsBroken(
                Broken(
                    Code.VALUE_INVALID,
                    f"row {first_row + row + 1}, column {name!r}: a day before 1582, or a time "
                    "before 1900, which its writer counted by another calendar (Spark 2, or a "
                    "later one in its legacy mode), in a file that Spark cannot read as it is. "
                    "Write it by the proleptic calendar",
                )
            )


def _converted(
    batch: pa.RecordBatch,
    columns: list[_Column],
    first_row: int,
    rules: ReadRules,
) -> ReadRows:
    arrays, names = [], []
    losses: list[tuple[int, str]] = []
    for number, name, kind, of_table in columns:
        array = batch.column(number)
        if kind.simple and rules.truncates(name):
            array, loss = truncated(array)
            if loss is not None:
                where = f"row {first_row + loss.row + 1}, column {name!r}"
                losses.append((loss.row, f"{where}: {loss.value}"))
        try:
            arrays.append(to_column(array, kind, of_table))
        except Unfit as unfit:
            where = f"row {first_row + unfit.row + 1}, column {name!r}"
            broken = Broken(Code.VALUE_INVALID, f"{where}: {unfit.why}")
            raise RowsBroken(broken) from unfit
        names.append(name)
    if not arrays:
        # A batch without columns would have no rows.
        return ReadRows(pa.record_batch([pa.nulls(batch.num_rows)], names=["_"]))
    rows = pa.record_batch(arrays, names=names)
    if not losses:
        return ReadRows(rows)
    _, place = min(losses, key=lambda loss: loss[0])
    return ReadRows(rows, f"{place} are finer than a microsecond, and lost what is finer")
