"""The shape of a Parquet change file, from its head and its footer alone."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import ConditionFailed
from openmirror.formats.first_bytes import COPIED, ENCRYPTED_PARQUET, what_it_is
from openmirror.formats.parquet.chunks import is_for_spark
from openmirror.formats.parquet.footer import MAGIC, columns, parse_footer
from openmirror.formats.parquet.types import ParquetType, column_type, needs_conversion
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, TableSchema, duplicate_column
from openmirror.stores.remembered import Remembered
from openmirror.table.layout import StorePath

_SMALLEST = 12  # head, footer length, tail
_HEAD = 64
"""Enough to say what else a file is."""
_TAIL = 1 << 16
"""Bytes: holds most footers. A file that is not longer is read at once, others by two reads."""


class _Changed(Exception):
    """The file was replaced between two reads."""


class ParquetInspector:
    """What is known of a Parquet file without its rows; safe to share between threads."""

    def __init__(self, store: FileStore, remember: int = 4096) -> None:
        self._store = store
        self._remembered = Remembered(remember)

    def inspect(self, path: StorePath, entry: Entry) -> FileFacts:
        """What this file is; raises ConditionFailed when it keeps changing while it is read."""
        return self._remembered.facts(
            (path, entry.etag),
            lambda: self._read(path, entry.size),
            lambda facts: (path, facts.etag),
        )

    def _read(self, path: StorePath, size: int) -> FileFacts:
        for _ in range(2):
            try:
                return _facts(_Reads(self._store, path, _TAIL if size <= _TAIL else _HEAD))
            except _Changed:
                continue
        raise ConditionFailed(f"{path} was replaced while its footer was read, twice in a row")


class _Reads:
    """Ranged reads that are all of one content."""

    def __init__(self, store: FileStore, path: StorePath, length: int) -> None:
        """The first read is so long."""
        self._store = store
        self._path = path
        first = store.read(path, 0, length)
        self._first, self.etag, self.size = first.data, first.etag, first.size
        self.head = first.data[:_HEAD]
        self.growing = first.growing

    def last(self, length: int) -> bytes:
        """The last bytes of the file."""
        start = max(0, self.size - length)
        if len(self._first) == self.size:
            return self._first[start:]
        content = self._store.read(self._path, start, self.size - start)
        if content.etag != self.etag or len(content.data) != self.size - start:
            raise _Changed
        return content.data


class _Unfit(NamedTuple):
    """Why a file is not complete."""

    completeness: Completeness
    reason: str


class _Footer(NamedTuple):
    """What of a footer matters here."""

    names: list[str]
    types: list[ParquetType]
    rows: int
    is_for_spark: bool
    """Whether Spark knows how its data is written, whatever the types."""


def _facts(reads: _Reads) -> FileFacts:
    footer = _footer(reads)
    if isinstance(footer, _Unfit):
        return FileFacts(etag=reads.etag, completeness=footer.completeness, reason=footer.reason)
    schema, broken = _columns(footer)
    marker = _marker(footer)
    return FileFacts(
        etag=reads.etag,
        completeness=Completeness.COMPLETE,
        rows=footer.rows,
        schema=schema,
        untyped=_untyped(footer),
        marker=marker[0] if marker else None,
        marker_type=column_type(marker[1]) if marker else None,
        broken=broken,
        int96=_int96(footer),
        needs_conversion=not footer.is_for_spark or any(map(needs_conversion, footer.types)),
    )


def _footer(reads: _Reads) -> _Footer | _Unfit:
    if reads.growing:
        return _Unfit(Completeness.INCOMPLETE, COPIED)
    if reads.size == 0:
        return _Unfit(Completeness.INCOMPLETE, "the file is empty")
    if reads.head.startswith(ENCRYPTED_PARQUET):
        return _Unfit(Completeness.BROKEN, "it is an encrypted Parquet file (PARE)")
    if not (reads.head.startswith(MAGIC) or MAGIC.startswith(reads.head)):
        what = f"it does not begin as a Parquet file ({what_it_is(reads.head)})"
        return _Unfit(Completeness.BROKEN, what)
    tail = reads.last(_TAIL) if reads.size >= _SMALLEST else b""
    if not tail.endswith(MAGIC):
        why = "no footer yet: the upload has not ended, or was cut off"
        return _Unfit(Completeness.INCOMPLETE, why)
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if length > reads.size - len(MAGIC):
        return _Unfit(Completeness.BROKEN, "its footer is longer than the file")
    if length > len(tail):
        tail = reads.last(length)
    return _parse(tail[-length:])


def _parse(footer: bytes) -> _Footer | _Unfit:
    """Parse a footer as if it were all of the file: nothing else is needed for the shape."""
    try:
        metadata = parse_footer(footer)
        found = columns(metadata)
        counted = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        if sum(counted) != metadata.num_rows:
            # Spark goes by the row groups, and whoever counts without reading by the whole.
            what = f"its footer says {metadata.num_rows} rows, and {sum(counted)} in row groups"
            return _Unfit(Completeness.BROKEN, what)
        names = [name for name, _ in found]
        types = [kind for _, kind in found]
        return _Footer(names, types, int(metadata.num_rows), is_for_spark(footer))
    except (pa.ArrowException, OSError, ValueError) as error:
        # A name that is not UTF-8 is a ValueError too.
        words = str(error).strip().splitlines() or [type(error).__name__]
        return _Unfit(Completeness.BROKEN, f"its footer cannot be read: {words[0]}")


def _is_marker(name: str) -> bool:
    return fold_case(name) == fold_case(ROW_MARKER_COLUMN)


def _columns(footer: _Footer) -> tuple[TableSchema, Broken | None]:
    names, types, rows = footer.names, footer.types, footer.rows
    broken = duplicate_column(names)
    typed: list[Column] = []
    for number, (name, kind) in enumerate(zip(names, types, strict=True), start=1):
        problem: Broken | None = None
        if _is_marker(name):
            problem = _marker_problem(name, kind, rows)
        elif not name:
            problem = Broken(Code.FILE_UNREADABLE, f"column {number} has no name")
        elif not kind.is_null:
            of_table = column_type(kind)
            if of_table is None:
                detail = f"column {name!r} has the Parquet type {kind}; tables cannot hold it"
                problem = Broken(Code.COLUMN_TYPE_UNSUPPORTED, detail)
            else:
                typed.append(Column(name, of_table))
        broken = broken or problem
    return TableSchema(tuple(typed)), broken


def _marker(footer: _Footer) -> tuple[str, ParquetType] | None:
    """The row marker column, unless it can only hold NULL."""
    return next(
        (
            (name, kind)
            for name, kind in zip(footer.names, footer.types, strict=True)
            if _is_marker(name) and not kind.is_null
        ),
        None,
    )


def _untyped(footer: _Footer) -> tuple[str, ...]:
    kinds = zip(footer.names, footer.types, strict=True)
    return tuple(name for name, kind in kinds if kind.is_null and not _is_marker(name))


def _int96(footer: _Footer) -> tuple[str, ...]:
    kinds = zip(footer.names, footer.types, strict=True)
    return tuple(name for name, kind in kinds if kind.simple and kind.physical == "INT96")


def _marker_problem(name: str, kind: ParquetType, rows: int) -> Broken | None:
    if kind.is_number or kind.is_text or (kind.is_null and rows == 0):
        return None
    if kind.is_null:
        return Broken(Code.ROW_MARKER_INVALID, f"{name} is all NULL")
    detail = f"{name} has the Parquet type {kind}; it must be a number, or text"
    return Broken(Code.ROW_MARKER_INVALID, detail)
