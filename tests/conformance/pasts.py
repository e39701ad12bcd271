"""Histories beside the tables of the plain interpreter: file after file, row after row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import TablePath, fold_case
from openmirror.protocol.rows import Change, ChangeFile, Marker, Table, apply_file, empty_table
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import SchemaUnion, TableSchema, union_schema
from openmirror.protocol.versions import (
    HISTORY_COLUMNS,
    History,
    Version,
    apply_to_history,
    begin_with,
    empty_history,
    re_create,
)
from tests.conformance.row_types import row_in, typed
from tests.conformance.vectors import Outcome, encoded

_WITHOUT_KEYS = {"paused": Code.KEY_COLUMNS_UNDECLARED.value, "file": None}


@dataclass(frozen=True)
class Now:
    """What is there of a current table, before some file."""

    rows: Table
    schema: TableSchema
    rules: TableMetadata
    applied: int
    incarnation: object


@dataclass
class _Past:
    history: History = field(default_factory=lambda: empty_history(()))
    schema: TableSchema = field(default_factory=TableSchema)
    """With our own columns, where the first file put them."""
    incarnation: object = None
    applied: int = 0
    state: Any = "idle"


def history_in(
    history: History, schema: TableSchema, rules: TableMetadata, incarnation: str
) -> History:
    """The same versions in the types of this schema, under these keys."""

    def in_types(version: Version) -> Version:
        return replace(version, row=row_in(dict(version.row), schema))

    still_open = [in_types(version) for version in history.open]
    table = empty_table(rules.key_columns, rules.version_column)
    rows = [Change(Marker.INSERT, version.row) for version in still_open]
    apply_file(table, ChangeFile(tuple(history.columns), rows))
    closed = [in_types(version) for version in history.closed]
    return History(table, incarnation, list(history.columns), closed, still_open)


def with_ours(schema: TableSchema) -> TableSchema:
    """With the columns of a history behind those that are there, once any is."""
    missing = (c for c in HISTORY_COLUMNS if schema.columns and not schema.find(c.name))
    return TableSchema((*schema.columns, *missing))


class Pasts:
    """The histories of one mirror, by their landing folders."""

    def __init__(self) -> None:
        self._pasts: dict[TablePath, _Past] = {}
        self._anew: set[TablePath] = set()

    @property
    def paths(self) -> set[TablePath]:
        return set(self._pasts)

    def begin_anew(self, path: TablePath) -> None:
        self._anew.add(path)

    def without_file(self, path: TablePath, now: Now) -> None:
        """What a drain does without a file."""
        past = self._pasts.setdefault(path, _Past())
        if now.applied and not now.rules.key_columns:
            past.state = _WITHOUT_KEYS
        elif now.applied and (path in self._anew or past.incarnation is None):
            self._begin(past, now)
        self._anew.discard(path)

    def _begin(self, past: _Past, now: Now) -> None:
        union = union_schema(past.schema, now.schema)
        assert isinstance(union, SchemaUnion)
        past.schema = with_ours(union.schema)
        past.history = history_in(past.history, past.schema, now.rules, "this")
        table = empty_table(now.rules.key_columns, now.rules.version_column)
        rows = [row_in(row, past.schema) for row in now.rows.rows]
        apply_file(
            table, ChangeFile(now.schema.names, [Change(Marker.INSERT, row) for row in rows])
        )
        begin_with(past.history, "this", table, now.applied, datetime.now(UTC))
        past.incarnation, past.applied = now.incarnation, now.applied

    def take(
        self,
        path: TablePath,
        before: Now,
        rules: TableMetadata,
        schema: TableSchema,
        file: ChangeFile,
        name: str,
    ) -> None:
        """One file that the current table takes, whose schema is this behind it."""
        past = self._pasts.setdefault(path, _Past())
        if not rules.key_columns:
            return
        if past.state == _WITHOUT_KEYS:
            past.state = "idle"
        if past.state != "idle":
            return
        if any(fold_case(n) in {c.name for c in HISTORY_COLUMNS} for n in file.columns):
            past.state = {"paused": Code.COLUMN_NAME_RESERVED.value, "file": name}
            return
        if past.incarnation is None and before.applied:
            self._begin(past, before)
        union = union_schema(past.schema, schema)
        assert isinstance(union, SchemaUnion)
        past.schema = with_ours(union.schema)
        if past.incarnation not in (None, before.incarnation):
            former = [
                replace(v, opened=v.opened._replace(incarnation="former"))
                for v in past.history.open
            ]
            past.history.open = former
            past.history.closed = [_former(version) for version in past.history.closed]
            table = empty_table(rules.key_columns, rules.version_column)
            re_create(past.history, "this", table, datetime.now(UTC))
        past.history = history_in(past.history, past.schema, rules, "this")
        past.incarnation, past.applied = before.incarnation, before.applied + 1
        typed_file = replace(
            file,
            changes=[
                replace(change, row=row_in(dict(change.row), past.schema))
                for change in file.changes
            ],
        )
        apply_to_history(past.history, typed_file, past.applied, datetime.now(UTC))

    def outcome(self, path: TablePath) -> Outcome:
        past = self._pasts[path]
        columns = past.schema.columns
        rows = [
            encoded({c.name: typed(row.get(c.name), c.type) for c in columns}, columns, "this")
            for row in past.history.rows
        ]
        return Outcome(columns, rows, past.state, str(past.applied), ())


def _former(version: Version) -> Version:
    opened = version.opened._replace(incarnation="former")
    closed = version.closed and version.closed._replace(incarnation="former")
    return replace(version, opened=opened, closed=closed)
