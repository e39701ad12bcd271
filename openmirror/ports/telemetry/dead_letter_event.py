"""A dead letter that was kept, as the event that workbook and alerts are made of. Pure."""

from __future__ import annotations

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.telemetry.custom_event import properties

EVENT = "OpenmirrorDeadLetter"

FIELDS = ("Source", "DeadLetterName", "Reason")
"""Every property that the event has."""


def fields(dead_letter: DeadLetter) -> dict[str, str]:
    """The event's properties; a dead letter that is kept again has the same name."""
    return properties(
        {
            "Source": dead_letter.source,
            "DeadLetterName": dead_letter.name,
            "Reason": dead_letter.reason,
        }
    )
