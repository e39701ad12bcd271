"""When the file system made a file or folder: with its number, that identifies it.

Inode numbers are given again as soon as they are free. Python's own stat does not have the time
of birth on Linux, so the system is asked directly.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import NamedTuple

_HERE = -100  # AT_FDCWD
_EMPTY_PATH = 0x1000  # AT_EMPTY_PATH: the descriptor itself
_BIRTH = 0x800  # STATX_BTIME
_SECOND = 1_000_000_000


class Identity(NamedTuple):
    """One file or folder, through renames, for as long as it exists."""

    inode: int
    birth: int
    """Nanoseconds since 1970; 0 where the file system does not say."""


class _Time(ctypes.Structure):
    _fields_ = [
        ("seconds", ctypes.c_int64),
        ("nanoseconds", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
    ]


class _Statx(ctypes.Structure):
    _fields_ = [
        ("mask", ctypes.c_uint32),
        ("before", ctypes.c_uint8 * 60),
        ("accessed", _Time),
        ("born", _Time),
        ("after", ctypes.c_uint8 * 160),
    ]


@cache
def _statx() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)


def identity_of(path: str | int, facts: os.stat_result) -> Identity:
    """Who is at this path or descriptor; `facts` is what `os.stat` returned for the same."""
    born = getattr(facts, "st_birthtime", None)
    if born is not None:
        return Identity(facts.st_ino, int(born * _SECOND))
    ask = _statx()
    if ask is None:
        return Identity(facts.st_ino, 0)
    found = _Statx()
    folder, name, flags = (
        (path, b"", _EMPTY_PATH) if isinstance(path, int) else (_HERE, os.fsencode(path), 0)
    )
    failed = ask(folder, name, flags, _BIRTH, ctypes.byref(found))
    if failed or not found.mask & _BIRTH:
        return Identity(facts.st_ino, 0)
    return Identity(facts.st_ino, found.born.seconds * _SECOND + found.born.nanoseconds)
