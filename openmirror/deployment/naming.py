"""What the Bicep files call their resources."""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"[a-z][a-z0-9]{2,11}")
NAME_RULE = "3 to 12 lower-case letters and digits, a letter first"
DEFAULT_NAME = "openmirror"
TAG = "openmirror"
"""The tag that every resource of a deployment has; its value is the deployment's `name`."""
DEPLOYMENT = "openmirror"
"""What the deployment itself is called in its resource group."""
EVENT_SUBSCRIPTION = "landing-events"
LETTERS_CONTAINER = "dead-letters"


@dataclass(frozen=True)
class Names:
    """Those names that must be free in all of Azure."""

    lake_account: str
    runtime_account: str
    function_app: str

    @classmethod
    def of(cls, name: str, group: str) -> Names:
        """The names in the group of this id, as infra/bicep/main.bicep makes them."""
        token = unique_string(group, name)[:6]
        return cls(f"st{name}lake{token[:4]}", f"st{name}run{token[:4]}", f"func-{name}-{token}")


_WORD = 0xFFFFFFFF
_LONG = 0xFFFFFFFFFFFFFFFF
_FIRST, _SECOND = 0x239B961B, 0xAB0E9789
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def unique_string(*parts: str) -> str:
    """What Bicep's `uniqueString` answers: 13 letters of a 64-bit Murmur hash of all parts."""
    value = _murmur("-".join(parts).encode())
    letters = []
    for _ in range(13):
        letters.append(_LETTERS[value >> 59])
        value = (value << 5) & _LONG
    return "".join(letters)


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
