"""Conditions of role assignments, evaluated as Azure documents them; what is not known raises.

From learn.microsoft.com: role-based-access-control/conditions-format (the grammar and operators)
and storage/blobs/storage-auth-abac-attributes (which attributes an operation has).

- An action that no `ActionMatches` names passes: a condition that forgets one opens it.
- An operation without an attribute cannot be evaluated over it, and is refused. So a comparison of
  what is not there is neither true nor false, and only a condition that is true lets pass.
- `AND` beside `OR` needs parentheses. Azure refuses the assignment otherwise, and so does this.
- `StringLike`: `*` is any text, slashes too; `?` is one character; a backslash takes either as it
  is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache

_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
PATH = f"Resource[{_BLOBS}:path]"
"""Of whatever is read, written, deleted or renamed; without container and first slash."""
PREFIX = f"Request[{_BLOBS}:prefix]"
"""Of a listing: the path of the folder that is listed."""
CONTAINER = "Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name]"
LIST = "Blob.List"
"""The one suboperation of reading that is distinguished here; what is no listing has none."""


class NotUnderstood(Exception):
    """Azure would refuse this condition, or nobody here knows what it would do."""


@dataclass(frozen=True)
class Asked:
    """One operation that is to be let pass or not."""

    action: str
    suboperation: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


Test = Callable[[Asked], bool | None]
"""None where it cannot be evaluated."""


def holds(condition: str, asked: Asked) -> bool:
    """Whether a condition lets an operation pass; raises NotUnderstood."""
    return parse(condition)(asked) is True


@cache
def parse(condition: str) -> Test:
    """A condition as a test; raises NotUnderstood."""
    reader = _Reader(condition)
    found = reader.expression()
    if reader.peek():
        raise NotUnderstood(f"{reader.peek()!r} after the end of {condition!r}")
    return found


_TOKEN = re.compile(
    r"""\s*(?: (?P<text>'(?:[^'\\]|\\.)*')
             | (?P<attribute>@\w+\[[^\]]*\])
             | (?P<word>[A-Za-z]+(?::[A-Za-z]+)?)
             | (?P<sign>&&|\|\||[(){},!]) )""",
    re.VERBOSE,
)
_AND, _OR, _NOT = frozenset({"AND", "&&"}), frozenset({"OR", "||"}), frozenset({"NOT", "!"})
_SOURCES = frozenset({"Resource", "Request", "Principal"})
_ANY = "ForAnyOfAnyValues:"


def _equals(value: str, wanted: str) -> bool:
    return value == _plain(wanted)


def _starts(value: str, wanted: str) -> bool:
    return value.startswith(_plain(wanted))


def _like(value: str, wanted: str) -> bool:
    pattern = re.sub(r"\\(.)|(\[)", lambda m: f"[{m[1] or m[2]}]", wanted)
    return fnmatchcase(value, pattern)


_COMPARE: Mapping[str, Callable[[str, str], bool]] = {
    "Equals": _equals,
    "StartsWith": _starts,
    "Like": _like,
}
_OPERATOR = re.compile(rf"String(Not)?({'|'.join(_COMPARE)})(IgnoreCase)?")


class _Reader:
    def __init__(self, condition: str) -> None:
        self._tokens: list[str] = []
        at, text = 0, condition.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise NotUnderstood(f"{text[at : at + 30]!r} in {condition!r}")
            self._tokens.append(match[0].strip())
            at = match.end()
        self._at = 0

    def peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        found = self.peek()
        if not found or (wanted and found not in wanted):
            raise NotUnderstood(f"{found or 'the end'!r} where {' or '.join(wanted)} should be")
        self._at += 1
        return found

    def expression(self) -> Test:
        parts, joined = [self._factor()], frozenset[str]()
        while self.peek() in _AND | _OR:
            kind = _AND if self._take() in _AND else _OR
            if joined and joined != kind:
                raise NotUnderstood("AND beside OR needs parentheses")
            joined = kind
            parts.append(self._factor())
        if joined == _OR:
            return lambda asked: _not(_all(_not(part(asked)) for part in parts))
        return lambda asked: _all(part(asked) for part in parts)

    def _factor(self) -> Test:
        token = self.peek()
        if token in _NOT:
            self._take()
            inner = self._factor()
            return lambda asked: _not(inner(asked))
        if token == "(":
            self._take()
            found = self.expression()
            self._take(")")
            return found
        if token == "ActionMatches":
            self._take()
            pattern = self._braced_one().lower()
            return lambda asked: fnmatchcase(asked.action.lower(), pattern)
        if token == "SubOperationMatches":
            self._take()
            name = self._braced_one().lower()
            return lambda asked: asked.suboperation.lower() == name
        if token == "Exists":
            self._take()
            wanted = self._attribute()
            return lambda asked: wanted in asked.attributes
        return self._comparison()

    def _comparison(self) -> Test:
        attribute, operator = self._attribute(), self._take()
        values = self._values() if operator.startswith(_ANY) else [self._text()]
        match = _OPERATOR.fullmatch(operator.removeprefix(_ANY))
        if match is None:
            raise NotUnderstood(f"the operator {operator}")
        negated, compare, no_case = bool(match[1]), _COMPARE[match[2]], bool(match[3])

        def test(asked: Asked) -> bool | None:
            value = asked.attributes.get(attribute)
            if value is None:
                return None
            pairs = [(value, one) for one in values]
            if no_case:
                pairs = [(left.lower(), right.lower()) for left, right in pairs]
            return any(compare(*pair) is not negated for pair in pairs)

        return test

    def _attribute(self) -> str:
        token = self._take()
        source = token.removeprefix("@").partition("[")[0]
        if not token.startswith("@") or source not in _SOURCES:
            raise NotUnderstood(f"{token!r} where an attribute should be")
        return token.removeprefix("@")

    def _braced_one(self) -> str:
        values = self._values()
        if len(values) != 1:
            raise NotUnderstood(f"{values} where one value should be")
        return values[0]

    def _values(self) -> list[str]:
        self._take("{")
        found = [self._text()]
        while self._take(",", "}") == ",":
            found.append(self._text())
        return found

    def _text(self) -> str:
        token = self._take()
        if not token.startswith("'"):
            raise NotUnderstood(f"{token!r} where text in quotes should be")
        return token[1:-1]


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: Iterable[bool | None]) -> bool | None:
    """Asks no further once one is false: most parts of a condition are about another action."""
    unclear = False
    for value in values:
        if value is False:
            return False
        unclear = unclear or value is None
    return None if unclear else True
