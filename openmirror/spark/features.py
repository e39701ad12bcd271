"""Delta features that shut some readers out: turned on only where the data needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from openmirror.protocol.schema import ColumnType

TYPE_WIDENING = "delta.enableTypeWidening"

_FORBIDDEN = frozenset(" ,;{}()\n\t=")


def needs_mapping(names: Iterable[str]) -> bool:
    """Whether Parquet column names cannot be these (PROTOCOL §6.4)."""
    return any(_FORBIDDEN & set(name) for name in names)


def column_mapping(names: Iterable[str]) -> dict[str, str]:
    """The table properties that columns of these names need."""
    return {"delta.columnMapping.mode": "name"} if needs_mapping(names) else {}


_GROWS = {
    "byte": ("short", "integer", "long"),
    "short": ("integer", "long"),
    "integer": ("long",),
    "float": ("double",),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)\Z")


def widens_in_place(narrow: ColumnType, wide: ColumnType) -> bool:
    """Whether Delta's type widening covers this growth when a commit brings the wider type."""
    if wide in _GROWS.get(narrow, ()):
        return True
    before, after = _DECIMAL.match(narrow), _DECIMAL.match(wide)
    if not before or not after:
        return False
    scale = int(after[2]) - int(before[2])
    return scale >= 0 and int(after[1]) - int(before[1]) >= scale
