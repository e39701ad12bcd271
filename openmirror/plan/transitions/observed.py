"""What an observation adds to a document: small rules, applied one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from openmirror.plan.decisions import Apply, Decision, Held, HeldBy, Idle, Pause, Wait, WaitKind
from openmirror.plan.observed import DeletePolicy, ObservedState
from openmirror.plan.overwrites import accepted
from openmirror.plan.rules import still_holds
from openmirror.plan.soft_deletes import marks
from openmirror.plan.stopping import hold_of_stop
from openmirror.plan.times import first_seen
from openmirror.plan.transitions.history import how_it_ended, with_end, with_end_by
from openmirror.plan.transitions.incarnations import with_etags, with_other_bytes, with_record
from openmirror.protocol.rules import Broken
from openmirror.table.control import Applied, ControlDocument, Overwrites, RequestKind
from openmirror.table.log import TableLog, Totals


@dataclass(frozen=True)
class Planned:
    """An observed state, and what was planned from it."""

    observed: ObservedState
    decision: Decision


ObservationRule = Callable[[ControlDocument, Planned], ControlDocument]


def learned_from(observed: ObservedState, decision: Decision) -> ControlDocument:
    """The document with all that this observation adds; an equal one where it adds nothing."""
    seen = Planned(observed, decision)
    control = observed.control
    for rule in RULES:
        control = rule(control, seen)
    return control


def applied_caught_up(control: ControlDocument, seen: Planned) -> ControlDocument:
    """The log is ahead: the copy follows it, and failures before that commit count no more.

    Totals are those of the newest batch record; where cleanup of the log took all, the known ones.
    """
    log = seen.observed.log if isinstance(seen.observed.log, TableLog) else None
    if log is None or log.live is None:
        return control
    known, (epoch, position) = control.applied, log.live
    if known and known.app_id == epoch.app_id and known.position >= position:
        return control
    totals = known.totals if known else Totals()
    applied = Applied(epoch.app_id, position, totals)
    if log.batch_record:
        applied = replace(applied, totals=log.batch_record.totals, at=log.batch_record.committed_at)
    return replace(control, applied=applied, failures=None)


def undrop_carried_out(control: ControlDocument, seen: Planned) -> ControlDocument:
    """What an undrop brought back is held: a folder that is still missing would drop it again."""
    decision = seen.decision
    if not control.asks_for(RequestKind.UNDROP) or not isinstance(decision, Held):
        return control
    if decision.scope is not HeldBy.TABLE:
        return control
    return replace(control, hold=decision.hold, request=None)


def came_to_its_stop(control: ControlDocument, seen: Planned) -> ControlDocument:
    """What was rebuilt through a file is held there, and goes on once it is resumed."""
    hold, record = hold_of_stop(seen.observed), seen.observed.record
    if hold is None or record is None:
        return control
    control = with_record(control, replace(control.record_of(record.incarnation), stops_after=None))
    return replace(control, hold=control.hold or hold)


def undrop_came_too_late(control: ControlDocument, seen: Planned) -> ControlDocument:
    """No table is retained any more, since retention ended: the request can never be fulfilled."""
    if (
        not control.asks_for(RequestKind.UNDROP)
        or seen.observed.log is not None
        or seen.observed.retained is not None
    ):
        return control
    return replace(control, request=None)


def problem_began(control: ControlDocument, seen: Planned) -> ControlDocument:
    """The table pauses over a problem that the document does not know, or knows otherwise."""
    if not isinstance(seen.decision, Pause) or seen.decision.problem.same_as(control.problem):
        return control
    new = seen.decision.problem
    new = replace(new, since=new.since or seen.observed.at)
    return replace(with_end_by(control, seen.observed, new), problem=new)


def problem_ended(control: ControlDocument, seen: Planned) -> ControlDocument:
    """The table goes on, and the problem that it was paused by holds no more."""
    problem, observed = control.problem, seen.observed
    if isinstance(seen.decision, Pause) or problem is None:
        return control
    if still_holds(observed, problem):
        return control  # it may lie further on: what comes before it is applied
    ended = with_end(control, problem, observed.at, how_it_ended(observed, problem))
    return replace(ended, problem=None, failures=None)


def folder_went_missing(control: ControlDocument, seen: Planned) -> ControlDocument:
    """The first observation without the folder starts the grace; later ones do not delay it."""
    waits = isinstance(seen.decision, Wait) and seen.decision.waiting.kind is WaitKind.GRACE
    if not waits or control.missing_since is not None:
        return control
    return replace(control, missing_since=seen.observed.at)


def folder_came_back(control: ControlDocument, seen: Planned) -> ControlDocument:
    """A folder that is there is not missing: when it goes again, grace starts anew."""
    return control if seen.observed.incarnation is None else replace(control, missing_since=None)


def files_ahead_of_the_clock(control: ControlDocument, seen: Planned) -> ControlDocument:
    """When each pending file was seen first whose time lies in the future."""
    after = first_seen(seen.observed)
    if isinstance(seen.decision, Held) or after == control.first_seen:
        return control
    return replace(control, first_seen=after)


def overwrites_accepted(control: ControlDocument, seen: Planned) -> ControlDocument:
    """What lies there counts as what was read: the same bytes, or others that are ignored.

    Cleanup can move the file then, and a policy that changes later does not pause over it. The
    checksum stays that of the bytes that were applied.
    """
    observed, found = seen.observed, tuple(accepted(seen.observed))
    # Without a listing the archive was not read: it may have the file, and this is another one.
    is_partial = not observed.landed or observed.incarnation is None
    if is_partial or not found or not isinstance(seen.decision, Apply | Idle | Wait | Pause):
        return control
    assert observed.incarnation is not None
    record = control.record_of(observed.incarnation)
    same = [one.file.name for one in found if one.is_same]
    others = [one.file.name for one in found if not one.is_same]
    record = replace(
        with_etags(record, {one.manifest.sequence: one.file.etag for one in found if one.is_same}),
        rewritten=_counted(record.rewritten, same, observed.at),
        ignored=_counted(record.ignored, others, observed.at),
    )
    for one in found:
        if not one.is_same:
            record = with_other_bytes(record, one.manifest.sequence, one.file.etag)
    return with_record(control, record)


def hard_deletes_came(control: ControlDocument, seen: Planned) -> ControlDocument:
    """No row of the table can be marked any more, or they are to stay after all."""
    policy, log = seen.observed.policy, seen.observed.log
    may_come = isinstance(policy, Broken) or policy.delete is DeletePolicy.HARD
    if control.hard_deletes is None or (may_come and isinstance(log, TableLog) and marks(log)):
        return control
    return replace(control, hard_deletes=None)


RULES: tuple[ObservationRule, ...] = (
    applied_caught_up,
    undrop_carried_out,
    came_to_its_stop,
    undrop_came_too_late,
    problem_began,
    problem_ended,
    folder_went_missing,
    folder_came_back,
    files_ahead_of_the_clock,
    overwrites_accepted,
    hard_deletes_came,
)


def _counted(before: Overwrites | None, files: list[str], at: datetime) -> Overwrites | None:
    if not files:
        return before
    return Overwrites((before.count if before else 0) + len(files), files[-1], at)
