"""Names in folders that stand still: where nothing comes or goes, none are listed again.

The log of a table gets a name with each commit, and many tables rest most of the time.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

_STILL = 3.0
"""Seconds; file systems count times by nanoseconds, or by two whole seconds."""
_TRUSTED = 60.0
"""Seconds; of a mount that notes no times, or some late, nothing is believed for longer."""
_Id = tuple[int, int]
_Times = tuple[int, int]


@dataclass(frozen=True)
class _Seen:
    """A folder as it was when it was last asked for."""

    times: _Times
    since: float
    """When it was first seen with these times, by a clock of this process alone."""
    start: str = ""
    names: tuple[str, ...] | None = None
    """Those from `start` on; None until it has stood still."""
    listed: float = 0.0
    """When they were."""


class StillFolders:
    """Remembers names of folders as long as nothing changes there; safe to share between threads.

    A folder that has changed within one tick of its file system's clock has the same times as
    before. So its names count only once it has had these times for longer than any tick.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, remember: int = 4096) -> None:
        self._clock = clock
        self._remember = remember
        self._seen: OrderedDict[_Id, _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def names_from(self, folder: int, start: str) -> list[str]:
        """The names in an open folder that do not come before `start`, by name."""
        facts = os.fstat(folder)
        identity, times = (facts.st_dev, facts.st_ino), (facts.st_mtime_ns, facts.st_ctime_ns)
        with self._lock:
            seen = self._seen.get(identity)
        # Asked before the names are listed: what comes meanwhile gives the folder other times.
        now = self._clock()
        if seen is None or seen.times != times:
            seen = _Seen(times, now)
        elif seen.names is not None and seen.start <= start and now - seen.listed < _TRUSTED:
            return [name for name in seen.names if name >= start]
        stands_still = now - seen.since >= _STILL
        names = sorted(name for name in os.listdir(folder) if name >= start)
        kept = tuple(names) if stands_still else None
        self._keep(identity, replace(seen, start=start, names=kept, listed=now))
        return names

    def _keep(self, identity: _Id, seen: _Seen) -> None:
        with self._lock:
            self._seen[identity] = seen
            self._seen.move_to_end(identity)
            while len(self._seen) > self._remember:
                self._seen.popitem(last=False)
