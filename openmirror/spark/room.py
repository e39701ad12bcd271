"""A disk that is full, in words that say what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openmirror.errors import Unavailable

_NONE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def room_at(place: Path, remedy: str) -> Iterator[None]:
    """Raises Unavailable, which says where and what helps, for an error that means there is none.

    All others go on as they are.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NONE:
            raise
        why = os.strerror(error.errno)
        raise Unavailable(f"there is no room at {place} ({why}). {remedy}") from error
