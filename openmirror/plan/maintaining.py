"""When a table's files are surveyed and a step may be done: what an observation says of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from openmirror.plan.decisions import Apply, Decision, Idle
from openmirror.plan.maintenance import is_sweep_due, portion_of
from openmirror.plan.maintenance_steps import MaintenanceMode, MaintenancePolicy, RemoveMarked
from openmirror.plan.observed import DeletePolicy, ObservedState, TablePolicy
from openmirror.plan.retention import FORGETS_TRANSACTIONS, kept_for
from openmirror.plan.soft_deletes import marks
from openmirror.table.control import Act, BatchKind, Maintenance, StepFailed, StepKind
from openmirror.table.log import TableLog

_LEFT_ALONE = timedelta(hours=1)
"""After a survey, where only time has passed since."""
_NEVER_IDLE = timedelta(hours=1)
"""So long a VACUUM is left to a time at which the table has nothing to do."""
_SHORTEST, _DAY = timedelta(hours=1), timedelta(days=1)
_FIRST_DELAY, _LONGEST_DELAY = timedelta(minutes=1), timedelta(days=1)
"""After steps that failed; doubled with each further one."""


class Due(StrEnum):
    """When a table's files are to be surveyed."""

    NOT = "not"
    WHEN_IDLE = "when idle"
    """Once no batch waits, by a process that goes on."""
    NOW = "now"
    """Before the next batch, and by a drain as well."""


def survey_due(observed: ObservedState, decision: Decision) -> Due:
    """When a table's files are to be surveyed, by what was just observed of it."""
    if is_asked_for(observed, decision) or is_pressing(observed, decision):
        return Due.NOW
    removal = removal_due(observed, decision)
    if removal is not None and (_allowed(observed) or _is_overdue(observed, removal)):
        return Due.NOW
    is_idle = isinstance(decision, Idle)
    is_due = survey_is_due(observed, decision) or (is_idle and removal is not None)
    return Due.WHEN_IDLE if is_due else Due.NOT


def removal_due(observed: ObservedState, decision: Decision) -> RemoveMarked | None:
    """The rows that were deleted so long ago that the policy has them removed, once in a while.

    Whoever maintains the table's files, nobody else knows of these. Where an operator allowed that
    all marked rows go, they do at once; of a table that has a batch to apply they go with that.
    """
    policy = observed.policy
    if not isinstance(policy, TablePolicy) or not removes_marked(observed):
        return None
    if not is_safe(observed, decision):
        return None
    known = observed.control.maintenance or Maintenance()
    if _backs_off(known.failed_removal, observed.at):
        return None
    if allowed := _allowed(observed):
        is_done = known.removed_through is not None and known.removed_through >= allowed.at
        if is_done or not isinstance(decision, Idle):
            return None
        return RemoveMarked(before=max(observed.at, allowed.at))
    assert policy.purge_after is not None  # or nothing would be removed
    before, usual = observed.at - policy.purge_after, policy.purge_after / 10
    portion = _SHORTEST if known.asked else min(_DAY, max(_SHORTEST, usual))
    if known.removed_through is not None and before - known.removed_through < portion:
        return None
    return RemoveMarked(before=before)


def removes_marked(observed: ObservedState) -> bool:
    """Whether rows that are marked as deleted are to be removed, now or one day."""
    policy, log = observed.policy, observed.log
    if not isinstance(policy, TablePolicy) or not isinstance(log, TableLog) or not marks(log):
        return False
    return policy.purge_after is not None or _allowed(observed) is not None


def _allowed(observed: ObservedState) -> Act | None:
    """Who allowed that marked rows go, as the policy asks."""
    policy = observed.policy
    asks = isinstance(policy, TablePolicy) and policy.delete is DeletePolicy.HARD
    return observed.control.hard_deletes if asks else None


def _is_overdue(observed: ObservedState, removal: RemoveMarked) -> bool:
    """Whether it is not left to a time at which the table has nothing to do."""
    known = observed.control.maintenance
    through = known.removed_through if known else None
    return through is None or removal.before - through > 2 * _DAY


def is_asked_for(observed: ObservedState, decision: Decision) -> bool:
    """Whether an operator's request can be carried out now."""
    known = observed.control.maintenance
    if known is None or known.asked is None or _backs_off(known.failed, observed.at):
        return False
    return isinstance(decision, Idle) and may_maintain(observed, decision)


def survey_is_due(observed: ObservedState, decision: Decision) -> bool:
    """Whether a table that has nothing to do is to be surveyed: what debt has grown, or waits."""
    if not isinstance(decision, Idle) or not may_maintain(observed, decision):
        return False
    known, policy = observed.control.maintenance, _policy(observed)
    commits = commits_since_survey(observed)
    if known is not None and _backs_off(known.failed, observed.at):
        return False
    if known is not None and known.again:
        return True
    if known is None or known.found is None:
        return commits >= policy.every_commits or _was_left_alone(observed)
    if commits >= policy.every_commits or (commits and _has_aged(observed, known, _DAY)):
        return True
    if not _has_aged(observed, known):
        return False
    return is_sweep_due(known, observed.at) or _is_vacuum_due(observed, known)


def is_pressing(observed: ObservedState, decision: Decision) -> bool:
    """Whether a table is to be surveyed that has a batch waiting, as it never has none."""
    known = observed.control.maintenance
    if not may_maintain(observed, decision) or (known and _backs_off(known.failed, observed.at)):
        return False
    if commits_since_survey(observed) >= _policy(observed).pressing_commits:
        return True
    if known is None:
        return False
    # Else it would be compacted each time, and its dead files would stay for ever; or it would gain
    # more small files than one step takes.
    is_behind = left_small(known) >= _policy(observed).pressing_commits
    if known.again and (is_behind or _is_vacuum_due(observed, known)):
        return True
    # Few commits can leave many bytes, and whoever has one a minute is never idle either.
    return _has_aged(observed, known) and _is_vacuum_due(observed, known, beyond=_NEVER_IDLE)


def may_maintain(observed: ObservedState, decision: Decision) -> bool:
    """Whether a step is safe beside everything that is decided about this table.

    It needs a live epoch that is the newest one, and no batch that was decided and not applied: a
    VACUUM then can delete no file that a stalled runner is still going to commit, because the log
    has all that he decided, and refuses it a second time.
    """
    if not isinstance(observed.policy, TablePolicy):
        return False
    known = observed.control.maintenance
    if _policy(observed).mode is MaintenanceMode.OFF and not (known and known.asked):
        return False
    return is_safe(observed, decision)


def is_safe(observed: ObservedState, decision: Decision) -> bool:
    """Whether nothing that is decided about this table can land beside a step."""
    log, control = observed.log, observed.control
    if not isinstance(log, TableLog) or FORGETS_TRANSACTIONS in log.properties:
        return False  # a step may write the checkpoint that no longer has what was applied
    live = observed.live
    if live is None or live[0].number != control.epoch or control.request is not None:
        return False
    decided = control.decided
    if decided is not None and log.transactions.get(decided.app_id, -1) < decided.last:
        return False
    match decision:
        case Idle():
            return True
        case Apply(batch):
            return batch.kind is BatchKind.EXTEND and not batch.is_decided
        case _:
            return False


def how_long_kept(observed: ObservedState) -> timedelta | None:
    """How long files stay that left the table; None where that cannot be read.

    By its property, and no shorter than by the policy: the property follows with the next batch.
    """
    if not isinstance(observed.log, TableLog) or not isinstance(observed.policy, TablePolicy):
        return None
    kept = kept_for(observed.log.properties)
    return None if kept is None else max(kept, observed.policy.retention)


def commits_since_survey(observed: ObservedState) -> int:
    """How many versions the log has that no survey has seen."""
    log, known = observed.log, observed.control.maintenance
    if not isinstance(log, TableLog):
        return 0
    seen = known.found.version if known and known.found else -1
    return max(0, log.version - seen)


def left_small(known: Maintenance) -> int:
    """How many small files are there, as far as the last survey and a step since then say."""
    found, done = known.found, known.compacted
    if found is None:
        return 0
    is_less = done is not None and done.at >= found.at and found.due is StepKind.COMPACT
    return found.small_files - (done.files if done and is_less else 0)


def _policy(observed: ObservedState) -> MaintenancePolicy:
    assert isinstance(observed.policy, TablePolicy)
    return observed.policy.maintenance


def _has_aged(
    observed: ObservedState, known: Maintenance, more_than: timedelta = _LEFT_ALONE
) -> bool:
    """Whether the last survey is so old that another one may find more, if only time has passed."""
    return known.found is not None and observed.at - known.found.at > more_than


def _was_left_alone(observed: ObservedState) -> bool:
    """Whether the newest batch is so old that its table, never surveyed, will see few others."""
    newest = observed.log.batch_record if isinstance(observed.log, TableLog) else None
    at = newest.committed_at if newest else None
    return at is not None and observed.at - at > _DAY


def _is_vacuum_due(
    observed: ObservedState, known: Maintenance, beyond: timedelta = timedelta()
) -> bool:
    """By what the last survey found, as far as only time has passed since."""
    kept = how_long_kept(observed)
    if kept is None or known.dead_since is None or known.found is None:
        return False
    portion = portion_of(known.found.dead_files, _policy(observed), kept)
    return observed.at - known.dead_since >= kept + portion + beyond


def _backs_off(failed: StepFailed | None, now: datetime) -> bool:
    if failed is None:
        return False
    doublings = min(failed.count - 1, 16)
    return now - failed.at < min(_FIRST_DELAY * (1 << doublings), _LONGEST_DELAY)
