"""One reconciliation: observe, plan, act. Whatever moves a table forward goes through here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from openmirror.errors import (
    ConditionFailed,
    Disposition,
    Notice,
    NotThere,
    Problem,
    Unavailable,
    words_of,
)
from openmirror.plan import Decision, plan
from openmirror.plan.decisions import (
    Apply,
    Continue,
    Drop,
    Held,
    Pause,
    Replace,
    Restore,
)
from openmirror.plan.maintaining import Due, survey_due
from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.failed import FailedAttempt, failed
from openmirror.plan.transitions.observed import learned_from
from openmirror.plan.transitions.refused import refused
from openmirror.ports import ABSENT, Step, TableEngine
from openmirror.progress.tables import AttemptFailed, BatchStarted, TablePaused
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.apply import apply_batch
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.drop import drop_table, restore_table
from openmirror.reconcile.emit import emit_learned, emit_opening
from openmirror.reconcile.epochs import continue_epoch
from openmirror.reconcile.laps import Laps
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reads import Observation
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import never_read
from openmirror.table.control import ControlDocument
from openmirror.table.phases import Phase


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """What one reconciliation decided, and whether and when the next one is due."""

    decision: Decision
    reschedule: bool
    """Whether something was done, so that more may follow."""
    delay: timedelta = timedelta()
    """How long to leave the table alone before the next one, after a failure; else zero."""
    never_read: tuple[Notice, ...] = ()
    """What lies in the folder like changes, and is never read; nothing of a held table."""
    oldest: datetime | None = None
    """When the oldest of the files landed that are left behind a batch that was applied."""
    survey: Due = Due.NOT
    """When the table's files are to be surveyed for maintenance."""


ACTED_UPON = (Apply, Replace, Continue, Drop, Restore)


def reconcile(ports: RootPorts, engine: TableEngine, folder: TableFolder) -> Reconciled:
    """Observe one table and do the one thing that its plan says.

    Raises NotThere when the landing zone cannot be listed, DocumentUnreadable when the table's
    control document cannot be read, Unavailable when a service is away, and what `disposition_of`
    calls fatal.
    """
    laps = Laps(ports.clock, ports.seconds)
    seen, decision = _planned(ports, folder, laps)
    try:
        if seen.etag is ABSENT and isinstance(decision, ACTED_UPON):
            # That there is no document holds as well for a runner that stalled since before there
            # was one, where others came and it was lost: his decision would be a second one under
            # the same epoch. So a table is decided upon only beside a document of its own.
            empty = ControlDocument(folder=str(folder))
            Documents(ports.store).save_table(folder, empty, ABSENT)
            seen, decision = _planned(ports, folder, laps)
        seen = save_learned(ports, seen, decision)
        done = _act(ports, engine, seen, decision, laps)
        is_held = isinstance(decision, Held)
        return replace(
            done,
            never_read=() if is_held else never_read(seen.observed),
            oldest=_oldest_behind(seen.observed, decision),
            survey=survey_due(seen.observed, decision),
        )
    except (ConditionFailed, NotThere):
        # A lost race is nobody's mistake: the next observation shows what is true now.
        return Reconciled(decision=decision, reschedule=True)
    except Unavailable:
        raise  # a service that is away must not count as a failure of these files
    except Exception as error:  # noqa: BLE001 - the one place that counts a table's failures
        return _failed(ports, folder, decision, error)


def _oldest_behind(observed: ObservedState, decision: Decision) -> datetime | None:
    if not isinstance(decision, Apply | Replace):
        return None
    last = decision.batch.last
    behind = (file for number, file in observed.files.items() if number > last)
    return min((file.modified for file in behind if not file.archived), default=None)


def _planned(ports: RootPorts, folder: TableFolder, laps: Laps) -> tuple[Observation, Decision]:
    seen = observe(ports, folder, laps)
    ports.steps(Step.OBSERVED)
    decision = plan(seen.observed, ports.limits, seen.observed.at)
    laps.end(Phase.PLAN)
    return seen, decision


def reconcile_until_idle(ports: RootPorts, engine: TableEngine, folder: TableFolder) -> Reconciled:
    """Reconcile a table until there is nothing to do now, or a failure asks for a delay."""
    while True:
        done = reconcile(ports, engine, folder)
        if not done.reschedule or done.delay:
            return done


def _act(
    ports: RootPorts,
    engine: TableEngine,
    seen: Observation,
    decision: Decision,
    laps: Laps,
) -> Reconciled:
    match decision:
        case Apply(batch) | Replace(batch):
            ports.emit(BatchStarted(batch.folder, batch.first, batch.last, len(batch.files)))
            emit_opening(ports, seen.observed, batch)
            if problem := apply_batch(ports, engine, seen, batch, laps):
                control = refused(seen.observed, problem, ports.clock())
                emit_learned(ports, seen.observed, control)
                Documents(ports.store).save_table(seen.observed.folder, control, seen.etag)
                _emit_pause(ports, seen.observed, problem)
        case Continue():
            continue_epoch(ports, engine, seen, decision)
        case Drop():
            drop_table(ports, engine, seen)
        case Restore():
            restore_table(ports, seen, decision)
        case _:
            return Reconciled(decision=decision, reschedule=False)
    return Reconciled(decision=decision, reschedule=True)


def _emit_pause(ports: RootPorts, observed: ObservedState, problem: Problem) -> None:
    """Emit a problem that the control document has just got, unless it was known before."""
    if not problem.same_as(observed.control.problem):
        ports.emit(TablePaused(observed.folder, problem.code, problem.detail, problem.file))


def save_learned(ports: RootPorts, seen: Observation, decision: Decision) -> Observation:
    """Save what this observation adds to the control document, if anything.

    Raises ConditionFailed when somebody else wrote the control document first.
    """
    control = learned_from(seen.observed, decision)
    if control == seen.observed.control:
        return seen
    emit_learned(ports, seen.observed, control)
    saved = Documents(ports.store).save_table(seen.observed.folder, control, seen.etag)
    if isinstance(decision, Pause):
        _emit_pause(ports, seen.observed, decision.problem)
    return Observation(replace(seen.observed, control=saved.value), saved.etag)


FIRST_DELAY = timedelta(seconds=1)
"""After the first failure on the same files; doubled with each further one."""


LONGEST_DELAY = timedelta(seconds=60)


def delay_after(failures: int) -> timedelta:
    """How long to leave a table alone after so many failures in a row."""
    doublings = min(failures - 1, 16)  # past the longest delay; more would overflow in time
    return min(FIRST_DELAY * (1 << doublings), LONGEST_DELAY)


def _failed(
    ports: RootPorts, folder: TableFolder, decision: Decision, error: Exception
) -> Reconciled:
    """Count a failure; the third in a row on the same files pauses the table."""
    files = decision.batch.manifest.files if isinstance(decision, (Apply, Replace)) else ()
    seen = observe(ports, folder)
    counted = failed(seen.observed, FailedAttempt(files, error, ports.clock()))
    if counted.disposition is Disposition.FAIL:
        raise error
    count, text = counted.attempt, words_of(error)
    ports.emit(AttemptFailed(folder, count, text[:500]))
    emit_learned(ports, seen.observed, counted.control)
    try:
        Documents(ports.store).save_table(folder, counted.control, seen.etag)
    except ConditionFailed:
        return Reconciled(decision=decision, reschedule=True)
    if counted.control.problem is not None:
        _emit_pause(ports, seen.observed, counted.control.problem)
    return Reconciled(decision=decision, reschedule=True, delay=delay_after(count))
