"""What becomes of a table's files, read from its log as it grows: nothing else is asked."""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.cases.program import position_of

_OURS = ("OPTIMIZE", "REORG", "VACUUM")


@dataclass
class Days:
    """A clock that is put forward when tables are dated back."""

    ahead: float = 0.0
    """Seconds."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time() + self.ahead

    def pass_by(self, by: timedelta) -> None:
        """So much later."""
        self.ahead += by.total_seconds()


@dataclass(frozen=True)
class Dead:
    """A data file that left its table."""

    bytes: int
    at: float
    """By `Days`."""


class Followed:
    """One table, from its first commit on."""

    def __init__(self, table: Path, days: Days) -> None:
        self.table = table
        self.live: dict[str, int] = {}
        """Bytes of each."""
        self.dead: dict[str, Dead] = {}
        """All there ever were, deleted or not."""
        self.operations: Counter[str] = Counter()
        self.most_added = 0
        """Files of one commit that no maintenance made."""
        self.versions: list[float] = []
        """When each was seen, by `Days`."""
        self._days = days
        self._log = table / "_delta_log"
        self._committed: deque[tuple[float, int]] = deque()
        """When, by the wall clock, and the position since."""

    def follow(self) -> None:
        """Read the commits that came since."""
        while (file := self._log / f"{len(self.versions):020d}.json").exists():
            # A commit is there whole, or not at all: Delta renames what it has written.
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            self._take(actions)
            self._committed.append((file.stat().st_mtime, position_of(actions)))
            self.versions.append(self._days.now())

    @property
    def position(self) -> int:
        """The last sequence that is applied; 0 before the first."""
        return max((position for _, position in self._committed), default=0)

    @property
    def vacuums(self) -> int:
        """How many have ended."""
        return self.operations["VACUUM END"]

    def lags(self, landed: dict[int, float]) -> dict[int, float]:
        """Of each sequence, from landing to commit in seconds, by when it landed first."""
        found, done = {}, 0
        for at, position in self._committed:
            for sequence in range(done + 1, position + 1):
                found[sequence] = at - landed[sequence]
            done = max(done, position)
        return found

    def lying_there(self) -> dict[str, int]:
        """The data files on disk, live, dead and of no version, and their bytes."""
        return {file.name: file.stat().st_size for file in self.table.glob("*.parquet")}

    def log_files(self) -> list[tuple[int, int, str]]:
        """Version, bytes and name of each file of the log."""
        found = []
        with os.scandir(self._log) as entries:
            for entry in entries:
                number = entry.name.lstrip(".")[:20]
                if number.isdigit() and entry.is_file():
                    found.append((int(number), entry.stat().st_size, entry.name))
        return found

    def _take(self, actions: Iterable[dict[str, Any]]) -> None:
        actions = list(actions)
        operation = next((a["commitInfo"]["operation"] for a in actions if "commitInfo" in a), "")
        self.operations[operation] += 1
        for remove in (action["remove"] for action in actions if "remove" in action):
            size = self.live.pop(remove["path"], remove.get("size") or 0)
            self.dead[remove["path"]] = Dead(size, self._days.now())
        added = [action["add"] for action in actions if "add" in action]
        for add in added:
            self.live[add["path"]] = add["size"]
            self.dead.pop(add["path"], None)
        if not operation.startswith(_OURS):
            self.most_added = max(self.most_added, len(added))
