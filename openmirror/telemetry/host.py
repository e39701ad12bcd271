"""Signals of a process whose host sends them: the providers that it has set up, if any."""

from __future__ import annotations

from opentelemetry import _logs, metrics, trace

from openmirror.telemetry.signals import Sinks

_SCOPE = "openmirror"


def sinks_of_the_host() -> Sinks:
    """The global providers; they do nothing where nobody has set any up.

    The host sends what a function logs, so progress is not logged a second time.
    """
    logger = _logs.get_logger(_SCOPE)
    return Sinks(
        events=logger,
        batched=logger,
        logs=None,
        meter=metrics.get_meter(_SCOPE),
        tracer=trace.get_tracer(_SCOPE),
    )
