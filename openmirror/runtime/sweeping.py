"""The periodic passes over all tables: sweep, cleanup and status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from openmirror.errors import (
    ConditionFailed,
    DocumentUnreadable,
    NotThere,
    Unavailable,
    is_of_one_place,
    reason_of,
)
from openmirror.operate.report import Statuses, publish
from openmirror.plan import plan
from openmirror.plan.decisions import Decision
from openmirror.plan.maintaining import Due, survey_due
from openmirror.plan.wake import needs_reconcile
from openmirror.ports import Waker
from openmirror.progress.tables import LeftoverCleanupFailed, MirrorUnreadable
from openmirror.progress.union import discard
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.clean import Cleaned, clean_table
from openmirror.reconcile.concurrently import side_by_side
from openmirror.reconcile.discovery import Discovered, explore
from openmirror.reconcile.leftovers import clear_leftovers
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.isolation import unreadable_event
from openmirror.runtime.resting import Marks, RestingTables
from openmirror.status import TableStatus, listed_status
from openmirror.table.control import MirrorDocument

_Table = TypeVar("_Table")


@dataclass
class Swept:
    """What a sweep observed, and which tables it woke."""

    woken: list[TableFolder] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Tables, mirrors and folders that could not be observed, and why."""
    seen: dict[TableFolder, TableStatus | None] = field(default_factory=dict)
    """The status of each table that could be observed, or is at rest and was not due."""
    observed: int = 0
    """How many tables were observed."""
    late: dict[TableFolder, datetime] = field(default_factory=dict)
    """Tables that had rested and have files to apply now: since when the oldest lies there."""


def sweep(
    ports: RootPorts,
    mirrors: Iterable[str],
    waker: Waker,
    resting: RestingTables | None = None,
    *,
    surveys: bool = False,
) -> Swept:
    """Observe every table, and wake up those that a reconciliation would move.

    This is what makes lost events harmless. Tables that wait or are paused are left alone, so an
    idle mirror wakes nothing, unless a reconciliation would record what is not recorded yet: that
    a folder is missing, or that a problem began. A table that waits only for a text file's quiet
    period to end is woken.

    With `resting`, which the caller keeps, tables that it knows to be at rest are not observed
    each time. With `surveys` tables are woken as well whose files are to be surveyed: by a process
    that has an engine, as no other is started for that.
    """
    swept = Swept()
    began = ports.clock()

    def observed(folder: TableFolder) -> tuple[Decision, TableStatus | None] | None:
        try:
            found = observe(ports, folder).observed
            decision = plan(found, ports.limits, found.at)
            status = listed_status(found, decision, limits=ports.limits)
            swept.seen[folder] = status
            is_due = surveys and survey_due(found, decision) is not Due.NOT
            if needs_reconcile(found, decision) or is_due:
                waker.wake(folder)
                swept.woken.append(folder)
        except Exception as error:  # noqa: BLE001 - _stays_with raises it again if it is fatal
            _stays_with(ports, folder, error, swept.unreadable)
            return None
        return decision, status

    if resting is None:
        found = _of_mirrors(ports, mirrors, swept.unreadable, _folders)
        swept.observed = len(side_by_side(ports, found, observed))
        return swept

    def noted(table: tuple[TableFolder, Marks]) -> None:
        folder, marks = table
        seen = observed(folder)
        if seen is None:
            resting.forget(folder)
            return
        decision, status = seen
        resting.note(folder, marks, began, decision, status)
        if resting.had_rested(folder) and status is not None and status.pending_files:
            swept.late[folder] = ports.clock() - timedelta(seconds=status.lag_seconds)

    due = []
    for table in _of_mirrors(ports, mirrors, swept.unreadable, _marked):
        if resting.is_due(*table, began):
            due.append(table)
        else:
            swept.seen[table[0]] = resting.status(table[0])
    side_by_side(ports, due, noted)
    swept.observed = len(due)
    return swept


def _marked(found: Discovered, opened: MirrorDocument) -> list[tuple[TableFolder, Marks]]:
    # What is written after these were read shows in the next pass.
    return [
        (folder, Marks(traces, found.settings, opened.hold))
        for folder, traces in found.traces.items()
    ]


def _folders(found: Discovered, opened: MirrorDocument) -> list[TableFolder]:
    del opened
    return found.folders


@dataclass
class CleanedAll:
    """What a cleanup pass did, or would do."""

    cleaned: list[Cleaned] = field(default_factory=list)
    """Tables with something to clean."""
    leftovers: dict[str, int] = field(default_factory=dict)
    """Mirrors that had remains of broken-off conversions, and how many."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Tables and mirrors that could not be observed, and why."""


def clean(ports: RootPorts, mirrors: Iterable[str], *, dry_run: bool = False) -> CleanedAll:
    """One cleanup pass over all tables; with `dry_run` only returns what it would do."""
    cleanup, chosen = CleanedAll(), list(mirrors)

    def clean_one(folder: TableFolder) -> None:
        try:
            if done := clean_table(ports, folder, dry_run=dry_run):
                cleanup.cleaned.append(done)
        except Exception as error:  # noqa: BLE001 - _stays_with raises it again if it is fatal
            _stays_with(ports, folder, error, cleanup.unreadable)

    found = _of_mirrors(ports, chosen, cleanup.unreadable, _folders)
    side_by_side(ports, found, clean_one)
    for mirror in chosen:
        try:
            left = clear_leftovers(ports, mirror, dry_run=dry_run)
        except Exception as error:  # noqa: BLE001 - the next line raises it again if it is fatal
            _raise_if_fatal(error)
            cleanup.unreadable[mirror] = reason_of(error)
            ports.emit(LeftoverCleanupFailed(mirror, reason_of(error)))
            continue
        if left:
            cleanup.leftovers[mirror] = len(left)
    return cleanup


def publish_all(ports: RootPorts, mirrors: Iterable[str], seen: Statuses | None = None) -> None:
    """Write the status files of these mirrors, where they would change.

    Tables that are `seen`, by a sweep just before, are not observed again.

    Raises the first error that kept a mirror from its status, after all others have theirs.
    """
    failed: Exception | None = None
    for mirror in mirrors:
        try:
            publish(ports, mirror, seen=seen)
        except (NotThere, DocumentUnreadable, ConditionFailed):
            # Status is a copy: the next pass writes it. Nothing is written where a zone is gone.
            continue
        except Exception as error:
            if not is_of_one_place(error):
                raise
            failed = failed or error
    if failed is not None:
        raise failed


class _Nobody:
    """A Waker that wakes nobody."""

    def wake(self, folder: TableFolder) -> None:
        """Nothing: somebody else sweeps."""


def publish_resting(ports: RootPorts, mirrors: Iterable[str], resting: RestingTables) -> None:
    """The same, without observing each time what `resting` knows to be at rest."""
    names = list(mirrors)
    # What is wrong with a table is in its status, and emitted by who sweeps.
    seen = sweep(replace(ports, emit=discard), names, _Nobody(), resting).seen
    publish_all(ports, names, seen)


def _of_mirrors(
    ports: RootPorts,
    mirrors: Iterable[str],
    unreadable: dict[str, str],
    find: Callable[[Discovered, MirrorDocument], list[_Table]],
) -> Iterator[_Table]:
    for mirror in mirrors:
        try:
            found = explore(ports.store, mirror)
            tables = find(found, open_mirror(ports.store, mirror))
        except Unavailable:
            raise  # of the service, not of a mirror
        except Exception as error:  # noqa: BLE001 - the next line raises it again if it is fatal
            _raise_if_fatal(error)
            # Not an empty mirror: nothing may be concluded about its tables.
            unreadable[mirror] = reason_of(error)
            ports.emit(MirrorUnreadable(mirror, reason_of(error)))
            continue
        unreadable.update(unlisted_in(ports, mirror, found))
        yield from tables


def unlisted_in(ports: RootPorts, mirror: str, found: Discovered) -> dict[str, str]:
    """The folders of several tables that could not be listed, and why; emits an event of them."""
    reasons = {str(place): reason_of(error) for place, error in found.unlisted.items()}
    if reasons:
        ports.emit(MirrorUnreadable(mirror, "; ".join(reasons.values())))
    return reasons


def _stays_with(
    ports: RootPorts, folder: TableFolder, error: Exception, unreadable: dict[str, str]
) -> None:
    """Emit what went wrong with a table; raises it when nothing else can go on either."""
    _raise_if_fatal(error)
    unreadable[str(folder)] = reason_of(error)
    ports.emit(unreadable_event(folder, error))


def _raise_if_fatal(error: Exception) -> None:
    if not is_of_one_place(error):
        raise error
