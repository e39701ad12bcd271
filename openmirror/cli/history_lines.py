"""`history` for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from openmirror.cli.console import short, where_time_went
from openmirror.errors import Problem
from openmirror.operate.report import HistoryLine, Load, PausingProblem
from openmirror.protocol.counts import counted
from openmirror.status import iso
from openmirror.table.control import Act, BatchKind, Dropped, Ended
from openmirror.table.log import BatchRecord

_LOADS = {
    Load.FIRST: "first load",
    Load.RE_CREATION: "loaded anew, as its folder was created again",
    Load.RESEED: "rebuilt by reseed",
    Load.ANEW: "loaded anew",
}


def history_lines(lines: Iterable[HistoryLine]) -> Iterator[str]:
    """One line for each commit, problem, drop, and thing that an operator did.

    Each with its date and zone: a history is read by others, elsewhere.
    """
    for line in lines:
        when = f"{line.at.astimezone():%Y-%m-%d %H:%M:%S %Z}" if line.at else "at an unknown time"
        yield f"{when}  {_text(line)}"


def _text(line: HistoryLine) -> str:
    match line.event:
        case Act() as act:
            return f"{act.what}, by {act.by}" + (f": {act.why}" if act.why else "")
        case PausingProblem(problem):
            return f"paused by {_stopped_by(problem)}"
        case Ended() as ended:
            return f"no longer {_stopped_by(ended.problem)}: {ended.how}"
        case Dropped():
            return "dropped, because its landing folder was gone"
        case BatchRecord() as commit:
            return _commit(commit, line.load)


def _commit(commit: BatchRecord, load: Load | None) -> str:
    if commit.kind == BatchKind.CONTINUE:
        return f"goes on under a new epoch, at {commit.last}"
    one = commit.first == commit.last
    what = f"file {commit.last}" if one else f"files {commit.first}-{commit.last}"
    what = f"{_LOADS[load]}, {what}" if load else what
    signs = (("inserts", "+"), ("updates", "~"), ("deletes", "-"))
    changes = " ".join(
        f"{sign}{commit.rows[kind]:,}" for kind, sign in signs if commit.rows.get(kind)
    )
    behind = "" if commit.lag_seconds is None else f", {short(commit.lag_seconds)} after landing"
    total = f" ({counted(commit.files, 'file')})" if not one else ""
    times = where_time_went(commit.wait_seconds, commit.all_phases)
    return f"{what}{total}: {changes or 'no changes'}{behind}{times}"


def _stopped_by(problem: Problem) -> str:
    return f"{problem.code.value} at {problem.file}" if problem.file else problem.code.value


def history_json(lines: Iterable[HistoryLine]) -> dict[str, object]:
    """The same, for programs; sequences are strings, as in `status --json`."""
    return {"data": [_line_json(line) for line in lines]}


def _line_json(line: HistoryLine) -> dict[str, object]:
    at = iso(line.at) if line.at else None
    event = line.event
    if isinstance(event, Act):
        return {"at": at, "event": "act", "what": event.what, "by": event.by, "why": event.why}
    if isinstance(event, Dropped):
        return {"at": at, "event": "drop"}
    if isinstance(event, PausingProblem | Ended):
        problem = event.problem
        return {
            "at": at,
            "event": "problem",
            "code": problem.code.value,
            "file": problem.file,
            "detail": problem.detail,
            "since": iso(problem.since) if problem.since else None,
            "ended": event.how if isinstance(event, Ended) else None,
        }
    return {
        "at": at,
        "event": "commit",
        "kind": event.kind,
        "load": line.load.value if line.load else None,
        "firstSequence": str(event.first),
        "lastSequence": str(event.last),
        "files": event.files,
        "rows": dict(event.rows),
        "bytes": event.bytes,
        "lagSeconds": event.lag_seconds,
        "waitSeconds": event.wait_seconds,
        "seconds": {phase.value: spent for phase, spent in event.all_phases.items()},
    }
