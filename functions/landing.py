"""Landing events, from the queue that Event Grid fills or from Event Grid itself."""

from __future__ import annotations

import logging

import azure.functions as func

from functions.bindings import QUEUES
from functions.built import built
from functions.sweep import log_pass
from openmirror.ingress.event_filter import Ignored
from openmirror.ingress.receiving import receive
from openmirror.ports.work_items import EVENTS_QUEUE

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_log = logging.getLogger("openmirror.landing")


@blueprint.function_name("landing")
@blueprint.queue_trigger(arg_name="message", queue_name=EVENTS_QUEUE, connection=QUEUES)
def landing(message: func.QueueMessage) -> None:
    """Handle the events of one queue message."""
    _receive(message.get_body())


@blueprint.function_name("landing_webhook")
@blueprint.event_grid_trigger(arg_name="event")
def landing_webhook(event: str) -> None:
    """Handle one event that Event Grid delivers by itself, in whichever schema."""
    _receive(event.encode())


def _receive(body: bytes) -> None:
    app = built()
    received = receive(app.ports, app.work, app.starter, app.read_events(body))
    for event, answer in received.answers:
        _log.info("event %s, %s %s: %s", event.identity, event.kind, event.path, answer)
    if received.started is not None:
        _log.info("runner: %s", received.started)
    if received.answers:
        silent = (answer for _, answer in received.answers if isinstance(answer, Ignored))
        app.events_taken.note(answer.watch for answer in silent if answer.watch)
        # A timer that stands still must not keep other files waiting.
        if (stood_in := app.sweeper.sweep_if_stale()) is not None:
            _log.warning("no sweep had ended for long: swept in the place of the timer")
            log_pass(_log, stood_in)
    if received.no_events:
        # All other events of the message are done; it comes again, and ends as a dead letter.
        raise ValueError("; ".join(part.reason for part in received.no_events))
