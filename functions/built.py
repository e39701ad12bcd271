"""What the functions of one process share, built by the first that needs it."""

from __future__ import annotations

import os
from functools import cache
from threading import Lock

from openmirror.wiring.functions import FunctionAppContext, function_app_context

_building = Lock()


def built() -> FunctionAppContext:
    """The process's parts; raises CannotStart naming every setting that is wrong or missing."""
    with _building:
        return _built()


@cache
def _built() -> FunctionAppContext:
    return function_app_context(os.environ)
