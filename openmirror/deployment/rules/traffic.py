"""Whether events, work items and dead letters go where they should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, warning
from openmirror.deployment.rules.outputs import Outputs
from openmirror.deployment.rules.roles import QUEUES
from openmirror.ports.dead_letters import CONTAINER
from openmirror.ports.landing_events import LANDING_SUBJECT, REPORTED_AS
from openmirror.ports.management import EventSubscription
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.ports.workspace import ObservedJob
from openmirror.protocol.counts import counted

BACKLOG = 500
"""So many messages are more than a minute's work."""
_DEPLOY = "Deploy again, which makes it anew."
_SWEEP = "Until then only the sweep finds files, within five minutes."


def check_events(outputs: Outputs, found: EventSubscription | None) -> list[Finding]:
    """Whether what happens in the landing zone is sent to the queue."""
    name = outputs.event_subscription
    if found is None:
        what = f"the event subscription {name} of {outputs.system_topic} is gone"
        return [fault(Check.EVENTS, what, f"{_DEPLOY} {_SWEEP}")]
    if found.state.lower() not in ("succeeded", "updating"):
        return [fault(Check.EVENTS, f"the event subscription {name} is {found.state}", _DEPLOY)]
    where = f"{found.account}/{found.queue}" if found.queue else "no queue"
    if found.queue != EVENTS_QUEUE or found.account.lower() != outputs.runtime_account.lower():
        must = f"{outputs.runtime_account}/{EVENTS_QUEUE}"
        what = f"the event subscription {name} leads to {where}, not to {must}"
        return [fault(Check.EVENTS, what, f"{_DEPLOY} {_SWEEP}")]
    lacking = {one.lower() for one in REPORTED_AS} - {one.lower() for one in found.kinds}
    if found.kinds and lacking:
        kinds = ", ".join(one.rpartition(".")[2] for one in REPORTED_AS if one.lower() in lacking)
        what = f"the event subscription {name} lets no {kinds} through"
        return [fault(Check.EVENTS, what, f"{_DEPLOY} {_SWEEP}")]
    if not LANDING_SUBJECT.startswith(found.subject):
        what = f"the event subscription {name} delivers only events of {found.subject}"
        return [fault(Check.EVENTS, what, f"{_DEPLOY} {_SWEEP}")]
    if found.subject != LANDING_SUBJECT:
        what = f"the event subscription {name} delivers events of more than the landing zones"
        return [warning(Check.EVENTS, what, f"{_DEPLOY} Events that nobody needs cost calls.")]
    return [ok(Check.EVENTS, f"{name} leads to {where}")]


def check_queues(lengths: Mapping[str, int | None]) -> list[Finding]:
    """Whether the queues are there, and flow."""
    found = []
    for queue in QUEUES:
        length = lengths.get(queue)
        if length is None:
            found.append(fault(Check.QUEUES, f"there is no queue {queue}", "Deploy again."))
        elif length and queue.endswith(POISON_SUFFIX):
            found.append(
                fault(
                    Check.QUEUES,
                    f"{counted(length, 'message lies', 'messages lie')} in {queue}",
                    "They were given up, and the function that keeps them as dead letters does "
                    "not take them: see its invocations. Then docs/FUNCTIONS.md, Dead letters.",
                )
            )
        elif length > BACKLOG:
            found.append(
                warning(Check.QUEUES, f"{length} messages wait in {queue}", _remedy(queue))
            )
    if found:
        return found
    waiting = {name: lengths[name] for name in (EVENTS_QUEUE, WORK_QUEUE)}
    shown = ", ".join(f"{name} {length}" for name, length in waiting.items())
    return [ok(Check.QUEUES, f"all {len(QUEUES)} are there, and flow ({shown})")]


def _remedy(queue: str) -> str:
    if queue == WORK_QUEUE:
        return "No runner takes them, or it is behind: see the finding of the runner."
    return "See the invocations of the function landing, and maximumInstances."


def check_dead_letters(names: Sequence[str] | None) -> list[Finding]:
    """Whether something was given up; None of names where there is no container for it."""
    if names is None:
        what = f"there is no container {CONTAINER}: what is given up is lost"
        return [fault(Check.DEAD_LETTERS, what, "Deploy again.")]
    if not names:
        return [ok(Check.DEAD_LETTERS, "none")]
    return [
        warning(
            Check.DEAD_LETTERS,
            f"{len(names)} in the container {CONTAINER}, the newest {names[0]}",
            "No data is lost by them. Read why, put them back or delete them: "
            "docs/FUNCTIONS.md, Dead letters.",
        )
    ]


@dataclass(frozen=True)
class AlwaysOn:
    """No job is set: a runner is always on, somewhere."""


def check_runner(job: ObservedJob | AlwaysOn, waiting: int | None) -> list[Finding]:
    """Whether somebody takes the work."""
    if isinstance(job, AlwaysOn):
        return [ok(Check.RUNNER, "no job is set: a runner is always on elsewhere")]
    if job.active:
        return [ok(Check.RUNNER, "a run of the job is active")]
    page = f" Its log: {job.page}" if job.page else ""
    if job.failed:
        return [
            fault(
                Check.RUNNER,
                f"the last run of the job failed: {job.last}",
                f"Read the run's log, and remove the cause.{page}",
            )
        ]
    if waiting:
        return [
            warning(
                Check.RUNNER,
                f"{counted(waiting, 'message waits', 'messages wait')} in {WORK_QUEUE}, and no run "
                "of the job is active",
                "The function start_runner asks for one every 10 s: its invocations say what came "
                "of it.",
            )
        ]
    last = f"; the last one ended with {job.last}" if job.last else "; none ever was"
    return [ok(Check.RUNNER, f"no run is active, and none is needed{last}")]
