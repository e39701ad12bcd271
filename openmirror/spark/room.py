"""Whether what went wrong is that `$TMPDIR` is full, which is no fault of the batch."""

from __future__ import annotations

import errno
import os

from py4j.protocol import Py4JJavaError

from openmirror.errors import Unavailable

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BY_JAVA = tuple(os.strerror(number) for number in _NO_ROOM)
NEED_ROOM = "Set TMPDIR to a folder that has room for the files of each batch that is applied"


def no_room(folder: object, error: BaseException | None) -> Unavailable | None:
    """What a full folder of this machine is to a batch, which is tried again until there is room.

    None for any other error; Java's is known by the system's words.
    """
    reason = _reason(error)
    return Unavailable(f"there is no room in {folder} ({reason}). {NEED_ROOM}") if reason else None


def _reason(error: BaseException | None) -> str | None:
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return os.strerror(error.errno)
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception)
        return next((reason for reason in _BY_JAVA if reason in text), None)
    return None
