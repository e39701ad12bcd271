"""The stages of a table's lifecycle: one tagged union, made from an observed state and its plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror.errors import Problem
from openmirror.plan import Decision, ObservedState
from openmirror.plan.decisions import (
    Continue,
    Drop,
    Held,
    HeldBy,
    Idle,
    Pause,
    Replace,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.observed import TablePolicy
from openmirror.plan.stopping import stop_of
from openmirror.protocol.sequence import START, Position
from openmirror.status.words import FabricStatus, Trouble
from openmirror.table.control import Hold, RequestKind
from openmirror.table.log import TableLog


@dataclass(frozen=True)
class Initialized:
    """The folder is there, and nothing in it has to be applied yet."""


@dataclass(frozen=True)
class Snapshotting:
    """This incarnation's first batch is pending or being applied; a former table is still there."""


@dataclass(frozen=True)
class Replicating:
    """Changes are applied as they come, and there may be none just now."""


@dataclass(frozen=True)
class Reseeding:
    """The table is built again from its files, and has not come as far as it was before."""

    until: Position
    waiting: Waiting | None = None


@dataclass(frozen=True)
class Waits:
    """Changes go on by themselves once what is waited for has come."""

    waiting: Waiting


@dataclass(frozen=True)
class OnHold:
    """Nothing happens to the table until what holds it lets it go."""

    hold: Hold | None
    """None where mirroring.json leaves the table out."""
    scope: HeldBy = HeldBy.TABLE

    @property
    def by(self) -> str:
        """Who or what holds it."""
        return self.hold.by if self.hold else self.scope.value


@dataclass(frozen=True)
class Paused:
    """A problem stops the table until what is wrong has changed."""

    problem: Problem


@dataclass(frozen=True)
class WasDropped:
    """The folder is gone and the table retained; until its retention ends it can come back."""

    at: datetime | None
    until: datetime | None
    """None when the control document does not know, or mirroring.json cannot be read."""


@dataclass(frozen=True)
class Unreadable:
    """Something that every observation needs cannot be read; nothing else is known."""

    trouble: Trouble


Lifecycle = (
    Initialized
    | Snapshotting
    | Replicating
    | Reseeding
    | Waits
    | OnHold
    | Paused
    | WasDropped
    | Unreadable
)


def lifecycle(observed: ObservedState, decision: Decision) -> Lifecycle:
    """The stage of this table; a reseed that waits is still a reseed."""
    match decision:
        case Held(hold, scope):
            return OnHold(hold, scope)
        case Pause(problem):
            return Paused(problem)
    if is_dropped(observed):
        return dropped(observed)
    waiting = waiting_of(observed, decision)
    position = position_of(observed, decision)
    until = observed.record.reseeding_until if observed.record else START
    if stop := stop_of(observed):
        until = min(until, Position(stop.sequence))
    # A replace that is decided and not done starts from nothing, whatever readers still see.
    reached = START if isinstance(decision, Replace) else position
    if observed.control.asks_for(RequestKind.RESEED):
        return Reseeding(Position(stop.sequence) if stop else max(until, position), waiting)
    if reached < until:
        return Reseeding(until, waiting)
    if waiting:
        return Waits(waiting)
    if position > START:
        return Replicating()
    return Initialized() if isinstance(decision, Idle) or not observed.files else Snapshotting()


def fabric_status(stage: Lifecycle) -> FabricStatus:
    """The best fitting of Fabric's words: a table that waits replicates, a held one has stopped."""
    match stage:
        case Initialized():
            return FabricStatus.INITIALIZED
        case Snapshotting():
            return FabricStatus.SNAPSHOTTING
        case Replicating() | Waits():
            return FabricStatus.REPLICATING
        case Reseeding():
            return FabricStatus.RESEEDING
        case OnHold() | WasDropped():
            return FabricStatus.STOPPED
        case Paused() | Unreadable():
            return FabricStatus.FAILED


def position_of(observed: ObservedState, decision: Decision) -> Position:
    """How far the table that readers see is applied, from this incarnation of its folder.

    Between two epochs no epoch is live; then it is the position of the last one before its fence.
    """
    log = observed.log or observed.retained
    before = (log.live or log.last_fenced) if isinstance(log, TableLog) else None
    if before is None:
        return START
    epoch, position = before
    same = epoch.folder == observed.folder and observed.incarnation in (None, epoch.incarnation)
    return position if same or isinstance(decision, Continue) else START


def waiting_of(observed: ObservedState, decision: Decision) -> Waiting | None:
    match decision:
        case Wait(waiting):
            return waiting
        case Drop():
            detail = "the landing folder is gone; the runner drops the table when it next runs"
            return Waiting(
                kind=WaitKind.GRACE,
                since=observed.control.missing_since or observed.at,
                detail=detail,
            )
    return None


def is_dropped(observed: ObservedState) -> bool:
    if observed.incarnation is not None or observed.log is not None or observed.retained is None:
        return False
    # Retained tables are found by their name, which another folder may have had as well.
    owned = isinstance(observed.retained, TableLog) and observed.folder in observed.retained.owners
    return owned or observed.control.dropped is not None


def dropped(observed: ObservedState) -> WasDropped:
    at = observed.control.dropped.at if observed.control.dropped else None
    if at is None or not isinstance(observed.policy, TablePolicy):
        return WasDropped(at, None)
    return WasDropped(at, at + observed.policy.retention)


BENIGN_WAITS = frozenset({WaitKind.SCHEMA, WaitKind.GRACE})
"""Waits that leave nothing undone that was sent."""


def leaves_undone(decision: Decision) -> bool:
    """Whether something that was sent stays undone, so that `drain` may not exit with 0."""
    match decision:
        case Pause():
            return True
        case Wait(waiting):
            return waiting.kind not in BENIGN_WAITS
    return False
