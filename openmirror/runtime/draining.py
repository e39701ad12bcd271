"""`drain`: apply what is there, wait out what ends by itself within seconds, and return."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from openmirror.errors import (
    MOST_ATTEMPTS,
    Notice,
    NotThere,
    is_of_one_place,
    reason_of,
    words_of,
)
from openmirror.operate.mirror_notes import mirror_notes
from openmirror.plan import Decision
from openmirror.plan.decisions import Apply, Pause, Replace, Wait, Waiting, WaitKind
from openmirror.plan.maintaining import Due
from openmirror.ports import TableEngine
from openmirror.progress.runner import PeriodicTask, PeriodicTaskFailed
from openmirror.progress.tables import MirrorUnreadable, TableContended
from openmirror.protocol.names import Incarnation, TableFolder
from openmirror.protocol.naming_scheme import ANY_FILE
from openmirror.reconcile.discovery import explore
from openmirror.reconcile.landed_files import sorted_out
from openmirror.reconcile.reconciliation import FIRST_DELAY
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.attempts import MOST_ATTEMPTS_AT_ONE_POSITION, Attempts
from openmirror.runtime.isolation import (
    SHORTEST_WAIT,
    UnreadableTable,
    again,
    maintain_isolated,
    reconcile_isolated,
)
from openmirror.runtime.sweeping import publish_all, unlisted_in
from openmirror.runtime.workers import SECONDS_TO_FINISH, Reschedule, WorkerPool
from openmirror.status import MirrorNotes, leaves_undone
from openmirror.table import layout


@dataclass(frozen=True, kw_only=True)
class DrainResult:
    """The last outcome of every table when a drain left it."""

    outcomes: Mapping[TableFolder, Decision | UnreadableTable]
    unreadable_mirrors: Mapping[str, str] = field(default_factory=dict)
    """Mirrors whose landing zone could not be listed, and why; nothing of them was touched."""
    unlisted: Mapping[str, str] = field(default_factory=dict)
    """Folders of several tables that could not be listed, and why."""
    unwritten: str | None = None
    """Why the status files for publishers could not be written; None when they were."""
    never_read: Mapping[TableFolder, tuple[Notice, ...]] = field(default_factory=dict)
    """What lies in tables' folders like changes, and is never read."""
    notes: tuple[MirrorNotes, ...] = ()
    """What lies in the mirrors where it feeds no table."""

    @property
    def has_failed(self) -> bool:
        """Whether some table or mirror could not be observed, or no status be written."""
        lost = any(isinstance(outcome, UnreadableTable) for outcome in self.outcomes.values())
        return lost or bool(self.unreadable_mirrors or self.unlisted or self.unwritten)

    @property
    def left_undone(self) -> bool:
        """Whether something that was sent is not applied, and will not be by itself."""
        return bool(self.stopped or self.never_read or any(n.warnings for n in self.notes))

    @property
    def stopped(self) -> dict[TableFolder, Pause | Wait]:
        """Tables that are paused, or wait and not quietly."""
        return {
            folder: outcome
            for folder, outcome in self.outcomes.items()
            if isinstance(outcome, Pause | Wait) and leaves_undone(outcome)
        }


_LONGEST_QUIET_PERIOD = timedelta(minutes=1)
"""A text file that grows for longer than this is not sat out: nobody knows when it will end."""
_LONGEST_WAIT = timedelta(seconds=1)
"""What is waited for may come before its time is up, and a drain gets no wake-ups."""


def drain(
    ports: RootPorts, engine: TableEngine, mirrors: Iterable[str], workers: int
) -> DrainResult:
    """Apply everything that is there now, and return.

    Each table is left once it has passed what lay in its folder at its first reconciliation, so a
    publisher that is faster than we are cannot keep this going.
    """
    draining = _Draining(ports, engine)
    mirrors = list(mirrors)
    unreadable: dict[str, str] = {}
    unlisted: dict[str, str] = {}
    folders: list[TableFolder] = []
    for mirror in mirrors:
        try:
            found = explore(ports.store, mirror)
        except Exception as error:
            if not is_of_one_place(error):
                raise
            unreadable[mirror] = reason_of(error)
            ports.emit(MirrorUnreadable(mirror, reason_of(error)))
            continue
        folders += found.folders
        unlisted.update(unlisted_in(ports, mirror, found))
    running = WorkerPool(draining, workers)
    try:
        for folder in folders:
            running.wake(folder)
        running.wait()
    finally:
        running.stop(SECONDS_TO_FINISH)
    return DrainResult(
        outcomes=draining.outcomes,
        unreadable_mirrors=unreadable,
        unlisted=unlisted,
        unwritten=_publish(ports, mirrors),
        never_read=draining.never_read,
        notes=tuple(mirror_notes(ports.store, mirror, ports.clock()) for mirror in mirrors),
    )


def _publish(ports: RootPorts, mirrors: Iterable[str]) -> str | None:
    """Write the status files; why it failed, if it did: what was applied is reported anyway."""
    try:
        publish_all(ports, mirrors)
    except Exception as error:
        if not is_of_one_place(error):
            raise
        ports.emit(PeriodicTaskFailed(PeriodicTask.STATUS, words_of(error)))
        return words_of(error)
    return None


@dataclass(frozen=True)
class _There:
    """What a folder held at the first reconciliation."""

    incarnation: Incarnation | None
    names: frozenset[str]
    """Change files, and whatever else may be one."""


class _Draining:
    """Reconciles tables until what was there is applied."""

    def __init__(self, ports: RootPorts, engine: TableEngine) -> None:
        self.outcomes: dict[TableFolder, Decision | UnreadableTable] = {}
        self.never_read: dict[TableFolder, tuple[Notice, ...]] = {}
        self._ports = ports
        self._engine = engine
        self._there: dict[TableFolder, _There] = {}
        self._waiting_out: dict[tuple[TableFolder, str | None], datetime] = {}
        """When the quiet period of each text file would first have ended."""
        self._attempts = Attempts()
        self._lock = threading.Lock()

    def __call__(self, folder: TableFolder) -> Reschedule | None:
        done = reconcile_isolated(self._ports, self._engine, folder, lambda: self._remember(folder))
        attempts = self._attempts.count(folder, done.outcome)
        with self._lock:
            self.outcomes[folder] = done.outcome
            self.never_read.pop(folder, None)
            if done.never_read:
                self.never_read[folder] = done.never_read
        match done.outcome:
            case UnreadableTable(may_pass=True) if attempts < MOST_ATTEMPTS:
                return Reschedule(FIRST_DELAY * attempts, backing_off=True)
            case Wait(waiting) if waiting.until and self._sits_out(folder, waiting):
                left = waiting.until - self._ports.clock()
                return Reschedule(max(SHORTEST_WAIT, min(left, _LONGEST_WAIT)))
            case Apply() | Replace() if self._has_passed(folder, done.outcome):
                return None
        # What an operator asked for is done to its end; of the rest what is pressing.
        is_due = done.survey is Due.NOW and not done.reschedule
        if is_due and maintain_isolated(self._ports, self._engine, folder):
            return Reschedule()
        if done.reschedule and attempts >= MOST_ATTEMPTS_AT_ONE_POSITION:
            reason = f"it changed under {attempts} tries in a row"
            self._ports.emit(TableContended(folder, attempts))
            with self._lock:
                self.outcomes[folder] = UnreadableTable(reason)
            return None
        return again(done)

    def _sits_out(self, folder: TableFolder, waiting: Waiting) -> bool:
        """Whether it ends by itself within seconds."""
        if waiting.until is None or not waiting.is_brief:
            return waiting.kind is WaitKind.METADATA
        with self._lock:
            first = self._waiting_out.setdefault((folder, waiting.file), waiting.until)
        return waiting.until <= first + _LONGEST_QUIET_PERIOD

    def _remember(self, folder: TableFolder) -> None:
        if folder not in self._there:
            there = _what_is_there(self._ports, folder)
            with self._lock:
                self._there[folder] = there

    def _has_passed(self, folder: TableFolder, decision: Apply | Replace) -> bool:
        """Whether all that was there had been applied when this was decided."""
        there = self._there[folder]
        if decision.batch.epoch.incarnation != there.incarnation:
            return True  # what was there has been deleted since, with its folder
        if isinstance(decision, Replace):
            return False
        # What a reseed reads from the archive was there before anything in the folder.
        return not any(f.archived or f.name in there.names for f in decision.batch.files)


def _what_is_there(ports: RootPorts, folder: TableFolder) -> _There:
    landing = layout.table_folder(folder)
    try:
        incarnation = ports.store.incarnation(landing)
        listing = ports.store.list_folder(landing)
        # Whatever the table's options: partitions and names of any kind are counted.
        every = sorted_out(ports.store, landing, listing, ANY_FILE)
    except NotThere:
        return _There(None, frozenset())
    return _There(incarnation, frozenset(file.name for file in every.files))
