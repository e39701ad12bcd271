"""Expressions of KQL over one row: the few that our queries use, and an error for any other.

A null is None, and a string is never null. What compares or counts with a null is null, and `where`
keeps only what is true.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.infra.kusto import Tree

_EPOCH = datetime(1, 1, 1, tzinfo=UTC)
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}


class Unsupported(Exception):
    """A query uses what this interpreter does not know: teach it, or write the query simpler."""


def kind(tree: Tree) -> str:
    return str(tree[0])


def children(tree: Tree) -> list[Tree]:
    if isinstance(tree[1], str):
        raise Unsupported(f"{tree[0]} {tree[1]!r} has no children")
    return list(tree[1])


def elements(separated: Tree) -> list[Tree]:
    """What a list holds, without the commas."""
    return [children(one)[0] for one in children(separated)]


def name_of(tree: Tree) -> str:
    """The one word of a name, wherever it stands."""
    while not isinstance(tree[1], str):
        (tree,) = children(tree)
    return str(tree[1])


def type_of(tree: Tree) -> str:
    return str(tree[2])


def timespan(text: str) -> timedelta:
    """A literal like `15m`."""
    number = text.rstrip("dhms")
    return timedelta(**{_UNITS[text.removeprefix(number)]: float(number)})


@dataclass(frozen=True)
class Scope:
    """What an expression can see."""

    row: Mapping[str, Any]
    now: datetime


def evaluate(tree: Tree, scope: Scope) -> Any:
    """The value of an expression over a row."""
    what = kind(tree)
    if what in _LITERALS:
        return _LITERALS[what](name_of(tree))
    if what in _BINARY:
        left, _, right = children(tree)
        return _BINARY[what](evaluate(left, scope), evaluate(right, scope))
    match what:
        case "NameReference":
            return scope.row[name_of(tree)]
        case "ParenthesizedExpression":
            return evaluate(children(tree)[1], scope)
        case "PathExpression":
            bag, _, name = children(tree)
            found = evaluate(bag, scope)
            return None if found is None else found.get(name_of(name))
        case "AndExpression" | "OrExpression":
            left, _, right = children(tree)
            return _both(what, evaluate(left, scope), evaluate(right, scope))
        case "InExpression":
            left, _, among = children(tree)
            value = evaluate(left, scope)
            return value in [evaluate(one, scope) for one in elements(children(among)[1])]
        case "HasAnyExpression":
            left, _, among = children(tree)
            terms = set(re.findall(r"[a-z0-9]+", evaluate(left, scope).lower()))
            wanted = [evaluate(one, scope).lower() for one in elements(children(among)[1])]
            return not terms.isdisjoint(wanted)
        case "FunctionCallExpression":
            return _call(tree, scope)
    raise Unsupported(f"the expression {what}")


def call_of(tree: Tree) -> tuple[str, list[Tree]]:
    """A call's name and arguments."""
    name, arguments = children(tree)
    return name_of(name), elements(children(arguments)[1])


def _call(tree: Tree, scope: Scope) -> Any:
    name, arguments = call_of(tree)
    match name:
        case "now":
            return scope.now
        case "ago":
            return scope.now - evaluate(arguments[0], scope)
        case "iff":
            condition, yes, no = arguments
            return evaluate(yes if evaluate(condition, scope) is True else no, scope)
        case "case":
            for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
                if evaluate(condition, scope) is True:
                    return evaluate(value, scope)
            return evaluate(arguments[-1], scope)
    if name not in _FUNCTIONS:
        raise Unsupported(f"the function {name}")
    return _FUNCTIONS[name](*(evaluate(one, scope) for one in arguments))


def _both(what: str, left: Any, right: Any) -> bool | None:
    decides = what == "OrExpression"
    if left is decides or right is decides:
        return decides
    return None if left is None or right is None else not decides


def _known(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: None if left is None or right is None else function(left, right)


def _divided(left: Any, right: Any) -> Any:
    """Whole numbers divide to whole numbers."""
    whole = isinstance(left, int) and isinstance(right, int)
    return int(left / right) if whole else left / right


def text(value: Any) -> str:
    """What `tostring` makes of a value."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
    raise Unsupported(f"tostring of {value!r}")


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdigit() else None
    return None if value is None else int(value)


def _real(value: Any) -> float | None:
    try:
        return None if value in (None, "") else float(value)
    except ValueError:
        return None


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime) or value is None:
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _binned(value: Any, size: timedelta) -> Any:
    return None if value is None else value - (value - _EPOCH) % size


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _moment_literal(literal: str) -> datetime | None:
    inner = literal.removeprefix("datetime(").removesuffix(")")
    return None if inner == "null" else _moment(inner)


_LITERALS: Mapping[str, Callable[[str], Any]] = {
    "StringLiteralExpression": lambda literal: literal[1:-1],
    "LongLiteralExpression": int,
    "RealLiteralExpression": lambda literal: None if literal == "real(null)" else float(literal),
    "BooleanLiteralExpression": lambda literal: literal == "true",
    "TimespanLiteralExpression": timespan,
    "DateTimeLiteralExpression": _moment_literal,
}
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "EqualExpression": _known(operator.eq),
    "NotEqualExpression": _known(operator.ne),
    "LessThanExpression": _known(operator.lt),
    "GreaterThanExpression": _known(operator.gt),
    "GreaterThanOrEqualExpression": _known(operator.ge),
    "MultiplyExpression": _known(operator.mul),
    "DivideExpression": _known(_divided),
    "EqualTildeExpression": _known(lambda left, right: left.lower() == right.lower()),
    "StartsWithExpression": _known(lambda left, right: left.lower().startswith(right.lower())),
    "NotStartsWithExpression": _known(
        lambda left, right: not left.lower().startswith(right.lower())
    ),
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "tostring": text,
    "strcat": lambda *parts: "".join(map(text, parts)),
    "tolong": _whole,
    "toint": _whole,
    "todouble": _real,
    "todatetime": _moment,
    "isnotempty": lambda value: value not in (None, ""),
    "isempty": lambda value: value in (None, ""),
    "isnotnull": lambda value: value is not None,
    "coalesce": lambda *values: next((one for one in values if one is not None), None),
    "not": lambda value: None if value is None else not value,
    "replace_string": lambda value, old, new: value.replace(old, new),
    "round": _rounded,
    "bin": _binned,
    "startofday": lambda value: value.replace(hour=0, minute=0, second=0, microsecond=0),
}
