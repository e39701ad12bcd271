"""What a table's `SELECT` shows, in the values that its mirror has to have.

Nothing of the reader is used: psycopg reads the numbers and dates, and PostgreSQL itself writes the
texts and the JSON of arrays.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from enum import Enum
from typing import Any

import psycopg
from psycopg import sql

Canonical = tuple[Any, ...] | None
"""A value with its type, so that 1, true, 1.0 and '1' differ, and NaN equals itself."""


class TextForm(Enum):
    """How a column is selected, and what its landed values are compared as."""

    NATIVE = "native"
    SINGLE = "single"
    MONEY = "money"
    COUNTER = "counter"
    """A transaction's number, which psycopg reads as a text."""
    TEXT = "text"
    ARRAY = "array"
    """PostgreSQL's JSON of an array has its elements' own texts, or numbers, booleans, JSON."""
    TEXTS = "texts"
    """An array whose elements PostgreSQL's JSON has in another form than their own texts."""


@dataclass(frozen=True)
class SourceTable:
    """A table of the database: an ordinary, a partitioned or a foreign one."""

    schema: str
    name: str
    root: str | None
    """The partitioned table at the top, as `schema.table`, where the table is a partition."""

    @property
    def title(self) -> str:
        """The table as `schema.table`."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class SelectedColumn:
    """A column of a table."""

    name: str
    form: TextForm
    arrow: str
    """The type of its values in a change file, as Arrow calls it."""

    @property
    def expression(self) -> sql.Composable:
        """Select its values."""
        name = sql.Identifier(self.name)
        if self.form is TextForm.TEXT:
            # A cast to text would take the blanks of char(n); format() calls the output function.
            # A composite of NULLs is not NULL itself, but `IS NOT NULL` is false for it.
            return sql.SQL("CASE WHEN num_nonnulls({0}) = 1 THEN format('%s', {0}) END").format(
                name
            )
        forms = {
            TextForm.MONEY: "{}::numeric",
            TextForm.COUNTER: "{}::text::bigint",
            TextForm.ARRAY: "array_to_json({})::text",
            TextForm.TEXTS: "array_to_json({}::text[])::text",
        }
        return sql.SQL(forms.get(self.form, "{}")).format(name)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Selected:
    """All rows of a table."""

    columns: tuple[SelectedColumn, ...]
    keys: tuple[str, ...]
    rows: Counter[tuple[Canonical, ...]]


_NATIVE = {
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "bool": "bool",
    "float8": "double",
    "oid": "int64",
    "date": "date32[day]",
    "timestamp": "timestamp[us]",
    "timestamptz": "timestamp[us, tz=UTC]",
    "bytea": "binary",
}
_WITH_ANOTHER_JSON = frozenset({"date", "timestamp", "timestamptz"})
_MOST_DIGITS = 38
_EXACTLY = Context(prec=100)
_SETTINGS = """
SET DateStyle = ISO; SET IntervalStyle = postgres; SET TimeZone = UTC; SET bytea_output = hex;
SET extra_float_digits = 1; SET lc_monetary = 'C'; SET search_path = pg_catalog
"""


class Source:
    """A database whose tables are selected; types that are made later are not known to it."""

    def __init__(self, connection: psycopg.Connection) -> None:
        connection.execute(_SETTINGS)
        self.version = connection.info.server_version
        self._connection = connection
        self._types = _types(connection)

    def tables(self, schema: str) -> list[SourceTable]:
        """Return the tables of a schema, and of every schema named `schema__…`.

        Views are not among them.
        """
        found = self._connection.execute(
            """
            SELECT n.nspname::text, c.relname::text, top.title
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            LEFT JOIN LATERAL (
                SELECT m.nspname || '.' || r.relname AS title
                FROM pg_class r JOIN pg_namespace m ON m.oid = r.relnamespace
                WHERE c.relispartition AND r.oid = pg_partition_root(c.oid)
            ) top ON true
            WHERE (n.nspname = %s OR starts_with(n.nspname::text, %s))
                AND c.relkind IN ('r', 'p', 'f')
            ORDER BY 1, 2
            """,
            (schema, f"{schema}__"),
        ).fetchall()
        return [SourceTable(*row) for row in found]

    def columns(self, schema: str, table: str) -> frozenset[str]:
        """Return the names of a table's columns."""
        return frozenset(column.name for column in self._columns(schema, table, ()))

    def select(
        self,
        schema: str,
        table: str,
        *,
        without: Collection[str] = (),
        as_text: Collection[str] = (),
    ) -> Selected:
        """Return a table's rows, without some columns, and with some as the server's own text.

        Rows of tables that inherit from it are not among them: each of those is a table of its own.
        """
        named = self._columns(schema, table, as_text)
        columns = tuple(column for column in named if column.name not in without)
        listed = sql.SQL(", ").join(column.expression for column in columns)
        query = sql.SQL("SELECT {} FROM ONLY {}").format(listed, sql.Identifier(schema, table))
        rows = self._connection.execute(query).fetchall()
        counted = Counter(
            tuple(_of_column(c, v) for c, v in zip(columns, row, strict=True)) for row in rows
        )
        return Selected(columns, self._keys(schema, table), counted)

    def _columns(self, schema: str, table: str, as_text: Collection[str]) -> list[SelectedColumn]:
        found = self._connection.execute(
            "SELECT attname::text, atttypid, atttypmod FROM pg_attribute a "
            "JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = %s AND relname = %s AND attnum > 0 AND NOT attisdropped "
            "ORDER BY attnum",
            (schema, table),
        ).fetchall()
        return [
            SelectedColumn(name, TextForm.TEXT, "string")
            if name in as_text
            else SelectedColumn(name, *_form(self._types, type_, modifier))
            for name, type_, modifier in found
        ]

    def _keys(self, schema: str, table: str) -> tuple[str, ...]:
        found = self._connection.execute(
            "SELECT attname::text FROM pg_index i JOIN pg_class c ON c.oid = indrelid "
            "JOIN pg_namespace n ON n.oid = relnamespace "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (indkey) "
            "WHERE indisprimary AND nspname = %s AND relname = %s "
            "ORDER BY array_position(indkey::int2[], attnum)",
            (schema, table),
        ).fetchall()
        return tuple(name for (name,) in found)


def canonical_rows(
    columns: tuple[SelectedColumn, ...], rows: Iterable[Mapping[str, object]]
) -> Counter[tuple[Canonical, ...]]:
    """Return landed rows, by case-folded column name, in the form of `Selected.rows`."""
    names = [column.name.lower() for column in columns]
    return Counter(
        tuple(_of_column(c, row.get(n)) for c, n in zip(columns, names, strict=True))
        for row in rows
    )


def differences(
    expected: Counter[tuple[Canonical, ...]], there: Counter[tuple[Canonical, ...]]
) -> list[str]:
    """Return some of the rows that only one side has, as lines for people."""
    lines = [f"missing {_shown(row)}" for row in list((expected - there).elements())[:3]]
    return lines + [f"too many {_shown(row)}" for row in list((there - expected).elements())[:3]]


def _shown(row: tuple[Canonical, ...]) -> str:
    return repr(tuple(value and value[1] for value in row))[:400]


@dataclass(frozen=True)
class _Type:
    name: str
    schema: str
    kind: str
    base: int
    base_modifier: int
    element: int


def _types(connection: psycopg.Connection) -> dict[int, _Type]:
    found = connection.execute(
        "SELECT t.oid, t.typname::text, n.nspname::text, t.typtype::text, t.typbasetype, "
        "t.typtypmod, coalesce(e.oid, 0) FROM pg_type t JOIN pg_namespace n "
        "ON n.oid = t.typnamespace LEFT JOIN pg_type e ON e.typarray = t.oid"
    ).fetchall()
    return {oid: _Type(*rest) for oid, *rest in found}


def _plain(types: Mapping[int, _Type], oid: int, modifier: int) -> tuple[_Type, int]:
    """Return a type and its modifier without the domains over it."""
    found = types[oid]
    while found.kind == "d":
        modifier = found.base_modifier if modifier == -1 else modifier
        found = types[found.base]
    return found, modifier


def _form(types: Mapping[int, _Type], oid: int, modifier: int) -> tuple[TextForm, str]:
    found, modifier = _plain(types, oid, modifier)
    if found.element:
        element, _ = _plain(types, found.element, -1)
        is_plain = element.schema == "pg_catalog" and element.name not in _WITH_ANOTHER_JSON
        return (TextForm.ARRAY if is_plain else TextForm.TEXTS), "string"
    if found.schema != "pg_catalog":
        return TextForm.TEXT, "string"
    if found.name == "numeric":
        return _numeric(modifier)
    if found.name == "money":
        return TextForm.MONEY, "decimal128(19, 2)"
    if found.name in ("xid", "cid"):
        return TextForm.COUNTER, "int64"
    if found.name == "float4":
        return TextForm.SINGLE, "float"
    if found.name in _NATIVE:
        return TextForm.NATIVE, _NATIVE[found.name]
    return TextForm.TEXT, "string"


def _numeric(modifier: int) -> tuple[TextForm, str]:
    if modifier == -1:
        return TextForm.TEXT, "string"
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    scale -= 0x800 if scale >= 0x400 else 0
    precision, scale = max(precision, scale), scale
    if scale < 0:
        precision, scale = precision - scale, 0
    if precision > _MOST_DIGITS:
        return TextForm.TEXT, "string"
    return TextForm.NATIVE, f"decimal128({precision}, {scale})"


def _of_column(column: SelectedColumn, value: object) -> Canonical:
    if value is not None and column.form is TextForm.SINGLE:
        assert isinstance(value, float)
        return ("single", "nan" if value != value else struct.pack(">f", value).hex())
    if value is not None and column.form in (TextForm.ARRAY, TextForm.TEXTS):
        return ("json", _parsed(str(value)))
    return _canonical(value)


def _parsed(text: str) -> object:
    """Return a JSON text as values that keep each digit, each name and each order."""

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(
        text,
        parse_int=lambda digits: ("number", digits),
        parse_float=lambda digits: ("number", digits),
        parse_constant=refuse,
        object_pairs_hook=lambda pairs: ("object", *pairs),
        cls=_Lists,
    )


class _Lists(json.JSONDecoder):
    """A decoder whose lists are tuples, so that they can be counted."""

    def decode(self, text: str, *more: Any) -> Any:
        return _frozen(super().decode(text, *more))


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _canonical(value: object) -> Canonical:
    match value:
        case None:
            return None
        case bool():
            return ("boolean", value)
        case int():
            return ("integer", value)
        case float():
            return ("double", "nan" if value != value else struct.pack(">d", value).hex())
        case Decimal():
            return ("decimal", str(value.normalize(_EXACTLY)) if value else "0")
        case datetime() if value.tzinfo is not None:
            return ("instant", value.astimezone(UTC).isoformat())
        case datetime():
            return ("timestamp", value.isoformat())
        case date():
            return ("date", value.isoformat())
        case bytes():
            return ("binary", value.hex())
        case str():
            return ("text", value)
    raise TypeError(f"{value!r} is no value of a landed row")
