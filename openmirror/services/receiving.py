"""Receiving landing events: each is judged at the door, and a runner is started when one rang."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from openmirror.events import LandingEvent, NoEvent, ReadEvent
from openmirror.ports import WorkQueue
from openmirror.ports.jobs import StartOutcome
from openmirror.services.door import Answer, Rung, admit
from openmirror.services.parts import Parts
from openmirror.services.starting import Starter


@dataclass(frozen=True)
class Received:
    """What became of one message's events."""

    answers: tuple[tuple[LandingEvent, Answer], ...]
    no_events: tuple[NoEvent, ...]
    """Parts of the message that are no event; the message has to be kept."""
    started: StartOutcome | None
    """What came of looking for a runner; None when nothing rang."""


def receive(
    parts: Parts, work: WorkQueue, starter: Starter, events: Iterable[ReadEvent]
) -> Received:
    """Answer every event of a message; events of other types are passed over.

    Raises what the queue raises when it takes no ring, and AccessDenied. The message must then come
    again, which repeats harmless rings.
    """
    answers: list[tuple[LandingEvent, Answer]] = []
    no_events: list[NoEvent] = []
    for event in events:
        if isinstance(event, LandingEvent):
            answers.append((event, admit(parts, work, event)))
        elif isinstance(event, NoEvent):
            no_events.append(event)
    rang = any(isinstance(answer, Rung) for _, answer in answers)
    started = starter.start_if_needed() if rang else None
    return Received(tuple(answers), tuple(no_events), started)
