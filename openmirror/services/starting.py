"""Seeing that a runner is there when there is work, and that none is when there is not."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from openmirror.ports import Clock, WorkQueue
from openmirror.ports.jobs import AlreadyActive, NotNeeded, RunnerJob, Started, StartOutcome

SURE_FOR = timedelta(seconds=5)
"""How long a run that was seen is believed to be there: many events come at once."""


class Starter:
    """Starts the runner's job when the queue holds work; safe to share between threads.

    A table that waits or is paused puts nothing into the queue, so it starts nothing, however long
    it does so.
    """

    def __init__(self, work: WorkQueue, job: RunnerJob | None, clock: Clock) -> None:
        self._work = work
        self._job = job
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[datetime, StartOutcome] | None = None

    def start_if_needed(self) -> StartOutcome:
        """What was done. Raises what the queue raises when it cannot be reached."""
        if self._job is None:
            return NotNeeded("no job is named: a runner is always on")
        with self._lock:
            now = self._clock()
            if self._seen is not None and now - self._seen[0] < SURE_FOR:
                return self._seen[1]
            if not self._work.length():
                return NotNeeded("the queue is empty")
            outcome = self._job.start()
            is_there = isinstance(outcome, (Started, AlreadyActive))
            self._seen = (now, outcome) if is_there else None
            return outcome
