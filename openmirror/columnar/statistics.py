"""What a log says of a data file, so that readers may pass over it: Delta's protocol, per-file
statistics.

A bound that is too wide costs a reader some time, and one that is too narrow costs it rows. So
where a value's form in JSON is not exactly the value, it gets a wider one, or none.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_COLUMNS = 32
"""Delta's own number of columns, the first ones, that statistics are kept of."""
_LONGEST_TEXT = 32
"""Characters of a text, as Delta keeps them."""
_LAST_YEAR = 9999
_MILLISECOND = timedelta(milliseconds=1)


class Statistics:
    """The statistics of one file, of whose rows some are added at a time."""

    def __init__(self) -> None:
        self._rows = 0
        self._nulls: dict[str, int] = {}
        self._ends: dict[str, list[pa.Array]] = {}

    @property
    def rows(self) -> int:
        """How many there are."""
        return self._rows

    def add(self, rows: pa.Table) -> None:
        """These rows, which have the same columns as all others, are in the file, too."""
        self._rows += len(rows)
        for name, column in zip(rows.column_names[:_COLUMNS], rows.columns, strict=False):
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            if _is_ordered(column.type):
                ends = self._ends.setdefault(name, [])
                ends += [pa.repeat(end, 1) for end in pc.min_max(column).values()]

    def as_json(self) -> str:
        """As the log has them."""
        least, most = dict[str, Any](), dict[str, Any]()
        for name, ends in self._ends.items():
            both = pc.min_max(pa.chunked_array(ends))
            if (bound := _bound(both["min"], is_least=True)) is not None:
                least[name] = bound
            if (bound := _bound(both["max"], is_least=False)) is not None:
                most[name] = bound
        found = {
            "numRecords": self._rows,
            "minValues": least,
            "maxValues": most,
            "nullCount": self._nulls,
        }
        return json.dumps(found, separators=(",", ":"))


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether least and greatest are the same to every reader."""
    is_one: bool = (
        pa.types.is_integer(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_string(kind)
    )
    return is_one


def _bound(found: pa.Scalar, *, is_least: bool) -> int | str | None:
    """A least or greatest value as JSON has it; None where there is none, or no sure one."""
    if not found.is_valid:
        return None
    is_time = pa.types.is_timestamp(found.type) or pa.types.is_date(found.type)
    return (_of_time if is_time else _plain)(found, is_least=is_least)


def _plain(found: pa.Scalar, *, is_least: bool) -> int | str | None:
    """A whole number as it is; of a long text its beginning, which comes before it; None of bytes
    that are no text."""
    try:
        value: int | str = found.as_py()
    except UnicodeDecodeError:
        return None
    if isinstance(value, int) or len(value) <= _LONGEST_TEXT:
        return value
    return value[:_LONGEST_TEXT] if is_least else None


def _of_time(found: pa.Scalar, *, is_least: bool) -> str | None:
    """A day, or a time to the millisecond, rounded away from the others; None beyond what four
    digits of a year say."""
    try:
        value = found.as_py()
    except (OverflowError, ValueError):
        return None
    if isinstance(value, datetime):
        return _milliseconds(value, is_least=is_least)
    assert isinstance(value, date)
    return value.isoformat()


def _milliseconds(value: datetime, *, is_least: bool) -> str | None:
    has_zone, plain = value.tzinfo is not None, value.astimezone(UTC) if value.tzinfo else value
    cut = plain.replace(microsecond=plain.microsecond // 1000 * 1000)
    if cut != plain and not is_least:
        if plain.year == _LAST_YEAR:
            return None
        cut += _MILLISECOND
    text = cut.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z" if has_zone else text
