"""Rows in whatever form a program has them, as Arrow."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import PublishRefused, WrongRequest
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.names import is_unicode
from openmirror.protocol.schema import Column, TableSchema, duplicate_column

_FORMS = (
    "pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars frame, a DuckDB "
    "relation, or a list of dicts"
)
_NO_ARRAY = (pa.ArrowException, TypeError, OverflowError, ValueError)
"""What Arrow raises for values that it cannot have in one array."""


def as_tables(rows: object, known: TableSchema) -> Iterator[pa.Table]:
    """Rows as Arrow tables, in order; what is a stream is read piece by piece.

    Takes a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars frame, a DuckDB
    relation (anything with `__arrow_c_stream__`), or a list of dicts. The index of a pandas frame
    is no column. `known` are the table's columns: numbers in dicts have the type that they have
    there, where that changes no value. Raises WrongRequest for anything else, and for values that
    no column can have together.
    """
    if isinstance(rows, pa.Table):
        yield rows
    elif isinstance(rows, pa.RecordBatch):
        yield pa.Table.from_batches([rows])
    elif isinstance(rows, pa.RecordBatchReader):
        yield from _read(rows)
    elif _is_frame(rows, "pandas"):
        yield _of_pandas(rows)
    elif _is_frame(rows, "polars"):
        yield pa.table(rows)  # it is in memory, so that all of it is checked before any is taken
    elif hasattr(rows, "__arrow_c_stream__"):
        yield from _read(_reader(rows))
    elif isinstance(rows, Iterable) and not isinstance(rows, (str, bytes, Mapping)):
        yield _of_dicts(list(rows), known)
    else:
        raise WrongRequest(f"rows are a {type(rows).__name__}: give a {_FORMS}")


def _reader(rows: object) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(rows)
    except _NO_ARRAY as error:
        kind = type(rows).__name__
        raise WrongRequest(
            f"rows are a {kind} without columns ({error}): give a {_FORMS}"
        ) from None


def _read(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    empty = True
    for batch in reader:
        empty = False
        yield pa.Table.from_batches([batch])
    if empty:
        yield reader.schema.empty_table()


def _is_frame(rows: object, package: str) -> bool:
    kind = type(rows)
    return kind.__module__.partition(".")[0] == package and kind.__name__ == "DataFrame"


def _of_pandas(frame: Any) -> pa.Table:
    names = [str(name) for name in frame.columns]
    if broken := duplicate_column(names):
        raise PublishRefused(broken, "6.1")
    columns = {}
    for name, (_, values) in zip(names, frame.items(), strict=True):
        if str(values.dtype).startswith("Sparse"):
            values = values.sparse.to_dense()
        if values.dtype == object:
            _need_one_kind(name, values)
        columns[name] = _array(name, values)
    return _table(columns)


def _of_dicts(rows: list[Any], known: TableSchema) -> pa.Table:
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
        _need_one_kind(name, values)
        columns[name] = _as_known(values, _array(name, values), known.find(name))
    return _table(columns)


def _table(columns: Mapping[str, Any]) -> pa.Table:
    if wrong := next((name for name in columns if not is_unicode(name)), None):
        raise WrongRequest(f"column {wrong!r}: its name is no Unicode text")
    return pa.table(columns)


def _array(name: str, values: Any) -> Any:
    """An Arrow array of a column's values, as Arrow finds their type."""
    try:
        return pa.array(values, from_pandas=not isinstance(values, list))
    except _NO_ARRAY as error:
        kind = f" of {values.dtype}" if hasattr(values, "dtype") else ""
        raise WrongRequest(
            f"column {name!r}: its values{kind} have no common type: {error}"
        ) from error


def _as_known(values: list[Any], array: pa.Array, column: Column | None) -> pa.Array:
    """Numbers in the type of their column, where each stays what it is; else as they are.

    Python's own have one width, so a table's `integer` would grow to `long` by them, and a whole
    number among fractions would be of a type that a column of fractions cannot take.
    """
    if column is None or not _is_number(array.type):
        return array
    target = arrow_type(column.type)
    if target == array.type or not _is_number(target):
        return array
    try:
        kept = pa.array(values, target)
        is_same = kept.cast(array.type).equals(array)
    except _NO_ARRAY:
        return array
    return kept if is_same else array


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


_NEVER_ONE_TYPE = (str, bytes, datetime.datetime, datetime.date, datetime.time)
"""Arrow takes a list that has several of these for one of them, and values are others then: a
time of day is cut off, a text becomes bytes. A datetime is a date to Python, so it comes first."""

_MAY_HAVE_A_ZONE = (datetime.datetime, datetime.time)


def _need_one_kind(name: str, values: Iterable[object]) -> None:
    """Raise WrongRequest for what must not stand in one column, though Arrow would take it."""
    types = [kind for kind in set(map(type, values)) if issubclass(kind, _NEVER_ONE_TYPE)]
    if len(types) < 2 and not any(issubclass(kind, _MAY_HAVE_A_ZONE) for kind in types):
        return
    kinds: set[str] = set()
    for value in values:
        kind = next((kind for kind in _NEVER_ONE_TYPE if isinstance(value, kind)), None)
        if isinstance(value, _MAY_HAVE_A_ZONE):
            assert kind is not None
            if value == value:  # pandas' NaT is a datetime, and NULL
                zone = "with a zone" if value.tzinfo is not None else "without a zone"
                kinds.add(f"{kind.__name__} {zone}")
        elif kind is not None:
            kinds.add(kind.__name__)
    if "time with a zone" in kinds:
        mixed = "a time of day with a zone, which no table keeps: give it as text"
    elif len(kinds) > 1:
        mixed = " and ".join(sorted(kinds))
    else:
        return
    raise WrongRequest(f"column {name!r}: its values have no common type: {mixed}")
