"""Messages that were given up, and what Event Grid could not deliver: kept as dead letters."""

from __future__ import annotations

import logging

import azure.functions as func

from functions.bindings import COLLECT, POISON_EVENTS, POISON_WORK, QUEUES
from functions.built import built
from openmirror.ingress.dead_letters import collect, count, keep_event, keep_work_item
from openmirror.ports.dead_letters import DeadLetter

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_log = logging.getLogger("openmirror.dead_letters")


@blueprint.function_name("poison_events")
@blueprint.queue_trigger(arg_name="message", queue_name=POISON_EVENTS, connection=QUEUES)
def poison_events(message: func.QueueMessage) -> None:
    """Keep a message of the queue of landing events that could not be handled."""
    app = built()
    identity, body, now = str(message.id), message.get_body(), app.ports.clock()
    _say(keep_event(app.dead_letters, app.read_events, identity, body, now, app.ports.telemetry))


@blueprint.function_name("poison_work")
@blueprint.queue_trigger(arg_name="message", queue_name=POISON_WORK, connection=QUEUES)
def poison_work(message: func.QueueMessage) -> None:
    """Keep a message of the work queue that a runner gave up."""
    app = built()
    identity, body, now = str(message.id), message.get_body(), app.ports.clock()
    _say(keep_work_item(app.dead_letters, identity, body, now, app.ports.telemetry))


@blueprint.function_name("dead_letters")
@blueprint.timer_trigger(arg_name="timer", schedule=COLLECT)
def dead_letters(timer: func.TimerRequest) -> None:
    """Keep what Event Grid could not deliver, and report how many dead letters there are."""
    del timer
    app = built()
    telemetry = app.ports.telemetry
    for dead_letter in collect(
        app.dead_letters, app.undelivered_events, app.ports.clock(), telemetry
    ):
        _say(dead_letter)
    count(app.dead_letters, telemetry)


def _say(dead_letter: DeadLetter) -> None:
    _log.error("dead letter %s: %s", dead_letter.name, dead_letter.reason)
