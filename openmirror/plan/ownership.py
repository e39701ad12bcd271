"""Whether the Delta path is this folder's to write (INTERNALS §3)."""

from __future__ import annotations

from openmirror.plan.decisions import Pause
from openmirror.plan.observed import ObservedState
from openmirror.plan.retention import FORGETS_TRANSACTIONS
from openmirror.plan.rules import problem_of
from openmirror.protocol.rules import Broken, Code
from openmirror.table.control import RequestKind
from openmirror.table.log import AppId, BrokenLog, Epoch, TableLog


def forgotten_by_log(observed: ObservedState) -> AppId | None:
    """An epoch that the control document knows, which was in the log and is not any more.

    Every epoch before the live one was fenced in this log before that was opened; and without a
    live one, what was applied last is among those that are fenced. A log that lacks one of them
    would let its runner, however late, add what it has.
    """
    log, control = observed.log, observed.control
    if not isinstance(log, TableLog) or not log.epochs or control.asks_for(RequestKind.RESEED):
        return None
    newest = max(epoch.number for epoch in log.epochs)
    if observed.live is not None:
        for app_id in control.epochs:
            epoch = Epoch.parse(app_id)
            if epoch is None or epoch.folder != observed.folder:
                continue
            if epoch.number < observed.live[0].number and app_id not in log.transactions:
                return app_id
        return None
    applied = control.applied
    epoch = Epoch.parse(applied.app_id) if applied else None
    if log.live is None and applied and epoch and epoch.number > newest:
        return applied.app_id
    return None


def not_ours(observed: ObservedState) -> Pause | None:
    """The problem of a path that belongs to somebody else, or that nobody can read."""
    if observed.rival is not None:
        detail = f"{observed.rival} maps to the same table {observed.name}"
        return Pause(problem_of(observed, Broken(Code.TABLE_NAME_COLLISION, detail)))
    for log in (observed.log, observed.retained):
        if isinstance(log, BrokenLog):
            return Pause(
                problem_of(observed, Broken(Code.TABLE_LOG_BROKEN, f"{log.path}: {log.reason}"))
            )
        if log is observed.log and (forgotten := forgotten_by_log(observed)):
            detail = (
                f"{log.path if log else observed.table}: it has forgotten the transaction of "
                f"{forgotten}, so that what was applied under it could be applied again; "
                f"{FORGETS_TRANSACTIONS} does that. `openmirror reseed` makes the table anew"
            )
            return Pause(problem_of(observed, Broken(Code.TABLE_LOG_BROKEN, detail)))
        if (
            log is None
            or observed.folder in log.owners
            or observed.control.asks_for(RequestKind.ADOPT)
        ):
            continue
        if not log.owners:
            return Pause(problem_of(observed, _without_owner(observed, log)))
        owner = min(log.owners)
        detail = f"{log.path} belongs to the landing folder {owner}"
        return Pause(problem_of(observed, Broken(Code.TABLE_NAME_COLLISION, detail)))
    return None


def _without_owner(observed: ObservedState, log: TableLog) -> Broken:
    """Nothing says whose table that is. It may be this folder's, of which all was forgotten."""
    applied = observed.control.applied
    if applied is None or log is not observed.log:
        detail = f"{log.path} holds a Delta table that this mirror did not write"
        return Broken(Code.TABLE_NOT_OURS, detail)
    detail = (
        f"{log.path} has no transaction of this mirror, which has applied files up to "
        f"{applied.position} to a table here: another table was put in its place, or its log has "
        f"forgotten what was applied, as {FORGETS_TRANSACTIONS} has it do"
    )
    remedy = (
        "Move the Delta table at this path away, then `openmirror reseed`: it makes the table anew "
        "from its files. It is not touched where it lies, since it may be somebody else's."
    )
    return Broken(Code.TABLE_NOT_OURS, detail, remedy)
