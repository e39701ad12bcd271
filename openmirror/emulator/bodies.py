"""The body of a request: in memory while it is small, in a file when it is not.

Where it is known beforehand at which place of which file the bytes will be, they go there at once.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_IN_MEMORY = 1 << 20
_PIECE = 1 << 20


@dataclass(frozen=True)
class Reserved:
    """A place in a file that nobody else writes to."""

    fd: int
    offset: int
    length: int
    release: Callable[[], None]
    """To be called once, when nothing more is written."""

    def is_at(self, fd: int, offset: int) -> bool:
        """Whether an open file, and a place in it, are this one."""
        return offset == self.offset and os.path.samestat(os.fstat(fd), os.fstat(self.fd))


class Body:
    """Bytes that were received; read them as often as you like, then close it."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - it is closed by whoever made the body
            max_size=_IN_MEMORY, dir=str(folder)
        )
        self._reserved: Reserved | None = None
        self.size = 0

    def go_to(self, reserved: Reserved) -> None:
        """Write all that comes to this place; before the first byte of it came."""
        self._reserved = reserved

    def add(self, piece: bytes | memoryview) -> None:
        """The next bytes of it; nothing refers to `piece` afterwards."""
        if self._reserved is None:
            self._file.write(piece)
        elif self.size + len(piece) > self._reserved.length:
            raise ValueError("there is more than the place has room for")
        else:
            _write(self._reserved.fd, piece, self._reserved.offset + self.size)
        self.size += len(piece)

    def close(self) -> None:
        """Let go of it."""
        self._file.close()
        if self._reserved is not None:
            reserved, self._reserved = self._reserved, None
            os.close(reserved.fd)
            reserved.release()

    def pieces(self) -> Iterator[bytes]:
        """All of it, a megabyte at a time."""
        if self._reserved is None:
            self._file.seek(0)
            while piece := self._file.read(_PIECE):
                yield piece
            return
        for at in range(0, self.size, _PIECE):
            length = min(_PIECE, self.size - at)
            yield os.pread(self._reserved.fd, length, self._reserved.offset + at)

    def all(self) -> bytes:
        """All of it at once; for what is known to be small."""
        return b"".join(self.pieces())

    def write_to(self, fd: int, offset: int) -> None:
        """Copy it into an open file."""
        if self._reserved is not None and self._reserved.is_at(fd, offset):
            return
        for piece in self.pieces():
            _write(fd, piece, offset)
            offset += len(piece)

    def md5(self) -> str:
        """As Content-MD5 has it."""
        return md5_of(self.pieces())


def _write(fd: int, piece: bytes | memoryview, offset: int) -> None:
    left = memoryview(piece)
    while left:
        done = os.pwrite(fd, left, offset)
        left, offset = left[done:], offset + done


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
