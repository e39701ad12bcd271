"""Cleanup: applied files to the archive, old ones away, dropped tables after their retention."""

from __future__ import annotations

import logging

import azure.functions as func

from functions.bindings import CLEANUP
from functions.built import built
from openmirror.reconcile.discovery import mirrors
from openmirror.runtime.sweeping import clean

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_log = logging.getLogger("openmirror.cleanup")


@blueprint.function_name("cleanup")
@blueprint.timer_trigger(arg_name="timer", schedule=CLEANUP)
def clean_mirrors(timer: func.TimerRequest) -> None:
    """One cleanup pass over all tables."""
    del timer
    app = built()
    # What cannot be observed is an event of progress, which is in this log already.
    done = clean(app.ports, mirrors(app.ports.store))
    for cleaned in done.cleaned:
        _log.info("%s", cleaned)
    for mirror, count in done.leftovers.items():
        _log.info("%s: %s broken-off conversions deleted", mirror, count)
