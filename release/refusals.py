"""Why nothing is built."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path


class Refused(Exception):
    """Building would make something that the checkout does not say; the message has the remedy."""


def refuse_untracked(root: Path, packed: Iterable[str]) -> None:
    """Refuse files that git does not know: nobody else's build would have them.

    A checkout without git has nothing to compare with, and what lies there is built.
    """
    tracked = _git(root, "ls-files", "-z")
    if tracked is None:
        return
    strangers = sorted(set(packed) - set(tracked.split("\0")))
    if strangers:
        listed = "".join(f"\n  {name}" for name in strangers)
        raise Refused(
            f"these files would be packed, and git does not know them:{listed}\n"
            "Run `git add` on those that belong there, and remove the others."
        )


def uncommitted(root: Path, packed: Iterable[str]) -> list[str]:
    """Packed files whose content is not the last commit's: worth saying, and no error."""
    changed = _git(root, "diff", "--name-only", "-z", "HEAD")
    return sorted(set(packed) & set((changed or "").split("\0")))


def _git(root: Path, *arguments: str) -> str | None:
    if not (root / ".git").exists():
        return None
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None
