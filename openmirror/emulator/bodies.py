"""The body of a request: in memory while it is small, in a file when it is not."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_IN_MEMORY = 1 << 20
_PIECE = 1 << 20


class Body:
    """Bytes that were received; read them as often as you like, then close it."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - it is closed by whoever made the body
            max_size=_IN_MEMORY, dir=str(folder)
        )
        self.size = 0

    def add(self, piece: bytes) -> None:
        """The next bytes of it."""
        self._file.write(piece)
        self.size += len(piece)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()

    def pieces(self) -> Iterator[bytes]:
        """All of it, a megabyte at a time."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece

    def all(self) -> bytes:
        """All of it at once; for what is known to be small."""
        return b"".join(self.pieces())

    def write_to(self, fd: int, offset: int) -> None:
        """Copy it into an open file."""
        for piece in self.pieces():
            left = memoryview(piece)
            while left:
                done = os.pwrite(fd, left, offset)
                left, offset = left[done:], offset + done

    def md5(self) -> str:
        """As Content-MD5 has it."""
        return md5_of(self.pieces())


def md5_of(pieces: Iterable[bytes]) -> str:
    """As Content-MD5 has it."""
    md5 = hashlib.md5(usedforsecurity=False)
    for piece in pieces:
        md5.update(piece)
    return base64.b64encode(md5.digest()).decode()


def copy_range(source: int, start: int, target: int, offset: int, length: int) -> None:
    """Copy bytes between two open files, within the kernel where it can."""
    while length:
        try:
            done = os.copy_file_range(source, target, length, start, offset)
        except (AttributeError, OSError):
            done = os.pwrite(target, os.pread(source, min(length, _PIECE), start), offset)
        if not done:
            raise EOFError("a file became shorter while it was copied")
        start, offset, length = start + done, offset + done, length - done
