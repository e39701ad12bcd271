"""The data files of a modelled table: written before a commit names them, deleted by a VACUUM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from openmirror.plan.maintenance_steps import (
    Compact,
    DeadFile,
    LiveFile,
    Purge,
    TableFiles,
    Vacuum,
)
from openmirror.plan.retention import USUAL


@dataclass(slots=True)
class DataFiles:
    """What lies in one table's folder, and what the newest version of its log says of it."""

    there: dict[int, datetime] = field(default_factory=dict)
    """Every file that lies there, and when it was written."""
    sizes: dict[int, int] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    dead: dict[int, datetime] = field(default_factory=dict)
    """Removed, and when; as long as a log says so."""

    def add(self, file: int, wrong: Callable[[str], None]) -> None:
        """A commit that lands names this file."""
        if file not in self.there:
            wrong("a commit names a data file that was deleted")
        self.live.add(file)

    def remove(self, files: set[int], now: datetime) -> None:
        """A commit that lands removes these."""
        self.live -= files
        self.dead |= dict.fromkeys(files, now)

    def taken_by(self, step: Compact | Purge) -> set[int]:
        """What a compaction that begins now puts together."""
        below = step.below if isinstance(step, Compact) else max(self.sizes.values()) + 1
        return {file for file in self.live if self.sizes[file] < below}

    def to_delete(self, step: Vacuum, now: datetime) -> set[int]:
        """What a VACUUM that begins now finds to delete."""
        before = now - timedelta(hours=step.hours)
        found = {file for file, at in self.dead.items() if at < before and file in self.there}
        if step.full:
            named = self.live | self.dead.keys()
            found |= {f for f, at in self.there.items() if at < before and f not in named}
        return found

    def delete(self, files: set[int], now: datetime, wrong: Callable[[str], None]) -> None:
        """And deletes, however much later."""
        if files & self.live:
            wrong("a VACUUM deletes a data file that the table needs")
        if any(now - self.dead[file] < USUAL for file in files & self.dead.keys()):
            wrong("a VACUUM deletes a data file that readers may still need")
        for file in files:
            self.there.pop(file, None)

    def surveyed(self, version: int) -> TableFiles:
        """As a survey sees them, in a log that does not name all that was removed."""
        return TableFiles(
            version=version,
            live=tuple(LiveFile(self.sizes[file]) for file in self.live),
            dead=tuple(DeadFile(1000, at) for at in self.dead.values()),
            names_all_dead=False,
        )
