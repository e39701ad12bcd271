"""Compressed files, known by their content alone: gzip, zstd, and Snappy with a frame or raw."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO

import cramjam
import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.formats.text.raw_snappy import (
    is_raw_snappy,
    length_of_raw_snappy,
    text_of_raw_snappy,
)

_BLOCK = 1 << 20
_ZSTD_BLOCK = 1 << 16
"""Small, because what was read of a block is lost where the data is cut off in it."""
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = b"\x2a\x4d\x18"
"""What follows the first byte, 0x50 to 0x5f, of a zstd frame that holds no data."""
_SNAPPY = b"\xff\x06\x00\x00sNaPpY"
HEAD = 1 << 16
"""Bytes by which a compression is known; only raw Snappy needs more than ten."""
_MOST_RAW = 1 << 28
"""Bytes of text in raw Snappy, which is held in memory whole: any of it may be copied later."""


class Unpackable(Exception):
    """Compressed data that cannot be read."""


class CutOff(Unpackable):
    """Compressed data that ends too early; more of it may still come."""


def packing_of(head: bytes, *, is_all: bool) -> str | None:
    """The compression that these first bytes begin, None for none.

    `head` is the whole file, or `HEAD` bytes of it or more.
    """
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _ZSTD_SKIPPED and head[0] & 0xF0 == 0x50):
        return "zstd"
    if head.startswith(_SNAPPY):
        return "Snappy"
    is_raw = is_raw_snappy(head[:HEAD], is_all=is_all and len(head) <= HEAD)
    return "raw Snappy" if is_raw else None


def unpacked(content: BinaryIO) -> Iterator[bytes]:
    """A file's bytes in blocks, decompressed where they are compressed.

    Several gzip members, zstd frames or Snappy streams in a row are one text. Raises Unpackable,
    after everything that could be read before it.
    """
    head = _Ahead(content)
    seen = head.peek(HEAD)
    match packing_of(seen, is_all=len(seen) < HEAD):
        case "gzip":
            return _gunzipped(head)
        case "zstd":
            return _zstd(head)
        case "Snappy":
            return _unframed(head)
        case "raw Snappy":
            return _raw(head)
    return iter(lambda: head.read(_BLOCK), b"")


class _Ahead:
    """A reader that lets its first bytes be seen before they are read."""

    def __init__(self, content: BinaryIO) -> None:
        self._content = content
        self._seen = b""
        self.closed = False

    def peek(self, count: int) -> bytes:
        while len(self._seen) < count and (more := self._content.read(count - len(self._seen))):
            self._seen += more
        return self._seen

    def read(self, count: int) -> bytes:
        """At most so many bytes; fewer only at the end, or before what comes late."""
        if self._seen:
            seen, self._seen = self._seen[:count], self._seen[count:]
            return seen
        return self._content.read(count)

    def exactly(self, count: int) -> bytes:
        """So many bytes, or what is left."""
        parts = bytearray()
        while len(parts) < count and (more := self.read(count - len(parts))):
            parts += more
        return bytes(parts)

    def close(self) -> None:
        """pyarrow closes what it reads from; the content is its owner's."""
        self.closed = True


def _gunzipped(packed: _Ahead) -> Iterator[bytes]:
    member = zlib.decompressobj(wbits=31)
    data = packed.read(_BLOCK)
    while data or (data := packed.read(_BLOCK)):
        try:
            text = member.decompress(data, _BLOCK)
        except zlib.error as error:
            raise Unpackable(f"its gzip data is damaged: {error}") from error
        if text:
            yield text
        if not member.eof:
            data = member.unconsumed_tail
            continue
        # What follows is another member; some writers fill up with zeros.
        data = member.unused_data.lstrip(b"\0")
        while not data and (more := packed.read(_BLOCK)):
            data = more.lstrip(b"\0")
        if not data:
            return
        member = zlib.decompressobj(wbits=31)
    raise CutOff("its gzip data is cut off")


def _zstd(packed: _Ahead) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd") as stream:
        while True:
            try:
                text = stream.read(_ZSTD_BLOCK)
            except OSError as error:
                words = str(error)
                if "runcated" in words:
                    raise CutOff("its zstd data is cut off") from error
                raise Unpackable(f"its zstd data is damaged: {words}") from error
            if not text:
                return
            yield text


def _raw(packed: _Ahead) -> Iterator[bytes]:
    data = bytearray(packed.exactly(HEAD))
    length = length_of_raw_snappy(bytes(data))
    if length > _MOST_RAW:
        raise Unpackable(
            f"its raw Snappy data has {length} bytes of text, and at most {_MOST_RAW} can be read; "
            "framed Snappy, gzip and zstd have no limit"
        )
    most = 32 + length + length // 6  # what Snappy makes of so much text at the worst
    while len(data) <= most and (more := packed.read(_BLOCK)):
        data += more
    try:
        text = bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        if before := text_of_raw_snappy(bytes(data)):
            yield before
        raise CutOff("its raw Snappy data is cut off or damaged") from error
    yield text


_DATA_CHUNKS = (0x00, 0x01)
_FIRST_SKIPPABLE = 0x80


def _unframed(packed: _Ahead) -> Iterator[bytes]:
    """Snappy's framing format; each chunk is decompressed, and its checksum checked, by itself."""
    while head := packed.exactly(4):
        chunk = packed.exactly(int.from_bytes(head[1:], "little"))
        if len(head) < 4 or len(chunk) < int.from_bytes(head[1:], "little"):
            raise CutOff("its Snappy data is cut off")
        if head[0] in _DATA_CHUNKS:
            try:
                text = bytes(cramjam.snappy.decompress(_SNAPPY + head + chunk))
            except cramjam.DecompressionError as error:
                raise Unpackable(f"its Snappy data is damaged: {error}") from error
            if text:
                yield text
        elif head[0] < _FIRST_SKIPPABLE:
            raise Unpackable(f"its Snappy data has a chunk of the unknown kind {head[0]:#04x}")
