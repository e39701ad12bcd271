"""What our telemetry sends, heard at its own seams, as the rows that it becomes in a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from opentelemetry._logs import Logger
from opentelemetry.metrics import Meter
from opentelemetry.trace import NoOpTracer

from openmirror.telemetry.signals import Signals, Sinks

FUNCTIONS = "func-openmirror-x7k2m9"
RUNNER = "openmirror.runner"
REPEAT = timedelta(minutes=15)
_EVENT_NAME = "microsoft.custom_event.name"

Row = dict[str, Any]


@dataclass
class Workspace:
    """Rows by table, with the clock that they are written by."""

    now: datetime
    tables: dict[str, list[Row]] = field(default_factory=dict)
    silent: bool = False
    """Whether nothing arrives, as when the sender is stopped."""

    def add(self, table: str, **row: Any) -> None:
        """A row of this moment."""
        if not self.silent:
            self.tables.setdefault(table, []).append({"TimeGenerated": self.now, **row})

    def signals(self, role: str) -> Signals:
        """Telemetry of a process that has just begun."""
        events = cast(Logger, _Events(self, role))
        meter = cast(Meter, _Meter(self, role))
        sinks = Sinks(events, events, None, meter, NoOpTracer())
        return Signals(sinks, REPEAT, lambda: self.now.timestamp())

    def request(self, function: str, *, ok: bool = True, error: str = "", code: str = "") -> None:
        """One invocation of a function, as the platform records it."""
        trace = f"{len(self.tables.get('AppRequests', ())):032x}"
        self.add(
            "AppRequests",
            AppRoleName=FUNCTIONS,
            Name=function,
            ItemCount=1,
            Success=ok,
            ResultCode=code or "0",
            DurationMs=420.0,
            OperationId=trace,
        )
        if error:
            kind, _, message = error.partition(": ")
            self.add(
                "AppExceptions",
                AppRoleName=FUNCTIONS,
                ExceptionType=kind,
                OuterMessage=message,
                OperationId=trace,
            )

    def delivery(self, **events: int) -> None:
        """What Event Grid counted in a minute, by the names of its metrics."""
        for metric, count in events.items():
            self.add(
                "AzureMetrics",
                ResourceProvider="MICROSOFT.EVENTGRID",
                MetricName=metric,
                Total=float(count),
            )


class _Events:
    """A logger whose records are custom events."""

    def __init__(self, workspace: Workspace, role: str) -> None:
        self._workspace, self._role = workspace, role

    def emit(self, *, attributes: Mapping[str, Any], **_: object) -> None:
        properties = {name: str(value) for name, value in attributes.items()}
        name = properties.pop(_EVENT_NAME)
        self._workspace.add("AppEvents", AppRoleName=self._role, Name=name, Properties=properties)


@dataclass(frozen=True)
class _Instrument:
    reported: Callable[[float, Mapping[str, Any]], None]

    def add(self, value: float, attributes: Mapping[str, Any]) -> None:
        self.reported(value, attributes)

    set = record = add


class _Meter:
    """A meter whose every figure is a row at once, where Azure's sends sums of a minute."""

    def __init__(self, workspace: Workspace, role: str) -> None:
        self._workspace, self._role = workspace, role

    def create_counter(self, name: str, unit: str, description: str) -> _Instrument:
        def reported(value: float, attributes: Mapping[str, Any]) -> None:
            properties = {key: str(one) for key, one in attributes.items()}
            self._workspace.add(
                "AppMetrics",
                AppRoleName=self._role,
                Name=name,
                Sum=float(value),
                Properties=properties,
            )

        return _Instrument(reported)

    create_histogram = create_gauge = create_counter


def names(rows: Iterable[Row]) -> Mapping[str, frozenset[str]]:
    """The properties that rows of each name have."""
    found: dict[str, frozenset[str]] = {}
    for row in rows:
        found[row["Name"]] = found.get(row["Name"], frozenset()) | row["Properties"].keys()
    return found


def moments(begin: datetime, end: datetime, every: timedelta) -> Sequence[datetime]:
    """Times from begin to end, at equal distances."""
    return [begin + every * number for number in range(int((end - begin) / every) + 1)]
