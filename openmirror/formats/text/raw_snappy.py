"""Snappy without a frame: no first bytes say what it is, but hardly anything else is built so.

Such data is the length of the text, then elements: literal bytes, or copies of what came before.
Plain text breaks that form at once, because what it would copy lies before its beginning.
What could have it by chance is text all the same: where every byte of the form might be one of a
text, and where one literal follows another all the time, as no writer of Snappy has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_LITERAL = 0
_LONG = 60
"""From this length on, one to four bytes hold it."""
_SMALLEST_BLOCK = 1 << 14
_LONGEST_TEXT = (1 << 32) - 1


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
        if is_nowhere or len(self.text) + size > self.length:
            self.is_broken = True
            return False
        self.literals_in_a_row += self.after_literal and copies == _LITERAL
        self.after_literal = copies == _LITERAL
        self.seems_text &= _may_be_text(self.data[self.at : behind])
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
    while elements.take():
        pass
    if elements.is_broken or elements.seems_text or not elements.text:
        return False
    # Writers take blocks of 64 KiB, some of them less; each begins with a literal.
    if elements.literals_in_a_row > 1 + len(elements.text) // _SMALLEST_BLOCK:
        return False
    is_whole = len(elements.text) == elements.length and elements.at == len(head)
    return is_whole or (not is_all and len(elements.text) < elements.length)


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
    return all(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in data)
