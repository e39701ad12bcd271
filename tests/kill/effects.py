"""What processes do below a folder, one thing after another, as the kernel notes it.

What a killed process leaves is what the kernel had done for it by then: the first so many of its
effects. Their order is no assumption of ours, whichever of Python, Spark or Delta has them.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path, PurePosixPath

_HEAD = struct.Struct("iIII")
_QUEUE = 1 << 20
"""Bytes of notes that are read at a time."""


class Kind(IntFlag):
    """What a note is about, by the kernel's own numbers (inotify(7))."""

    MODIFIED = 0x2
    WRITTEN = 0x8
    """A file that was open to be written is closed."""
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATED = 0x100
    DELETED = 0x200


_WATCHED = Kind.MODIFIED | Kind.WRITTEN | Kind.MOVED_FROM | Kind.MOVED_TO
_ALL = int(_WATCHED | Kind.CREATED | Kind.DELETED)
_OVERFLOWN, _UNWATCHED, _FOLDER = 0x4000, 0x8000, 0x40000000


@dataclass(frozen=True)
class Effect:
    """One thing that was done to a file, or to a folder, below the watched one."""

    kind: Kind
    path: PurePosixPath
    is_folder: bool = False
    move: int = 0
    """What both ends of a move have in common."""


class _Watch:
    """The kernel's notes of a folder, and of each folder that comes below it."""

    def __init__(self, folder: Path, seen: Callable[[Effect], None]) -> None:
        self._folder, self._seen = folder, seen
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._notes = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._places: dict[int, PurePosixPath] = {}
        self._wakes, self._wake = os.pipe()
        for place in (folder, *folder.rglob("*/")):
            self._add(PurePosixPath(place.relative_to(folder)))

    def run(self) -> None:
        """Hand over what is noted, until asked to end; all that was noted by then as well."""
        while True:
            ready, _, _ = select.select([self._notes, self._wakes], [], [])
            self._take()
            if self._wakes in ready:
                self._take()
                return

    def end(self) -> None:
        os.write(self._wake, b".")

    def close(self) -> None:
        for one in (self._notes, self._wakes, self._wake):
            os.close(one)

    def _take(self) -> None:
        try:
            notes = os.read(self._notes, _QUEUE)
        except BlockingIOError:
            return
        at = 0
        while at < len(notes):
            watch, mask, move, size = _HEAD.unpack_from(notes, at)
            at += _HEAD.size
            name = notes[at : at + size].rstrip(b"\0").decode()
            at += size
            assert not mask & _OVERFLOWN, "the kernel has lost notes"
            if name and not mask & _UNWATCHED:
                path = self._places[watch] / name
                self._note(Effect(Kind(mask & _ALL), path, bool(mask & _FOLDER), move))

    def _note(self, effect: Effect) -> None:
        self._seen(effect)
        if effect.is_folder and effect.kind & (Kind.CREATED | Kind.MOVED_TO):
            for name in self._add(effect.path):
                # It has come before its folder was watched, or is noted a second time.
                path = effect.path / name
                self._note(Effect(Kind.CREATED, path, (self._folder / path).is_dir()))

    def _add(self, path: PurePosixPath) -> list[str]:
        """Watch a folder; what is in it by then."""
        place = self._folder / path
        watch = self._libc.inotify_add_watch(self._notes, os.fsencode(place), _ALL)
        if watch < 0:
            return []  # it has gone
        self._places[watch] = path
        return sorted(os.listdir(place))  # noqa: PTH208 - names are all that is wanted


@contextmanager
def effects_below(folder: Path, seen: Callable[[Effect], None]) -> Iterator[None]:
    """Hear of each effect below a folder that is there, on a thread of its own."""
    watch = _Watch(folder, seen)
    thread = threading.Thread(target=watch.run, name="effects", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watch.end()
        thread.join()
        watch.close()
