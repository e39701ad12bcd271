"""How long files stay after they left a table: by its property, which every tool's VACUUM obeys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

KEPT = "delta.deletedFileRetentionDuration"
OURS = "openmirror.deletedFileRetentionDuration"
"""What we set `KEPT` to last: another value there is somebody else's."""
LOG_KEPT = "delta.logRetentionDuration"
FORGETS_TRANSACTIONS = "delta.setTransactionRetentionDuration"
"""Never ours: with it a log forgets transactions by age, and what they applied comes again."""

USUAL = timedelta(days=7)
"""Delta's default. A reader, or a runner that stalls, may be busy with a file for as long."""
SHORTEST = timedelta(days=1)
_LOG_USUAL = timedelta(days=30)
"""How long Delta keeps a log by itself."""
_BEHIND = timedelta(days=7)
"""A log that ends before a VACUUM comes does not name what that deletes: it lists the folder."""

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


def to_set(kept: timedelta, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that a policy asks for and the table does not have so.

    A longer retention than that stays where somebody else has set it, and so does any of the log.
    """
    due = {}
    if kept_for(properties) != kept and not is_longer_by_hand(kept, properties):
        due = dict.fromkeys((KEPT, OURS), in_words_of_delta(kept))
    if kept + _BEHIND > _LOG_USUAL and LOG_KEPT not in properties:
        due[LOG_KEPT] = in_words_of_delta(kept + _BEHIND)
    return due


def is_longer_by_hand(kept: timedelta, properties: Mapping[str, str]) -> bool:
    """Whether the table keeps files longer than a policy asks, as somebody else has set."""
    now, text = kept_for(properties), properties.get(KEPT)
    return now is not None and now > kept and text is not None and text != properties.get(OURS)
