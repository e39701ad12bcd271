"""Operations, table status, starts, dead letters and progress as OpenTelemetry's signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opentelemetry._logs import Logger, SeverityNumber
from opentelemetry.metrics import Meter
from opentelemetry.trace import Tracer, use_span

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.telemetry import (
    dead_letter_event,
    runner_start_event,
    stream_status_event,
    table_status_event,
)
from openmirror.ports.telemetry.stream_status_event import StreamStatusEvent
from openmirror.ports.telemetry.table_operation import EVENT, OperationName, TableOperation, fields
from openmirror.ports.telemetry.table_status_event import TableStatusEvent
from openmirror.progress.base import Severity
from openmirror.progress.context import folder_of, log_context, subject_of
from openmirror.progress.runner import WorkItemTaken
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder
from openmirror.telemetry.figures import Figures
from openmirror.telemetry.once import Once
from openmirror.telemetry.repeating import Report, ReportSchedule

_CUSTOM_EVENT = "microsoft.custom_event.name"
"""A log record with this attribute becomes a custom event in Application Insights."""
_COMMITS = frozenset({OperationName.SNAPSHOTTING, OperationName.REPLICATING})
_SEVERITY = {
    Severity.DEBUG: SeverityNumber.DEBUG,
    Severity.INFO: SeverityNumber.INFO,
    Severity.WARNING: SeverityNumber.WARN,
    Severity.ERROR: SeverityNumber.ERROR,
}


@dataclass(frozen=True)
class Sinks:
    """Where signals go."""

    events: Logger
    """For operations. Returns when the record was sent or lies on disk, where it can."""
    batched: Logger
    """For all other events: there may be thousands at once, and what is lost is emitted again."""
    logs: Logger | None
    """For progress; None where the process writes logs of its own that reach the same place."""
    meter: Meter
    tracer: Tracer


@dataclass
class _Correlations:
    """The newest event that was heard of for each table."""

    known: dict[TableFolder, str] = field(default_factory=dict)

    def hear(self, event: ProgressEvent) -> None:
        if isinstance(event, WorkItemTaken) and event.correlation:
            self.known[event.folder] = event.correlation

    def of(self, folder: TableFolder | None) -> str:
        return self.known.get(folder, "") if folder is not None else ""


class Signals:
    """The port `Telemetry`, and a sink of progress."""

    def __init__(
        self, sinks: Sinks, repeat: timedelta, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """What has not changed is emitted every `repeat`; the clock counts seconds."""
        self._sinks = sinks
        self._once = Once()
        self._statuses = ReportSchedule(repeat, clock)
        self._streams = ReportSchedule(repeat, clock)
        self._starts = ReportSchedule(repeat, clock)
        self._correlations = _Correlations()
        self._figures = Figures(sinks.meter)

    def happened(self, operation: TableOperation) -> None:
        """Send an operation, unless this process has sent it."""
        if not self._once.is_new(operation.identity):
            return
        correlated = operation.correlated(self._correlations.of(operation.folder))
        if correlated.name not in _COMMITS:
            self._send(correlated)
            return
        # The event belongs to the span of its batch, so that both are found from either.
        span = self._sinks.tracer.start_span(
            _headline(correlated),
            attributes=fields(correlated),
            start_time=_nanos(correlated.started_at),
        )
        with use_span(span):
            self._send(correlated)
        span.end(_nanos(max(correlated.started_at, correlated.ended_at)))
        self._figures.of_commit(correlated)

    def _send(self, operation: TableOperation) -> None:
        self._sinks.events.emit(
            timestamp=time.time_ns(),
            severity_number=_severity(operation.error is not None),
            body=_headline(operation),
            attributes={_CUSTOM_EVENT: EVENT, **fields(operation)},
        )

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        """Set the gauges of a mirror's tables, and send the status of those where it is due."""
        self._figures.of_mirror(mirror, tables)
        properties = {one.folder: table_status_event.fields(one) for one in tables}
        report = {
            folder: Report(table_status_event.state(event), table_status_event.without_ages(event))
            for folder, event in properties.items()
        }
        for folder in self._statuses.due(mirror, report):
            self._emit(table_status_event.EVENT, f"status of {folder}", properties[folder])

    def report_streams(self, mirror: str, streams: Sequence[StreamStatusEvent]) -> None:
        """Send the status of a mirror's streams where it is due."""
        properties = {one.stream: stream_status_event.fields(one) for one in streams}
        report = {
            name: Report(stream_status_event.state(event), stream_status_event.without_ages(event))
            for name, event in properties.items()
        }
        for name in self._streams.due(mirror, report):
            self._emit(stream_status_event.EVENT, f"stream {mirror}/{name}", properties[name])

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """Send an outcome that is another than the last one; a run that is active ends it."""
        properties = runner_start_event.fields(job, outcome)
        report = {job: Report(runner_start_event.subject(properties))} if properties else {}
        if self._starts.due(job, report):
            self._emit(runner_start_event.EVENT, f"runner: {properties['Outcome']}", properties)

    def dead_letter_kept(self, dead_letter: DeadLetter) -> None:
        """Send a dead letter, unless this process has sent it."""
        if self._once.is_new(dead_letter.name):
            self._emit(
                dead_letter_event.EVENT,
                f"dead letter {dead_letter.name}",
                dead_letter_event.fields(dead_letter),
            )

    def dead_letters_waiting(self, counts: Mapping[str, int]) -> None:
        """Set the gauge of each source."""
        self._figures.of_dead_letters(counts)

    def _emit(self, event: str, text: str, properties: Mapping[str, str]) -> None:
        self._sinks.batched.emit(
            timestamp=time.time_ns(),
            severity_number=SeverityNumber.INFO,
            body=text,
            attributes={_CUSTOM_EVENT: event, **properties},
        )

    def log(self, event: ProgressEvent) -> None:
        """Log an event of progress, with the storage event that it came of."""
        self._correlations.hear(event)
        if self._sinks.logs is None:
            return
        attributes = {"event": event.name, **log_context(event)}
        if correlation := self._correlations.of(folder_of(event)):
            attributes["correlation"] = correlation
        self._sinks.logs.emit(
            timestamp=time.time_ns(),
            severity_number=_SEVERITY[event.severity],
            body=f"{event.name} {subject_of(event)}".removesuffix(" -"),
            attributes=attributes,
        )


def _headline(operation: TableOperation) -> str:
    return f"{operation.name.value} {operation.folder}"


def _severity(is_wrong: bool) -> SeverityNumber:
    return SeverityNumber.WARN if is_wrong else SeverityNumber.INFO


def _nanos(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
