"""Deleting a folder: it disappears at once, then its space is freed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from openmirror.stores.local.paths import OURS

_TRASH = f"{OURS}trash-"
_TRIES = 5


def throw_away(folder: Path) -> None:
    """Remove a folder with all it holds, and what a process that died here was removing.

    Raises FileNotFoundError without such a folder, OSError when something cannot be removed.
    """
    trash = folder.with_name(f"{_TRASH}{uuid4().hex}")
    folder.rename(trash)
    if trash.is_symlink():
        trash.unlink()
        return
    # Whoever still has the folder open may put files into it while it is being emptied.
    for _ in range(_TRIES):
        shutil.rmtree(trash, ignore_errors=True)
    with suppress(FileNotFoundError):
        shutil.rmtree(trash)
    for left in folder.parent.glob(f"{_TRASH}*"):
        shutil.rmtree(left, ignore_errors=True)
