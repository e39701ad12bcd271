"""Which files of the checkout the Function App is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

ROOTS = ("function_app.py", "host.json", "requirements.txt", "functions", "openmirror")
"""What the app begins with; everything else beside them is named in `.funcignore`."""

IGNORE = ".funcignore"
"""What is left out: also read by Azure's own tools, so it is the one list of both."""


def app_files(root: Path) -> list[str]:
    """The app's files in this checkout, by their path in the package, in order."""
    patterns = ignored(root)
    found = (
        path.relative_to(root).as_posix() for top in ROOTS for path in _files_below(root / top)
    )
    return sorted(name for name in found if not is_ignored(name, patterns))


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (found for found in path.rglob("*") if found.is_file())
    else:
        yield path


def ignored(root: Path) -> tuple[str, ...]:
    """The patterns of `.funcignore`."""
    lines = (root / IGNORE).read_text(encoding="utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def is_ignored(name: str, patterns: Sequence[str]) -> bool:
    """Whether a path is left out, by the part of the ignore format that our file uses.

    A pattern with a slash inside is a path from the top; one without is a name at any depth.
    """
    parts = name.split("/")
    for pattern in patterns:
        bare = pattern.rstrip("/")
        # A trailing slash means folders only: then the file's own name does not count.
        names = parts[:-1] if pattern.endswith("/") else parts
        if "/" in bare:
            if name == bare or name.startswith(f"{bare}/"):
                return True
        elif any(fnmatchcase(part, bare) for part in names):
            return True
    return False
