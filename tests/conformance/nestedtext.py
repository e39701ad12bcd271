"""Values of pyarrow's as a table holds them, where the two differ (PROTOCOL §6.5).

Written from the protocol, one value at a time, and sharing nothing with the product's own way.
"""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa


class NoValue(ValueError):
    """A value that a table cannot hold."""


def held(value: Any, kind: pa.DataType) -> Any:
    """What a table holds for a value of this Arrow type."""
    if value is None:
        return None
    if pa.types.is_nested(kind):
        return _json(value, kind)
    if isinstance(value, datetime):
        return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    if isinstance(value, time):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def refuse_times_beyond_a_day(table: pa.Table) -> None:
    """Python's times of day wrap around in silence."""
    for column in table.columns:
        if pa.types.is_time(column.type):
            nanoseconds = column.cast(pa.time64("ns")).cast(pa.int64())
            for value in nanoseconds.to_pylist():
                if value is not None and not 0 <= value < 24 * 60 * 60 * 10**9:
                    raise NoValue(value)


def _json(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "null"
    if pa.types.is_map(kind):
        pairs = [(_key(key), _json(item, kind.item_type)) for key, item in value]
        if len(dict(pairs)) < len(pairs):
            raise NoValue(value)
        return "{" + ",".join(f"{key}:{item}" for key, item in pairs) + "}"
    if pa.types.is_list(kind):
        return "[" + ",".join(_json(item, kind.value_type) for item in value) + "]"
    if pa.types.is_struct(kind):
        pairs = [(json.dumps(f.name), _json(value[f.name], f.type)) for f in kind]
        return "{" + ",".join(f"{key}:{item}" for key, item in pairs) + "}"
    if isinstance(value, datetime):
        return json.dumps(value.isoformat().replace("+00:00", "Z"))
    if isinstance(value, (date, time)):
        return json.dumps(value.isoformat())
    if isinstance(value, bytes):
        return json.dumps(base64.b64encode(value).decode())
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and value != value:
        return '"NaN"'
    return json.dumps(value, ensure_ascii=False)


def _key(key: object) -> str:
    return json.dumps(key if isinstance(key, str) else json.dumps(key))
