"""What stands for a value that the source's log does not have: a large one that did not change."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

_TEXT = "__debezium_unavailable_value"
_BASE64 = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
_NUMBERS = list(_TEXT.encode())
_UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"  # Java's UUID.nameUUIDFromBytes
_SCALARS = (_TEXT, _BASE64, json.dumps({_TEXT: _TEXT}, separators=(",", ":")))
_LISTS = ([_TEXT], [_BASE64], [_UUID], _NUMBERS)
_ANYWHERE = "|".join((_TEXT, _BASE64.rstrip("="), _UUID, r"\[95(?:\.0)?,95(?:\.0)?,100"))


def absent_columns_of(payloads: pa.Array) -> dict[int, tuple[str, ...]]:
    """The columns that have such a value, of each sound payload that has some, by its place.

    A column that really holds the same text is taken for one: nothing says otherwise.
    """
    suspects = pc.indices_nonzero(pc.match_substring_regex(payloads, _ANYWHERE)).to_pylist()
    found = {}
    for place in suspects:
        row = json.loads(payloads[place].as_py())["after"] or {}
        names = tuple(name for name, value in row.items() if _is_placeholder(value))
        if names:
            found[place] = names
    return found


def _is_placeholder(value: Any) -> bool:
    return value in (_LISTS if isinstance(value, list) else _SCALARS)
