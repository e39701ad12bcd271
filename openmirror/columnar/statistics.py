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


def statistics(rows: pa.Table) -> str:
    """The statistics of a file with these rows, as JSON."""
    least, most, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    for name, column in zip(rows.column_names[:_COLUMNS], rows.columns, strict=False):
        nulls[name] = column.null_count
        low, high = _bounds(column)
        if low is not None:
            least[name] = low
        if high is not None:
            most[name] = high
    found = {"numRecords": len(rows), "minValues": least, "maxValues": most, "nullCount": nulls}
    return json.dumps(found, separators=(",", ":"))


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The least and the greatest value as JSON has them; None where there is no sure one."""
    kind = column.type
    ordered = (
        pa.types.is_integer(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_string(kind)
    )
    if not ordered or column.null_count == len(column):
        return None, None
    both, is_time = pc.min_max(column), pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    bound = _of_time if is_time else _plain
    return bound(both["min"], is_least=True), bound(both["max"], is_least=False)


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
