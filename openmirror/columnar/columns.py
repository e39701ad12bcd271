"""Columns put behind each other, taken from, and one of a table put anew."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_MOST_REPEATED, _ALWAYS = 4, 16 << 20
"""So many times its own bytes, and a few whatever it has, may come of a column."""


class RepeatsTooMuch(Exception):
    """Values that are taken again and again, and come to far more bytes than there are: an update
    of a key with a thousand rows has its text a thousand times."""


def behind(*parts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of all parts, which have one type, in their order; nothing is copied."""
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)


def taken(column: pa.ChunkedArray, places: pa.Array) -> pa.ChunkedArray:
    """The values at these places, NULL where there is none; raises RepeatsTooMuch."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        _refuse_repeats(pc.binary_length(column), places)
    return column.take(places)


def _refuse_repeats(lengths: pa.ChunkedArray, places: pa.Array) -> None:
    longest = pc.max(lengths).as_py() or 0
    if longest * len(places) <= _ALWAYS:
        return
    own, found = (pc.sum(part).as_py() or 0 for part in (lengths, lengths.take(places)))
    if found > _MOST_REPEATED * own + _ALWAYS:
        raise RepeatsTooMuch(f"{own:,} bytes become {found:,}")


def with_column(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The same rows with these values in a column that is there, at its place."""
    return rows.set_column(rows.schema.get_field_index(name), name, values)
