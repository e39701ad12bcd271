"""Running as whoever may not read everything, also where tests run as root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522
_READS_ANYTHING = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, by which root passes over every mode."""


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Sets(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


@contextmanager
def of_a_plain_user() -> Iterator[None]:
    """Let modes of files count in this thread and in those that it starts meanwhile.

    Root's two capabilities that pass over them are given up, and taken back at the end.
    """
    if os.geteuid() != 0:
        yield
        return
    before = _capabilities()
    try:
        _set(before[0].effective & ~_READS_ANYTHING, before)
        yield
    finally:
        _set(before[0].effective, before)


def _capabilities() -> ctypes.Array[_Sets]:
    found = (_Sets * 2)()
    _call("capget", found)
    return found


def _set(effective: int, before: ctypes.Array[_Sets]) -> None:
    wanted = (_Sets * 2)(before[0], before[1])
    wanted[0].effective = effective
    _call("capset", wanted)


def _call(name: str, sets: ctypes.Array[_Sets]) -> None:
    header = _Header(_VERSION, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(ctypes.byref(header), sets) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
