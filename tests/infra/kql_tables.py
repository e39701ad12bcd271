"""Queries of KQL over rows in memory: the few operators that ours use, and an error for any other.

What is run is the syntax tree of the Kusto language service, so a query means here what the service
took it for; types come from it as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.infra.kql_scalars import (
    Scope,
    Unsupported,
    call_of,
    children,
    elements,
    evaluate,
    kind,
    name_of,
    type_of,
)
from tests.infra.kusto import Tree

Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """A table: its columns with their types, and its rows."""

    columns: Mapping[str, str]
    rows: list[Row]

    def absent(self) -> Row:
        """A row of which nothing is known."""
        return {name: "" if type_ == "string" else None for name, type_ in self.columns.items()}


def run(
    tree: Tree,
    tables: Mapping[str, Iterable[Mapping[str, Any]]],
    schemas: Mapping[str, Mapping[str, str]],
    now: datetime,
) -> list[Row]:
    """What a query answers at this time over these tables."""
    query = _Query(_Tables(tables, schemas), now)
    answer: Rows | None = None
    for statement in elements(children(tree)[-1]):
        parts = children(statement)
        if kind(statement) == "LetStatement":
            query.tables[name_of(parts[1])] = query.table(parts[3])
        elif kind(statement) == "ExpressionStatement":
            answer = query.table(parts[0])
        else:
            raise Unsupported(f"the statement {kind(statement)}")
    if answer is None:
        raise Unsupported("a query without an answer")
    return answer.rows


class _Tables(dict[str, Rows]):
    """Those that a query reads, and those that it makes: most read few of those that are there."""

    def __init__(
        self,
        tables: Mapping[str, Iterable[Mapping[str, Any]]],
        schemas: Mapping[str, Mapping[str, str]],
    ) -> None:
        super().__init__()
        self._rows = tables
        self._schemas = schemas

    def __missing__(self, name: str) -> Rows:
        schema = self._schemas[name]
        absent = Rows(schema, []).absent()
        rows = [absent | _typed(row, schema) for row in self._rows.get(name, ())]
        self[name] = Rows(schema, rows)
        return self[name]


def _typed(row: Mapping[str, Any], schema: Mapping[str, str]) -> Row:
    """What is known of a row; a whole number in a column of reals divides as a real."""
    return {
        name: float(value) if schema[name] == "real" else value
        for name, value in row.items()
        if value is not None
    }


class _Query:
    def __init__(self, tables: dict[str, Rows], now: datetime) -> None:
        self.tables = tables
        self._now = now

    def table(self, tree: Tree) -> Rows:
        match kind(tree):
            case "NameReference":
                return self.tables[name_of(tree)]
            case "PipeExpression":
                left, _, step = children(tree)
                return self._step(step, self.table(left))
            case "UnionOperator":
                return _union([self.table(one) for one in elements(children(tree)[2])])
            case "DataTableExpression":
                return self._data_table(tree)
        raise Unsupported(f"the table {kind(tree)}")

    def _step(self, tree: Tree, before: Rows) -> Rows:
        parts = children(tree)
        match kind(tree):
            case "FilterOperator":
                kept = [row for row in before.rows if self._value(parts[2], row) is True]
                return Rows(before.columns, kept)
            case "ExtendOperator":
                return self._projected(elements(parts[1]), before, before.columns)
            case "ProjectOperator":
                return self._projected(elements(parts[1]), before, {})
            case "SummarizeOperator":
                return self._summarized(parts, before)
            case "SortOperator":
                return Rows(before.columns, self._sorted(elements(parts[3]), before.rows))
            case "TopOperator":
                most = self._value(parts[2], {})
                return Rows(before.columns, self._sorted([parts[4]], before.rows)[:most])
            case "JoinOperator":
                return self._joined(parts, before)
        raise Unsupported(f"the operator {kind(tree)}")

    def _value(self, tree: Tree, row: Row) -> Any:
        return evaluate(tree, Scope(row, self._now))

    def _projected(self, named: list[Tree], before: Rows, kept: Mapping[str, str]) -> Rows:
        wanted = [_named(one) for one in named]
        columns = {**kept, **{name: type_of(value) for name, value in wanted}}
        rows = [
            {name: row[name] for name in kept}
            | {name: self._value(value, row) for name, value in wanted}
            for row in before.rows
        ]
        return Rows(columns, rows)

    def _summarized(self, parts: list[Tree], before: Rows) -> Rows:
        keys = [_named(one) for one in elements(children(parts[3])[1])] if parts[3:] else []
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in before.rows:
            key = tuple(self._value(value, row) for _, value in keys)
            groups.setdefault(key, []).append(row)
        if not keys:
            groups = {(): before.rows}  # an answer even when there is nothing to count
        columns = {name: type_of(value) for name, value in keys}
        rows = [dict(zip(columns, key, strict=True)) for key in groups]
        for aggregate in elements(parts[2]):
            name, call = _named(aggregate, of_call=True)
            function, arguments = call_of(call)
            if function in ("arg_max", "arg_min"):
                names = [name_of(argument) for argument in arguments]
                columns |= {one: before.columns[one] for one in names}
                for row, group in zip(rows, groups.values(), strict=True):
                    best = _best(function, names[0], group) or before.absent()
                    row.update({one: best[one] for one in names})
            else:
                columns[name] = type_of(call)
                for row, group in zip(rows, groups.values(), strict=True):
                    row[name] = self._aggregate(function, arguments, group)
        return Rows(columns, rows)

    def _aggregate(self, function: str, arguments: list[Tree], group: list[Row]) -> Any:
        if function in ("count", "countif"):
            return sum(not arguments or self._value(arguments[0], row) is True for row in group)
        if function in ("maxif", "sumif"):
            group = [row for row in group if self._value(arguments[1], row) is True]
        values = [self._value(arguments[0], row) for row in group]
        values = [value for value in values if value is not None]
        match function:
            case "sum" | "sumif":
                return sum(values)
            case "max" | "maxif":
                return max(values, default=None)
            case "percentile":
                share = self._value(arguments[1], {}) / 100
                ranked = sorted(values)
                return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else None
        raise Unsupported(f"the aggregate {function}")

    def _sorted(self, orders: list[Tree], rows: list[Row]) -> list[Row]:
        for order in reversed(orders):
            value, clause = children(order)
            descending = name_of(clause) == "desc"
            by = _sort_key(lambda row, value=value: self._value(value, row))
            rows = sorted(rows, key=by, reverse=descending)
        return rows

    def _joined(self, parts: list[Tree], left: Rows) -> Rows:
        (named,) = children(parts[1])
        how = name_of(children(named)[2])
        right = self.table(parts[2])
        keys = [name_of(one) for one in elements(children(parts[3])[1])]
        matches: dict[tuple[Any, ...], list[Row]] = {}
        for row in right.rows:
            matches.setdefault(tuple(row[key] for key in keys), []).append(row)
        if how == "leftanti":
            alone = [row for row in left.rows if tuple(row[key] for key in keys) not in matches]
            return Rows(left.columns, alone)
        if how != "leftouter":
            raise Unsupported(f"a join of the kind {how}")
        fresh = {name: name + "1" if name in left.columns else name for name in right.columns}
        columns = {**left.columns, **{fresh[name]: t for name, t in right.columns.items()}}
        rows = [
            row | {fresh[name]: value for name, value in other.items()}
            for row in left.rows
            for other in matches.get(tuple(row[key] for key in keys), [right.absent()])
        ]
        return Rows(columns, rows)

    def _data_table(self, tree: Tree) -> Rows:
        parts = children(tree)
        declared = [children(one) for one in elements(children(parts[2])[1])]
        columns = {name_of(name): name_of(type_) for name, _, type_ in declared}
        values = [self._value(one, {}) for one in elements(parts[4])]
        width = len(columns)
        starts = range(0, len(values), width)
        return Rows(
            columns, [dict(zip(columns, values[at : at + width], strict=True)) for at in starts]
        )


def _named(tree: Tree, *, of_call: bool = False) -> tuple[str, Tree]:
    """The column that an expression makes, and the expression."""
    if kind(tree) == "SimpleNamedExpression":
        name, _, value = children(tree)
        return name_of(name), value
    if kind(tree) == "NameReference":
        return name_of(tree), tree
    if of_call and kind(tree) == "FunctionCallExpression":
        return call_of(tree)[0] + "_", tree
    raise Unsupported(f"a column without a name: {kind(tree)}")


def _best(function: str, by: str, group: list[Row]) -> Row | None:
    known = [row for row in group if row[by] is not None]
    choose = max if function == "arg_max" else min
    return choose(known, key=lambda row: row[by]) if known else None


def _sort_key(value: Callable[[Row], Any]) -> Callable[[Row], Any]:
    """Nulls are below everything."""

    def key(row: Row) -> tuple[bool, Any]:
        found = value(row)
        return (found is not None, 0 if found is None else found)

    return key


def _union(tables: list[Rows]) -> Rows:
    columns: dict[str, str] = {}
    for table in tables:
        columns |= table.columns
    absent = Rows(columns, []).absent()
    return Rows(columns, [absent | row for table in tables for row in table.rows])
