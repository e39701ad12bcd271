"""Columns of text whose values are all written plainly, read at once.

`values.py` says what a text means: what is accepted here it must read in the same way. Nothing that
is in doubt is refused here; it is left to it.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.text.values import FALSE, TRUE, read_value
from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.text_format import TextType

ARROW: dict[TextType, Any] = {
    TextType.DOUBLE: pa.float64(),
    TextType.SINGLE: pa.float32(),
    TextType.INT16: pa.int16(),
    TextType.INT32: pa.int32(),
    TextType.INT64: pa.int64(),
    TextType.DATE_TIME: pa.timestamp("us", tz="UTC"),
    TextType.DATE: pa.date32(),
    TextType.TIME: pa.string(),
    TextType.STRING: pa.string(),
    TextType.BOOLEAN: pa.bool_(),
    TextType.BYTES: pa.binary(),
}
"""The Arrow type that each type of text becomes."""

_DIGITS = "^-?[0-9]+$"
_REAL = r"^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_NOT_FINITE = "(?i)^[+-]?(?:nan|inf|infinity)$"
# Years that no arithmetic over them leaves the calendar with.
_DAY = "[12][0-9]{3}-[0-9]{2}-[0-9]{2}"
_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = f"{_MINUTE}:[0-5][0-9]"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_CLOCK = rf"[ T]{_MINUTE}(?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?"
_MOMENT, _MOMENT_IN_ZONE = f"^{_DAY}(?:{_CLOCK})?$", f"^{_DAY}{_CLOCK}{_ZONE}$"
_TIME_ALONE = rf"^{_MINUTE}(?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?$"
_EITHER = "^0[xX](?:[0-9a-fA-F]{2})*$"


def at_once(strings: Any, kind: TextType, binary: BinaryText | None) -> Any | None:
    """The whole column, or None when some value is written in another way, or wrong."""
    try:
        match kind:
            case TextType.INT16 | TextType.INT32 | TextType.INT64:
                return pc.cast(strings, ARROW[kind]) if _all(strings, _DIGITS) else None
            case TextType.DOUBLE | TextType.SINGLE:
                return _reals(strings, kind)
            case TextType.BOOLEAN:
                return _booleans(strings)
            case TextType.DATE:
                return pc.cast(strings, pa.date32()) if _all(strings, f"^{_DAY}$") else None
            case TextType.DATE_TIME:
                return _moments(strings)
            case TextType.TIME:
                return _times(strings)
            case TextType.BYTES:
                return _bytes(strings, binary)
            case _:
                return None
    except pa.ArrowInvalid:
        return None


_WHOLE_NUMBER = (r"^(?:\+|(-))?([0-9]+)(?:\.0*)?$", r"\1\2")
_REAL_NUMBER = (r"^\+([0-9.])", r"\1")
_MIDNIGHT = r"[Tt ]00:00(?::00(?:\.0{1,9})?)?(?: ?(?:[Zz]|[+-]00:?00))?"
_REWRITINGS: dict[TextType, tuple[str, str]] = {
    TextType.INT16: _WHOLE_NUMBER,
    TextType.INT32: _WHOLE_NUMBER,
    TextType.INT64: _WHOLE_NUMBER,
    TextType.DOUBLE: _REAL_NUMBER,
    TextType.SINGLE: _REAL_NUMBER,
    TextType.DATE: (rf"^({_DAY}){_MIDNIGHT}$", r"\1"),
    TextType.DATE_TIME: (
        rf"^({_DAY}[ T]{_TIME})(?:(\.[0-9]{{1,6}})0{{0,3}})? ?({_ZONE})?$",
        r"\1\2\3",
    ),
    TextType.TIME: (rf"^({_TIME}\.[0-9]{{6}})0{{1,3}}$", r"\1"),
}
"""Spellings of whole values, and how the same values are written plainly."""


def rewritten(strings: Any, kind: TextType) -> Any:
    """The same values, those in the usual other spellings written plainly."""
    if kind not in _REWRITINGS:
        return strings
    pattern, plain = _REWRITINGS[kind]
    return pc.replace_substring_regex(strings, pattern, plain)


def _all(strings: Any, pattern: str) -> bool:
    """Whether every value that is not NULL is written so."""
    found = pc.all(pc.match_substring_regex(strings, pattern))
    return found.as_py() is not False


def _reals(strings: Any, kind: TextType) -> Any | None:
    if _all(strings, _REAL):
        return _finite(strings, kind)
    is_word = pc.match_substring_regex(strings, _NOT_FINITE)
    numbers = pc.if_else(is_word, pa.scalar(None, pa.string()), strings)
    reals = _finite(numbers, kind) if _all(numbers, _REAL) else None
    if reals is None:
        return None
    words = pc.unique(strings.filter(is_word))
    values = pa.array([read_value(kind, word) for word in words.to_pylist()], ARROW[kind])
    return pc.if_else(is_word, values.take(pc.index_in(strings, words)), reals)


def _finite(strings: Any, kind: TextType) -> Any | None:
    reals = pc.cast(pc.cast(strings, pa.float64()), ARROW[kind])
    # All of them were written with digits, so what is not finite was too large.
    return reals if pc.all(pc.is_finite(reals)).as_py() is not False else None


def _booleans(strings: Any) -> Any | None:
    words = pc.utf8_lower(strings)
    true = pc.is_in(words, value_set=pa.array(TRUE))
    known = pc.is_in(words, value_set=pa.array([*TRUE, *FALSE, None], pa.string()))
    if pc.all(known).as_py() is False:
        return None
    return pc.if_else(pc.is_valid(words), true, pa.scalar(None, pa.bool_()))


def _moments(strings: Any) -> Any | None:
    if _all(strings, _MOMENT):
        return pc.cast(pc.cast(strings, pa.timestamp("us")), ARROW[TextType.DATE_TIME])
    if _all(strings, _MOMENT_IN_ZONE):
        return pc.cast(strings, ARROW[TextType.DATE_TIME])
    return None


def _times(strings: Any) -> Any | None:
    if not _all(strings, _TIME_ALONE):
        return None
    moments = pc.cast(pc.binary_join_element_wise("1970-01-01", strings, " "), pa.timestamp("us"))
    texts = pc.cast(pc.cast(moments, pa.time64("us")), pa.string())
    # A fraction of nothing is not written.
    whole = pc.utf8_slice_codeunits(texts, 0, len("00:00:00"))
    return pc.if_else(pc.ends_with(texts, ".000000"), whole, texts)


def _bytes(strings: Any, binary: BinaryText | None) -> Any | None:
    decode: Callable[[str], bytes] = _base64
    if binary is BinaryText.HEX:
        strings = pc.replace_substring_regex(strings, r"^(?:0|\\)[xX]", "")
        decode = binascii.unhexlify
    elif binary is None and pc.any(pc.match_substring_regex(strings, _EITHER)).as_py():
        return None
    try:
        values = [None if text is None else decode(text) for text in strings.to_pylist()]
    except ValueError:
        return None
    return pa.array(values, ARROW[TextType.BYTES])


def _base64(text: str) -> bytes:
    return binascii.a2b_base64(text, strict_mode=True)
