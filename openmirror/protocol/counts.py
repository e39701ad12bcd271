"""Counts in words."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count and what is counted, with its plural: 1 file, 2 files, 1,200 changes."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
