"""Which rows of text pyarrow's reader cuts as the protocol says: decided by dialect and text.

It reads several texts otherwise, and without a word: text behind a closing quote, escapes before
other characters or outside of quotes, a byte order mark before any piece. What it does refuse, a
row of another length or a quote that stays open, needs no check before.
"""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.formats.text.dialect import Dialect


class CuttingWay(StrEnum):
    """What cuts some rows into values."""

    PLAIN = "pyarrow, to which an escape is a character like any other"
    ESCAPED = "pyarrow, which takes each escape away"
    OWN = "the own grammar"


def way_to_cut(dialect: Dialect, rows: str, *, are_matched: bool = False) -> CuttingWay:
    """The fastest way to cut these rows that is proven to be the protocol's.

    `rows` ends with a line end. They are whole and well-formed where `are_matched` by the own
    grammar; else a way of pyarrow means that they are, if it also finds rows of one length.
    """
    separator, quote, escape = dialect.text.separator, dialect.text.quote, dialect.escape
    if not (separator.isascii() and (separator.isprintable() or separator == "\t")):
        return CuttingWay.OWN
    if rows.startswith("\ufeff"):
        return CuttingWay.OWN  # it would be taken for a byte order mark
    if not quote or quote not in rows:
        return CuttingWay.PLAIN
    if escape and escape in rows and (escape + quote in rows or escape + escape in rows):
        return (
            CuttingWay.ESCAPED
            if _all_match(rows, _escaped(separator, quote, escape))
            else CuttingWay.OWN
        )
    # No escape takes anything out of its meaning here: each is an escape and anything else.
    if are_matched or _all_match(rows, _plain(separator, quote)):
        return CuttingWay.PLAIN
    return CuttingWay.OWN


def last_row_end(text: str, dialect: Dialect) -> int:
    """Where the last whole row of this text ends, if its quotes are as in the most of texts.

    0 where there seems to be none. A guess, which nothing may rely on.
    """
    end = _last_line_end(text, len(text))
    quote = dialect.text.quote
    if not quote:
        return end
    is_inside = _quotes(text[:end], dialect) % 2 == 1
    while is_inside and end:
        before = _last_line_end(text, text.rfind(quote, 0, end))
        is_inside ^= _quotes(text[before:end], dialect) % 2 == 1
        end = before
    return end


def _last_line_end(text: str, stop: int) -> int:
    """Behind the last line end before `stop`, but for a return that may be half of one."""
    last = text.rfind("\n", 0, stop)
    return max(last, text.rfind("\r", last + 1, min(stop, len(text) - 1))) + 1


def _quotes(rows: str, dialect: Dialect) -> int:
    """How many quotes no escape takes out of their meaning."""
    quote, escape = dialect.text.quote, dialect.escape
    if escape and escape in rows:
        rows = rows.replace(escape + escape, "").replace(escape + quote, "")
    return rows.count(quote)


def _plain(separator: str, quote: str) -> str:
    s, q = _byte(separator), _byte(quote)
    value = rf"{q}(?:[^{q}]|{q}{q})*{q}|[^{q}{s}\r\n][^{s}\r\n]*|"
    return rf"\A(?:(?:{value})[{s}\r\n])*\z"


def _escaped(separator: str, quote: str, escape: str) -> str:
    """No escape but in quotes, before a quote or another escape."""
    s, q, e = _byte(separator), _byte(quote), _byte(escape)
    value = rf"{q}(?:[^{q}{e}]|{q}{q}|{e}[{q}{e}])*{q}|[^{q}{s}{e}\r\n][^{s}{e}\r\n]*|"
    return rf"\A(?:(?:{value})[{s}\r\n])*\z"


def _byte(mark: str) -> str:
    return f"\\x{ord(mark):02x}"


def _all_match(rows: str, pattern: str) -> bool:
    """Whether the whole text matches a pattern of bytes, in one pass over it."""
    data = rows.encode()
    ends = pa.array([0, len(data)], pa.int64()).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(data)])
    return pc.match_substring_regex(whole, pattern)[0].as_py() is True
