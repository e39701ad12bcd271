"""What a Parquet footer's statistics say of the row markers.

A footer is Thrift's compact protocol. pyarrow reads it safely up to the schema, but ends the whole
process over some damaged row groups, which a publisher must not be able to do to a mirror. So the
few fields that are needed here are read by hand, and anything odd means that nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from openmirror.plan.facts import MarkerSpan
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case

_MOST_BYTES = 256 * 1024
"""A longer footer is left alone: reading it by hand would take too long."""

_Values = tuple[int | None, int | None, bool]


def marker_spans(footer: bytes, *, signed: bool) -> tuple[MarkerSpan, ...]:
    """Row markers by row group, the first of each kind; `footer` begins with its Thrift struct.

    The marker column must hold whole numbers. Nothing where the footer is too long or damaged.
    """
    if len(footer) > _MOST_BYTES:
        return ()
    try:
        groups = _Compact(footer).struct({_ROW_GROUPS: _Compact.list_of(_row_group)})
        return tuple(_spans(groups.get(_ROW_GROUPS), signed))
    except (_Damaged, IndexError, TypeError, ValueError):
        return ()


def _spans(groups: object, signed: bool) -> Iterator[MarkerSpan]:
    seen: set[_Values] = set()
    first = 1
    for rows, statistics in groups if isinstance(groups, list) else ():
        if rows and statistics is not None:
            values = _range(statistics, signed)
            if values not in seen:
                seen.add(values)
                yield MarkerSpan(first, first + rows - 1, *values)
        first += rows


def _range(statistics: Mapping[int, object], signed: bool) -> _Values:
    """Lowest, highest and whether any is NULL, as far as a writer has said."""
    nulls = statistics.get(_NULL_COUNT)
    lowest, highest = statistics.get(_MIN_VALUE), statistics.get(_MAX_VALUE)
    if lowest is None and highest is None and signed:  # older writers
        lowest, highest = statistics.get(_OLD_MIN), statistics.get(_OLD_MAX)
    has_null = isinstance(nulls, int) and nulls > 0
    if not isinstance(lowest, bytes) or not isinstance(highest, bytes):
        return None, None, has_null
    low, high = (int.from_bytes(value, "little", signed=signed) for value in (lowest, highest))
    return (low, high, has_null) if low <= high else (None, None, has_null)


class _Damaged(Exception):
    """This is no Thrift."""


# Field numbers of parquet.thrift.
_ROW_GROUPS = 4
_COLUMNS, _ROWS = 1, 3
_META_DATA = 3
_PATH, _STATISTICS = 3, 12
_OLD_MAX, _OLD_MIN, _NULL_COUNT, _MAX_VALUE, _MIN_VALUE = 1, 2, 3, 5, 6

# Type numbers of the compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS = (4, 5, 6)
_MOST_DEPTH = 16


class _Compact:
    """A reader over bytes; raises _Damaged or IndexError where they end or make no sense."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, wanted: Mapping[int, Callable[[_Compact, int], object]]) -> dict[int, object]:
        """The wanted fields of a struct by their numbers; all others are passed over."""
        found: dict[int, object] = {}
        number = 0
        while header := self._byte():
            kind, step = header & 15, header >> 4
            number = number + step if step else self._signed()
            if number in wanted:
                found[number] = wanted[number](self, kind)
            else:
                self._skip(kind)
        return found

    @staticmethod
    def list_of(item: Callable[[_Compact], object]) -> Callable[[_Compact, int], list[object]]:
        """A reader of lists."""

        def read(data: _Compact, kind: int) -> list[object]:
            _, count = data._items(kind)
            return [item(data) for _ in range(count)]

        return read

    def number(self, kind: int) -> int:
        """A whole number of any width."""
        if kind not in _NUMBERS:
            raise _Damaged
        return self._signed()

    def binary(self, kind: int = _BINARY) -> bytes:
        """Bytes, or text as bytes."""
        if kind != _BINARY:
            raise _Damaged
        return self._take(self._varint())

    def _items(self, kind: int) -> tuple[int, int]:
        if kind not in (_LIST, _SET):
            raise _Damaged
        header = self._byte()
        count = header >> 4
        if count == 15:
            count = self._varint()
        if count > len(self._data) - self._at:
            raise _Damaged
        return header & 15, count

    def _skip(self, kind: int, depth: int = 0) -> None:
        if depth > _MOST_DEPTH:
            raise _Damaged
        if kind in (_TRUE, _FALSE):
            return
        if kind == _BYTE:
            self._byte()
        elif kind in _NUMBERS:
            self._varint()
        elif kind == _DOUBLE:
            self._take(8)
        elif kind == _BINARY:
            self.binary()
        elif kind in (_LIST, _SET):
            inner, count = self._items(kind)
            for _ in range(count):
                self._skip(_BYTE if inner in (_TRUE, _FALSE) else inner, depth + 1)
        elif kind == _STRUCT:
            while header := self._byte():
                if not header >> 4:
                    self._signed()
                self._skip(header & 15, depth + 1)
        else:
            raise _Damaged  # parquet.thrift has no maps

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _take(self, length: int) -> bytes:
        if length > len(self._data) - self._at:
            raise _Damaged
        self._at += length
        return self._data[self._at - length : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise _Damaged

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _row_group(data: _Compact) -> tuple[int, Mapping[int, object] | None]:
    """Its rows, and the statistics of its row markers; none when it has no such column."""
    group = data.struct({_COLUMNS: _Compact.list_of(_column), _ROWS: _Compact.number})
    rows, columns = group.get(_ROWS), group.get(_COLUMNS)
    if not isinstance(rows, int) or rows < 0 or not isinstance(columns, list):
        raise _Damaged
    return rows, next((found for found in columns if found is not None), None)


def _column(data: _Compact) -> Mapping[int, object] | None:
    chunk = data.struct({_META_DATA: _meta_data}).get(_META_DATA)
    return chunk if isinstance(chunk, Mapping) else None


def _meta_data(data: _Compact, kind: int) -> Mapping[int, object] | None:
    if kind != _STRUCT:
        raise _Damaged
    found = data.struct({_PATH: _Compact.list_of(_Compact.binary), _STATISTICS: _statistics})
    path, statistics = found.get(_PATH), found.get(_STATISTICS)
    if not isinstance(path, list) or len(path) != 1:
        return None
    if fold_case(path[0].decode()) != fold_case(ROW_MARKER_COLUMN):
        return None
    return statistics if isinstance(statistics, Mapping) else {}


def _statistics(data: _Compact, kind: int) -> Mapping[int, object]:
    if kind != _STRUCT:
        raise _Damaged
    return data.struct(
        {
            _NULL_COUNT: _Compact.number,
            **dict.fromkeys((_OLD_MAX, _OLD_MIN, _MAX_VALUE, _MIN_VALUE), _Compact.binary),
        }
    )
