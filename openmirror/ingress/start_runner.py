"""Starting a runner when there is work, and none when there is not."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from openmirror.ports import Clock, NoTelemetry, Telemetry, WorkQueue
from openmirror.ports.jobs import NotNeeded, RunnerJob, StartOutcome

SURE_FOR = timedelta(seconds=5)
"""How long an answer of the platform is good for: many events come at once."""


class Starter:
    """Starts the runner's job when the queue holds work; safe to share between threads.

    A table that waits or is paused puts nothing into the queue, so it starts nothing, however long
    it does so.
    """

    def __init__(
        self,
        work: WorkQueue,
        job: RunnerJob | None,
        clock: Clock,
        telemetry: Telemetry = NoTelemetry(),
    ) -> None:
        self._work = work
        self._job = job
        self._clock = clock
        self._telemetry = telemetry
        self._asking = threading.Lock()
        self._answer: tuple[datetime, StartOutcome] | None = None

    def start_if_needed(self) -> StartOutcome:
        """What was done. Raises what the queue raises when it cannot be reached."""
        if self._job is None:
            return NotNeeded("no job is named: a runner is always on")
        # Events must not wait for one another while the platform does not answer.
        if not self._asking.acquire(blocking=False):
            return NotNeeded("it is being asked for just now")
        try:
            if self._answer and self._clock() - self._answer[0] < SURE_FOR:
                return self._answer[1]
            if not self._work.length():
                return NotNeeded("the queue is empty")
            outcome = self._job.start()
            self._answer = (self._clock(), outcome)
            self._telemetry.asked_for_runner(self._job.identity, outcome)
            return outcome
        finally:
            self._asking.release()
