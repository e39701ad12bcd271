"""`table_status`: everything that `status` shows of one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from openmirror.plan import Decision, Limits, ObservedState
from openmirror.plan.cut import check_file, gap_of
from openmirror.plan.decisions import Continue, Held, Pause, Wait, Waiting
from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import limits_of
from openmirror.plan.rules import still_holds
from openmirror.protocol.names import TableFolder, TableName
from openmirror.protocol.partner import Partner
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import START, Position, Sequence
from openmirror.status.stages import (
    BENIGN_WAITS,
    Lifecycle,
    OnHold,
    Paused,
    Unreadable,
    WasDropped,
    fabric_status,
    is_dropped,
    lifecycle,
    position_of,
    waiting_of,
)
from openmirror.status.warnings import warnings
from openmirror.status.words import FabricStatus, StageWord, Trouble, Warn
from openmirror.table.control import FrozenOptions, Maintenance
from openmirror.table.log import BrokenLog, TableLog, Totals

_LIMITS = Limits()


@dataclass(frozen=True)
class WaitingFor:
    """What a table waits for, with the file's name where it is there."""

    waiting: Waiting
    file: str | None = None


@dataclass(frozen=True)
class PartitionStatus:
    """The status of one partition; each has its own numbers, and its own gaps."""

    name: str
    applied: Sequence | None
    """Its own number; None where files are found by their time."""
    pending_files: int = 0
    waiting: Waiting | None = None


@dataclass(frozen=True, kw_only=True)
class TableStatus:
    """Everything that `status` shows of one table."""

    folder: TableFolder
    name: TableName
    stage: Lifecycle
    totals: Totals = field(default_factory=Totals)
    synced_at: datetime | None = None
    applied: Position = START
    pending_files: int = 0
    waiting_for: WaitingFor | None = None
    problem: Trouble | None = None
    warnings: tuple[Warn, ...] = ()
    lag_seconds: float = 0.0
    partner: Partner | None = None
    partitions: tuple[PartitionStatus, ...] | None = None
    """None in tables without partitions."""
    maintenance: Maintenance | None = None
    """None before its files were surveyed."""

    @property
    def other_waits(self) -> tuple[Waiting, ...]:
        """What partitions wait for, besides what the table as a whole waits for."""
        if isinstance(self.stage, OnHold | WasDropped):
            return ()
        own = self.waiting_for.waiting.partition if self.waiting_for else None
        partitions = (p for p in self.partitions or () if p.name != own)
        return tuple(partition.waiting for partition in partitions if partition.waiting)

    @property
    def status(self) -> FabricStatus:
        """Fabric's word."""
        return fabric_status(self.stage)

    @property
    def word(self) -> StageWord:
        """The one word that the status page has for it."""
        match self.stage:
            case Paused():
                return StageWord.PAUSED
            case Unreadable():
                return StageWord.UNREADABLE
            case OnHold():
                return StageWord.HELD
            case WasDropped():
                return StageWord.DROPPED
        return StageWord.WAITING if self.waiting_for else StageWord(self.status.value)

    @property
    def needs_attention(self) -> bool:
        """Whether `drain` ends with exit code 3 because of this table."""
        if self.waiting_for and self.waiting_for.waiting.kind not in BENIGN_WAITS:
            return True
        if isinstance(self.stage, OnHold | WasDropped):
            return False
        if any(warning.code == Code.FILE_NEVER_READ for warning in self.warnings):
            return True
        return isinstance(self.stage, Paused | Unreadable)


def needs_attention(tables: Iterable[TableStatus]) -> bool:
    """Whether some table is paused, waits or has files that are never read.

    Held tables and quiet waits do not count.
    """
    return any(table.needs_attention for table in tables)


def is_listed(observed: ObservedState) -> bool:
    """Whether there is a folder, or a table of that folder, in its place or retained.

    A control document alone is not listed: its folder is gone, and its dropped table as well.
    """
    control = observed.control
    if (
        observed.incarnation
        or control.hold
        or isinstance(observed.log, BrokenLog)
        or is_dropped(observed)
    ):
        return True
    return isinstance(observed.log, TableLog) and observed.folder in observed.log.owners


def table_status(
    observed: ObservedState,
    decision: Decision,
    partner: Partner | None = None,
    limits: Limits = _LIMITS,
) -> TableStatus:
    """The status of a table from its observed state and the `decision` planned for it.

    `limits` are those that it was planned by.
    """
    position = position_of(observed, decision)
    pending = _pending(observed, position)
    totals, synced_at = _metrics(observed, decision)
    oldest = min((file.modified for file in pending), default=observed.at)
    return TableStatus(
        folder=observed.folder,
        name=observed.name,
        stage=lifecycle(observed, decision),
        totals=totals,
        synced_at=synced_at,
        applied=position,
        pending_files=len(pending),
        waiting_for=_waiting_for(observed, decision),
        problem=_trouble(observed, decision),
        warnings=tuple(warnings(observed, decision, position)),
        lag_seconds=max(0.0, (observed.at - oldest).total_seconds()),
        partner=partner,
        partitions=_partitions(observed, pending, limits) if observed.naming.partitioned else None,
        maintenance=observed.control.maintenance,
    )


def _partitions(
    observed: ObservedState, pending: list[LandedFile], limits: Limits
) -> tuple[PartitionStatus, ...]:
    counts = Counter(file.partition for file in pending)
    unready = _unready(observed, pending, limits_of(observed.policy, limits))
    return tuple(
        PartitionStatus(
            view.name,
            view.applied,
            counts[view.name],
            unready.get(view.name) or gap_of(observed, view),
        )
        for view in observed.ledger.partitions
    )


def _unready(
    observed: ObservedState, pending: list[LandedFile], limits: Limits
) -> dict[str, Waiting]:
    """Partitions whose next file is not ready, where that holds up what follows in them."""
    found: dict[str, Waiting] = {}
    seen: set[str] = set()
    for file in pending if observed.naming.is_numbered else ():
        if file.partition not in seen and file.facts is not None:
            stop = check_file(observed, file, FrozenOptions(), limits, observed.at)
            if isinstance(stop, Wait):
                found[file.partition] = stop.waiting
        seen.add(file.partition)
    return found


def listed_status(
    observed: ObservedState,
    decision: Decision,
    partner: Partner | None = None,
    limits: Limits = _LIMITS,
) -> TableStatus | None:
    """The status of a table that is one; None for a folder that status does not show."""
    return table_status(observed, decision, partner, limits) if is_listed(observed) else None


def unreadable(
    folder: TableFolder, name: TableName, trouble: Trouble, partner: Partner | None = None
) -> TableStatus:
    """The status of a table that could not be observed."""
    return TableStatus(
        folder=folder, name=name, stage=Unreadable(trouble), problem=trouble, partner=partner
    )


def _pending(observed: ObservedState, position: Position) -> list[LandedFile]:
    record = observed.record
    in_order = [
        file
        for file in observed.files.values()
        if file.sequence > position
        and not file.archived
        and not (record and record.skipped(file.sequence, file.etag))
    ]
    return in_order + [file for view in observed.ledger.partitions for file in view.waiting]


def _metrics(observed: ObservedState, decision: Decision) -> tuple[Totals, datetime | None]:
    known = observed.control.applied
    log = observed.log or observed.retained
    # A path may hold another folder's table; its figures are not this folder's.
    ours = isinstance(log, TableLog) and observed.folder in log.owners
    if isinstance(log, TableLog) and log.batch_record and (ours or isinstance(decision, Continue)):
        return log.batch_record.totals, log.batch_record.committed_at or (
            known.at if known else None
        )
    return (known.totals, known.at) if known else (Totals(), None)


def _waiting_for(observed: ObservedState, decision: Decision) -> WaitingFor | None:
    waiting = waiting_of(observed, decision)
    if waiting is None:
        return None
    return WaitingFor(waiting, waiting.file)


def _trouble(observed: ObservedState, decision: Decision) -> Trouble | None:
    recorded = observed.control.problem
    match decision:
        case Pause(problem):
            # A plan finds it anew each time; when it began is in the control document.
            known = recorded.since if recorded and problem.same_as(recorded) else None
            since = problem.since or known or observed.at
        case Held() if recorded and still_holds(observed, recorded):
            problem, since = recorded, recorded.since or observed.at
        case _:
            return None
    return Trouble(problem.code.value, problem.detail, problem.solution, problem.file, since)
