"""Lengths of time in words."""

from __future__ import annotations

import re
from datetime import timedelta

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
MOST = timedelta(days=3650)
"""More than anything here may last: a time so far ahead is still a date."""


def parse(text: str) -> timedelta:
    """A duration as users write it; ValueError says what one looks like."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError("a number of seconds, or one with a unit: 30, 30s, 10m, 2h, 7d")
    seconds = float(match[1]) * _SECONDS[match[2] or "s"]
    if seconds > MOST.total_seconds():
        raise ValueError(f"at most {MOST.days}d")
    return timedelta(seconds=seconds)


def short(seconds: float) -> str:
    """A duration that a column can hold: 0 s, 12 s, 5 min, 3 h, 9 d."""
    span = timedelta(seconds=seconds)
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if span >= timedelta(seconds=2 * unit):
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f} s"
