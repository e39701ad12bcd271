"""A letter that was kept, as the event that workbook and alerts are made of. Pure."""

from __future__ import annotations

from openmirror.customevent import properties
from openmirror.ports.letters import Letter

EVENT = "OpenmirrorLetter"

FIELDS = ("Source", "LetterName", "Reason")
"""Every property that the event has."""


def fields(letter: Letter) -> dict[str, str]:
    """The event's properties; a letter that is kept again has the same name."""
    return properties({"Source": letter.source, "LetterName": letter.name, "Reason": letter.reason})
