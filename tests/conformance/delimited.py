"""Delimited text character by character, as PROTOCOL §4.6 says it and as slowly as it must be."""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import math
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa

from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.text_format import TextFormat, TextType
from tests.conformance.losing import Losing

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Unreadable(Exception):
    """The file cannot be cut into rows."""


def rows(
    file: Path, text: TextFormat, binary: BinaryText | None, losing: Losing
) -> Iterator[dict[str, Any]]:
    """Every row in its types; raises Unreadable, and ValueError for a value that does not fit."""
    lines = list(_lines(_decoded(_unpacked(file.read_bytes()), text.encoding), text))
    header = [value for value, _ in lines[0]]
    width = len(header)
    if width > 1 and lines[0][-1] == ("", False):
        header.pop()
    for line in lines[1:]:
        if line == [("", False)] and width > 1:
            continue
        if len(line) != width or line[len(header) :] not in ([], [("", False)]):
            raise Unreadable(line)
        yield {
            name: _value(text, name, (value, quoted), binary, losing)
            for name, (value, quoted) in zip(header, line[: len(header)], strict=True)
        }


def _unpacked(data: bytes) -> bytes:
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return pa.CompressedInputStream(io.BytesIO(data), "zstd").read()
        if data[:1] == b"\xff" and data[4:10] == b"sNaPpY":
            return bytes(cramjam.snappy.decompress(data))
        if data[:1] > b"\x7f" and not data.startswith((b"\xef\xbb\xbf", *_UTF_16)):
            return bytes(cramjam.snappy.decompress_raw(data))
    except (EOFError, OSError, cramjam.DecompressionError) as error:
        raise Unreadable(error) from error
    return data


def _decoded(data: bytes, encoding: str) -> str:
    marks = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
    mark, found = next(
        ((m, e) for m, e in marks if data.startswith(m)),
        (b"", "utf-16-le" if encoding == "utf-16" else encoding),
    )
    try:
        return data[len(mark) :].decode(found)
    except UnicodeDecodeError as error:
        raise Unreadable(error) from error


def _lines(text: str, how: TextFormat) -> Iterator[list[tuple[str, bool]]]:
    """Rows of values, each with whether it was quoted."""
    at = 0
    line: list[tuple[str, bool]] = []
    while at < len(text) or line:
        value, quoted, at = _next(text, at, how)
        line.append((value, quoted))
        end = text[at : at + 1]
        if end not in ("", "\r", "\n", how.separator):
            raise Unreadable(f"text behind a quote: {text[at : at + 9]!r}")
        at += 2 if text[at : at + 2] == "\r\n" else len(end)
        if end != how.separator:
            yield line
            line = []


def _next(text: str, at: int, how: TextFormat) -> tuple[str, bool, int]:
    """One value, whether it was quoted, and where it ends."""
    if not how.quote or text[at : at + 1] != how.quote:
        start = at
        while at < len(text) and text[at] not in (how.separator, "\r", "\n"):
            at += 1
        return text[start:at], False, at
    at += 1
    value = ""
    while at < len(text):
        character, following = text[at], text[at + 1 : at + 2]
        if character == how.quote and following != how.quote:
            return value, True, at + 1
        escapes = character in (how.quote, how.escape) and following in (how.quote, how.escape)
        value += following if escapes else character
        at += 2 if escapes else 1
    raise Unreadable("an open quote")


def _value(
    text: TextFormat,
    name: str,
    written: tuple[str, bool],
    binary: BinaryText | None,
    losing: Losing,
) -> Any:
    value, quoted = written
    column = text.column(name)
    null = value == text.null and not quoted
    may_be_empty = column.type in (TextType.STRING, TextType.BYTES)
    if null and may_be_empty and not column.nullable and not text.null:
        null = False
    if null or column.type is TextType.STRING:
        return None if null else value
    value = value.strip(" \t")
    if not value and not may_be_empty:
        return None
    if column.type is TextType.BYTES:
        return _bytes(value, binary)
    if column.type in (TextType.TIME, TextType.DATE_TIME):
        value = losing.text(name, value)
    return _typed(column.type, value)


_BITS = {TextType.INT16: 15, TextType.INT32: 31, TextType.INT64: 63}


def _bytes(value: str, binary: BinaryText | None) -> bytes:
    digits = value[2:] if value[:2].lower() in ("0x", "\\x") else value
    if binary is BinaryText.HEX:
        return binascii.unhexlify(digits)
    if binary is None and value[:2].lower() == "0x" and re.fullmatch("([0-9A-Fa-f]{2})*", digits):
        raise ValueError(f"{value} is ambiguous")
    return base64.b64decode(value, validate=True)


def _time(value: str) -> str:
    day, _, clock = value.replace("T", " ").rpartition(" ")
    return f"{day} {time.fromisoformat(clock).isoformat()}".strip()


def _typed(kind: TextType, value: str) -> Any:
    match kind:
        case TextType.INT16 | TextType.INT32 | TextType.INT64:
            number = int(re.sub(r"\.0*$", "", value))
            if not -(2 ** _BITS[kind]) <= number < 2 ** _BITS[kind]:
                raise ValueError(value)
            return number
        case TextType.DOUBLE | TextType.SINGLE:
            real = float(value)
            if math.isinf(real) and "inf" not in value.lower():
                raise ValueError(value)
            return pa.array([real], pa.float32())[0].as_py() if kind is TextType.SINGLE else real
        case TextType.BOOLEAN:
            return value.lower() in ("true", "t", "1", "yes", "y", "on")
        case TextType.DATE:
            return date.fromisoformat(value[:10])
        case TextType.TIME:
            return _time(value)
        case _:
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
