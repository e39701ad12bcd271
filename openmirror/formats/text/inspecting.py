"""The shape of a text file: its header and the declared types, from its first bytes alone."""

from __future__ import annotations

import io
from dataclasses import replace

from openmirror.errors import TEXT_REMEDY, ConditionFailed
from openmirror.formats.first_bytes import COPIED, kind_of
from openmirror.formats.text.columns import TYPES
from openmirror.formats.text.decoding import line_ends
from openmirror.formats.text.dialect import Dialect, MalformedText
from openmirror.formats.text.packing import packing_of
from openmirror.formats.text.source import TextSource
from openmirror.plan.facts import Completeness, FileFacts
from openmirror.ports import Content, Entry, FileStore
from openmirror.protocol.names import ROW_MARKER_COLUMN, ETag, fold_case
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema, duplicate_column
from openmirror.protocol.text_format import TextFormat
from openmirror.stores.remembered import Remembered
from openmirror.table.layout import StorePath

_FIRST = 1 << 16
"""Bytes of the first read, which nearly every header fits into."""
_MORE = 8
"""How many times more is read next where it does not."""
LONGEST_HEADER = 1 << 25
_LONGEST_SAMPLE = 1 << 17
"""Characters behind the header by which rows are guessed."""
_MOST_SHOWN = 60
_UNPACKED = 5
"""About how much larger compressed text is than its file."""


class _Changed(Exception):
    """The file was replaced between two reads."""


class TextInspector:
    """What is known of delimited text without its rows; safe to share between threads."""

    def __init__(self, store: FileStore, remember: int = 4096) -> None:
        self._store = store
        self._remembered = Remembered(remember)

    def inspect(self, path: StorePath, entry: Entry, text: TextFormat) -> FileFacts:
        """What this file is; raises ConditionFailed when it keeps changing while it is read."""
        return self._remembered.facts(
            (path, entry.etag, text),
            lambda: self._read(path, text),
            lambda facts: (path, facts.etag, text),
        )

    def _read(self, path: StorePath, text: TextFormat) -> FileFacts:
        for _ in range(2):
            try:
                return self._facts(path, text)
            except _Changed:
                continue
        raise ConditionFailed(f"{path} was replaced while its header was read, twice in a row")

    def _facts(self, path: StorePath, text: TextFormat) -> FileFacts:
        length = _FIRST
        first = self._store.read(path, 0, length)
        content = first
        while True:
            facts = _facts(content, text)
            if facts is not None:
                return facts
            length *= _MORE
            content = self._store.read(path, 0, length)
            if content.etag != first.etag:
                raise _Changed


def _facts(content: Content, text: TextFormat) -> FileFacts | None:
    """The facts of a file by its first bytes; None when more of them are needed."""
    etag, head = content.etag, content.data
    is_all = len(head) >= content.size
    if content.growing:
        return _unfit(etag, Completeness.INCOMPLETE, COPIED)
    if not head:
        return _unfit(etag, Completeness.INCOMPLETE, "the file is empty")
    packing = packing_of(head, is_all=is_all)
    dialect = Dialect(text)
    source = TextSource(io.BytesIO(head), text.encoding, is_all=is_all)
    try:
        found = _header(source, dialect)
    except MalformedText as wrong:
        why = f"line {1 + line_ends(source.text[: wrong.at])}: {wrong.why}"
        return replace(_broken(etag, why), broken=_as_declared(why))
    if found is not None:
        written, end = found
        names = dialect.names(written)
        if strange := _strange(names):
            return _no_text(etag, head, packing, f"there is {strange!r} in its header")
        rest = source.text[end:]
        rows = _rows(rest, source, len(written), content.size, packing)
        return _of_header(etag, names, text, rows)
    failure = source.failure(line=1)
    if failure and not source.is_cut_off:
        return _no_text(etag, head, packing, failure)
    if not is_all and len(source.text) < LONGEST_HEADER and len(head) < LONGEST_HEADER:
        return None
    if not is_all:
        return _broken(etag, f"its header does not end within {len(head)} bytes")
    why = failure or ("its header has an open quote" if source.text else "it has no text")
    return _unfit(etag, Completeness.INCOMPLETE, f"{why}: the upload has not ended, or was cut off")


def _header(source: TextSource, dialect: Dialect) -> tuple[list[str], int] | None:
    """The header as written, and where it ends; None when its end is not there.

    Raises Malformed.
    """
    wanted = _LONGEST_SAMPLE
    while True:
        source.fill(wanted)
        if row := dialect.split(source.ended()):
            return row
        if source.is_ended or wanted >= LONGEST_HEADER:
            return None
        wanted *= _MORE


def _strange(names: list[str]) -> str | None:
    """A character that no name of a column has, and other data than text soon shows."""
    return next((c for name in names for c in name if ord(c) < 32 and c not in "\t\r\n"), None)


def _no_text(etag: ETag, head: bytes, packing: str | None, why: str) -> FileFacts:
    """A header that cannot be read; names what else the file is, if it is something known."""
    kind = None if packing else kind_of(head)
    if kind is not None:
        return _broken(etag, f"it is no text: its first bytes are those of {kind}")
    reason = f"its header cannot be read: {why}; its Encoding may be another one"
    return replace(_broken(etag, reason), broken=_as_declared(reason))


def _as_declared(reason: str) -> Broken:
    """Text that is not written as _metadata.json says."""
    return Broken(Code.FILE_UNREADABLE, reason, TEXT_REMEDY)


_SEPARATORS = ",;\t|"


def _unsplit(names: list[str], text: TextFormat) -> str | None:
    """What a header of one column suggests that holds another separator; None for all else."""
    others = _SEPARATORS.replace(text.separator, "")
    if len(names) != 1 or not any(mark in names[0] for mark in others):
        return None
    header = names[0] if len(names[0]) <= _MOST_SHOWN else names[0][:_MOST_SHOWN] + "…"
    return f"its header is one column, {header!r}, and ColumnSeparator is {text.separator!r}"


def _rows(rest: str, source: TextSource, columns: int, size: int, packing: str | None) -> int:
    """About how many rows follow the header; 0 only when there are none."""
    # In a file of one column an empty line is a row.
    lines = rest if columns == 1 else rest.strip("\r\n")
    count = line_ends(lines) + (lines[-1:] not in ("", "\r", "\n"))
    if source.is_all and source.is_ended and not source.has_failed:
        return count
    characters = size * _UNPACKED if packing else size
    return max(1, count * characters // max(1, len(rest)))


def _of_header(etag: ETag, names: list[str], text: TextFormat, rows: int) -> FileFacts:
    broken = duplicate_column(names)
    columns: list[Column] = []
    marker: str | None = None
    for number, name in enumerate(names, start=1):
        if not name:
            broken = broken or Broken(Code.FILE_UNREADABLE, f"column {number} has no name")
        elif fold_case(name) == fold_case(ROW_MARKER_COLUMN):
            marker = name
        else:
            columns.append(Column(name, TYPES[text.column(name).type]))
    return FileFacts(
        etag=etag,
        completeness=Completeness.COMPLETE,
        rows=rows,
        schema=TableSchema(tuple(columns)),
        marker=marker,
        marker_type=ColumnType("string") if marker else None,
        broken=broken,
        needs_quiet_period=True,
        rows_are_exact=False,
        needs_conversion=True,
        unsplit_header=_unsplit(names, text),
    )


def _broken(etag: ETag, reason: str) -> FileFacts:
    return _unfit(etag, Completeness.BROKEN, reason)


def _unfit(etag: ETag, completeness: Completeness, reason: str) -> FileFacts:
    return FileFacts(
        etag=etag,
        completeness=completeness,
        reason=reason,
        needs_quiet_period=True,
        rows_are_exact=False,
        needs_conversion=True,
    )
