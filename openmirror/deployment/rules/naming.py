"""What a deployment is called, and the names that Azure makes of that."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME = re.compile(r"[a-z][a-z0-9]{2,11}")
NAME_RULE = "3 to 12 lower-case letters and digits, no digit first"
DEFAULT_NAME = "openmirror"
TAG = "openmirror"
"""The tag that every resource of a deployment has; its value is the deployment's `name`."""
DEPLOYMENT = "openmirror"
"""What the deployment itself is called in its resource group, where its `name` is not known."""


def data_stack(name: str) -> str:
    """What the deployment stack of the data is called; the other one is called `name`."""
    return f"{name}-data"


_WORD = 0xFFFFFFFF
_LONG = 0xFFFFFFFFFFFFFFFF
_FIRST, _SECOND = 0x239B961B, 0xAB0E9789
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def tagged(tags: Mapping[str, str]) -> str | None:
    """The `name` of the deployment that a resource with these tags is of; None of none."""
    # Azure keeps the case of a tag's name and does not distinguish it.
    return next((value for tag, value in tags.items() if tag.lower() == TAG), None)


def unique_string(*parts: str) -> str:
    """What Bicep's `uniqueString` answers: 13 characters of a 64-bit Murmur hash of all parts."""
    value = _murmur("-".join(parts).encode())
    digits = []
    for _ in range(13):
        digits.append(_ALPHABET[value >> 59])
        value = (value << 5) & _LONG
    return "".join(digits)


def _murmur(data: bytes) -> int:
    """Two words at a time; a rest of at most seven bytes counts as what it has."""
    one = two = 0
    whole = len(data) - len(data) % 8
    for at in range(0, whole, 8):
        one ^= _mixed(data[at : at + 4], _FIRST, 15, _SECOND)
        one = ((_turned(one, 19) + two) * 5 + 0x561CCD1B) & _WORD
        two ^= _mixed(data[at + 4 : at + 8], _SECOND, 17, _FIRST)
        two = ((_turned(two, 13) + one) * 5 + 0x0BCAA747) & _WORD
    one ^= _mixed(data[whole : whole + 4], _FIRST, 15, _SECOND)
    two ^= _mixed(data[whole + 4 :], _SECOND, 17, _FIRST)
    one, two = _summed(one ^ len(data), two ^ len(data))
    one, two = _summed(_scattered(one), _scattered(two))
    return two << 32 | one


def _summed(one: int, two: int) -> tuple[int, int]:
    one = (one + two) & _WORD
    return one, (two + one) & _WORD


def _mixed(data: bytes, before: int, by: int, after: int) -> int:
    word = int.from_bytes(data, "little") * before & _WORD
    return _turned(word, by) * after & _WORD


def _turned(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & _WORD


def _scattered(word: int) -> int:
    word = (word ^ word >> 16) * 0x85EBCA6B & _WORD
    word = (word ^ word >> 13) * 0xC2B2AE35 & _WORD
    return word ^ word >> 16
