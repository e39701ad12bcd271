"""Rows in whatever form a program has them, as Arrow."""

from __future__ import annotations

import datetime
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
        values = [row.get(name) for row in rows]
        if mixed := _mixed(values):
            raise WrongRequest(f"column {name!r}: its values have no common type: {mixed}")
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, TypeError, OverflowError, ValueError) as error:
            raise WrongRequest(
                f"column {name!r}: its values have no common type: {error}"
            ) from error
    return pa.table(columns)


_NEVER_ONE_TYPE = (str, bytes, datetime.datetime, datetime.date, datetime.time)
"""Arrow takes a list that has several of these for one of them, and values are others then: a
time of day is cut off, a text becomes bytes. A datetime is a date to Python, so it comes first."""


def _mixed(values: Iterable[object]) -> str | None:
    """What must not stand in one column, though Arrow would take it; None where nothing does."""
    kinds: set[str] = set()
    for value in values:
        kind = next((kind for kind in _NEVER_ONE_TYPE if isinstance(value, kind)), None)
        if kind in (datetime.datetime, datetime.time):
            assert isinstance(value, (datetime.datetime, datetime.time))
            if value == value:  # pandas' NaT is a datetime, and NULL
                zone = "with a zone" if value.tzinfo is not None else "without a zone"
                kinds.add(f"{kind.__name__} {zone}")
        elif kind is not None:
            kinds.add(kind.__name__)
    if "time with a zone" in kinds:
        return "a time of day with a zone, which no table keeps: give it as text"
    return " and ".join(sorted(kinds)) if len(kinds) > 1 else None
