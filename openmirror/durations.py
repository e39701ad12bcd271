"""Lengths of time in words."""

from __future__ import annotations

from datetime import timedelta


def short(seconds: float) -> str:
    """A duration that a column can hold: 0 s, 12 s, 5 min, 3 h, 9 d."""
    span = timedelta(seconds=seconds)
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if span >= timedelta(seconds=2 * unit):
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f} s"
