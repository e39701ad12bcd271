"""Reconciling tables so that the failure of one stays with that one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from openmirror.errors import (
    AccessDenied,
    DocumentUnreadable,
    Notice,
    NotThere,
    Problem,
    Unavailable,
    is_of_one_place,
    reason_of,
    words_of,
)
from openmirror.plan import Decision
from openmirror.plan.decisions import Pause, Wait
from openmirror.plan.maintaining import Due
from openmirror.ports import TableEngine
from openmirror.progress.tables import (
    ControlDocumentInvalid,
    FilesNeverRead,
    TableUnreadable,
    TableWaiting,
)
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.maintaining import maintain_table
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.reconciliation import Reconciled, reconcile
from openmirror.reconcile.refusals import refused_place
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.workers import Reschedule


@dataclass(frozen=True)
class UnreadableTable:
    """A table that could not be observed, and why."""

    reason: str
    may_pass: bool = False
    """Whether another try may succeed without anybody doing anything."""
    away: bool = False
    """Whether a service could not be reached, which is no failure of the table."""


@dataclass(frozen=True, kw_only=True)
class ReconcileOutcome:
    """What one reconciliation decided, and whether and when the next one is due."""

    outcome: Decision | UnreadableTable
    reschedule: bool = False
    delay: timedelta = timedelta()
    never_read: tuple[Notice, ...] = ()
    """What lies in the folder like changes, and is never read."""
    oldest: datetime | None = None
    """When the oldest of the files landed that are left, where more may follow."""
    survey: Due = Due.NOT
    """When the table's files are to be surveyed for maintenance."""

    @property
    def surveys(self) -> bool:
        """Whether that is now, for a process that goes on: nothing waits, or it is pressing."""
        if self.reschedule:
            return self.survey is Due.NOW and not self.delay
        return self.survey is not Due.NOT


def reconcile_isolated(
    ports: RootPorts,
    engine: TableEngine,
    folder: TableFolder,
    prepare: Callable[[], None] = lambda: None,
) -> ReconcileOutcome:
    """One reconciliation, after `prepare`; failures stay with this table if others can go on."""
    try:
        # First, since a mirror's folders are read by its default schema: it is frozen at first use.
        open_mirror(ports.store, folder.mirror)
        prepare()
        done: Reconciled = reconcile(ports, engine, folder)
    except DocumentUnreadable as error:
        ports.emit(unreadable_event(folder, error))
        return ReconcileOutcome(outcome=Pause(Problem(code=error.code, detail=str(error))))
    except AccessDenied as error:
        broken = refused_place(error)
        ports.emit(unreadable_event(folder, error))
        return ReconcileOutcome(outcome=Pause(Problem(code=broken.code, detail=broken.detail)))
    except NotThere as error:
        ports.emit(unreadable_event(folder, error))
        return ReconcileOutcome(outcome=UnreadableTable(str(error)))
    except Exception as error:
        if not is_of_one_place(error):
            raise
        reason = words_of(error)
        ports.emit(TableUnreadable(folder, reason))
        away = isinstance(error, Unavailable)
        return ReconcileOutcome(outcome=UnreadableTable(reason, may_pass=True, away=away))
    for notice in done.never_read:
        ports.emit(FilesNeverRead(folder, notice.file or "", notice.detail))
    if isinstance(done.decision, Wait):
        waiting = done.decision.waiting
        ports.emit(TableWaiting(folder, waiting.kind, waiting.detail, waiting.until))
    return ReconcileOutcome(
        outcome=done.decision,
        reschedule=done.reschedule,
        delay=done.delay,
        never_read=done.never_read,
        oldest=done.oldest,
        survey=done.survey,
    )


def maintain_isolated(ports: RootPorts, engine: TableEngine, folder: TableFolder) -> bool:
    """One step of maintenance at most; whether the table is to be reconciled again at once.

    What goes wrong stays with this table, and keeps no batch from being applied.
    """
    try:
        return maintain_table(ports, engine, folder)
    except Exception as error:
        if not is_of_one_place(error):
            raise
        ports.emit(unreadable_event(folder, error))
        return False


def unreadable_event(
    folder: TableFolder, error: Exception
) -> ControlDocumentInvalid | TableUnreadable:
    """What is reported of a table that could not be observed."""
    if isinstance(error, DocumentUnreadable):
        return ControlDocumentInvalid(folder, error.code, str(error))
    return TableUnreadable(folder, reason_of(error))


def again(done: ReconcileOutcome) -> Reschedule | None:
    """When a table is due once more by what its reconciliation found; None when it is not."""
    if not done.reschedule:
        return None
    return Reschedule(done.delay, backing_off=bool(done.delay), oldest=done.oldest)


SHORTEST_WAIT = timedelta(milliseconds=50)
"""So that two clocks that differ a little do not make a worker spin."""


class Reconciler:
    """Reconciles for a long-running process: a wait that ends by itself is rescheduled."""

    def __init__(self, ports: RootPorts, engine: TableEngine) -> None:
        self._ports = ports
        self._engine = engine

    def __call__(self, folder: TableFolder) -> Reschedule | None:
        """Reconcile once; a table that could not be observed is left to the sweep."""
        done = reconcile_isolated(self._ports, self._engine, folder)
        if done.surveys and maintain_isolated(self._ports, self._engine, folder):
            return Reschedule()
        if isinstance(done.outcome, Wait) and done.outcome.waiting.until:
            left = done.outcome.waiting.until - self._ports.clock()
            return Reschedule(max(left, SHORTEST_WAIT))
        return again(done)
