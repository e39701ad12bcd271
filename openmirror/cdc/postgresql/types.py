"""PostgreSQL's types, and how the text of each is read into a Delta type. Pure.

What Delta has no type for is mirrored as the server's own text. Types whose text changes when
another object of the database is renamed are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from openmirror.cdc.postgresql.definitions import Oid, TypeFacts, TypeKind, Types
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StopCode, StopReason


class TextForm(Enum):
    """How a type's text is written by the server."""

    INTEGER = auto()
    BOOLEAN = auto()
    FLOAT = auto()
    DECIMAL = auto()
    MONEY = auto()
    DATE = auto()
    TIMESTAMP = auto()
    ZONED_TIMESTAMP = auto()
    BYTES = auto()
    JSON = auto()
    DIGITS = auto()
    """A number, or NaN or an infinity, that no decimal type holds: mirrored as its text."""
    TEXT = auto()
    ARRAY = auto()


@dataclass(frozen=True)
class TypeReading:
    """How the text of a column becomes a value of its Delta type."""

    type: ColumnType
    form: TextForm
    element: TypeReading | None = None
    """How an array's elements are read; None for what is no array."""
    delimiter: str = ","
    """The character between an array's elements."""
    is_stable_key: bool = True
    """Whether keys that the database distinguishes stay distinct in the Delta type."""


STRING: Final = ColumnType("string")
TEXT: Final = TypeReading(STRING, TextForm.TEXT)
_MOST_DIGITS = 38
_NUMERIC = 1700
_BOX = 603

_READ: Final[Mapping[Oid, tuple[str, str, TextForm]]] = {
    16: ("boolean", "boolean", TextForm.BOOLEAN),
    17: ("bytea", "binary", TextForm.BYTES),
    20: ("bigint", "long", TextForm.INTEGER),
    21: ("smallint", "short", TextForm.INTEGER),
    23: ("integer", "integer", TextForm.INTEGER),
    26: ("oid", "long", TextForm.INTEGER),
    28: ("xid", "long", TextForm.INTEGER),
    29: ("cid", "long", TextForm.INTEGER),
    114: ("json", "string", TextForm.JSON),
    700: ("real", "float", TextForm.FLOAT),
    701: ("double precision", "double", TextForm.FLOAT),
    790: ("money", "decimal(19,2)", TextForm.MONEY),
    1082: ("date", "date", TextForm.DATE),
    1114: ("timestamp", "timestamp_ntz", TextForm.TIMESTAMP),
    1184: ("timestamptz", "timestamp", TextForm.ZONED_TIMESTAMP),
    3802: ("jsonb", "string", TextForm.JSON),
}
"""Built-in types with a form of their own: name, Delta type, form."""

_TEXTS: Final[Mapping[Oid, str]] = {
    18: '"char"',
    19: "name",
    22: "int2vector",
    25: "text",
    27: "tid",
    30: "oidvector",
    142: "xml",
    600: "point",
    601: "lseg",
    602: "path",
    603: "box",
    604: "polygon",
    628: "line",
    650: "cidr",
    718: "circle",
    774: "macaddr8",
    829: "macaddr",
    869: "inet",
    1042: "char",
    1043: "varchar",
    1083: "time",
    1186: "interval",
    1266: "timetz",
    1560: "bit",
    1562: "varbit",
    1790: "refcursor",
    2950: "uuid",
    2970: "txid_snapshot",
    3220: "pg_lsn",
    3614: "tsvector",
    3615: "tsquery",
    3904: "int4range",
    3906: "numrange",
    3908: "tsrange",
    3910: "tstzrange",
    3912: "daterange",
    3926: "int8range",
    4072: "jsonpath",
    4451: "int4multirange",
    4532: "nummultirange",
    4533: "tsmultirange",
    4534: "tstzmultirange",
    4535: "datemultirange",
    4536: "int8multirange",
    5038: "pg_snapshot",
    5069: "xid8",
}
"""Built-in types that are mirrored as the server's text."""

_REFUSED: Final[Mapping[Oid, str]] = {
    24: "regproc",
    1033: "aclitem",
    2202: "regprocedure",
    2203: "regoper",
    2204: "regoperator",
    2205: "regclass",
    2206: "regtype",
    3734: "regconfig",
    3769: "regdictionary",
    4089: "regnamespace",
    4096: "regrole",
    4191: "regcollation",
}
"""Built-in types whose text has the name of another object."""


def reading_of(
    column: str, type: Oid, modifier: int, types: Types, *, as_text: bool, table: str = "its table"
) -> TypeReading | StopReason:
    """Return how a column's text is read, or why the column cannot be mirrored.

    Args:
        column: The column's title, `schema.table.column`, for messages and remedies.
        type: The type's OID.
        modifier: The column's `atttypmod`; -1 for none.
        types: Facts of every type that the column's type is made of.
        as_text: Whether the column is mirrored as the server's text.
        table: The table's title, `schema.table`, for the remedy of a type that is gone.
    """
    try:
        _refuse_unstable(type, types, frozenset())
        return TEXT if as_text else _reading(type, modifier, types, frozenset())
    except _Gone as gone:
        detail = f"column {column} has a type that the catalogue does not have (OID {gone.oid})"
        remedy = f"`openmirror cdc resnapshot {table}`, or `--without-column {column}`"
    except _Refused as refused:
        detail = f"column {column} is of type {refused.title}, {refused.why}"
        remedy = f"`--without-column {column}`"
    return StopReason(StopCode.SOURCE_TYPE_UNSUPPORTED, detail, remedy)


def documented_types() -> Mapping[str, str]:
    """Return the Delta type of each PostgreSQL type by its short name, for SOURCES.md.

    Kinds of types stand beside built-in ones, such as `enum` and `array`. The Delta type of
    what cannot be mirrored is `refused`.
    """
    return {
        **{name: delta for name, delta, _ in _READ.values()},
        "numeric(p,s)": "decimal(p,s)",
        "numeric": STRING,
        **dict.fromkeys(_TEXTS.values(), STRING),
        "array": STRING,
        "enum": STRING,
        "composite": STRING,
        "range": STRING,
        "multirange": STRING,
        "other": STRING,
        "domain": "as its base",
        **dict.fromkeys(_REFUSED.values(), "refused"),
    }


class _Gone(Exception):
    """A type of a column has no row in the catalogue any more."""

    def __init__(self, oid: Oid) -> None:
        super().__init__(oid)
        self.oid = oid


class _Refused(Exception):
    """A type that cannot be mirrored."""

    def __init__(self, title: str, why: str) -> None:
        super().__init__(title, why)
        self.title = title
        self.why = why


def _facts(oid: Oid, types: Types) -> TypeFacts:
    facts = types.get(oid)
    if facts is None:
        raise _Gone(oid)
    return facts


def _refuse_unstable(oid: Oid, types: Types, above: frozenset[Oid]) -> None:
    """Raise for a type that is made of one whose text is another object's name."""
    if oid in _REFUSED:
        why = "whose text changes when another object of the database is renamed"
        raise _Refused(_REFUSED[oid], why)
    if oid in _READ or oid in _TEXTS or oid == _NUMERIC:
        return
    facts = _facts(oid, types)
    if facts.kind is TypeKind.PSEUDO:
        raise _Refused(facts.name, "which is a pseudo-type")
    for part in (facts.element, facts.base, *facts.parts):
        if part and part not in above:
            _refuse_unstable(part, types, above | {oid})


def _reading(oid: Oid, modifier: int, types: Types, above: frozenset[Oid]) -> TypeReading:
    if oid in _READ:
        _, delta, form = _READ[oid]
        return TypeReading(ColumnType(delta), form)
    if oid == _NUMERIC:
        return _numeric(modifier)
    if oid in _TEXTS:
        return TEXT
    facts = _facts(oid, types)
    if oid in above:
        raise _Refused(facts.name, "which is made of itself")
    if facts.kind is TypeKind.DOMAIN:
        # A domain over a domain has no modifier of its own, and neither has its column.
        own = facts.base_modifier if facts.base_modifier != -1 else modifier
        return _reading(facts.base, own, types, above | {oid})
    if facts.element:
        element = _reading(facts.element, modifier, types, above | {oid})
        # A JSON null and a NULL are one value in JSON, but two in the database.
        is_stable = element.form is not TextForm.JSON
        delimiter = _delimiter(facts.element, types)
        return TypeReading(STRING, TextForm.ARRAY, element, delimiter, is_stable)
    return TEXT


def _delimiter(element: Oid, types: Types) -> str:
    if element not in types and (element in _READ or element in _TEXTS or element == _NUMERIC):
        return ";" if element == _BOX else ","
    return _facts(element, types).delimiter


def _numeric(modifier: int) -> TypeReading:
    if modifier < 0:
        return TypeReading(STRING, TextForm.DIGITS)
    precision = ((modifier - 4) >> 16) & 0xFFFF
    # The scale has 11 bits and a sign; before PostgreSQL 15 it is at most 1000 and never negative.
    scale = (((modifier - 4) & 0x7FF) ^ 0x400) - 0x400
    if scale < 0:
        precision, scale = precision - scale, 0
    digits = max(precision, scale)
    if digits > _MOST_DIGITS:
        return TypeReading(STRING, TextForm.DIGITS)
    return TypeReading(ColumnType(f"decimal({digits},{scale})"), TextForm.DECIMAL)
