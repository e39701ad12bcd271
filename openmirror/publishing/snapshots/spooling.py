"""All rows of one or more inputs as one local Parquet file, in the types of the table.

What cannot be read shows here, before anything is published. Times and dates are kept as the
numbers that they are, so that no engine has an opinion about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.errors import WrongRequest
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.names import fold_case
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import Column, ColumnType, TableSchema, in_table, union_schema
from openmirror.publishing.reading import OpenInput
from openmirror.publishing.snapshots.grouping import GroupLimits, grouped

_GROUPS = GroupLimits(rows=1 << 17, size=32 << 20)
"""What is written at once."""


@dataclass(frozen=True)
class Spool:
    """All rows of some inputs, in their order."""

    path: Path
    """Parquet, with one column for each of `columns`, called `c0`, `c1` …"""
    columns: TableSchema
    """Names as the inputs have them, types that hold these values and the table's before."""
    rows: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in their order and the Arrow types of their columns."""
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_GROUPS.rows):
                arrays = [
                    restored(array, column.type)
                    for array, column in zip(batch.columns, self.columns.columns, strict=True)
                ]
                yield pa.record_batch(arrays, names=list(self.columns.names))


def spool(
    inputs: Sequence[OpenInput],
    known: TableSchema,
    path: Path,
    report: Callable[[int], None] = lambda _: None,
) -> Spool:
    """Read all inputs into one file at `path`; `report` hears how many rows there are so far.

    `known` are the columns that the table has. Raises WrongRequest for inputs whose columns do not
    merge with those or with each other (PROTOCOL §6.3), and for what a reader refuses.
    """
    columns = _columns(inputs, known)
    schema = pa.schema(
        [(f"c{at}", stored_type(column.type)) for at, column in enumerate(columns.columns)]
    )
    rows = 0
    with pq.ParquetWriter(
        path, schema, compression="lz4", use_dictionary=False, write_statistics=False
    ) as writer:
        for table in grouped(_aligned(inputs, columns, schema), _GROUPS):
            writer.write_table(table)
            rows += table.num_rows
            report(rows)
    return Spool(path, columns, rows)


def stored_type(kind: ColumnType) -> pa.DataType:
    """The Arrow type that values of a column are kept in."""
    if kind in ("timestamp", "timestamp_ntz"):
        return pa.int64()
    return pa.int32() if kind == "date" else arrow_type(kind)


def restored(array: pa.Array | pa.ChunkedArray, kind: ColumnType) -> pa.Array | pa.ChunkedArray:
    """Kept values in the Arrow type of their column."""
    target = arrow_type(kind)
    if array.type != stored_type(kind):
        array = array.cast(stored_type(kind))
    return array if array.type == target else array.cast(target)


def _columns(inputs: Sequence[OpenInput], known: TableSchema) -> TableSchema:
    """The columns that any input has, in types that hold the table's values as well."""
    union = known
    for given in inputs:
        found = union_schema(union, in_table(given.columns, union))
        if isinstance(found, Broken):
            raise WrongRequest(
                f"{given.name}: {found.detail} (PROTOCOL §6.3). Declare the type that the table "
                "has with --type"
            )
        union = found.schema
    names: dict[str, str] = {}
    for given in inputs:
        for column in given.columns.columns:
            names.setdefault(fold_case(column.name), column.name)
    return TableSchema(
        tuple(_as_given(c, inputs) for c in union.columns if fold_case(c.name) in names)
    )


def _as_given(column: Column, inputs: Sequence[OpenInput]) -> Column:
    """A column without a zone where no input has one: what it means is the mirror's to say."""
    types = {c.type for given in inputs if (c := given.columns.find(column.name)) is not None}
    zoneless = ColumnType("timestamp_ntz")
    return Column(column.name, zoneless) if types == {zoneless} else column


def _aligned(
    inputs: Sequence[OpenInput], columns: TableSchema, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for given in inputs:
        places = {fold_case(name): at for at, name in enumerate(given.columns.names)}
        for batch in given.batches():
            arrays = []
            for column, field in zip(columns.columns, schema, strict=True):
                at = places.get(fold_case(column.name))
                if at is None:
                    arrays.append(pa.nulls(batch.num_rows, field.type))
                else:
                    array = batch.column(at).cast(arrow_type(column.type))
                    arrays.append(array if array.type == field.type else array.view(field.type))
            yield pa.record_batch(arrays, schema=schema)
