"""Receiving landing events: each passes the event filter, and a runner is started when needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from openmirror.ingress.event_filter import Answer, Woken, handle_event
from openmirror.ingress.start_runner import Starter
from openmirror.ports import WorkQueue
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.landing_events import LandingEvent, NoEvent, ReadEvent
from openmirror.reconcile.root_ports import RootPorts


@dataclass(frozen=True)
class Received:
    """What became of one message's events."""

    answers: tuple[tuple[LandingEvent, Answer], ...]
    no_events: tuple[NoEvent, ...]
    """Parts of the message that are no event; the message has to be kept."""
    started: StartOutcome | None
    """What came of asking for a runner; None when no event woke a table."""


def receive(
    ports: RootPorts, work: WorkQueue, starter: Starter, events: Iterable[ReadEvent]
) -> Received:
    """Answer every event of a message; events of other types are passed over.

    Raises what the queue raises when it takes no work item, and AccessDenied without a place. The
    message must then be delivered again, which repeats work items and does no harm.
    """
    answers: list[tuple[LandingEvent, Answer]] = []
    no_events: list[NoEvent] = []
    for event in events:
        if isinstance(event, LandingEvent):
            answers.append((event, handle_event(ports, work, event)))
        elif isinstance(event, NoEvent):
            no_events.append(event)
    woke = any(isinstance(answer, Woken) for _, answer in answers)
    started = starter.start_if_needed() if woke else None
    return Received(tuple(answers), tuple(no_events), started)
