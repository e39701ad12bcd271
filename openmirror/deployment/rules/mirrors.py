"""Whether the mirrors of a deployment are at work, and their tables go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, warning
from openmirror.protocol.rules import Code
from openmirror.reconcile.liveness import SweepRecord
from openmirror.status import TableStatus, Trouble, wait_remedy

STALE = timedelta(minutes=5)
"""Ten sweeps: an older heartbeat says that the functions do not run."""


def check_sweep(
    record: SweepRecord | None, now: datetime, interval: timedelta, group: str, app: str
) -> list[Finding]:
    """Whether the timer of the function `sweep` goes off, and its sweeps end in time."""
    restart = f"az functionapp restart --resource-group {group} --name {app}"
    if record is None:
        return [
            fault(
                Check.SWEEP,
                f"no sweep of {app} has ended yet",
                "See the invocations of the function sweep: CannotStart names a wrong setting, "
                f"AccessDenied a missing role. If there is none: {restart}",
            )
        ]
    if record.timer is None or now - record.timer > STALE:
        since = f"since {record.timer:%Y-%m-%d %H:%M} UTC" if record.timer else "yet"
        what = f"the timer of the function sweep stands still: it has not gone off {since}"
        if now - record.ended <= STALE:
            what += "; events sweep in its place, so what no event announces is found late"
        return [
            fault(
                Check.SWEEP,
                what,
                f"{restart}. If it stands still again, read the "
                "app's log for the listener of the function sweep.",
            )
        ]
    if record.seconds > interval.total_seconds():
        return [
            warning(
                Check.SWEEP,
                f"the last sweep took {record.seconds:.0f} s, longer than the "
                f"{interval.total_seconds():.0f} s between two",
                "Raise OPENMIRROR_CONCURRENT_OBSERVATIONS, or instanceMemoryMB, which an "
                "instance's share of processors goes with.",
            )
        ]
    return [ok(Check.SWEEP, f"the timer goes off; the last sweep took {record.seconds:.0f} s")]


def check_heartbeats(beats: Mapping[str, datetime | None], now: datetime) -> list[Finding]:
    """Whether each mirror is swept."""
    found = []
    for mirror, beat in beats.items():
        if beat is not None and now - beat <= STALE:
            continue
        since = f"since {beat:%Y-%m-%d %H:%M} UTC" if beat else "yet"
        found.append(
            fault(
                Check.HEARTBEAT,
                f"no sweep has been at work on the mirror {mirror} {since}",
                "See the invocations of the function sweep: CannotStart names a wrong setting, "
                "AccessDenied a missing role.",
            )
        )
    if found:
        return found
    if not beats:
        return [ok(Check.HEARTBEAT, "no mirror yet: there is nothing to sweep")]
    return [ok(Check.HEARTBEAT, f"{len(beats)} mirror(s), all swept lately")]


def check_tables(tables: Iterable[TableStatus], settings: Mapping[str, Trouble]) -> list[Finding]:
    """Each table that does not go on; `settings` has what is wrong with a mirror as a whole."""
    every = list(tables)
    found = [
        fault(Check.TABLES, f"{mirror}: {trouble.detail}", trouble.solution)
        for mirror, trouble in settings.items()
    ]
    for table in every:
        name = f"{table.folder.mirror}/{table.name}" if table.name.table else table.folder.mirror
        if table.problem:
            where = f"{table.problem.file}: " if table.problem.file else ""
            what = f"{name} is paused by {table.problem.code}: {where}{table.problem.detail}"
            found.append(fault(Check.TABLES, what, table.problem.solution))
        elif table.needs_attention and table.waiting_for:
            waiting = table.waiting_for.waiting
            what = f"{name} waits: {waiting.detail}"
            found.append(warning(Check.TABLES, what, wait_remedy(waiting, name)))
        for warn in table.warnings if table.needs_attention else ():
            if warn.code == Code.FILE_NEVER_READ:
                what = f"{name}: {warn.file}: {warn.detail}"
                found.append(warning(Check.TABLES, what, warn.solution))
    return found or [ok(Check.TABLES, f"{len(every)}, and none stands still")]
