"""One visit: look, plan, act. Everything that moves a table forward goes through here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from openmirror.errors import (
    ConditionFailed,
    Disposition,
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
    Pause,
    Reset,
    Restore,
)
from openmirror.plan.look import Look
from openmirror.plan.transitions.failed import FailedAttempt, failed
from openmirror.plan.transitions.observed import observed
from openmirror.plan.transitions.refused import refused
from openmirror.ports import Step, TableEngine
from openmirror.progress import AttemptFailed, BatchStarted, TablePaused
from openmirror.protocol.names import TableFolder
from openmirror.services.applying import apply_batch
from openmirror.services.documents import Documents
from openmirror.services.dropping import drop_table, restore_table
from openmirror.services.epochs import continue_epoch
from openmirror.services.looking import Seen, look_at
from openmirror.services.parts import Parts
from openmirror.services.telling import tell_learned, tell_opening


@dataclass(frozen=True)
class Visit:
    """What one visit found, and when the next one is due."""

    decision: Decision
    again: bool
    """Whether something was done, so that more may follow."""
    delay: timedelta = timedelta()
    """How long to leave the table alone before looking again, after a failure."""


def visit(parts: Parts, engine: TableEngine, folder: TableFolder) -> Visit:
    """Look at one table and do the one thing that its plan says.

    Raises NotThere when the landing zone cannot be listed, DocumentUnreadable when the table's
    control document cannot be read, Unavailable when a service is away, and what `disposition_of`
    calls fatal.
    """
    seen = look_at(parts, folder)
    parts.steps(Step.LOOKED)
    decision = plan(seen.look, parts.limits, seen.look.at)
    try:
        seen = record(parts, seen, decision)
        return _act(parts, engine, seen, decision)
    except (ConditionFailed, NotThere):
        return Visit(decision, again=True)  # lost a race: what is true now shows the next look
    except Unavailable:
        raise  # whatever these files are like: their failures are not counted by it
    except Exception as error:  # noqa: BLE001 - the one place that judges surprises of one table
        return _failed(parts, folder, decision, error)


def settle(parts: Parts, engine: TableEngine, folder: TableFolder) -> Visit:
    """Visit a table until there is nothing to do now, or a failure asks for a pause."""
    while True:
        done = visit(parts, engine, folder)
        if not done.again or done.delay:
            return done


def _act(parts: Parts, engine: TableEngine, seen: Seen, decision: Decision) -> Visit:
    match decision:
        case Apply(batch) | Reset(batch):
            parts.emit(BatchStarted(batch.folder, batch.first, batch.last, len(batch.files)))
            tell_opening(parts, seen.look, batch)
            if problem := apply_batch(parts, engine, seen, batch):
                control = refused(seen.look.control, problem, parts.clock())
                tell_learned(parts, seen.look, control)
                Documents(parts.store).save_table(seen.look.folder, control, seen.etag)
                _emit_pause(parts, seen.look, problem)
        case Continue():
            continue_epoch(parts, engine, seen, decision)
        case Drop():
            drop_table(parts, engine, seen)
        case Restore():
            restore_table(parts, seen, decision)
        case _:
            return Visit(decision, again=False)
    return Visit(decision, again=True)


def _emit_pause(parts: Parts, look: Look, problem: Problem) -> None:
    """Report a problem that has just been written down, unless it was known before."""
    if not problem.same_as(look.control.problem):
        parts.emit(TablePaused(look.folder, problem.code, problem.detail, problem.file))


def record(parts: Parts, seen: Seen, decision: Decision) -> Seen:
    """Write down what this look taught, when it taught something.

    Raises ConditionFailed when somebody else wrote the control document first.
    """
    control = observed(seen.look, decision)
    if control == seen.look.control:
        return seen
    tell_learned(parts, seen.look, control)
    saved = Documents(parts.store).save_table(seen.look.folder, control, seen.etag)
    if isinstance(decision, Pause):
        _emit_pause(parts, seen.look, decision.problem)
    return Seen(replace(seen.look, control=saved.value), saved.etag)


FIRST_DELAY = timedelta(seconds=1)
"""After the first failure on the same files; doubled with each further one."""


LONGEST_DELAY = timedelta(seconds=60)


def delay_after(failures: int) -> timedelta:
    """How long to leave a table alone after so many failures in a row."""
    doublings = min(failures - 1, 16)  # past the longest delay; more would overflow in time
    return min(FIRST_DELAY * (1 << doublings), LONGEST_DELAY)


def _failed(parts: Parts, folder: TableFolder, decision: Decision, error: Exception) -> Visit:
    """Count a failure; the third in a row on the same files pauses the table."""
    files = decision.batch.digest.files if isinstance(decision, (Apply, Reset)) else ()
    seen = look_at(parts, folder)
    counted = failed(seen.look, FailedAttempt(files, error, parts.clock()))
    if counted.disposition is Disposition.FAIL:
        raise error
    count, text = counted.attempt, words_of(error)
    parts.emit(AttemptFailed(folder, count, text[:500]))
    tell_learned(parts, seen.look, counted.control)
    try:
        Documents(parts.store).save_table(folder, counted.control, seen.etag)
    except ConditionFailed:
        return Visit(decision, again=True)
    if counted.control.problem is not None:
        _emit_pause(parts, seen.look, counted.control.problem)
    return Visit(decision, again=True, delay=delay_after(count))
