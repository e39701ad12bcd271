"""What was removed under its name and still takes up space."""

from __future__ import annotations

import shutil
from pathlib import Path


def throw_away(trash: Path | None) -> None:
    """Free the space of what was removed."""
    if trash is None:
        return
    if trash.is_symlink():
        trash.unlink()
    else:
        shutil.rmtree(trash, ignore_errors=True)
