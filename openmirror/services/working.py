"""The runner: drains the work queue into lanes, under a lease for each table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from openmirror.errors import Disposition, disposition_of, words_of
from openmirror.plan.decisions import Wait
from openmirror.ports import Leases, Ring, Step, TableEngine, Taken, WorkQueue
from openmirror.progress import (
    LeaseTakenByOther,
    PeriodicTask,
    PeriodicTaskFailed,
    QueueOperation,
    QueueOperationFailed,
    SweepFoundWork,
    WorkItemTaken,
)
from openmirror.protocol.names import TableFolder
from openmirror.services.lanes import SECONDS_TO_FINISH, Again, Lanes
from openmirror.services.leasing import TableLeases
from openmirror.services.messages import Message, Messages
from openmirror.services.parts import Parts
from openmirror.services.running import SHORTEST_WAIT, Attended, UnreadableTable, attend
from openmirror.services.sweeping import publish_all, sweep
from openmirror.services.timing import Repeating
from openmirror.services.tries import MOST_VISITS_AT_ONE_POSITION, Tries
from openmirror.services.visiting import delay_after
from openmirror.services.worked import Troubles, Worked

_MOST_AT_ONCE = 32
"""Messages in one call: a storage queue hands out no more."""
_MOST_MESSAGES = 1024
"""Above so many taken messages nothing more is taken: each has to be renewed."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How a runner counts time and failures."""

    idle: timedelta
    """How long the queue stays empty before the runner has nothing to do."""
    poll: timedelta
    """How long an empty queue is left alone."""
    keep: timedelta
    """How often leases, and messages where it is due, are renewed."""
    lease_delay: timedelta
    """How long to leave a table alone that another runner has."""
    sweep: timedelta
    status: timedelta
    most_takes: int
    """A message that failed so often is buried."""


class Working:
    """A runner over one root and one queue; the main thread serves it until it is to end.

    A message is deleted only when its table has nothing to do now, by a visit that began after
    the message was taken: what it rang for was seen. Everything else leaves it in the queue.
    """

    def __init__(
        self,
        parts: Parts,
        engine: TableEngine,
        queue: WorkQueue,
        leases: Leases,
        mirrors: Callable[[], Iterable[str]],
        lanes: int,
        pace: Pace,
    ) -> None:
        self._parts = parts
        self._engine = engine
        self._queue = queue
        self._mirrors = mirrors
        self._pace = pace
        self._messages = Messages(parts, queue)
        self._leases = TableLeases(parts, leases)
        self._tries = Tries()
        self._troubles = Troubles()
        self._swept = threading.Event()
        self._sweep_due: float | None = None
        self._waiting = threading.Event()
        self._active = self._polled = self._next_poll = time.monotonic()
        self._lanes = Lanes(self._visit, lanes)
        self._sweeping = Repeating(parts, PeriodicTask.SWEEP, pace.sweep, self._sweep)
        self._timers = (
            Repeating(parts, PeriodicTask.RENEWAL, pace.keep, self._keep),
            self._sweeping,
            Repeating(
                parts, PeriodicTask.STATUS, pace.status, lambda: publish_all(parts, mirrors())
            ),
        )

    def serve(self, seconds: float) -> None:
        """Take messages, waiting at most so long for some.

        Raises what nothing can go on after.
        """
        self._lanes.check()
        for timer in self._timers:
            timer.check()
        if self._sweep_due is not None and time.monotonic() >= self._sweep_due:
            self._sweep_due = None
            self._sweeping.now()
        rest = self._next_poll - time.monotonic()
        if rest > 0 or self._messages.count() >= _MOST_MESSAGES:
            self._waiting.wait(min(seconds, rest) if rest > 0 else seconds)
            return
        taken = self._take()
        self._polled = time.monotonic()
        for one in taken:
            self._accept(one)
        if len(taken) < _MOST_AT_ONCE:
            self._next_poll = self._polled + self._pace.poll.total_seconds()

    def is_idle(self) -> bool:
        """Whether the queue has stayed empty for long enough and no table has anything to do.

        A table that another runner has, or that waits for more than a text file to settle
        soon, keeps nobody.
        """
        quiet = self._polled - self._active >= self._pace.idle.total_seconds()
        at_rest = self._lanes.are_idle() and not self._messages.count()
        return quiet and at_rest and self._swept.is_set()

    def stop(self) -> Worked:
        """Begin no further visit, wait for those underway, and leave the rest to others at once."""
        abandoned = self._lanes.stop(SECONDS_TO_FINISH)
        for timer in self._timers:
            timer.stop(1.0)
        self._leases.release_all()
        self._put_all_back()
        # Status is a copy: it may take no longer than an end may.
        publishing = threading.Thread(target=self._publish, daemon=True)
        publishing.start()
        publishing.join(SECONDS_TO_FINISH)
        return Worked(self._troubles.all(), abandoned)

    def _put_all_back(self) -> None:
        """Messages for which no time is left come back by themselves."""
        until = time.monotonic() + SECONDS_TO_FINISH
        for folder in self._messages.tables():
            if time.monotonic() < until:
                self._put_back(folder, self._messages.of(folder))

    def _put_back(self, folder: TableFolder, messages: tuple[Message, ...]) -> None:
        """Let others take these at once; only what ended this runner counts as a failure."""
        if reason := self._lanes.failure():
            most = self._pace.most_takes
            self._messages.give_back(messages, timedelta(), most, f"the runner ended: {reason}")
        else:
            ring = _again(folder, messages, "a runner stopped")
            self._messages.hand_over(ring, messages, timedelta())

    def _take(self) -> list[Taken]:
        try:
            taken = self._queue.take(_MOST_AT_ONCE)
        except Exception as error:
            if disposition_of(error, attempts=1) is Disposition.FAIL:
                raise
            reason = words_of(error)
            self._troubles.add("the work queue", reason)
            self._parts.emit(QueueOperationFailed(QueueOperation.RECEIVE, reason))
            return []
        self._troubles.end("the work queue")
        return taken

    def _accept(self, taken: Taken) -> None:
        ring = taken.ring
        if ring is None:
            self._messages.bury(taken, "it is no doorbell message")
            return
        if taken.times > self._pace.most_takes:
            # Whoever took it before could not even say that it failed.
            self._messages.bury(taken, f"taken {taken.times} times, and never given back")
            return
        self._parts.emit(WorkItemTaken(ring.folder, ring.reason, taken.times, ring.correlation))
        self._messages.add(taken, ring)
        self._parts.steps(Step.TAKEN)
        self._lanes.ring(ring.folder)

    def _visit(self, folder: TableFolder) -> Again | None:
        # Before anything is looked at: what is taken from here on is for the visit after this.
        messages = self._messages.of(folder)
        if not self._leases.hold(folder):
            self._leave_to_others(folder, messages)
            return None
        done = attend(self._parts, self._engine, folder)
        tries = self._tries.count(folder, done.outcome)
        away = isinstance(done.outcome, UnreadableTable) and done.outcome.away
        if (messages or done.again) and not away:
            self._active = time.monotonic()
        if reason := _failure(done, tries):
            return self._failure_of(folder, messages, reason, done.delay, away=away)
        if done.again:
            return Again()
        self._settled(folder, messages)
        if isinstance(done.outcome, Wait) and done.outcome.waiting.until:
            left = max(done.outcome.waiting.until - self._parts.clock(), SHORTEST_WAIT)
            if done.outcome.waiting.is_brief:
                # Its message is gone, and it ends within seconds: this runner sits it out.
                self._active = max(self._active, time.monotonic() + left.total_seconds())
            return Again(left)
        return None

    def _settled(self, folder: TableFolder, messages: tuple[Message, ...]) -> None:
        self._troubles.end(folder)
        self._tries.forget(folder)
        self._leases.release([folder])
        self._parts.steps(Step.SETTLED)
        self._messages.delete(messages)

    def _leave_to_others(self, folder: TableFolder, messages: tuple[Message, ...]) -> None:
        """Ring again later, so that what was heard of reaches whoever has the table by then."""
        self._troubles.end(folder)
        ring = _again(folder, messages, "another runner had its lease")
        self._messages.hand_over(ring, messages, self._pace.lease_delay)
        self._parts.emit(LeaseTakenByOther(folder))

    def _failure_of(
        self,
        folder: TableFolder,
        messages: tuple[Message, ...],
        reason: str,
        delay: timedelta,
        *,
        away: bool,
    ) -> Again | None:
        """Try a table that failed again later: whoever takes its message, or else this runner.

        A service that is away is nobody's failure: no message is buried over it.
        """
        count = self._troubles.add(folder, reason)
        self._tries.forget(folder)
        self._leases.release([folder])
        delay = max(delay, delay_after(count))
        if messages and away:
            ring = _again(folder, messages, "a service was away")
            self._messages.hand_over(ring, messages, delay)
            return None
        if messages:
            self._messages.give_back(messages, delay, self._pace.most_takes, reason)
            return None
        if count < self._pace.most_takes:
            return Again(delay, deaf=True)
        self._troubles.count_anew(folder)  # by the next ring or sweep
        return None

    def _sweep(self) -> None:
        """Look at every table, so that lost doorbells cost nothing."""
        try:
            swept = sweep(self._parts, self._mirrors(), self._lanes)
        except Exception as error:
            reason = words_of(error)
            # The next one by itself may be far away.
            delay = delay_after(self._troubles.add("the sweep", reason))
            self._sweep_due = time.monotonic() + delay.total_seconds()
            raise
        else:
            self._troubles.end("the sweep")
            for folder in swept.rung:
                self._parts.emit(SweepFoundWork(folder))
        finally:
            self._swept.set()

    def _publish(self) -> None:
        """Write status a last time; whoever comes next writes it too."""
        try:
            publish_all(self._parts, self._mirrors())
        except Exception as error:  # noqa: BLE001 - nothing may keep a runner from ending
            self._parts.emit(PeriodicTaskFailed(PeriodicTask.STATUS, words_of(error)))

    def _keep(self) -> None:
        self._leases.renew()
        self._messages.renew()


def _failure(done: Attended, tries: int) -> str | None:
    """Why a visit counts as failed, if it does."""
    if isinstance(done.outcome, UnreadableTable):
        return done.outcome.reason
    if done.again and done.delay:
        return "an attempt failed; status and the runner's log have the error"
    if done.again and tries >= MOST_VISITS_AT_ONE_POSITION:
        return f"it changed under {tries} tries in a row"
    return None


def _again(folder: TableFolder, messages: Iterable[Message], why: str) -> Ring:
    """A ring in place of these messages, with the newest of them as its origin."""
    last = max((m.ring for m in messages if m.ring.correlation), key=_origin, default=None)
    return Ring(folder, why, last.correlation if last else "")


def _origin(ring: Ring) -> str:
    return ring.reason
