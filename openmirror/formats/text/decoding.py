"""Bytes into text, by a byte order mark or by what is declared (PROTOCOL §4.6)."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LONGEST_MARK = 4
_LITTLE_ENDIAN = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Without a mark: as Windows and .NET write, where these names come from."""
_MOST_SHOWN = 8


@dataclass(frozen=True)
class Undecodable(Exception):
    """Bytes that are not text in the file's encoding."""

    data: bytes
    encoding: str

    def on(self, line: int) -> str:
        """What is wrong, in this line of the file."""
        return f"line {line}: the bytes {self.data.hex(' ')} are not {self.encoding}"


def decoded(blocks: Iterator[bytes], encoding: str, *, is_all: bool = True) -> Iterator[str]:
    """Text in blocks, without its byte order mark; raises Undecodable, and what `blocks` raises.

    Unless it `is_all` there is, the last character may be cut. A mark of any Unicode encoding wins
    over the encoding that is declared, which must be one that `text_encoding` knows.
    """
    head = b""
    for block in blocks:
        head += block
        if len(head) >= _LONGEST_MARK:
            break
    mark, found = next((m for m in _MARKS if head.startswith(m[0])), (b"", encoding))
    name = codecs.lookup(found).name
    decoder = codecs.getincrementaldecoder(_LITTLE_ENDIAN.get(name, name))("strict")
    yield from _all(decoder, _with_head(head[len(mark) :], blocks, is_all), name)


def _with_head(head: bytes, blocks: Iterator[bytes], is_all: bool) -> Iterator[tuple[bytes, bool]]:
    yield head, False
    for block in blocks:
        yield block, False
    yield b"", is_all


def _all(
    decoder: codecs.IncrementalDecoder,
    blocks: Iterator[tuple[bytes, bool]],
    encoding: str,
) -> Iterator[str]:
    for block, is_last in blocks:
        try:
            text = decoder.decode(block, is_last)
        except UnicodeDecodeError as error:
            yield _before(error, encoding)
            wrong = bytes(error.object[error.start : max(error.end, error.start + 1)])
            raise Undecodable(wrong[:_MOST_SHOWN], encoding) from error
        if text:
            yield text


def _before(error: UnicodeDecodeError, encoding: str) -> str:
    """The text before bytes that cannot be decoded, as far as that is known."""
    good = bytes(error.object[: error.start])
    return good.decode(encoding, errors="ignore")


def line_ends(text: str) -> int:
    """How many lines end in this text, by `\\r\\n`, `\\n` or `\\r`."""
    returns = text.count("\r")
    return text.count("\n") + (returns and returns - text.count("\r\n"))
