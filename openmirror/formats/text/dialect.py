"""How one table's text is cut into rows and values: the grammar of PROTOCOL §4.6.

A value that begins with the quote is quoted: separators and line ends in it are its own, a doubled
quote is one quote, and the escape takes quotes and itself, but nothing else, out of their meaning.
Everywhere else quotes and escapes are plain characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from openmirror.protocol.text_format import TextFormat

_LINE_END = r"(?:\r\n|\n|\r(?!\Z))"
"""A return at the end of what was read so far may be the half of a line end."""
_KNOWN_END = r"(?:\r\n|\n|\r)"
"""In whole rows it is not."""


class MalformedText(Exception):
    """Text that cannot be cut into values; at which character, and why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


@dataclass(frozen=True)
class Dialect:
    """The grammar in the form of regular expressions, which match without going back."""

    text: TextFormat

    @cached_property
    def blanks(self) -> re.Pattern[str]:
        """Lines with nothing in them."""
        return re.compile(f"{_LINE_END}++")

    @cached_property
    def value(self) -> re.Pattern[str]:
        """One value as it is written, with its quotes."""
        return re.compile(self._value, re.DOTALL)

    @cached_property
    def values(self) -> re.Pattern[str]:
        """Values and what ends each, over whole rows."""
        return re.compile(f"({self._value})(?:{self._separator}|{_KNOWN_END})", re.DOTALL)

    def row(self, count: int) -> re.Pattern[str]:
        """One row of so many values, in text that holds nothing but whole rows."""
        return re.compile(self._row(count) + _KNOWN_END, re.DOTALL)

    def rows(self, count: int) -> re.Pattern[str]:
        """As many whole rows of so many values as there are."""
        return re.compile(f"(?:{self._row(count)}{_LINE_END})*+", re.DOTALL)

    def split(self, row: str, start: int = 0) -> tuple[list[str], int] | None:
        """The values of one row as written, and where it ends; None when its end is not there.

        Raises Malformed for text between a closing quote and what must follow it.
        """
        written: list[str] = []
        at = start
        while True:
            match = self.value.match(row, at)
            assert match is not None  # it matches nothing, too
            written.append(match[0])
            at = match.end()
            if at == len(row) or (row[at] == "\r" and at + 1 == len(row)):
                return None
            if end := self.blanks.match(row, at):
                return written, at + (2 if end[0].startswith("\r\n") else 1)
            if row[at] != self.text.separator:
                if match[0]:
                    raise MalformedText(at, f"text follows a closing quote: {row[at : at + 20]!r}")
                return None  # a quote that is not closed
            at += 1

    def open_quote(self, row: str, start: int = 0) -> int | None:
        """Where a quote begins in an unended row that is not closed; None when there is none."""
        at = start
        while match := self.value.match(row, at):
            at = match.end()
            if at == len(row):
                return None
            if row[at] != self.text.separator:
                return at if row[at] == self.text.quote else None
            at += 1
        return None

    def unquoted(self, written: str) -> str:
        """What a value means that is written in quotes."""
        inner = written[1:-1]
        return self._escapes.sub(lambda match: match[0][1], inner)

    def is_quoted(self, written: str) -> bool:
        """Whether a value is written in quotes."""
        return bool(self.text.quote) and written.startswith(self.text.quote)

    def read(self, written: str) -> str:
        """What a value means, however it is written."""
        return self.unquoted(written) if self.is_quoted(written) else written

    def names(self, header: list[str]) -> list[str]:
        """The names of columns; a separator behind the last one makes no column."""
        named = header[:-1] if len(header) > 1 and not header[-1] else header
        return [self.read(name) for name in named]

    @property
    def escape(self) -> str:
        """The escape where it is another character than the quote, else nothing."""
        return (
            "" if not self.text.quote or self.text.escape == self.text.quote else self.text.escape
        )

    @property
    def _separator(self) -> str:
        return re.escape(self.text.separator)

    @cached_property
    def _value(self) -> str:
        separator, quote, escape = (
            re.escape(mark) for mark in (self.text.separator, self.text.quote, self.escape)
        )
        if not quote:
            return rf"[^{separator}\r\n]*+"
        escaped = rf"|{escape}." if escape else ""
        inside = rf"(?:[^{quote}{escape}]++|{quote}{quote}{escaped})*+"
        return rf"(?>{quote}{inside}{quote}|[^{quote}{separator}\r\n][^{separator}\r\n]*+|)"

    def _row(self, count: int) -> str:
        return f"(?:{self._value}{self._separator}){{{count - 1}}}{self._value}"

    @cached_property
    def _escapes(self) -> re.Pattern[str]:
        quote, escape = re.escape(self.text.quote), re.escape(self.escape)
        escaped = f"|{escape}[{quote}{escape}]" if escape else ""
        return re.compile(f"{quote}{quote}{escaped}")
