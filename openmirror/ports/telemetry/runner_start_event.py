"""What came of asking for a runner, as the event that workbook and alerts are made of. Pure."""

from __future__ import annotations

from openmirror.ports.jobs import Failed, Refused, Skipped, Started, StartOutcome, Unreachable
from openmirror.ports.telemetry.custom_event import properties

EVENT = "OpenmirrorRunnerStart"

FIELDS = ("Outcome", "Detail", "JobId", "RunId", "RunPage")
"""Every property that the event can have."""

REPORTED = (Started, Skipped, Refused, Failed, Unreachable)
"""The outcomes that are emitted, each by the name of its type; the others changed nothing."""


def fields(job: str, outcome: StartOutcome) -> dict[str, str]:
    """The event's properties; none for an outcome that is not emitted."""
    if not isinstance(outcome, REPORTED):
        return {}
    of_run = outcome if isinstance(outcome, Started | Skipped | Failed) else None
    return properties(
        {
            "Outcome": type(outcome).__name__,
            "Detail": None if isinstance(outcome, Started) else outcome.reason,
            "JobId": job,
            "RunId": of_run.run if of_run else None,
            "RunPage": of_run.page if of_run else None,
        }
    )


def subject(event: dict[str, str]) -> tuple[str | None, ...]:
    """What two outcomes differ by: the run, where there is one, since the detail may count down."""
    return event["Outcome"], event.get("RunId") or event.get("Detail")
