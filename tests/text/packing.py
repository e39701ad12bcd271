"""Bytes packed as publishers pack them, each format in its less usual shapes too."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator

import pyarrow as pa

from tests.text.dialects import Compression

_SNAPPY_BEGIN = b"\xff\x06\x00\x00sNaPpY"
_SNAPPY_BLOCK = 65536
_POLYNOMIAL = 0x82F63B78


def packed(data: bytes, compression: Compression, draw: random.Random) -> bytes:
    """The bytes in this compression, cut into parts where the format has parts."""
    match compression:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return gzip.compress(data, draw.choice([1, 9]), mtime=0)
        case Compression.GZIP_MEMBERS:
            return b"".join(gzip.compress(part, mtime=0) for part in _ports(data, draw))
        case Compression.ZSTD:
            # Several frames are one stream, and a skippable frame may stand between.
            skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" if draw.random() < 0.3 else b""
            frames = [_compressed("zstd", part) for part in _ports(data, draw)]
            return skipped.join(frames) if draw.random() < 0.5 else _compressed("zstd", data)
        case Compression.SNAPPY:
            return _SNAPPY_BEGIN + b"".join(_snappy_chunks(data, draw))


def _ports(data: bytes, draw: random.Random) -> list[bytes]:
    """Cut anywhere, also inside of a character, and once into nothing."""
    cuts = sorted(draw.randint(0, len(data)) for _ in range(draw.randint(1, 3)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _compressed(codec: str, data: bytes) -> bytes:
    return pa.Codec(codec).compress(data, asbytes=True)


def _snappy_chunks(data: bytes, draw: random.Random) -> Iterator[bytes]:
    """The framing format: blocks of at most 64 KiB, each with the checksum of what it holds."""
    for part in _ports(data, draw):
        for start in range(0, len(part), _SNAPPY_BLOCK):
            block = part[start : start + _SNAPPY_BLOCK]
            if draw.random() < 0.3:
                yield _chunk(0x01, _checksum(block) + block)
            else:
                yield _chunk(0x00, _checksum(block) + _compressed("snappy", block))
        if draw.random() < 0.2:
            yield _chunk(draw.choice([0xFE, 0x80, 0xAA]), b"\0" * draw.randint(0, 9))
        if draw.random() < 0.2:
            yield _SNAPPY_BEGIN  # as in files that were appended to each other


def _chunk(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + len(data).to_bytes(3, "little") + data


def _checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return masked.to_bytes(4, "little")


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum, byte by byte."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
