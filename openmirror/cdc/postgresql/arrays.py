"""Arrays in PostgreSQL's text form, as JSON. Pure.

JSON is nested as the array's dimensions are. Numbers that JSON has, booleans and JSON values stand
in it as such, a NULL as null, and every other element as a JSON string of the server's text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.postgresql.texts import bytes_of, with_bytes
from openmirror.cdc.postgresql.types import TextForm, TypeReading

_NUMBERS = (TextForm.INTEGER, TextForm.FLOAT, TextForm.DECIMAL, TextForm.DIGITS)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_BOOLEANS: Final[Mapping[str, str]] = {"t": "true", "f": "false"}
_OPEN, _CLOSE = "{", "}"


class ArrayRefused(ValueError):
    """An array that has no form in JSON; the message says why, without its elements."""


def json_of_array(text: str, element: TypeReading, delimiter: str = ",") -> str:
    """Return one array as JSON.

    Raises:
        ArrayRefused: The array's bounds do not begin at 1, or the text is no array.
    """
    if text.startswith("["):
        raise ArrayRefused("an array whose bounds do not begin at 1")
    tokens = _tokens(delimiter)
    out: list[str] = []
    depth, at, wants_value, may_close = 0, 0, True, False
    while at < len(text):
        token = tokens.match(text, at)
        if token is None or (depth == 0 and at > 0):
            raise _malformed()
        at, word = token.end(), token[0]
        if word == _CLOSE:
            if not may_close:
                raise _malformed()
            out.append("]")
            depth, wants_value = depth - 1, False
        elif word == delimiter:
            if wants_value:
                raise _malformed()
            out.append(",")
            wants_value, may_close = True, False
        elif not wants_value or (depth == 0 and word != _OPEN):
            raise _malformed()
        elif word == _OPEN:
            out.append("[")
            # Only a whole array is empty: `{}`.
            depth, may_close = depth + 1, depth == 0
        else:
            out.append(_element(word, element))
            wants_value, may_close = False, True
    if depth or not out:
        raise _malformed()
    return "".join(out)


def plain_arrays(texts: pa.Array, element: TypeReading, delimiter: str) -> pa.Array | None:
    """Return arrays of numbers or booleans as JSON, all at once.

    Args:
        texts: The arrays, as Arrow strings.
        element: How their elements are read.
        delimiter: What stands between the elements.

    Returns:
        None where an array has anything else, such as NaN or bounds: `json_of_array` reads it.
    """
    if delimiter != ",":
        return None
    if element.form is TextForm.BOOLEAN:
        allowed = b"{},tfNUL"
    elif element.form in _NUMBERS:
        allowed = b"{},0123456789+-.eENUL"
    else:
        return None
    content = bytes_of(texts)
    if not _is_of(content, allowed):
        return None
    swap = np.arange(256, dtype=np.uint8)
    swap[list(b"{}")] = list(b"[]")
    arrays = with_bytes(texts, swap[content])
    if (content == ord("N")).any():
        arrays = pc.replace_substring(arrays, "NULL", "null")
    if element.form is TextForm.BOOLEAN:
        for short, long in _BOOLEANS.items():
            arrays = pc.replace_substring(arrays, short, long)
    return arrays


def _is_of(content: np.ndarray, allowed: bytes) -> bool:
    known = np.zeros(256, dtype=np.bool_)
    known[list(allowed)] = True
    return bool(known[content].all())


@lru_cache(maxsize=8)
def _tokens(delimiter: str) -> re.Pattern[str]:
    mark = re.escape(delimiter)
    # The server quotes these blanks only, which are fewer than Python's `\s`.
    bare = rf'[^{{}}"\\ \t\n\r\v\f{mark}]+'
    quoted = r'"[^"\\]*(?:\\.[^"\\]*)*"'
    return re.compile(f"[{{}}]|{mark}|{quoted}|{bare}", re.DOTALL)


def _element(word: str, element: TypeReading) -> str:
    if word.startswith('"'):
        word = word[1:-1]
        if "\\" in word:
            word = re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL)
    elif word == "NULL":
        return "null"
    if element.form is TextForm.JSON:
        return word
    if element.form is TextForm.BOOLEAN and word in _BOOLEANS:
        return _BOOLEANS[word]
    if element.form in _NUMBERS and _NUMBER.match(word):
        return word
    return json.dumps(word, ensure_ascii=False)


def _malformed() -> ArrayRefused:
    return ArrayRefused("a text that is no array")
