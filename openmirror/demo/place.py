"""The folder that a demo may use: a new one, an empty one, or the one of an earlier demo."""

from __future__ import annotations

import shutil
from pathlib import Path

from openmirror.errors import CannotStart
from openmirror.stores.local.lock import LOCK_FILE
from openmirror.table import layout

MARKER = ".openmirror-demo"
_OURS = frozenset({MARKER, LOCK_FILE})


def claim(root: Path) -> None:
    """Make the folder a demo's; raises CannotStart when something else lies there."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in root.iterdir()}
    except (FileExistsError, NotADirectoryError):
        raise CannotStart(f"{root} is not a folder") from None
    if MARKER not in there and there - _OURS:
        raise CannotStart(
            f"{root} is not empty, and not from an earlier demo: nothing was touched. "
            "Give --root another folder, or none."
        )
    (root / MARKER).write_text("`openmirror demo` made this folder and empties it when it runs.\n")


def empty(root: Path, mirror: str) -> None:
    """Remove what an earlier demo left, and make the landing zone. Only while the root is held."""
    for folder in (layout.LANDING, layout.LAKE):
        if (root / folder).exists():
            shutil.rmtree(root / folder)
    (root / layout.landing_zone(mirror)).mkdir(parents=True)
