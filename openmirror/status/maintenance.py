"""What status shows of a table's maintenance: its files, what is due, and what ran last."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from openmirror.plan import ObservedState
from openmirror.plan.maintaining import (
    commits_since_survey,
    how_long_kept,
    left_small,
    removes_marked,
)
from openmirror.plan.maintenance_steps import MaintenanceMode
from openmirror.plan.observed import TablePolicy
from openmirror.plan.retention import FORGETS_TRANSACTIONS
from openmirror.status.words import Warn, Word, at_second, iso
from openmirror.table.control import Maintenance, StepDone, StepFailed, StepKind
from openmirror.table.log import TableLog

_FAILURES = 3
_COMMITS = 10
"""Times as many as make a table pressing: by then it should have had its turn."""
_OVERDUE = timedelta(days=3)


def behind(observed: ObservedState) -> Iterator[Warn]:
    """The warning of a table whose debt grows, and why, where a runner is to maintain it."""
    policy, known, log = observed.policy, observed.control.maintenance, observed.log
    own = log if isinstance(log, TableLog) and observed.folder in log.owners else None
    if own and FORGETS_TRANSACTIONS in own.properties:
        yield Warn(
            Word.MAINTENANCE_BEHIND,
            f"somebody else has set the property {FORGETS_TRANSACTIONS}, by which the log forgets "
            "what was applied: no step is safe",
            "The table's next batch takes it away. Where none is near, do so yourself: ALTER TABLE "
            f"... UNSET TBLPROPERTIES ('{FORGETS_TRANSACTIONS}').",
        )
    if known is None or not isinstance(policy, TablePolicy):
        return
    if removes_marked(observed):  # which a runner does, whoever maintains the files
        for reason in _failures(known.failed_removal):
            yield Warn(
                Word.MAINTENANCE_BEHIND,
                reason,
                "Rows that were deleted long ago are still there, marked as deleted. Mend what the "
                "reason names: a runner tries it again, and `openmirror maintain` does so now.",
            )
    if policy.maintenance.mode is not MaintenanceMode.AUTO:
        return
    for reason in _reasons(observed, known):
        yield Warn(
            Word.MAINTENANCE_BEHIND,
            reason,
            "Nothing is lost: reading gets slower, and storage is used. `openmirror maintain` "
            "does what is due; `maintenance: off` in mirroring.json leaves it to somebody else.",
        )
        return


def _reasons(observed: ObservedState, known: Maintenance) -> Iterator[str]:
    assert isinstance(observed.policy, TablePolicy)
    yield from _failures(known.failed)
    if known.found and known.found.remark and not known.again:
        yield known.found.remark
    commits = commits_since_survey(observed)
    if commits >= _COMMITS * observed.policy.maintenance.pressing_commits:
        yield f"its files were not surveyed for {commits} commits"
    small, pressing = left_small(known), observed.policy.maintenance.pressing_commits
    if small >= _COMMITS * pressing and known.found and known.found.due is StepKind.COMPACT:
        yield f"{small} small files are not put together yet"
    kept = how_long_kept(observed)
    if kept and known.dead_since and observed.at - known.dead_since > kept + _OVERDUE:
        yield f"files that left the table on {at_second(known.dead_since)} are not deleted yet"


def _failures(failed: StepFailed | None) -> Iterator[str]:
    if failed and failed.count >= _FAILURES:
        at = at_second(failed.at)
        yield f"{failed.count} steps failed in a row, the last on {at}: {failed.error}"


def maintenance_json(known: Maintenance) -> dict[str, object]:
    """For programs; sizes in bytes, as of the last survey."""
    found = known.found
    return {
        "surveyedAt": iso(found.at) if found else None,
        "files": found.files if found else None,
        "bytes": found.bytes if found else None,
        "smallFiles": found.small_files if found else None,
        "deletedRows": found.rows_deleted if found else None,
        "deadFiles": found.dead_files if found else None,
        "deadBytes": found.dead_bytes if found else None,
        "due": found.due.value if found and found.due else None,
        "asked": iso(known.asked.at) if known.asked else None,
        "begun": iso(known.begun.at) if known.begun else None,
        "compacted": _done_json(known.compacted),
        "vacuumed": _done_json(known.vacuumed),
        "removedThrough": iso(known.removed_through) if known.removed_through else None,
        "failures": sum(one.count for one in (known.failed, known.failed_removal) if one),
    }


def _done_json(done: StepDone | None) -> dict[str, object] | None:
    if done is None:
        return None
    return {"at": iso(done.at), "files": done.files, "bytes": done.bytes, "seconds": done.seconds}
