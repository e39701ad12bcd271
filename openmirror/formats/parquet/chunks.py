"""How the data of a Parquet file is encoded and compressed, from the bytes of its footer.

pyarrow says the same of each column chunk, but reads its statistics with it, and ends the whole
process where these are damaged. So the few fields are found in the bytes themselves, as Thrift
writes them: a chunk's type, its encodings, its path, its codec. Other bytes may be the same by
chance; then a file is converted that need not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# What Spark's reader knows. Of pyarrow's encodings and codecs, tried for every type and page
# version, it fails at BYTE_STREAM_SPLIT (9) and Brotli (4); what comes later is converted, too.
_SPARK_ENCODINGS = frozenset((0, 2, 3, 4, 5, 6, 7, 8))
_SPARK_CODECS = frozenset((0, 1, 2, 5, 6, 7))

# Fields are in the order of their numbers: `type` (an i32), `encodings` (a list of them) and the
# beginning of `path_in_schema` (a list of texts). Numbers are zigzag, so each of these is one byte.
_LISTS = b"|".join(
    re.escape(bytes((count << 4 | 5,))) + b"[\x00-\x7e]{%d}" % count for count in range(1, 15)
)
_CHUNK = re.compile(b"(?=\x15[\x00-\x0e]\x19(?P<encodings>" + _LISTS + b")\x19)", re.DOTALL)
_TEXTS = 8
_CODEC = 0x15
_NUM_VALUES = 0x16
_LONGEST = 5


class _Chunk(NamedTuple):
    """What matters of a column chunk."""

    encodings: frozenset[int]
    codec: int


def is_for_spark(footer: bytes) -> bool:
    """Whether Spark knows every encoding and every compression of a file's data."""
    return all(
        chunk.encodings <= _SPARK_ENCODINGS and chunk.codec in _SPARK_CODECS
        for chunk in _chunks(footer)
    )


def _chunks(footer: bytes) -> Iterator[_Chunk]:
    for match in _CHUNK.finditer(footer):
        codec = _codec(footer, match.end("encodings") + 1)
        if codec is not None:
            encodings = frozenset(byte >> 1 for byte in match["encodings"][1:])
            yield _Chunk(encodings, codec)


def _codec(footer: bytes, at: int) -> int | None:
    """The codec behind a path that begins here; None where it is none."""
    if at >= len(footer) or footer[at] & 0xF != _TEXTS:
        return None
    parts, at = footer[at] >> 4, at + 1
    for _ in range(parts):
        length, at = _number(footer, at)
        at += length
    if footer[at : at + 1] != bytes((_CODEC,)) or footer[at + 2 : at + 3] != bytes((_NUM_VALUES,)):
        return None
    return footer[at + 1] >> 1


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = 0
    for place, byte in enumerate(data[at : at + _LONGEST]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    return number, len(data)
