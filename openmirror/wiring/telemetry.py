"""Where telemetry is emitted: Application Insights, when its connection string is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import openmirror
from openmirror.errors import CannotStart
from openmirror.progress.union import ProgressEvent
from openmirror.reconcile.root_ports import RootPorts
from openmirror.wiring.packages import optional_packages

if TYPE_CHECKING:
    from openmirror.databricks.service_credential import ServiceCredential
    from openmirror.telemetry.signals import Signals

CONNECTION = "APPLICATIONINSIGHTS_CONNECTION_STRING"
"""Application Insights' own name for it, which the portal and the Functions host use as well."""
AUTHENTICATION = "APPLICATIONINSIGHTS_AUTHENTICATION_STRING"
"""Also Application Insights' own: `Authorization=AAD` sends with an identity."""
_EXTRAS = dict.fromkeys(("azure", "opentelemetry"), "openmirror[azure]")


@contextmanager
def emitting(
    ports: RootPorts,
    env: Mapping[str, str],
    role: str,
    repeat: timedelta,
    given: ServiceCredential | None = None,
) -> Iterator[RootPorts]:
    """The ports of a process of ours that runs by itself, emitting to Application Insights.

    A status that has not changed is sent every `repeat`, and what is left at the end. Without a
    connection string nothing is sent. Never for functions: their host sends what
    `emitting_through_the_host` makes.

    Raises CannotStart for a connection string that is none, or without the packages.
    """
    connection = env.get(CONNECTION)
    if not connection:
        yield ports
        return
    try:
        with optional_packages(f"{CONNECTION} is set, and telemetry needs", **_EXTRAS):
            from openmirror.telemetry.azure_monitor import AzureMonitor
            from openmirror.telemetry.signals import Signals

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
        yield _with(ports, Signals(monitor.sinks, repeat))
    finally:
        monitor.close()


def emitting_through_the_host(ports: RootPorts, repeat: timedelta) -> RootPorts:
    """The ports of a function: signals go to the providers that its host has set up, if any."""
    from openmirror.telemetry.host import sinks_of_the_host
    from openmirror.telemetry.signals import Signals

    return _with(ports, Signals(sinks_of_the_host(), repeat))


def _with(ports: RootPorts, signals: Signals) -> RootPorts:
    before = ports.emit

    def emit(event: ProgressEvent) -> None:
        signals.log(event)
        before(event)

    return replace(ports, telemetry=signals, emit=emit)


def _asks_for_an_identity(env: Mapping[str, str]) -> bool:
    """Whether any identity that this process has will do; a named client is the exporter's own."""
    return env.get(AUTHENTICATION, "").replace(" ", "").rstrip(";").lower() == "authorization=aad"
