"""Reading the keys of `_metadata.json` that describe delimited text (PROTOCOL §4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from openmirror.protocol.encodings import text_encoding
from openmirror.protocol.json_text import JsonValue
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType

TEXT_KEYS = ("fileformattypeproperties", "schemadefinition", "fileextension")
"""Keys, case-folded, that only delimited text needs."""

_CSV = "csv"
_DELIMITED = "delimitedtext"
_PARQUET = "parquet"
_LINE_ENDS = {
    "\r\n": "\r\n",
    "\n": "\n",
    "\r": "\r",
    "\\r\\n": "\r\n",
    "\\n": "\n",
    "\\r": "\r",
    "": "\r\n",
}
_Fields = Mapping[str, JsonValue]


class _Wrong(Exception):
    """A value that is not allowed; the message names key, value and what is allowed."""


def parse_text_format(file_format: str, given: _Fields) -> TextFormat | Broken:
    """How delimited text is written, from the case-folded keys of a whole `_metadata.json`.

    `file_format` is what `FileFormat` says, or CSV where it is left out.
    """
    try:
        return _text_format(file_format, given)
    except _Wrong as wrong:
        return Broken(Code.METADATA_INVALID, str(wrong))


def _text_format(file_format: str, given: _Fields) -> TextFormat:
    properties = _fields("FileFormatTypeProperties", given.get("fileformattypeproperties"))
    _must_have_header(properties.get("firstrowasheader"))
    default = TextFormat()
    quote = _character("QuoteCharacter", properties.get("quotecharacter"), default.quote, "\"'")
    escapes = f'\\/"{quote}' if quote == "'" else '\\/"'
    text = TextFormat(
        extension=_extension(file_format, given.get("fileextension")),
        separator=_separator(properties.get("columnseparator"), default.separator),
        quote=quote,
        escape=_character(
            "EscapeCharacter", properties.get("escapecharacter"), default.escape, escapes
        ),
        null=_text("NullValue", properties.get("nullvalue"), default.null),
        encoding=_encoding(properties.get("encoding"), default.encoding),
        row_separator=_row_separator(properties.get("rowseparator"), default.row_separator),
        columns=_columns(given.get("schemadefinition")),
    )
    _must_not_meet(text)
    return text


def _extension(file_format: str, value: JsonValue) -> str:
    kind = fold_case(file_format)
    if kind not in (_CSV, _DELIMITED):
        raise _Wrong(f"FileFormat is {file_format!r}; it must be CSV, DelimitedText or Parquet")
    if value is None:
        if kind == _DELIMITED:
            raise _Wrong("FileExtension is missing; FileFormat DelimitedText needs it, such as tsv")
        return _CSV
    extension = _text("FileExtension", value, "").removeprefix(".")
    if not extension or "/" in extension or extension[0] in "_." or extension.endswith("."):
        raise _Wrong(f"FileExtension is {value!r}; it must be what file names end in, such as tsv")
    if fold_case(extension) == _PARQUET:
        raise _Wrong(f"FileExtension is {value!r}, but FileFormat is {file_format}")
    return extension


def _must_have_header(value: JsonValue) -> None:
    if value is None or value is True or (isinstance(value, str) and fold_case(value) == "true"):
        return
    raise _Wrong(
        f"FirstRowAsHeader is {value!r}; it must be true: the first line names the columns"
    )


def _row_separator(value: JsonValue, default: str) -> str:
    text = _text("RowSeparator", value, default)
    if text not in _LINE_ENDS:
        raise _Wrong(f"RowSeparator is {value!r}; it must be \\r\\n, \\n or \\r")
    return _LINE_ENDS[text]


def _separator(value: JsonValue, default: str) -> str:
    text = _text("ColumnSeparator", value, default)
    text = "\t" if text == "\\t" else text
    if len(text) != 1 or text in "\r\n":
        raise _Wrong(
            f"ColumnSeparator is {value!r}; it must be one of , ; | and \\t, or another single "
            "character"
        )
    return text


def _character(key: str, value: JsonValue, default: str, allowed: str) -> str:
    text = _text(key, value, default)
    if text and (len(text) != 1 or text not in allowed):
        raise _Wrong(f"{key} is {value!r}; it must be one of {' '.join(allowed)} or empty")
    return text


def _encoding(value: JsonValue, default: str) -> str:
    name = _text("Encoding", value, default)
    found = text_encoding(name or default)
    if found is None:
        raise _Wrong(
            f"Encoding is {value!r}; it must be the name of a text encoding, such as UTF-8, "
            "utf-16, ascii or windows-1252"
        )
    return found


def _must_not_meet(text: TextFormat) -> None:
    """One character cannot mean two things; only quote and escape may be the same."""
    for key, other in (("QuoteCharacter", text.quote), ("EscapeCharacter", text.escape)):
        if other and other == text.separator:
            raise _Wrong(f"ColumnSeparator and {key} are both {other!r}; they must differ")


def _columns(value: JsonValue) -> tuple[TextColumn, ...]:
    definition = _fields("SchemaDefinition", value)
    listed = definition.get("columns")
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise _Wrong(f"SchemaDefinition.Columns must be a list, not {_shown(listed)}")
    columns = tuple(_listed(listed))
    seen: set[str] = set()
    for column in columns:
        if fold_case(column.name) in seen:
            raise _Wrong(f"SchemaDefinition names the column {column.name!r} twice")
        seen.add(fold_case(column.name))
    return columns


def _listed(listed: Sequence[JsonValue]) -> Iterator[TextColumn]:
    for number, item in enumerate(listed, start=1):
        fields = _fields(f"SchemaDefinition.Columns[{number}]", item)
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            raise _Wrong(f"SchemaDefinition.Columns[{number}] has no Name, or none that is text")
        nullable = _nullable(name, fields.get("isnullable"))
        kind = _type(name, fields.get("datatype"))
        if fold_case(name) != fold_case(ROW_MARKER_COLUMN):
            yield TextColumn(name, kind, nullable)


def _type(column: str, value: JsonValue) -> TextType:
    kinds = {fold_case(kind): kind for kind in TextType}
    if not isinstance(value, str) or fold_case(value.strip()) not in kinds:
        allowed = ", ".join(TextType)
        given = "missing" if value is None else repr(value)
        raise _Wrong(f"DataType of column {column!r} is {given}; it must be one of {allowed}")
    return kinds[fold_case(value.strip())]


def _nullable(column: str, value: JsonValue) -> bool:
    if value is None or isinstance(value, bool):
        return value is not False
    if isinstance(value, str) and fold_case(value) in ("true", "false"):
        return fold_case(value) == "true"
    raise _Wrong(f"IsNullable of column {column!r} is {_shown(value)}; it must be true or false")


def _text(key: str, value: JsonValue, default: str) -> str:
    if value is None:
        return default
    if not isinstance(value, str):
        raise _Wrong(f"{key} must be text, not {_shown(value)}")
    return value


def _fields(key: str, value: JsonValue) -> _Fields:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Wrong(f"{key} must be an object, {{…}}, not {_shown(value)}")
    fields: dict[str, JsonValue] = {}
    for name, item in value.items():
        if fold_case(name) in fields:
            raise _Wrong(f"{name} is given twice in {key}, in different casing")
        fields[fold_case(name)] = item
    return fields


def _shown(value: JsonValue) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"
