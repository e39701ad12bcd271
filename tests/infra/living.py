"""A Function App and a runner that live on, minute by minute, and what each rule finds of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from openmirror.ports.jobs import AlreadyActive
from openmirror.ports.telemetry.stream_status_event import StreamStatusEvent
from openmirror.ports.telemetry.table_status_event import Health, TableStatusEvent
from openmirror.protocol.names import TableName
from tests.harness.publishing import table
from tests.infra.alert_rules import LOG, minutes, rules
from tests.infra.kql_tables import run
from tests.infra.queries import analysed
from tests.infra.recorded import FUNCTIONS, RUNNER, Workspace
from tests.infra.telemetry_tables import SCHEMAS

BEGIN = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ORDERS, PRICES = table("sales", "Sales.schema/Orders"), table("hr", "prices")
_NAMES = {ORDERS: TableName("Sales", "Orders"), PRICES: TableName("dbo", "prices")}


@dataclass
class System:
    """A Function App and a runner over two tables, one minute after the other."""

    workspace: Workspace

    def __init__(self) -> None:
        self.workspace = Workspace(BEGIN)
        self.functions = self.workspace.signals(FUNCTIONS)
        self.runner = self.workspace.signals(RUNNER)
        self.statuses = {
            folder: TableStatusEvent(
                folder=folder,
                table=_NAMES[folder],
                status="Replicating",
                stage="Replicating",
                health=Health.RUNNING,
            )
            for folder in (ORDERS, PRICES)
        }
        self.stream: Mapping[str, Any] = {}
        self.dead_letters = 0
        self.failing: set[str] = set()
        self.unlisted: set[str] = set()
        self.outcome: Any = AlreadyActive("1")

    def stands(self, folder: Any = ORDERS, **how: Any) -> None:
        """From now on a table stands like this."""
        healthy: Mapping[str, Any] = {
            "folder": folder,
            "table": _NAMES[folder],
            "status": "Replicating",
            "stage": "Replicating",
            "health": Health.RUNNING,
        }
        self.statuses[folder] = TableStatusEvent(**{**healthy, **how})

    def live(self, length: int) -> None:
        """So many minutes pass: passes over both mirrors, timers, and an event now and then."""
        for _ in range(length):
            self.workspace.now += timedelta(minutes=1)
            for folder, recorded in self.statuses.items():
                if folder.mirror not in self.unlisted:
                    self.functions.report_statuses(folder.mirror, [recorded])
            landed = {
                "state": "Landing",
                "health": Health.RUNNING,
                "reported_at": self.workspace.now,
            }
            self.functions.report_streams(
                "hr",
                [StreamStatusEvent(**{"mirror": "hr", "stream": "crm", **landed, **self.stream})],
            )
            for function in ("sweep", "landing", "cleanup"):
                wrong = function in self.failing
                error = "AccessDenied: the role is missing" if wrong else ""
                self.workspace.request(function, ok=not wrong, error=error)
            self.functions.dead_letters_waiting(
                {"landing-events": self.dead_letters, "event-grid": 0}
            )
            self.functions.asked_for_runner("8204417", self.outcome)

    def firing(self, name: str) -> list[dict[str, Any]]:
        """What a rule finds now, over no more than its window."""
        back = timedelta(minutes=minutes(rules()[name].properties["windowSize"]))
        seen = {
            one: [row for row in rows if row["TimeGenerated"] > self.workspace.now - back]
            for one, rows in self.workspace.tables.items()
        }
        return run(analysed()[f"alerts/{name}"].tree, seen, SCHEMAS, self.workspace.now)

    def all_firing(self) -> set[str]:
        return {name for name, rule in rules().items() if rule.type == LOG and self.firing(name)}
