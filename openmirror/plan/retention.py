"""How long files stay after they left a table: by its property, which every tool's VACUUM obeys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

KEPT = "delta.deletedFileRetentionDuration"
FORGETS_TRANSACTIONS = "delta.setTransactionRetentionDuration"
"""Never ours: with it a log forgets transactions by age, and what they applied comes again."""

USUAL = timedelta(days=7)
"""Delta's default. A reader, or a runner that stalls, may be busy with a file for as long."""
SHORTEST = timedelta(days=1)

_INTERVAL = re.compile(r"\s*(?:interval\s+)?((?:\d+\s+[a-z]+\s*)+)\Z", re.IGNORECASE)
_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")


def kept_for(properties: Mapping[str, str]) -> timedelta | None:
    """How long this table keeps files that it no longer has; None where it cannot be read."""
    text = properties.get(KEPT)
    if text is None:
        return USUAL
    match = _INTERVAL.match(text)
    if match is None:
        return None
    words = match[1].lower().split()
    units = [unit.removesuffix("s") for unit in words[1::2]]
    if any(unit not in _UNITS for unit in units):
        return None
    try:
        return timedelta(
            **{f"{u}s": int(n) for u, n in zip(units, words[::2], strict=True)},
        )
    except OverflowError:
        return None


def in_words_of_delta(kept: timedelta) -> str:
    """A duration as the property has it."""
    return f"interval {kept.days} days"


def to_set(kept: timedelta, properties: Mapping[str, str], *, may_shorten: bool) -> str | None:
    """What the property has to become for a policy; None when it may stay as it is.

    A longer one that somebody set by hand is left, unless the policy says that it may be short.
    """
    now = kept_for(properties)
    if now is not None and (now == kept or (now > kept and not may_shorten)):
        return None
    return in_words_of_delta(kept)
