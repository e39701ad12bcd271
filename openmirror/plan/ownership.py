"""Whether the Delta path is this folder's to write (ARCHITECTURE §6)."""

from __future__ import annotations

from openmirror.control import RequestKind
from openmirror.plan.decisions import Pause
from openmirror.plan.look import Look
from openmirror.plan.rules import judged
from openmirror.protocol.rules import Broken, Code
from openmirror.tablelog import BrokenLog


def not_ours(look: Look) -> Pause | None:
    """The problem of a path that belongs to somebody else, or that nobody can read."""
    if look.rival is not None:
        detail = f"{look.rival} maps to the same table {look.name}"
        return Pause(judged(look, Broken(Code.TABLE_NAME_COLLISION, detail)))
    for log in (look.log, look.aside):
        if isinstance(log, BrokenLog):
            return Pause(judged(look, Broken(Code.TABLE_LOG_BROKEN, f"{log.path}: {log.reason}")))
        if log is None or look.folder in log.owners or look.control.asks_for(RequestKind.ADOPT):
            continue
        if not log.owners:
            detail = f"{log.path} holds a Delta table that this mirror did not write"
            return Pause(judged(look, Broken(Code.TABLE_NOT_OURS, detail)))
        owner = min(log.owners)
        detail = f"{log.path} belongs to the landing folder {owner}"
        return Pause(judged(look, Broken(Code.TABLE_NAME_COLLISION, detail)))
    return None
