"""Starting the runner: for work that came while a run was ending, or was refused before."""

from __future__ import annotations

import logging

import azure.functions as func

from functions.bindings import START_RUNNER
from functions.built import built
from openmirror.ports.jobs import Failed, Refused

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_log = logging.getLogger("openmirror.runner")


@blueprint.function_name("start_runner")
@blueprint.timer_trigger(arg_name="timer", schedule=START_RUNNER)
def start_runner(timer: func.TimerRequest) -> None:
    """See that a run is active while there is work."""
    del timer
    outcome = built().starter.start_if_needed()
    is_wrong = isinstance(outcome, (Failed, Refused))
    _log.log(logging.ERROR if is_wrong else logging.INFO, "%s", outcome)
