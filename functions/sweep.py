"""The sweep: it finds what no event reported."""

from __future__ import annotations

import logging

import azure.functions as func

from functions.bindings import SWEEP
from functions.built import built
from openmirror.reconcile.liveness import SweptBy
from openmirror.runtime.sweeper import SweepPass

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_log = logging.getLogger("openmirror.sweep")


# It runs at every start as well, so that a setting that is wrong is named then, not hours later.
@blueprint.function_name("sweep")
@blueprint.timer_trigger(arg_name="timer", schedule=SWEEP, run_on_startup=True)
def sweep_mirrors(timer: func.TimerRequest) -> None:
    """Send a work item for every table that has something to do, and write the status files."""
    if timer.past_due:
        # The host says so only when it starts, never of a sweep that takes too long.
        _log.warning("no instance was there when the sweep was due")
    done = built().sweeper.sweep(SweptBy.TIMER)
    if done is None:
        _log.info("another instance sweeps just now")
        return
    log_pass(_log, done)


def log_pass(log: logging.Logger, done: SweepPass) -> None:
    """Say what a sweep did, and what was wrong with it."""
    swept, seconds = done.swept, done.took.total_seconds()
    # Why one was unreadable is an event of progress, which is in this log as well.
    log.info(
        "mirrors: %d, observed: %d of %d, woken: %s, unreadable: %d, runner: %s, %.1f s",
        len(done.mirrors),
        swept.observed,
        len(swept.seen) + len(swept.unreadable),
        swept.woken,
        len(swept.unreadable),
        done.started,
        seconds,
    )
    if done.overran:
        log.warning("the sweep took %.0f s, longer than the time between two", seconds)
    if done.unannounced:
        log.warning(
            "no event announced what lies in %s, nor anything since: events do not arrive",
            ", ".join(map(str, done.unannounced)),
        )
