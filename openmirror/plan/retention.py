"""How long files stay after they left a table: by its property, which every tool's VACUUM obeys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

KEPT = "delta.deletedFileRetentionDuration"
OURS = "openmirror.deletedFileRetentionDuration"
"""What we set `KEPT` to last: another value there is somebody else's."""
LOG_KEPT, OUR_LOG = "delta.logRetentionDuration", "openmirror.logRetentionDuration"
FORGETS_TRANSACTIONS = "delta.setTransactionRetentionDuration"
"""Never ours: with it a log forgets transactions by age, and what they applied comes again."""

USUAL = timedelta(days=7)
"""Delta's default. A reader, or a runner that stalls, may be busy with a file for as long."""
SHORTEST = timedelta(days=1)
LOG_USUAL = timedelta(days=30)
_BY_DELTA = {KEPT: USUAL, LOG_KEPT: LOG_USUAL}
_BEHIND = timedelta(days=7)
"""A log that ends before a VACUUM comes does not name what that deletes: it lists the folder."""

_INTERVAL = re.compile(r"\s*(?:interval\s+)?((?:\d+\s+[a-z]+\s*)+)\Z", re.IGNORECASE)
_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")


def kept_for(properties: Mapping[str, str], name: str = KEPT) -> timedelta | None:
    """How long this table keeps files that it no longer has, or by that name its log; None where it
    cannot be read."""
    text = properties.get(name)
    if text is None:
        return _BY_DELTA[name]
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


def to_set(kept: timedelta, properties: Mapping[str, str], *, asked: bool) -> dict[str, str]:
    """The properties that a policy wants and the table does not have so.

    A longer retention stays where somebody else has set it, or where nobody has `asked` for another
    one: a number that was lost from mirroring.json deletes nothing. The log's stays where somebody
    else has set it.
    """
    is_our_log = properties.get(LOG_KEPT) == properties.get(OUR_LOG)
    if log_ends_before(kept, properties) and not is_our_log:
        return {}  # Delta makes no table anew whose log ends before its files do
    due, files = dict[str, str](), kept
    now, by_hand = kept_for(properties), is_longer_by_hand(kept, properties)
    if now is None or now < kept or (now > kept and asked and not by_hand):
        due = dict.fromkeys((KEPT, OURS), in_words_of_delta(kept))
    elif not by_hand:
        files = now
    log = max(LOG_USUAL, files + _BEHIND)
    if is_our_log and kept_for(properties, LOG_KEPT) != log:
        due |= dict.fromkeys((LOG_KEPT, OUR_LOG), in_words_of_delta(log))
    return due


def is_longer_by_hand(kept: timedelta, properties: Mapping[str, str]) -> bool:
    """Whether the table keeps files longer than a policy asks, as somebody else has set."""
    now, text = kept_for(properties), properties.get(KEPT)
    return now is not None and now > kept and text is not None and text != properties.get(OURS)


def log_ends_before(kept: timedelta, properties: Mapping[str, str]) -> bool:
    """Whether the table's log is kept for less than a policy asks of files."""
    log = kept_for(properties, LOG_KEPT)
    return log is None or log < kept
