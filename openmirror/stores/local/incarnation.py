"""The identity of one incarnation of a folder, kept in a file that dies with the folder."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from openmirror.errors import ConditionFailed
from openmirror.ports import ABSENT, Absent
from openmirror.protocol.names import ETag, Incarnation
from openmirror.stores.local.paths import etag_of, opened, opened_file
from openmirror.stores.local.writing import replace

INCARNATION_FILE = "_openmirror"

_IDENTITY = re.compile(rb"[0-9a-f]{32}")


def identify_once(folder: Path, lock: Path) -> Incarnation | None:
    """The identity in the folder, written now if there is none; None when it was replaced."""
    with opened(folder) as fd:
        identity, etag = _read(fd)
        if identity is None:
            # Of those who write at once, or over one damaged file, the first counts for all.
            with suppress(ConditionFailed):
                replace(folder / INCARNATION_FILE, fd, uuid4().hex.encode(), etag, lock)
            identity, _ = _read(fd)
        # A folder that is being deleted may have lost its file before its place.
        return identity if os.path.samestat(folder.stat(), os.fstat(fd)) else None


def _read(folder: int) -> tuple[Incarnation | None, ETag | Absent]:
    """What the file says, None when it makes no sense; and what to replace."""
    try:
        with opened_file(INCARNATION_FILE, folder) as file:
            text = os.read(file, 64).strip()
            identity = Incarnation(text.decode()) if _IDENTITY.fullmatch(text) else None
            return identity, etag_of(os.fstat(file))
    except FileNotFoundError:
        return None, ABSENT
