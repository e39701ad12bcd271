"""What a file has in its marker column, one value a row."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]


def marker_values(column: pa.Array) -> list[object]:
    """Numbers and text as Python has them, None for NULL.

    Whatever bytes a file calls text are text here, if none that a marker may be: it breaks the rule
    for markers then, in a row that has a number, instead of ending who reads it.
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return list(column.to_pylist())
    binary = pa.binary() if pa.types.is_string(column.type) else pa.large_binary()
    values = column.cast(binary).to_pylist()
    return [None if value is None else value.decode("utf-8", "replace") for value in values]
