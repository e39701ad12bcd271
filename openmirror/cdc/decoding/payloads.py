"""Whether a payload is what its schema says: a pattern for what the converter writes, and an exact
reader for whatever is written otherwise.

Spark reads JSON leniently: of a field that stands twice it takes one, one that is missing is NULL,
and a number is a text where a text is wanted. So nothing reaches it that was not found to be right.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import SourceTable
from openmirror.cdc.decoding.connect import JsonKind, Schema
from openmirror.protocol.names import is_unicode

_SIGNED_BITS = {JsonKind.INT8: 8, JsonKind.INT16: 16, JsonKind.INT32: 32, JsonKind.INT64: 64}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_LARGEST_FLOAT = 3.4028235677973366e38  # beyond it, the nearest 32-bit float is infinite

_WHOLE = r"-?(?:0|[1-9][0-9]*)"


def _real(exponents: str) -> str:
    """As Java writes it, and small enough: one that is too large, Spark reads as infinite."""
    plain = r"-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]+)?"
    scientific = rf"-?[0-9](?:\.[0-9]+)?[eE][+-]?(?:{exponents})"
    return rf'(?:{scientific}|{plain}|"(?:NaN|-?Infinity)")'


_ESCAPED = (
    r"\\u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_TEXT = rf'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|{_ESCAPED})*"'
_BASE64 = r'"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"'
_SCALARS = {
    **dict.fromkeys(_SIGNED_BITS, _WHOLE),
    JsonKind.FLOAT32: _real("[0-9]|[12][0-9]|3[0-7]"),
    JsonKind.FLOAT64: _real("[0-9]{1,2}"),
    JsonKind.BOOLEAN: "(?:true|false)",
    JsonKind.STRING: _TEXT,
    JsonKind.BYTES: _BASE64,
}


class PayloadCheck:
    """What payloads of one schema look like."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._pattern = pattern(schema)

    def faults(self, texts: pa.Array, what: str) -> dict[int, str]:
        """Why some of the texts, by their place, are not what the schema says. NULL is no text."""
        doubtful = pc.invert(pc.match_substring_regex(texts, self._pattern))
        found = {}
        for place in pc.indices_nonzero(pc.fill_null(doubtful, False)).to_pylist():
            why = fault(texts[place].as_py(), self._schema)
            if why is not None:
                found[place] = f"{what}: {why}"
        return found


def table_in(text: str | None) -> SourceTable | None:
    """The table that a payload names, however wrong the rest of it may be."""
    try:
        source = json.loads(text or "null")["source"]
        table = SourceTable(source["db"], source.get("schema") or "", source["table"])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None
    parts = (table.database, table.schema, table.table)
    return table if all(isinstance(part, str) for part in parts) else None


def pattern(schema: Schema) -> str:
    """A regular expression (RE2's) that matches what the converter writes for a schema.

    It has every field once, in the schema's order, without a space between. What it does not match
    may be right all the same: `fault` knows.
    """
    return rf"\A{_pattern(schema)}\z"


def _pattern(schema: Schema) -> str:
    if schema.kind is JsonKind.STRUCT:
        fields = (f"{_literal(f.name)}:{_pattern(f.schema)}" for f in schema.fields)
        inner = rf"\{{{','.join(fields)}\}}"
    elif schema.kind is JsonKind.ARRAY:
        assert schema.items is not None
        item = _pattern(schema.items)
        inner = rf"\[(?:{item}(?:,{item})*)?\]"
    elif schema.kind is JsonKind.MAP:
        assert schema.items is not None
        member = f"{_TEXT}:{_pattern(schema.items)}"
        inner = rf"\{{(?:{member}(?:,{member})*)?\}}"
    else:
        inner = _SCALARS[schema.kind]
    return f"(?:{inner}|null)" if schema.optional else inner


def _literal(name: str) -> str:
    return re.escape(json.dumps(name, ensure_ascii=False))


def fault(text: str, schema: Schema) -> str | None:
    """Why a payload is not what its schema says, with the field's name; None where it is."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_once,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_no_constant,
        )
    except RecursionError:
        return "it is nested too deeply"
    except ValueError as error:
        return f"it is no JSON: {error}"
    return _fault(value, schema, "")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {twice!r} stands twice")
    return members


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no value of JSON")


def _fault(value: Any, schema: Schema, where: str) -> str | None:
    if value is None:
        return None if schema.optional else f"{where or 'it'} is NULL, which its schema excludes"
    if schema.kind is JsonKind.STRUCT:
        return _fault_of_struct(value, schema, where)
    if schema.kind in (JsonKind.ARRAY, JsonKind.MAP):
        assert schema.items is not None
        if not isinstance(value, list if schema.kind is JsonKind.ARRAY else dict):
            return f"{where} is no {schema.kind}"
        members: Iterable[Any] = value if isinstance(value, list) else value.values()
        found = (_fault(member, schema.items, f"an item of {where}") for member in members)
        return next((why for why in found if why), None)
    return None if _SCALAR_CHECKS[schema.kind](value) else f"{where} is no {schema.kind}"


def _fault_of_struct(value: Any, schema: Schema, where: str) -> str | None:
    if not isinstance(value, dict):
        return f"{where or 'it'} is no struct"
    names = [field.name for field in schema.fields]
    for unknown in value.keys() - set(names):
        return f"field {unknown!r} is not in the schema"
    for field in schema.fields:
        if field.name not in value:
            return f"field {field.name!r} is missing"
        why = _fault(value[field.name], field.schema, f"field {field.name!r}")
        if why:
            return why
    return None


def _is_whole(bits: int) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if not isinstance(value, _Number) or not re.fullmatch(_WHOLE, value) or len(value) > 20:
            return False
        most = 1 << (bits - 1)
        return -most <= int(value) < most

    return check


def _is_real(largest: float) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if isinstance(value, _Number):
            return math.isfinite(float(value)) and abs(float(value)) < largest
        return value in _NOT_FINITE

    return check


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number) and is_unicode(value)


def _is_base64(value: Any) -> bool:
    if not _is_text(value):
        return False
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_SCALAR_CHECKS: dict[JsonKind, Callable[[Any], bool]] = {
    **{kind: _is_whole(bits) for kind, bits in _SIGNED_BITS.items()},
    JsonKind.FLOAT32: _is_real(_LARGEST_FLOAT),
    JsonKind.FLOAT64: _is_real(math.inf),
    JsonKind.BOOLEAN: lambda value: isinstance(value, bool),
    JsonKind.STRING: _is_text,
    JsonKind.BYTES: _is_base64,
}
