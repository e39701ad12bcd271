"""`plan`: one pure, total function from an observed state to a decision (ARCHITECTURE §3)."""

from __future__ import annotations

from datetime import datetime

from openmirror.plan.batching import first_batch, next_batch
from openmirror.plan.decisions import (
    Continue,
    Decision,
    Drop,
    Idle,
    Pause,
    Restore,
    Stop,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.history import changed_by_others, is_stopped, without_history
from openmirror.plan.holding import held
from openmirror.plan.lost import lost_table
from openmirror.plan.missing import first_missing
from openmirror.plan.observed import Limits, ObservedState, limits_of
from openmirror.plan.opening import opening_of
from openmirror.plan.overwrites import ignores, overwrites
from openmirror.plan.ownership import not_ours
from openmirror.plan.rules import problem_of, still_holds, table_rules
from openmirror.plan.stopping import rebuilt_through
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.sequence import file_stem
from openmirror.table.control import BatchKind, FrozenOptions, RequestKind
from openmirror.table.log import BrokenLog


def plan(observed: ObservedState, limits: Limits, now: datetime) -> Decision:
    """What to do about one table. Pure; the same observed state always gives the same decision."""
    limits = limits_of(observed.policy, limits)
    if hold := held(observed):
        return hold
    if is_stopped(observed):
        return Idle()
    if observed.incarnation is None:
        return _without_folder(observed, limits, now)
    if refused := not_ours(observed):
        return refused
    if observed.log is None and observed.retained is not None:
        return Restore(observed.retained.path, hold=observed.control.asks_for(RequestKind.UNDROP))
    opening = opening_of(observed)
    if isinstance(opening, Continue):
        return opening
    rules = _rules(observed, limits, now)
    if opening.kind is BatchKind.REPLACE:
        is_reseed = observed.control.asks_for(RequestKind.RESEED) and not observed.folder.is_history
        if is_reseed and (stop := _reseed_gap(observed)):
            return stop
        if not isinstance(rules, FrozenOptions):
            return _or_idle(observed, rules)
        first = first_batch(observed, opening, rules, limits, now)
        return lost_table(observed, first) or first
    if not isinstance(rules, FrozenOptions):
        return rules
    if changed := applied_file_changed(observed):
        return changed
    recorded = observed.control.problem
    if (
        recorded
        and still_holds(observed, recorded)
        and _names_no_pending_file(observed, recorded.file)
    ):
        return Pause(recorded)
    return next_batch(observed, opening, rules, limits, now)


def _rules(observed: ObservedState, limits: Limits, now: datetime) -> FrozenOptions | Stop:
    rules = table_rules(observed, limits, now)
    if not isinstance(rules, FrozenOptions):
        return rules
    return without_history(observed, rules) or changed_by_others(observed) or rules


def applied_file_changed(observed: ObservedState) -> Pause | None:
    """The first file with other bytes than were applied, while it still lies in the folder."""
    if ignores(observed):
        return None
    for one in overwrites(observed):
        if not one.is_same:
            detail = f"{one.file.name} was overwritten after it was applied"
            broken = Broken(Code.APPLIED_FILE_CHANGED, detail)
            return Pause(problem_of(observed, broken, one.file))
    return None


def _without_folder(observed: ObservedState, limits: Limits, now: datetime) -> Decision:
    if observed.folder.is_history:
        return Idle()  # it forgets nothing, also of what is gone
    if (
        observed.control.asks_for(RequestKind.UNDROP)
        and observed.log is None
        and observed.retained is not None
    ):
        return Restore(observed.retained.path, hold=True)
    if isinstance(observed.log, BrokenLog):
        return Pause(problem_of(observed, Broken(Code.TABLE_LOG_BROKEN, observed.log.reason)))
    if observed.log is None or observed.folder not in observed.log.owners:
        return Idle()
    if isinstance(observed.policy, Broken):
        # Nobody knows whether the table is mirrored at all: one that is not is never dropped.
        return Pause(problem_of(observed, observed.policy))
    since = observed.control.missing_since or now
    until = since + limits.drop_grace
    if now < until or observed.control.missing_since is None:
        return Wait(
            Waiting(
                kind=WaitKind.GRACE, since=since, detail="the landing folder is gone", until=until
            )
        )
    if observed.drop_needs_yes:
        detail = (
            "many tables would be dropped at once; "
            f"`openmirror confirm-drops --mirror {observed.folder.mirror}` allows it"
        )
        return Wait(Waiting(kind=WaitKind.CONFIRMATION, since=since, detail=detail))
    return Drop()


def _or_idle(observed: ObservedState, stop: Stop) -> Decision:
    """A new folder without any change file has nothing to wait for: it is idle."""
    return stop if observed.files or isinstance(stop, Pause) else Idle()


def _names_no_pending_file(observed: ObservedState, file: str | None) -> bool:
    """Whether a problem stops the table here: that of a pending file stops only in front of it."""
    there = next((f for f in observed.files.values() if f.name == file), None)
    return there is None or there.sequence <= observed.applied


def _reseed_gap(observed: ObservedState) -> Pause | None:
    """A reseed needs every file from 1 on, or its skip."""
    missing = first_missing(observed, rebuilt_through(observed))
    if missing is None:
        return None
    detail = (
        f"a reseed needs {file_stem(missing)}, which is neither in the folder nor in its archive"
    )
    return Pause(problem_of(observed, Broken(Code.RESEED_INCOMPLETE, detail)))
