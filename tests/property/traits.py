"""What a random history shows, so that a few of them can be known to show everything."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from tests.property.histories import GROWTH, KEY_TYPES, MARKER_TYPES, VALUE_TYPES, History

_OF_COLUMNS = {"added later", "left out", "without a type", "under a name to be mapped"}
_OF_FILES = {"no marker", "no rows", "one row"}
_OF_KEYS = {"a key of NULL", "keys of 1", "keys of 2", "keys of 3"}
EVERY_TRAIT = frozenset(
    {
        *(f"key {kind}" for kind in KEY_TYPES),
        *(f"value {kind}" for kind in VALUE_TYPES),
        *(f"marker {kind}" for kind in MARKER_TYPES),
        *(f"{old} grows to {new}" for old, new in GROWTH.items()),
        *_OF_COLUMNS,
        *_OF_FILES,
        *_OF_KEYS,
    }
)
"""All that a generator without version columns can draw."""


def traits(history: History) -> set[str]:
    """Those that one history shows."""
    keys = {fold_case(name) for name in history.key_columns}
    found = {f"keys of {len(keys)}"}
    types: dict[str, pa.DataType] = {}
    for file in history.files:
        found |= set(_of_file(file, keys, types))
    return found


def _of_file(file: pa.Table, keys: set[str], types: dict[str, pa.DataType]) -> Iterator[str]:
    """`types` are those of the files before, and of this one afterwards."""
    columns = {fold_case(column.name): column for column in file.schema}
    marker = columns.pop(fold_case(ROW_MARKER_COLUMN), None)
    yield f"marker {marker.type}" if marker else "no marker"
    yield {0: "no rows", 1: "one row"}.get(file.num_rows, "rows")
    if types.keys() - columns.keys():
        yield "left out"
    if types and columns.keys() - types.keys():
        yield "added later"
    for name, column in columns.items():
        if any(character in name for character in " .`"):
            yield "under a name to be mapped"
        if name in keys and file.column(column.name).null_count:
            yield "a key of NULL"
        if pa.types.is_null(column.type):
            yield "without a type"
            continue
        yield f"{'key' if name in keys else 'value'} {column.type}"
        if types.setdefault(name, column.type) != column.type:
            yield f"{types[name]} grows to {column.type}"
        types[name] = column.type
