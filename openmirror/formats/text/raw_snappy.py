"""Snappy without a frame: no first bytes say what it is, but hardly anything else is built so.

Such data is the length of the text, then elements: literal bytes, or copies of what came before.
Plain text breaks that form at once, because what it would copy lies before its beginning.
What could have it by chance is text all the same: where every byte of the form might be one of a
text, and where it is not as writers of Snappy have it, who take the text in blocks. Then one
literal follows another all the time, or an element goes on behind its block, or a long literal that
is no block holds all that was read of the file. And what comes out must be a text itself.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass, field

_LITERAL = 0
_LONG = 60
"""From this length on, one to four bytes hold it."""
_BLOCKS = (1 << 16, 1 << 15, 1 << 14)
"""How much text writers take at once, as far as there is so much: most the first."""
_LONGEST_TEXT = (1 << 32) - 1
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(kw_only=True)
class _Elements:
    """What the elements of raw Snappy make of themselves, as far as they are there."""

    data: bytes
    length: int
    at: int
    text: bytearray = field(default_factory=bytearray)
    seems_text: bool = True
    """Whether every byte that is no literal might stand in a text."""
    is_broken: bool = False
    after_literal: bool = False
    literals_in_a_row: int = 0
    has_copy: bool = False
    begins_with_block: bool = False
    """Whether the first literal is a whole block, of text that has nothing to copy."""

    def take(self) -> bool:
        """Take the next element; false when it is not there whole, or is none."""
        if self.at >= len(self.data) or len(self.text) >= self.length:
            return False
        tag = self.data[self.at]
        size, copies = tag >> 2, tag & 3
        extra = (size - _LONG + 1 if size >= _LONG else 0, 1, 2, 4)[copies]
        behind = self.at + 1 + extra
        number = int.from_bytes(self.data[self.at + 1 : behind], "little")
        if behind > len(self.data):
            return False
        if copies == _LITERAL:
            size = 1 + (number if size >= _LONG else size)
            end = behind + size
            piece = self.data[behind:end]
        else:
            end, piece = behind, b""
            offset = number | (tag >> 5) << 8 if copies == 1 else number
            size = 4 + (size & 7) if copies == 1 else size + 1
            if 0 < offset <= len(self.text):
                start = len(self.text) - offset
                seen = bytes(self.text[start : start + size])
                piece = (seen * (size // len(seen) + 1))[:size]
        is_nowhere = copies != _LITERAL and not piece
        end_of_block = len(self.text) // _BLOCKS[0] * _BLOCKS[0] + _BLOCKS[0]
        if is_nowhere or len(self.text) + size > min(self.length, end_of_block):
            self.is_broken = True
            return False
        self.has_copy |= copies != _LITERAL
        self.begins_with_block |= not self.text and size in (*_BLOCKS, self.length)
        self.literals_in_a_row += self.after_literal and copies == _LITERAL
        self.after_literal = copies == _LITERAL
        self.seems_text = self.seems_text and _may_be_text(self.data[self.at : behind])
        self.text += piece
        if len(piece) < size:
            self.at = len(self.data)
            return False
        self.at = end
        return True


def is_raw_snappy(head: bytes, *, is_all: bool) -> bool:
    """Whether these are the first bytes of raw Snappy; `is_all` of a whole file."""
    elements = _elements(head)
    if elements is None:
        return False
    # UTF-16 behind a mark is nothing but literals of a byte: it need not be read to its end.
    most_literals = 1 + elements.length // _BLOCKS[-1]
    while elements.literals_in_a_row <= most_literals and elements.take():
        pass
    if elements.is_broken or elements.seems_text or not elements.text:
        return False
    # Each block begins with a literal.
    if elements.literals_in_a_row > 1 + len(elements.text) // _BLOCKS[-1]:
        return False
    if not _reads_as_text(elements.text, is_marked=head.startswith(_MARKS)):
        return False
    if len(elements.text) == elements.length:
        return elements.at == len(head)
    return not is_all and (elements.has_copy or elements.begins_with_block)


def _reads_as_text(data: bytearray, *, is_marked: bool) -> bool:
    """Whether this may have been compressed: hardly any controls, as text of UTF-16 has them.

    Where the compressed data begins like text with a byte order mark, UTF-8 alone is believed.
    """
    if is_marked:
        with suppress(UnicodeDecodeError):
            codecs.getincrementaldecoder("utf-8")().decode(bytes(data))
            return True
        return False
    return data.startswith(_MARKS) or len(_CONTROL.findall(data)) * 100 <= len(data)


def text_of_raw_snappy(data: bytes) -> bytes:
    """The text of raw Snappy, as far as its data goes."""
    elements = _elements(data)
    while elements and elements.take():
        pass
    return bytes(elements.text) if elements else b""


def length_of_raw_snappy(data: bytes) -> int:
    """How many bytes its text has, as it says itself."""
    elements = _elements(data)
    return elements.length if elements else 0


def _elements(data: bytes) -> _Elements | None:
    """The length in seven bits a byte, and what follows it; None for what begins otherwise."""
    length = 0
    for at, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            if not 0 < length <= _LONGEST_TEXT:
                return None
            seems_text = _may_be_text(data[: at + 1])
            return _Elements(data=data, length=length, at=at + 1, seems_text=seems_text)
    return None


def _may_be_text(data: bytes) -> bool:
    return not data.translate(None, delete=_PRINTABLE)
