"""The sweep: it finds what no event reported."""

from __future__ import annotations

import logging

import azure.functions as func

from functions.bindings import SWEEP
from functions.built import built
from openmirror.reconcile.discovery import mirrors
from openmirror.runtime.sweeping import publish_all, sweep

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_log = logging.getLogger("openmirror.sweep")


# It runs at every start as well, so that a setting that is wrong is named then, not hours later.
@blueprint.function_name("sweep")
@blueprint.timer_trigger(arg_name="timer", schedule=SWEEP, run_on_startup=True)
def sweep_mirrors(timer: func.TimerRequest) -> None:
    """Send a work item for every table that has something to do, and write the status files."""
    app = built()
    names = mirrors(app.ports.store)
    swept = sweep(app.ports, names, app.sweep_waker)
    started = app.starter.start_if_needed()
    # Why each was unreadable is an event of progress, which is in this log as well.
    _log.info(
        "mirrors: %d, woken: %s, unreadable: %d, runner: %s",
        len(names),
        swept.woken,
        len(swept.unreadable),
        started,
    )
    if timer.past_due:
        _log.warning("the sweep takes longer than the time between two")
    # Last: no table may wait for it.
    publish_all(app.ports, names, swept.seen)
