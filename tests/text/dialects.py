"""Every way in which delimited text may be written: the cross product that the tests walk."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any

from openmirror.protocol.text_format import TextColumn


class Compression(StrEnum):
    """How a file's bytes are packed."""

    NONE = "none"
    GZIP = "gzip"
    GZIP_MEMBERS = "several gzip members"
    ZSTD = "zstd"
    SNAPPY = "framed snappy"


@dataclass(frozen=True)
class Encoding:
    """An encoding as `_metadata.json` spells it, and as Python writes it."""

    declared: str
    codec: str
    characters: str
    """Characters that it has, some of which hold the bytes of separators and line ends."""
    mark: bytes = b""
    """A byte order mark before the text."""


_LATIN = "éßÿñÅ£¿"
_ALL = (
    "é日本語😀ñ\u2028\u2029\u0085\ufeff\u00a0\U0001d4b3"
    "\u0a0a\u0d0d\u2c2c\u222c\u0a22\u5c5c\u7c7c\u3b09"
)
# Second bytes of these are `\` and `|` in Shift JIS, GBK or Big5.
_SHIFT_JIS = "表ソ能ポЪ十ー日本ｱ"
ENCODINGS = (
    Encoding("UTF-8", "utf-8", _ALL),
    Encoding("utf-8", "utf-8", _ALL, b"\xef\xbb\xbf"),
    Encoding("utf-16", "utf-16-le", _ALL, b"\xff\xfe"),
    Encoding("UTF-16", "utf-16-be", _ALL, b"\xfe\xff"),
    Encoding("UTF-16LE", "utf-16-le", _ALL),
    Encoding("utf-16-le", "utf-16-le", _ALL, b"\xff\xfe"),
    Encoding("utf-16be", "utf-16-be", _ALL),
    Encoding("UTF-32", "utf-32-le", _ALL, b"\xff\xfe\x00\x00"),
    Encoding("windows-1252", "cp1252", _LATIN + "€“”—™"),
    Encoding("Windows-1251", "cp1251", "жЩяЁ№"),
    Encoding("ascii", "ascii", "~{}"),
    Encoding("US-ASCII", "ascii", "^`@"),
    Encoding("ISO-8859-1", "iso-8859-1", _LATIN + "\x85\xa0\xff"),
    Encoding("iso-8859-15", "iso-8859-15", "€Œž" + _LATIN[:4]),
    Encoding("shift_jis", "shift_jis", _SHIFT_JIS),
    Encoding("GBK", "gbk", "中文乗亅両"),
    Encoding("gb18030", "gb18030", _ALL),
    Encoding("Big5", "big5", "功許蓋中文育"),
    Encoding("EUC-KR", "euc-kr", "한국어가힣"),
    Encoding("ISO-2022-JP", "iso2022_jp", "日本語表"),
    Encoding("KOI8-R", "koi8-r", "жЩяЁ─"),
    Encoding("IBM437", "cp437", "Çü░┐ß"),
    Encoding("windows-1250", "cp1250", "ŁąŹž€"),
    Encoding("Cp1252", "cp1252", _LATIN),
    Encoding("UTF8", "utf-8", _ALL),
    Encoding("utf-16", "utf-16-le", _ALL),
    # A byte order mark wins over what is declared.
    Encoding("windows-1252", "utf-8", _ALL, b"\xef\xbb\xbf"),
    Encoding("UTF-8", "utf-16-be", _ALL, b"\xfe\xff"),
    Encoding("ascii", "utf-32-be", _ALL, b"\x00\x00\xfe\xff"),
)
NULLS = ("", "N/A", "null", "\\N", "NULL", "-", "0")
SEPARATORS = (",", ";", "|", "\t")
QUOTES = ('"', "'", "")
ESCAPES = ("\\", "/", '"', "")
LINE_ENDS = ("\r\n", "\n", "\r")
_PRODUCT: tuple[tuple[Any, ...], ...] = (
    SEPARATORS,
    QUOTES,
    ESCAPES,
    LINE_ENDS,
    tuple(Compression),
)
AXES = (*_PRODUCT, ENCODINGS, NULLS)
PRODUCT = prod(len(axis) for axis in _PRODUCT)
"""Dialects after which separators, quotes, escapes, line ends and compressions have all met."""


@dataclass(frozen=True)
class Dialect:
    """How one file is written, and what is declared of it."""

    separator: str
    quote: str
    escape: str
    line_end: str
    compression: Compression
    encoding: Encoding
    null: str
    declared_line_end: str
    """Any, since publishers declare what they do not write."""
    ended: bool = True
    """Whether the last line has a line end too."""
    doubles: bool = False
    """Whether a quote in a quoted value is doubled although there is another escape."""
    spares: bool = False
    """Whether an escape stands alone where it can: `"C:\\temp"` in text."""

    def document(self, columns: tuple[TextColumn, ...] = ()) -> dict[str, Any]:
        """What `_metadata.json` says of it."""
        document: dict[str, Any] = {
            "FileFormat": "DelimitedText",
            "FileExtension": "txt",
            "FileFormatTypeProperties": {
                "FirstRowAsHeader": True,
                "RowSeparator": self.declared_line_end,
                "ColumnSeparator": self.separator,
                "QuoteCharacter": self.quote,
                "EscapeCharacter": self.escape,
                "NullValue": self.null,
                "Encoding": self.encoding.declared,
            },
        }
        if columns:
            listed = [
                {"Name": c.name, "DataType": c.type.value, "IsNullable": c.nullable}
                for c in columns
            ]
            document["SchemaDefinition"] = {"Columns": listed}
        return document


def dialect(number: int, draw: random.Random) -> Dialect:
    """The dialect of this number: each `PRODUCT` in a row hold the whole cross product.

    Numbers of encodings and nulls have no divisor in common with the other axes, so that each of
    them meets every value of each axis.
    """
    values: list[Any] = []
    rest = number
    for axis in reversed(_PRODUCT):
        rest, place = divmod(rest, len(axis))
        values.append(axis[place])
    compression, line_end, escape, quote, separator = values
    return Dialect(
        separator=separator,
        quote=quote,
        escape=escape,
        line_end=line_end,
        compression=compression,
        encoding=ENCODINGS[number % len(ENCODINGS)],
        null=NULLS[number % len(NULLS)],
        declared_line_end=draw.choice((line_end, *LINE_ENDS)),
        ended=draw.random() < 0.6,
        doubles=escape in ("", quote) or draw.random() < 0.5,
        spares=draw.random() < 0.2,
    )


def met(of: Dialect) -> tuple[Any, ...]:
    """What this dialect has of every axis."""
    product = (of.separator, of.quote, of.escape, of.line_end, of.compression)
    return (*product, of.encoding, of.null)
