"""Visiting tables so that the failure of one stays with that one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from openmirror.errors import (
    Disposition,
    DocumentUnreadable,
    NotThere,
    Problem,
    Unavailable,
    disposition_of,
)
from openmirror.plan import Decision
from openmirror.plan.decisions import Pause, Wait
from openmirror.ports import TableEngine
from openmirror.progress import ControlDocumentInvalid, TableUnreadable, TableWaiting
from openmirror.protocol.names import TableFolder
from openmirror.services.lanes import Again
from openmirror.services.mirrors import open_mirror
from openmirror.services.parts import Parts
from openmirror.services.visiting import Visit, visit


@dataclass(frozen=True)
class UnreadableTable:
    """A table that could not even be looked at, and why."""

    reason: str
    may_pass: bool = False
    """Whether another try may succeed without anybody doing anything."""
    away: bool = False
    """Whether a service could not be reached, which says nothing about the table."""


@dataclass(frozen=True)
class Attended:
    """What a visit found, and when the next is due."""

    outcome: Decision | UnreadableTable
    again: bool = False
    delay: timedelta = timedelta()


def attend(
    parts: Parts,
    engine: TableEngine,
    folder: TableFolder,
    prepare: Callable[[], None] = lambda: None,
) -> Attended:
    """One visit, after `prepare`; its failures stay with this table if others can go on."""
    try:
        # Before anything of a mirror is read by it: the default schema is pinned at first use.
        open_mirror(parts.store, folder.mirror)
        prepare()
        done: Visit = visit(parts, engine, folder)
    except DocumentUnreadable as error:
        parts.emit(unreadable_event(folder, error))
        return Attended(Pause(Problem(code=error.code, detail=str(error))))
    except NotThere as error:
        parts.emit(unreadable_event(folder, error))
        return Attended(UnreadableTable(str(error)))
    except Exception as error:
        if disposition_of(error, attempts=1) is Disposition.FAIL:
            raise
        reason = f"{type(error).__name__}: {error}"
        parts.emit(TableUnreadable(folder, reason))
        away = isinstance(error, Unavailable)
        return Attended(UnreadableTable(reason, may_pass=True, away=away))
    if isinstance(done.decision, Wait):
        waiting = done.decision.waiting
        parts.emit(TableWaiting(folder, waiting.kind, waiting.detail, waiting.until))
    return Attended(done.decision, done.again, done.delay)


def unreadable_event(
    folder: TableFolder, error: Exception
) -> ControlDocumentInvalid | TableUnreadable:
    """What is reported of a table that could not be observed."""
    if isinstance(error, DocumentUnreadable):
        return ControlDocumentInvalid(folder, error.code, str(error))
    return TableUnreadable(folder, str(error))


SHORTEST_WAIT = timedelta(milliseconds=50)
"""So that two clocks that differ a little do not make a lane spin."""


class Attendant:
    """Visits tables for a process that stays: every wait that ends by itself sets an alarm."""

    def __init__(self, parts: Parts, engine: TableEngine) -> None:
        self._parts = parts
        self._engine = engine

    def __call__(self, folder: TableFolder) -> Again | None:
        """Visit once; the sweep comes back to a table that could not be looked at."""
        done = attend(self._parts, self._engine, folder)
        if isinstance(done.outcome, Wait) and done.outcome.waiting.until:
            left = done.outcome.waiting.until - self._parts.clock()
            return Again(max(left, SHORTEST_WAIT))
        return Again(done.delay, deaf=bool(done.delay)) if done.again else None
