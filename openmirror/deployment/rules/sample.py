"""The sample: one row that comes and goes, and what it means when it does not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from openmirror.deployment.rules.findings import Check, Finding, fault, ok
from openmirror.durations import short
from openmirror.ports.workspace import ObservedJob
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.status import Trouble

MIRROR = "openmirror-verify"
FOLDER = TableFolder(MIRROR, TablePath("", "sample"))
"""One table for every verification: an empty one stays, and none has to be dropped, which a
mirror's bulk-drop guard and retention would have a say in."""


class SampleStep(StrEnum):
    """What was waited for."""

    APPEAR = "appear"
    DISAPPEAR = "disappear"


@dataclass(frozen=True, kw_only=True)
class Stuck:
    """What could be seen when the time was over."""

    step: SampleStep
    waited: timedelta
    problem: Trouble | None = None
    is_held: bool = False
    """Whether an operator holds its table."""
    waits_for: str = ""
    events: int | None = None
    """Messages in the queue of events; None when that could not be asked."""
    work: int | None = None
    """Messages in the queue of work items; None when that could not be asked."""
    was_swept: bool = False
    """Whether the functions have written the sample mirror's status since its file landed."""
    job: ObservedJob | None = None
    """None when a runner is always on, or the job could not be asked."""
    wake_ups_seen: bool = False
    """Whether a work item was seen in the queue at any time."""


def check_arrival(took: timedelta, back: timedelta) -> Finding:
    """It came, and went."""
    return ok(
        Check.SAMPLE,
        f"a row was in {FOLDER.mirror}/dbo.{FOLDER.path.table} {short(took.total_seconds())} after "
        f"its file had landed, and gone {short(back.total_seconds())} after that of its deletion",
    )


def check_stuck(stuck: Stuck) -> Finding:
    """Where it stands still, and who has to do something."""
    after = f"the sample's row did not {stuck.step} within {short(stuck.waited.total_seconds())}"
    if stuck.problem is not None:
        return fault(
            Check.SAMPLE,
            f"{after}: its table is paused by {stuck.problem.code}: {stuck.problem.detail}",
            stuck.problem.solution,
        )
    if stuck.is_held:
        return fault(
            Check.SAMPLE,
            f"{after}: its table is held, and nothing happens to it",
            f"openmirror resume {FOLDER.mirror}/dbo.{FOLDER.path.table}",
        )
    if stuck.events:
        return fault(
            Check.SAMPLE,
            f"{after}: {stuck.events} event(s) lie in the queue, and the function landing does not "
            "take them",
            "See the app's state, and the invocations of landing.",
        )
    if stuck.job is not None and stuck.job.failed and not stuck.job.active:
        return _runner(f"{after}: the last run of the job failed: {stuck.job.last}", stuck.job)
    if stuck.work:
        what = f"{after}: {stuck.work} work item(s) lie in the queue, and no runner takes them"
        return _runner(what, stuck.job)
    if not stuck.was_swept:
        return fault(
            Check.SAMPLE,
            f"{after}: no event arrived, and no sweep has seen the file either",
            "The functions do not run: see the app's state and the invocations of sweep. For "
            "events alone, the findings of the event subscription.",
        )
    if stuck.waits_for:
        return fault(
            Check.SAMPLE, f"{after}: its table waits: {stuck.waits_for}", "Give it more --timeout."
        )
    if stuck.wake_ups_seen:
        return fault(
            Check.SAMPLE,
            f"{after}: a runner took the work item, and has not committed yet",
            "Read the runner's log; if it is at work, give it more --timeout.",
        )
    return fault(
        Check.SAMPLE,
        f"{after}: the file was seen, and no work item was sent",
        "See the invocations of landing and of sweep: the role on the queue table-work may be "
        "missing.",
    )


def _runner(what: str, job: ObservedJob | None) -> Finding:
    if job is None:
        remedy = "Start a runner: docs/RUNNER.md; or set databricksJobId, and deploy again."
    elif job.failed:
        remedy = f"Read the run's log{': ' + job.page if job.page else ''}."
    else:
        remedy = "See the invocations of start_runner, and give a cluster more --timeout to start."
    return fault(Check.SAMPLE, what, remedy)
