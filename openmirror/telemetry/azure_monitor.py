"""Sending signals to one Application Insights resource, without touching global providers.

A host of ours that already sends (the Functions worker) must not come here: everything would be
there twice.
"""

from __future__ import annotations

from typing import Any

from azure.core.credentials import TokenCredential
from azure.identity import DefaultAzureCredential
from azure.monitor.opentelemetry.exporter import (
    AzureMonitorLogExporter,
    AzureMonitorMetricExporter,
    AzureMonitorTraceExporter,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from openmirror.telemetry.signals import Sinks

_SCOPE = "openmirror"
_SECONDS = 3
"""How long sending may take. An operation is sent before its table goes on, so a
resource that does not answer must not hold tables up; what was not sent waits on disk."""


class AzureMonitor:
    """Providers of one role, sending until they are closed.

    Operations are sent one by one and at once, everything else in batches. What cannot be sent is
    kept on disk by the exporter and sent later, by the next process if need be.
    """

    def __init__(
        self,
        connection_string: str,
        role: str,
        version: str,
        *,
        with_identity: bool,
        given: TokenCredential | None = None,
    ) -> None:
        """Without an identity the exporter's own variable may still name one.

        `given` is a credential that this process must use for everything.

        Raises ValueError for a connection string that is none.
        """
        resource = Resource.create(
            {"service.namespace": _SCOPE, "service.name": role, "service.version": version}
        )
        options: dict[str, Any] = {
            "connection_string": connection_string,
            "timeout": _SECONDS,
            "read_timeout": _SECONDS,
            "retry_total": 0,  # what lies on disk is sent again
        }
        if given is not None:
            options["credential"] = given
        elif with_identity:
            options["credential"] = DefaultAzureCredential()
        self._events = LoggerProvider(resource)
        self._events.add_log_record_processor(
            SimpleLogRecordProcessor(AzureMonitorLogExporter(**options))
        )
        self._logs = LoggerProvider(resource)
        self._logs.add_log_record_processor(
            BatchLogRecordProcessor(AzureMonitorLogExporter(**options))
        )
        self._metrics = MeterProvider(
            [PeriodicExportingMetricReader(AzureMonitorMetricExporter(**options))], resource
        )
        self._traces = TracerProvider(resource=resource)
        traces = AzureMonitorTraceExporter(tracer_provider=self._traces, **options)
        self._traces.add_span_processor(BatchSpanProcessor(traces))
        self.sinks = Sinks(
            self._events.get_logger(_SCOPE),
            self._logs.get_logger(_SCOPE),
            self._logs.get_logger(_SCOPE),
            self._metrics.get_meter(_SCOPE),
            self._traces.get_tracer(_SCOPE),
        )

    def close(self) -> None:
        """Send what is left, and send no more."""
        self._events.shutdown()
        self._logs.shutdown()
        self._traces.shutdown()
        self._metrics.shutdown()
