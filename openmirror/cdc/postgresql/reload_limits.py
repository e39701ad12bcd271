"""Limits of the loads that a stream begins by itself, because a definition changed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time as TimeOfDay

from openmirror.errors import WrongRequest

_WINDOW = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")


@dataclass(frozen=True)
class ReloadWindow:
    """A part of each day, by this machine's clock. It may reach over midnight."""

    begins: TimeOfDay
    ends: TimeOfDay

    @classmethod
    def parse(cls, text: str) -> ReloadWindow:
        """Read `22:00-06:00`. Raises WrongRequest for anything else."""
        found = _WINDOW.fullmatch(text)
        try:
            hours, minutes, until_hours, until_minutes = map(int, found.groups() if found else ())
            return cls(TimeOfDay(hours, minutes), TimeOfDay(until_hours, until_minutes))
        except ValueError:
            raise WrongRequest(f"{text!r} is no part of a day: write 22:00-06:00") from None

    def has(self, now: TimeOfDay) -> bool:
        """Whether a time of day is in it."""
        if self.begins <= self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends


@dataclass(frozen=True, kw_only=True)
class ReloadLimits:
    """When a table may be loaded again without anybody being asked."""

    below: int = 20_000_000_000
    """Bytes of a table in the database, with its large values, as VACUUM or ANALYZE counted them
    last. A larger one stops. 0: all stop."""
    a_day: int = 3
    """Such loads of one table within a day. A table that needs another one stops: its definition
    changes too often to go unnoticed."""
    at_once: int = 1
    """Such loads at the same time."""
    within: ReloadWindow | None = None
    """When they may begin; None for any time."""
