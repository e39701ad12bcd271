"""Who is told how mirrors do: Application Insights, when its connection string is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import openmirror
from openmirror.errors import CannotStart
from openmirror.progress import ProgressEvent
from openmirror.services.parts import Parts
from openmirror.wiring.packages import optional_packages

if TYPE_CHECKING:
    from openmirror.adapters.servicecredential import ServiceCredential
    from openmirror.adapters.telemetry.signals import Signals

CONNECTION = "APPLICATIONINSIGHTS_CONNECTION_STRING"
"""Application Insights' own name for it, which the portal and the Functions host use as well."""
AUTHENTICATION = "APPLICATIONINSIGHTS_AUTHENTICATION_STRING"
"""Also Application Insights' own: `Authorization=AAD` sends with an identity."""
_EXTRAS = dict.fromkeys(("azure", "opentelemetry"), "openmirror[azure]")


@contextmanager
def telling(
    parts: Parts,
    env: Mapping[str, str],
    role: str,
    repeat: timedelta,
    given: ServiceCredential | None = None,
) -> Iterator[Parts]:
    """The parts of a process of ours that runs by itself, telling Application Insights.

    A status that has not changed is sent every `repeat`, and what is left at the end. Without a
    connection string nothing is sent. Never for functions: their host sends what
    `told_by_the_host` makes.

    Raises CannotStart for a connection string that is none, or without the packages.
    """
    connection = env.get(CONNECTION)
    if not connection:
        yield parts
        return
    try:
        with optional_packages(f"{CONNECTION} is set, and telemetry needs", **_EXTRAS):
            from openmirror.adapters.telemetry.azure_monitor import AzureMonitor
            from openmirror.adapters.telemetry.signals import Signals

        monitor = AzureMonitor(
            connection,
            role,
            openmirror.__version__,
            with_identity=_asks_for_an_identity(env),
            given=given,
        )
    except ValueError as error:
        raise CannotStart(
            f"{CONNECTION} cannot be read: {error}. Copy it from the overview of the Application "
            "Insights resource"
        ) from error
    try:
        yield _with(parts, Signals(monitor.sinks, repeat))
    finally:
        monitor.close()


def told_by_the_host(parts: Parts, repeat: timedelta) -> Parts:
    """The parts of a function: signals go to the providers that its host has set up, if any."""
    from openmirror.adapters.telemetry.host import sinks_of_the_host
    from openmirror.adapters.telemetry.signals import Signals

    return _with(parts, Signals(sinks_of_the_host(), repeat))


def _with(parts: Parts, signals: Signals) -> Parts:
    before = parts.emit

    def emit(event: ProgressEvent) -> None:
        signals.log(event)
        before(event)

    return replace(parts, telemetry=signals, emit=emit)


def _asks_for_an_identity(env: Mapping[str, str]) -> bool:
    """Whether any identity that this process has will do; a named client is the exporter's own."""
    return env.get(AUTHENTICATION, "").replace(" ", "").rstrip(";").lower() == "authorization=aad"
