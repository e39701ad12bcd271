"""Changes of a load that leave values out, and whose row no range had. Pure.

A row that moves from one key to another while ranges are read can be missing in both ranges: it was
not yet in the one that was read early, and no longer in the one that was read late. Its change is a
delete of the old key and an update of the new one. Where that update leaves out an unchanged large
value, no row is there that has the value.

Such an update has no *base*. It needs none if a later change deletes its key or makes the row
whole. Otherwise its key is read once more, in a snapshot that sees the update. The row that is
found has all values of that moment, so it stands for every change of its key up to and including
the last update without base; later changes follow as they are.

The base of an update is a row that a range had, or an earlier whole change of the key. A row of a
range may be older or newer than the update, which is harmless: a value that is left out in every
change that follows, without a delete between, was the same all the time.

After a truncate no row that was read counts, and neither does any earlier change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.placed_rows import COMMIT_COLUMN, NUMBER_COLUMN
from openmirror.cdc.postgresql.places import BEFORE_ALL, LogPlace, Lsn
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.partial_updates import PARTIAL_UPDATE
from openmirror.protocol.rows import Marker

RowKey = tuple[object, ...]
"""The values of a row's key columns; floats compare as the protocol says (PROTOCOL §5.4)."""
Pieces = Callable[[], Iterable[pa.Table]]
"""Reads tables anew at each call, in their order."""
_DELETE, _UPSERT, _TRUNCATE = (
    str(marker.value) for marker in (Marker.DELETE, Marker.UPSERT, Marker.TRUNCATE)
)


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The changes that a load's file leaves out, and the keys that are still missing."""

    needed: Mapping[RowKey, LogPlace] = field(default_factory=dict)
    """Keys that have to be read once more, each with the place of its last update without base."""
    dropped: frozenset[int] = frozenset()
    """Rows of the changes that are left out, counted from 0 through all pieces."""
    truncated_at: LogPlace | None = None
    """The place of the last truncate: only changes behind it count, and no row that was read."""


def resolved(
    keys: Sequence[str], rows: Pieces, changes: Pieces, reread: Mapping[RowKey, LogPlace]
) -> Resolution:
    """Return what becomes of changes that leave values out.

    Args:
        keys: The key columns.
        rows: All rows of ranges; at least their key columns.
        changes: All changes behind the first mark, with at least key columns, marker and place.
        reread: Keys whose row was found when they were read once more, and the place that each of
            these rows stands for.
    """
    truncated_at = _last_truncate(changes())
    behind = truncated_at or BEFORE_ALL
    partial = _keys_of_partial_updates(keys, changes(), behind)
    if not partial:
        return Resolution(truncated_at=truncated_at)
    based = frozenset[RowKey]()
    if truncated_at is None:
        based = frozenset(key for _, key in _rows_with(keys, rows(), partial))
    reread_places = {key: place for key, place in reread.items() if place > behind}
    found = _Walk(based, reread_places)
    for table, offset in _numbered(changes()):
        for change in _changes(keys, table, offset, partial, behind):
            found.take(change)
    return Resolution(
        needed=found.needed, dropped=frozenset(found.dropped), truncated_at=truncated_at
    )


@dataclass(frozen=True, slots=True)
class _Change:
    row: int
    key: RowKey
    marker: str
    place: LogPlace


class _Walk:
    """Follows each key through the changes; says which updates have no base at the end."""

    def __init__(self, based: frozenset[RowKey], reread_places: Mapping[RowKey, LogPlace]) -> None:
        self._reread = reread_places
        self._based = set(based | reread_places.keys())
        self._open: dict[RowKey, list[_Change]] = {}
        self.dropped: set[int] = set()

    @property
    def needed(self) -> dict[RowKey, LogPlace]:
        return {key: changes[-1].place for key, changes in self._open.items() if changes}

    def take(self, change: _Change) -> None:
        key = change.key
        if change.place <= self._reread.get(key, BEFORE_ALL):
            self.dropped.add(change.row)
        elif change.marker == _DELETE:
            self._based.discard(key)
            self._drop_open(key)
        elif not change.marker.startswith(PARTIAL_UPDATE):
            self._based.add(key)
            self._drop_open(key)
        elif key not in self._based:
            self._open.setdefault(key, []).append(change)

    def _drop_open(self, key: RowKey) -> None:
        """A change needs no value of the updates before it, so those without base are dropped."""
        self.dropped.update(change.row for change in self._open.pop(key, ()))


def key_rows(table: pa.Table, keys: Sequence[str]) -> list[RowKey]:
    """Return each row's key."""
    columns = [[_comparable(value) for value in table.column(name).to_pylist()] for name in keys]
    return list(zip(*columns, strict=True))


def places_of(table: pa.Table) -> list[LogPlace]:
    """Return each row's place."""
    commits = table.column(COMMIT_COLUMN).to_pylist()
    numbers = table.column(NUMBER_COLUMN).to_pylist()
    return [LogPlace(Lsn(commit), number) for commit, number in zip(commits, numbers, strict=True)]


def is_behind(table: pa.Table, place: LogPlace) -> pa.ChunkedArray:
    """Return of each row whether its place is behind another."""
    commits = table.column(COMMIT_COLUMN)
    is_later = pc.and_(
        pc.equal(commits, place.commit), pc.greater(table.column(NUMBER_COLUMN), place.number)
    )
    return pc.or_(pc.greater(commits, place.commit), is_later)


def _last_truncate(changes: Iterable[pa.Table]) -> LogPlace | None:
    last = None
    for table in changes:
        at = _where(pc.equal(_markers(table), _TRUNCATE))
        if len(at):
            last = places_of(table.take(at[-1:]))[0]
    return last


def _keys_of_partial_updates(
    keys: Sequence[str], changes: Iterable[pa.Table], behind: LogPlace
) -> frozenset[RowKey]:
    found: set[RowKey] = set()
    for table in changes:
        markers = table.column(ROW_MARKER_COLUMN)
        if pa.types.is_integer(markers.type):
            continue
        is_partial = pc.starts_with(markers, PARTIAL_UPDATE)
        found.update(key_rows(table.filter(pc.and_(is_partial, is_behind(table, behind))), keys))
    return frozenset(found)


def _changes(
    keys: Sequence[str], table: pa.Table, offset: int, wanted: frozenset[RowKey], behind: LogPlace
) -> Iterator[_Change]:
    """Yield the changes of keys that have a partial update, behind the last truncate."""
    kept = table.append_column("__row", pa.array(range(offset, offset + table.num_rows)))
    kept = kept.filter(is_behind(table, behind))
    for taken, key in _rows_with(keys, [kept], wanted):
        place = LogPlace(Lsn(taken[COMMIT_COLUMN]), taken[NUMBER_COLUMN])
        yield _Change(taken["__row"], key, str(taken[ROW_MARKER_COLUMN]), place)


def _rows_with(
    keys: Sequence[str], tables: Iterable[pa.Table], wanted: frozenset[RowKey]
) -> Iterator[tuple[Mapping[str, Any], RowKey]]:
    """Yield the rows that have one of these keys, and their keys.

    Arrow leaves out most other rows by one key column, because Python's loop over all rows of a
    large table takes minutes.
    """
    besides = [ROW_MARKER_COLUMN, COMMIT_COLUMN, NUMBER_COLUMN, "__row"]
    for table in tables:
        likely = _likely(keys, table, wanted)
        found = key_rows(likely, keys)
        rest = likely.select([name for name in besides if name in likely.column_names])
        values = rest.to_pylist() if rest.num_columns else [{}] * likely.num_rows
        for key, row in zip(found, values, strict=True):
            if key in wanted:
                yield row, key


def _likely(keys: Sequence[str], table: pa.Table, wanted: frozenset[RowKey]) -> pa.Table:
    """Return the rows whose value in a key column is one of those wanted.

    Floats are not asked for: to Arrow 0.0 and -0.0 are two values.
    """
    for at, name in enumerate(keys):
        kind = table.schema.field(name).type
        if not pa.types.is_floating(kind):
            values = pa.array({key[at] for key in wanted}, kind)
            return table.filter(pc.is_in(table.column(name), values))
    return table


def _markers(table: pa.Table) -> pa.ChunkedArray:
    return table.column(ROW_MARKER_COLUMN).cast(pa.string())


def _where(mask: pa.ChunkedArray) -> pa.Array:
    return pc.indices_nonzero(mask)


def _numbered(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, int]]:
    offset = 0
    for table in tables:
        yield table, offset
        offset += table.num_rows


def _comparable(value: object) -> object:
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value
