"""The runner: hands work items of the queue to its worker pool, under a lease for each table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from openmirror.errors import is_of_one_place, words_of
from openmirror.plan.decisions import Wait
from openmirror.ports import Leases, Step, TableEngine, Taken, WorkItem, WorkQueue
from openmirror.progress.runner import (
    LeaseTakenByOther,
    PeriodicTask,
    PeriodicTaskFailed,
    QueueOperation,
    QueueOperationFailed,
    SweepFoundWork,
    WorkItemTaken,
)
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.reconciliation import delay_after
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.attempts import MOST_ATTEMPTS_AT_ONE_POSITION, Attempts
from openmirror.runtime.isolation import (
    SHORTEST_WAIT,
    ReconcileOutcome,
    UnreadableTable,
    maintain_isolated,
    reconcile_isolated,
)
from openmirror.runtime.leases import TableLeases
from openmirror.runtime.messages import Message, Messages
from openmirror.runtime.resting import RestingTables
from openmirror.runtime.run_result import RunResult, Troubles
from openmirror.runtime.sweeping import publish_all, publish_resting, sweep
from openmirror.runtime.timers import Beside, Repeating, Wake
from openmirror.runtime.waking import tables_of
from openmirror.runtime.workers import SECONDS_TO_FINISH, Reschedule, WorkerPool

_MOST_AT_ONCE = 32
"""Messages in one call: a storage queue hands out no more."""
_MOST_MESSAGES = 1024
"""Above so many taken messages nothing more is taken: each has to be renewed."""


@dataclass(frozen=True, kw_only=True)
class RunnerTiming:
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
    slowest: timedelta
    """How long the status of a table with nothing to do may be the one from before."""
    most_takes: int
    """A message that was taken so often without success is dead-lettered."""


class Runner:
    """A runner over one root and one queue; the main thread calls `serve`, and at the end `stop`.

    A message is deleted only when a reconciliation that began after the message was taken found
    nothing left to do: so what it was sent for was observed. All else leaves it in the queue.
    """

    def __init__(
        self,
        ports: RootPorts,
        engine: TableEngine,
        queue: WorkQueue,
        leases: Leases,
        mirrors: Callable[[], Iterable[str]],
        workers: int,
        timing: RunnerTiming,
        beside: Callable[[Wake], Beside] | None = None,
    ) -> None:
        """`beside` begins what is to go on besides, and may wake tables."""
        self._ports = ports
        self._engine = engine
        self._queue = queue
        self._mirrors = mirrors
        self._timing = timing
        self._messages = Messages(ports, queue)
        self._leases = TableLeases(ports, leases)
        self._attempts = Attempts()
        self._troubles = Troubles()
        self._swept = threading.Event()
        self._sweep_due: float | None = None
        self._waiting = threading.Event()
        self._active = self._polled = self._next_poll = time.monotonic()
        self._workers = WorkerPool(self._reconcile, workers)
        resting = RestingTables(timing.status, timing.slowest)
        self._sweeping = Repeating(ports, PeriodicTask.SWEEP, timing.sweep, self._sweep)
        self._timers: tuple[Beside, ...] = (
            Repeating(ports, PeriodicTask.RENEWAL, timing.keep, self._keep),
            self._sweeping,
            Repeating(
                ports,
                PeriodicTask.STATUS,
                timing.status,
                lambda: publish_resting(ports, mirrors(), resting),
            ),
            *([beside(self._wake)] if beside else ()),
        )

    def serve(self, seconds: float) -> None:
        """Take messages, waiting at most so long for some.

        Raises the error that ended a worker or a timer: nothing can go on after it.
        """
        self._workers.check()
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
            self._next_poll = self._polled + self._timing.poll.total_seconds()

    def is_idle(self) -> bool:
        """Whether the queue has stayed empty for long enough and no table has anything to do.

        A table that another runner has, or that waits, keeps no runner; only the rest of a text
        file's short quiet period does.
        """
        quiet = self._polled - self._active >= self._timing.idle.total_seconds()
        at_rest = self._workers.are_idle() and not self._messages.count()
        return quiet and at_rest and self._swept.is_set()

    def stop(self) -> RunResult:
        """Begin no further reconciliation, wait for those underway, leave the rest to others."""
        abandoned = self._workers.stop(SECONDS_TO_FINISH)
        for timer in self._timers:
            timer.stop(1.0)
        self._leases.release_all()
        self._put_all_back()
        # Status is a copy: it may take no longer than an end may.
        publishing = threading.Thread(target=self._publish, daemon=True)
        publishing.start()
        publishing.join(SECONDS_TO_FINISH)
        return RunResult(self._troubles.all(), abandoned)

    def _put_all_back(self) -> None:
        """Messages for which no time is left come back by themselves."""
        until = time.monotonic() + SECONDS_TO_FINISH
        for folder in self._messages.tables():
            if time.monotonic() < until:
                self._put_back(folder, self._messages.of(folder))

    def _put_back(self, folder: TableFolder, messages: tuple[Message, ...]) -> None:
        """Let others take these at once; only what ended this runner counts as a failure."""
        if reason := self._workers.failure():
            most = self._timing.most_takes
            self._messages.give_back(messages, timedelta(), most, f"the runner ended: {reason}")
        else:
            work_item = _work_item_again(folder, messages, "a runner stopped")
            self._messages.hand_over(work_item, messages, timedelta())

    def _take(self) -> list[Taken]:
        try:
            taken = self._queue.take(_MOST_AT_ONCE)
        except Exception as error:
            if not is_of_one_place(error):
                raise
            reason = words_of(error)
            self._troubles.add("the work queue", reason)
            self._ports.emit(QueueOperationFailed(QueueOperation.RECEIVE, reason))
            return []
        self._troubles.end("the work queue")
        return taken

    def _accept(self, taken: Taken) -> None:
        work_item = taken.work_item
        if work_item is None:
            self._messages.dead_letter(taken, "it is no work item")
            return
        if taken.times > self._timing.most_takes:
            # Whoever took it before died before it could give it back.
            self._messages.dead_letter(taken, f"taken {taken.times} times, and never given back")
            return
        self._ports.emit(
            WorkItemTaken(work_item.folder, work_item.reason, taken.times, work_item.correlation)
        )
        self._messages.add(taken, work_item)
        self._ports.steps(Step.TAKEN)
        self._wake(work_item.folder)

    def _wake(self, folder: TableFolder) -> None:
        for table in tables_of(self._ports, folder):
            self._workers.wake(table)

    def _reconcile(self, folder: TableFolder) -> Reschedule | None:
        # Before observing: what is taken from here on is for the reconciliation after this one.
        messages = self._messages.of(folder)
        if not self._leases.hold(folder):
            self._leave_to_others(folder, messages)
            return None
        done = reconcile_isolated(self._ports, self._engine, folder)
        attempts = self._attempts.count(folder, done.outcome)
        away = isinstance(done.outcome, UnreadableTable) and done.outcome.away
        if (messages or done.reschedule) and not away:
            self._active = time.monotonic()
        if reason := _failure(done, attempts):
            return self._failure_of(folder, messages, reason, done.delay, away=away)
        if done.surveys and maintain_isolated(self._ports, self._engine, folder):
            return Reschedule()
        if done.reschedule:
            return Reschedule(oldest=done.oldest)
        self._idle(folder, messages)
        if isinstance(done.outcome, Wait) and done.outcome.waiting.until:
            left = max(done.outcome.waiting.until - self._ports.clock(), SHORTEST_WAIT)
            if done.outcome.waiting.is_brief:
                # Its message is deleted, and the wait ends within seconds: this runner waits too.
                self._active = max(self._active, time.monotonic() + left.total_seconds())
            return Reschedule(left)
        return None

    def _idle(self, folder: TableFolder, messages: tuple[Message, ...]) -> None:
        self._troubles.end(folder)
        self._attempts.forget(folder)
        self._leases.release([folder])
        self._ports.steps(Step.IDLE)
        self._messages.delete(messages)

    def _leave_to_others(self, folder: TableFolder, messages: tuple[Message, ...]) -> None:
        """Send the work item again, delayed, for whichever runner has the table by then."""
        self._troubles.end(folder)
        work_item = _work_item_again(folder, messages, "another runner had its lease")
        self._messages.hand_over(work_item, messages, self._timing.lease_delay)
        self._ports.emit(LeaseTakenByOther(folder))

    def _failure_of(
        self,
        folder: TableFolder,
        messages: tuple[Message, ...],
        reason: str,
        delay: timedelta,
        *,
        away: bool,
    ) -> Reschedule | None:
        """Try a table that failed again later: whoever takes its message, or else this runner.

        A service that is away is nobody's failure: no message is dead-lettered over it.
        """
        count = self._troubles.add(folder, reason)
        self._attempts.forget(folder)
        self._leases.release([folder])
        delay = max(delay, delay_after(count))
        if messages and away:
            work_item = _work_item_again(folder, messages, "a service was away")
            self._messages.hand_over(work_item, messages, delay)
            return None
        if messages:
            self._messages.give_back(messages, delay, self._timing.most_takes, reason)
            return None
        if count < self._timing.most_takes:
            return Reschedule(delay, backing_off=True)
        self._troubles.count_anew(folder)  # left to the next work item or sweep
        return None

    def _sweep(self) -> None:
        """Observe every table, so that a lost event or work item costs only time."""
        try:
            swept = sweep(self._ports, self._mirrors(), self._workers, surveys=True)
        except Exception as error:
            reason = words_of(error)
            # The next one by itself may be far away.
            delay = delay_after(self._troubles.add("the sweep", reason))
            self._sweep_due = time.monotonic() + delay.total_seconds()
            raise
        else:
            self._troubles.end("the sweep")
            self._troubles.unobserved(swept.unreadable)
            for folder in swept.woken:
                self._ports.emit(SweepFoundWork(folder))
        finally:
            self._swept.set()

    def _publish(self) -> None:
        """Write status a last time; whoever comes next writes it too."""
        try:
            publish_all(self._ports, self._mirrors())
        except Exception as error:  # noqa: BLE001 - nothing may keep a runner from ending
            self._ports.emit(PeriodicTaskFailed(PeriodicTask.STATUS, words_of(error)))

    def _keep(self) -> None:
        self._leases.renew()
        self._messages.renew()


def _failure(done: ReconcileOutcome, attempts: int) -> str | None:
    """Why a reconciliation counts as failed; None when it does not."""
    if isinstance(done.outcome, UnreadableTable):
        return done.outcome.reason
    if done.reschedule and done.delay:
        return "an attempt failed; status and the runner's log have the error"
    if done.reschedule and attempts >= MOST_ATTEMPTS_AT_ONE_POSITION:
        return f"it changed under {attempts} tries in a row"
    return None


def _work_item_again(folder: TableFolder, messages: Iterable[Message], why: str) -> WorkItem:
    """A work item in place of these messages, with the correlation of the last by file name."""
    last = max(
        (m.work_item for m in messages if m.work_item.correlation), key=_origin, default=None
    )
    return WorkItem(folder, why, last.correlation if last else "")


def _origin(work_item: WorkItem) -> str:
    return work_item.reason
