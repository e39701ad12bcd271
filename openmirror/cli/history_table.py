"""`history` for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich import box
from rich.table import Table
from rich.text import Text

from openmirror.cli.console import clock_time, short
from openmirror.errors import Problem
from openmirror.operate.report import HistoryLine, PausingProblem
from openmirror.status import iso
from openmirror.table.control import Act, Ended
from openmirror.table.log import BatchRecord


def history_table(lines: Iterable[HistoryLine], now: datetime) -> Table:
    """One line for each commit, each problem, and each thing that an operator did."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    shown.add_column("when", no_wrap=True)
    shown.add_column("what", overflow="fold")
    shown.add_column("files", justify="right", no_wrap=True)
    shown.add_column("changes", overflow="fold")
    shown.add_column("behind", justify="right", no_wrap=True)
    for line in lines:
        when = clock_time(line.at, now) if line.at else "?"
        shown.add_row(when, *_cells(line.event))
    return shown


def _cells(event: BatchRecord | Act | PausingProblem | Ended) -> tuple[Text | str, ...]:
    if isinstance(event, Act):
        why = f": {event.why}" if event.why else ""
        return Text(f"{event.what}, by {event.by}{why}"), "", "", ""
    if isinstance(event, PausingProblem):
        return Text(f"paused by {_stopped_by(event.problem)}"), "", "", ""
    if isinstance(event, Ended):
        return Text(f"no longer {_stopped_by(event.problem)}: {event.how}"), "", "", ""
    signs = (("inserts", "+"), ("updates", "~"), ("deletes", "-"))
    changes = " ".join(
        f"{sign}{event.rows[kind]:,}" for kind, sign in signs if event.rows.get(kind)
    )
    span = str(event.last) if event.first == event.last else f"{event.first}-{event.last}"
    lag = event.lag_seconds
    return Text(event.kind), span, changes or "none", "" if lag is None else short(lag)


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
        "firstSequence": str(event.first),
        "lastSequence": str(event.last),
        "files": event.files,
        "rows": dict(event.rows),
        "bytes": event.bytes,
        "lagSeconds": event.lag_seconds,
    }
