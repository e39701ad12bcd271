"""A file's column in the type that the table has for it by now (PROTOCOL §6.3)."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.schema import ColumnType


class NotGrown(Exception):
    """A value that this way of growing cannot bring into the wider type."""


def grown(column: pa.Array, wide: ColumnType) -> pa.Array:
    """The same values in a wider type; raises NotGrown, so that Spark may say what is wrong."""
    target = arrow_type(wide)
    if column.type == target:
        return column
    try:
        if pa.types.is_date(column.type) and pa.types.is_timestamp(target):
            # A day's midnight, in UTC as everything here.
            return column.cast(pa.timestamp("us")).view(target)
        return column.cast(target)
    except pa.ArrowException as error:
        raise NotGrown(str(error)) from error
