"""Data that clients have sent and not committed, kept outside the containers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from openmirror.emulator.addresses import Address
from openmirror.emulator.bodies import Body, Reserved, copy_range
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.nodes import Node
from openmirror.emulator.state import Block, EndpointState, Upload

_KEPT_SECONDS = 7 * 86400
"""As Azure keeps uncommitted data."""


class Staging:
    """A folder of files that are not yet anything."""

    def __init__(self, folder: Path, state: EndpointState) -> None:
        self.folder = folder
        self._state = state
        self._reserved: list[tuple[str, int, int]] = []
        """Of which staging file, from where to where, somebody writes now."""
        folder.mkdir(parents=True, exist_ok=True)
        self._clean()

    @contextmanager
    def file(self) -> Iterator[tuple[Path, int]]:
        """A new file, open for writing; gone at the end unless it was renamed."""
        path = self.folder / uuid4().hex
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            yield path, fd
        finally:
            os.close(fd)
            with suppress(FileNotFoundError):
                path.unlink()

    def reserve(self, node: Node, position: int, length: int) -> Reserved | None:
        """A place for bytes that are to be appended, so that they are written only once.

        None where something is kept there, or written there now: what is not whole must not take
        its place. To be called within the gate.
        """
        upload = self._state.upload(node.identity) or Upload(uuid4().hex, ())
        place = (upload.file, position, position + length)
        taken = [*((upload.file, *one) for one in upload.ranges), *self._reserved]
        if any(_overlap(place, one) for one in taken):
            return None
        if not upload.ranges:
            self._state.keep_upload(node.identity, upload)
        fd = os.open(self.folder / upload.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        _allocate(fd, position, length)
        self._reserved.append(place)
        return Reserved(fd, position, length, lambda: self._reserved.remove(place))

    def take_whole(self, node: Node, position: int) -> Path | None:
        """The file of all that was appended, if that is all that the node will have; else None.

        To be called within the gate. The caller gives it its name, or leaves it where it is.
        """
        upload = self._state.upload(node.identity)
        if upload is None or node.size or upload.ranges != ((0, position),):
            return None
        if any(file == upload.file for file, _, _ in self._reserved):
            return None  # whoever writes into it would write into what readers see
        path = self.folder / upload.file
        # What a client broke off may lie behind the end.
        os.truncate(path, position)
        return path

    def append(self, node: Node, position: int, body: Body) -> None:
        """Keep bytes for a file at a position, until they are flushed."""
        upload = self._state.upload(node.identity) or Upload(uuid4().hex, ())
        fd = os.open(self.folder / upload.file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            body.write_to(fd, position)
        finally:
            os.close(fd)
        ranges = _with(upload.ranges, position, position + body.size)
        self._state.keep_upload(node.identity, replace(upload, ranges=ranges))

    def appended(self, node: Node) -> Upload | None:
        """What waits for a flush."""
        return self._state.upload(node.identity)

    def assemble(self, node: Node, content: int, position: int, target: int) -> None:
        """Write a file's bytes up to a position: what was committed, then what was appended.

        Raises Refused unless all of them are there.
        """
        upload = self._state.upload(node.identity)
        if position < node.size:
            raise RefusedCall(Fault.FLUSH_POSITION, f"{node.size} bytes are flushed already")
        copy_range(content, 0, target, 0, node.size)
        if position == node.size:
            return
        if upload is None or not _has(upload.ranges, node.size, position):
            raise RefusedCall(
                Fault.FLUSH_POSITION, f"not all bytes before {position} were appended"
            )
        if any(end > position for _, end in upload.ranges):
            raise RefusedCall(Fault.FLUSH_POSITION, f"there are bytes after {position}")
        with _reading(self.folder / upload.file) as staged:
            copy_range(staged, node.size, target, node.size, position - node.size)

    def forget_overwriting(self, node: Node) -> bool:
        """Forget what was appended below a file's end; answers whether there was any."""
        upload = self._state.upload(node.identity)
        if upload is None:
            return False
        kept = tuple((start, end) for start, end in upload.ranges if start >= node.size)
        if kept == upload.ranges:
            return False
        self._state.keep_upload(node.identity, replace(upload, ranges=kept))
        return True

    def forget_appended(self, node: Node) -> None:
        """It was flushed, or replaced."""
        upload = self._state.upload(node.identity)
        if upload is not None:
            self._state.drop_upload(node.identity)
            (self.folder / upload.file).unlink(missing_ok=True)

    def put_block(self, address: Address, block_id: str, body: Body) -> None:
        """Keep a block, in place of one with its id."""
        block = Block(block_id, uuid4().hex, body.size)
        with self.folder.joinpath(block.file).open("xb") as file:
            body.write_to(file.fileno(), 0)
        for old in self._state.blocks(address.container, address.path):
            if old.id == block_id:
                (self.folder / old.file).unlink(missing_ok=True)
        self._state.keep_block(address.container, address.path, block)

    def blocks(self, address: Address) -> list[Block]:
        """Uncommitted blocks of a blob."""
        return self._state.blocks(address.container, address.path)

    def copy_block(self, block: Block, target: int, offset: int) -> None:
        """Write a block's bytes into a file."""
        with _reading(self.folder / block.file) as staged:
            copy_range(staged, 0, target, offset, block.size)

    def forget_blocks(self, address: Address) -> None:
        """A block list was committed, or the blob replaced."""
        for block in self.blocks(address):
            (self.folder / block.file).unlink(missing_ok=True)
        self._state.drop_blocks(address.container, address.path)

    def _clean(self) -> None:
        """Delete what nobody will ever commit."""
        known = self._state.staged_files()
        for path in self.folder.iterdir():
            old = time.time() - path.stat().st_mtime > _KEPT_SECONDS
            if path.name not in known or old:
                path.unlink(missing_ok=True)


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise RefusedCall(Fault.INVALID_INPUT, "uncommitted data are kept for a week") from error
    try:
        yield fd
    finally:
        os.close(fd)


def _with(ranges: tuple[tuple[int, int], ...], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """The ranges with one more, those that touch made one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted((*ranges, (start, end))):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _overlap(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def _has(ranges: tuple[tuple[int, int], ...], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in ranges)


def _allocate(fd: int, position: int, length: int) -> None:
    """Room on the disk for bytes before they come, where the system has words for that.

    Without it ext4 chooses a file's blocks late, and when the file takes the name of another one it
    first sees to all of them: half a second for a gigabyte, while the client waits for its flush.
    """
    # A disk that is full says so once more when the bytes come; one that cannot do this needs not.
    with suppress(AttributeError, OSError):
        os.posix_fallocate(fd, position, length)
