"""Operators put in Bicep's order of precedence, from a flat row of operands and operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.infra.bicep.syntax import Binary, Expression, Lambda, Ternary, Unary

# From the loosest to the tightest; all group to the left.
_LEVELS = (
    ("??",),
    ("||",),
    ("&&",),
    ("==", "!=", "=~", "!~"),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%"),
)


@dataclass(frozen=True)
class Operator:
    sign: str


@dataclass(frozen=True)
class Prefix:
    sign: str


@dataclass(frozen=True)
class Question:
    """`? yes :`, between a condition and what stands otherwise."""

    yes: Expression


@dataclass(frozen=True)
class Arrow:
    """`names =>`."""

    names: tuple[str, ...]


Item = Expression | Operator | Prefix | Question | Arrow


def grouped(row: Sequence[Item]) -> Expression:
    """The one expression that a row is."""
    match row[0]:
        case Arrow(names=names):
            body = grouped(row[1:])
            return Lambda(body.line, names, body)
    for at, item in enumerate(row):
        if isinstance(item, Question):
            condition = _binary(row[:at], 0)
            return Ternary(condition.line, condition, item.yes, grouped(row[at + 1 :]))
    return _binary(row, 0)


def _binary(row: Sequence[Item], level: int) -> Expression:
    if level == len(_LEVELS):
        return _unary(row)
    for at in range(len(row) - 1, -1, -1):
        item = row[at]
        if isinstance(item, Operator) and item.sign in _LEVELS[level]:
            left = _binary(row[:at], level)
            return Binary(left.line, item.sign, left, _binary(row[at + 1 :], level + 1))
    return _binary(row, level + 1)


def _unary(row: Sequence[Item]) -> Expression:
    match row:
        case [Prefix(sign=sign), *rest]:
            operand = _unary(rest)
            return Unary(operand.line, sign, operand)
        case [Expression() as operand]:
            return operand
        case _:
            raise ValueError(f"no expression: {row}")
