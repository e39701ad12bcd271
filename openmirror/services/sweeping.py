"""The passes over all tables that time starts: the sweep, which loses no event, and cleanup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from openmirror.errors import (
    ConditionFailed,
    Disposition,
    DocumentUnreadable,
    NotThere,
    disposition_of,
)
from openmirror.lifecycle import TableStatus, listed_status
from openmirror.plan import Decision, plan
from openmirror.plan.decisions import (
    Apply,
    Continue,
    Drop,
    Pause,
    Reset,
    Restore,
    Wait,
    WaitKind,
)
from openmirror.plan.look import Look
from openmirror.ports import Doorbell
from openmirror.progress import LeftoverCleanupFailed, MirrorUnreadable
from openmirror.protocol.names import TableFolder
from openmirror.services.cleaning import Cleaned, clean_table
from openmirror.services.discovery import discover
from openmirror.services.leftovers import clear_leftovers
from openmirror.services.looking import look_at
from openmirror.services.mirrors import open_mirror
from openmirror.services.parts import Parts
from openmirror.services.reporting import Statuses, publish
from openmirror.services.running import unreadable_event
from openmirror.services.sidebyside import side_by_side


@dataclass
class Swept:
    """What a sweep found."""

    rung: list[TableFolder] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Tables and mirrors that could not be looked at, and why."""
    seen: dict[TableFolder, TableStatus | None] = field(default_factory=dict)
    """How each table stood that could be looked at."""


def sweep(parts: Parts, mirrors: Iterable[str], doorbell: Doorbell) -> Swept:
    """Look at every table, and ring for those that a visit would move.

    This is what makes lost events harmless. Tables that wait or are paused are left alone, so an
    idle mirror rings for nothing, unless the visit would write down what nobody has yet: that a
    folder is missing, or that a problem began. A text file that settles is no such wait.
    """
    swept = Swept()

    def look(folder: TableFolder) -> None:
        try:
            found = look_at(parts, folder).look
            decision = plan(found, parts.limits, found.at)
            swept.seen[folder] = listed_status(found, decision, limits=parts.limits)
            if is_for_a_visit(found, decision):
                doorbell.ring(folder)
                swept.rung.append(folder)
        except Exception as error:  # noqa: BLE001 - judged there
            _stays_with(parts, folder, error, swept.unreadable)

    side_by_side(parts, _folders(parts, mirrors, swept.unreadable), look)
    return swept


def is_for_a_visit(look: Look, decision: Decision) -> bool:
    """Whether a visit would move the table, soon at least, or write down what nobody has yet."""
    match decision:
        case Apply() | Reset() | Drop() | Continue() | Restore():
            return True
        case Wait(waiting) if waiting.kind is WaitKind.GRACE:
            return look.control.missing_since is None
        case Wait(waiting) if waiting.is_brief:
            return True  # it ends within seconds, and a runner that has the table sits it out
        case Wait(waiting):
            return waiting.until is not None and waiting.until <= look.at
        case Pause(problem):
            return not problem.same_as(look.control.problem)
        case _:
            return False


@dataclass
class CleanedAll:
    """What a cleanup pass did, or would do."""

    cleaned: list[Cleaned] = field(default_factory=list)
    """Tables with something to clean."""
    leftovers: dict[str, int] = field(default_factory=dict)
    """Mirrors that had remains of broken-off conversions, and how many."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Tables and mirrors that could not be looked at, and why."""


def clean(parts: Parts, mirrors: Iterable[str], *, dry_run: bool = False) -> CleanedAll:
    """One cleanup pass over all tables; with `dry_run` only says what it would do."""
    cleanup, chosen = CleanedAll(), list(mirrors)

    def clean_one(folder: TableFolder) -> None:
        try:
            if done := clean_table(parts, folder, dry_run=dry_run):
                cleanup.cleaned.append(done)
        except Exception as error:  # noqa: BLE001 - judged there
            _stays_with(parts, folder, error, cleanup.unreadable)

    side_by_side(parts, _folders(parts, chosen, cleanup.unreadable), clean_one)
    for mirror in chosen:
        try:
            left = clear_leftovers(parts, mirror, dry_run=dry_run)
        except Exception as error:  # noqa: BLE001 - judged there
            _raise_if_fatal(error)
            cleanup.unreadable[mirror] = str(error)
            parts.emit(LeftoverCleanupFailed(mirror, str(error)))
            continue
        if left:
            cleanup.leftovers[mirror] = len(left)
    return cleanup


def publish_all(parts: Parts, mirrors: Iterable[str], seen: Statuses | None = None) -> None:
    """Write the status files of these mirrors, where they would say something new.

    Tables that are `seen`, by a sweep just before, are not looked at again.

    Raises the first thing that kept a mirror from its status, after all others have theirs.
    """
    failed: Exception | None = None
    for mirror in mirrors:
        try:
            publish(parts, mirror, seen=seen)
        except (NotThere, DocumentUnreadable, ConditionFailed):
            # Status is a copy: the next pass writes it. Nothing is written where a zone is gone.
            continue
        except Exception as error:
            if disposition_of(error, attempts=1) is Disposition.FAIL:
                raise
            failed = failed or error
    if failed is not None:
        raise failed


def _folders(
    parts: Parts, mirrors: Iterable[str], unreadable: dict[str, str]
) -> Iterator[TableFolder]:
    for mirror in mirrors:
        try:
            folders = discover(parts.store, mirror)
            open_mirror(parts.store, mirror)
        except (NotThere, DocumentUnreadable) as error:
            # Not an empty mirror: nothing may be concluded about its tables.
            unreadable[mirror] = str(error)
            parts.emit(MirrorUnreadable(mirror, str(error)))
            continue
        yield from folders


def _stays_with(
    parts: Parts, folder: TableFolder, error: Exception, unreadable: dict[str, str]
) -> None:
    """Report what went wrong with a table, unless nothing else can go on either."""
    _raise_if_fatal(error)
    unreadable[str(folder)] = str(error)
    parts.emit(unreadable_event(folder, error))


def _raise_if_fatal(error: Exception) -> None:
    if disposition_of(error, attempts=1) is Disposition.FAIL:
        raise error
