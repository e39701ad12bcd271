"""Rows in whatever form a program has them, as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import WrongRequest

_FORMS = (
    "pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars frame, a DuckDB "
    "relation, or a list of dicts"
)


def as_tables(rows: object) -> Iterator[pa.Table]:
    """Rows as Arrow tables, in order; what is a stream is read piece by piece.

    Takes a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars frame, a DuckDB
    relation (anything with `__arrow_c_stream__`), or a list of dicts. The index of a pandas frame
    is no column. Raises WrongRequest for anything else.
    """
    if isinstance(rows, pa.Table):
        yield rows
    elif isinstance(rows, pa.RecordBatch):
        yield pa.Table.from_batches([rows])
    elif isinstance(rows, pa.RecordBatchReader):
        yield from _read(rows)
    elif _is_pandas(rows):
        yield pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
    elif hasattr(rows, "__arrow_c_stream__"):
        yield from _read(pa.RecordBatchReader.from_stream(rows))
    elif isinstance(rows, Iterable) and not isinstance(rows, (str, bytes, Mapping)):
        yield _of_dicts(list(rows))
    else:
        raise WrongRequest(f"rows are a {type(rows).__name__}: give a {_FORMS}")


def _read(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    empty = True
    for batch in reader:
        empty = False
        yield pa.Table.from_batches([batch])
    if empty:
        yield reader.schema.empty_table()


def _is_pandas(rows: object) -> bool:
    kind = type(rows)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _of_dicts(rows: list[Any]) -> pa.Table:
    """Columns in order of appearance in any row; a row without one has NULL there."""
    names: dict[str, None] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
            raise WrongRequest(
                f"row {number} is no dict of column names, but {row!r:.100}: give a {_FORMS}"
            )
        names.update(dict.fromkeys(row))
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowException, TypeError, OverflowError, ValueError) as error:
            raise WrongRequest(
                f"column {name!r}: its values have no common type: {error}"
            ) from error
    return pa.table(columns)
