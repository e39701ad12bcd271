"""Whether the Delta path is this folder's to write (INTERNALS §3)."""

from __future__ import annotations

from openmirror.plan.decisions import Pause
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import problem_of
from openmirror.protocol.rules import Broken, Code
from openmirror.table.control import RequestKind
from openmirror.table.log import BrokenLog


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
        if (
            log is None
            or observed.folder in log.owners
            or observed.control.asks_for(RequestKind.ADOPT)
        ):
            continue
        if not log.owners:
            detail = f"{log.path} holds a Delta table that this mirror did not write"
            return Pause(problem_of(observed, Broken(Code.TABLE_NOT_OURS, detail)))
        owner = min(log.owners)
        detail = f"{log.path} belongs to the landing folder {owner}"
        return Pause(problem_of(observed, Broken(Code.TABLE_NAME_COLLISION, detail)))
    return None
