"""Some hours of two mirrors, one of which has had every trouble: what the preview shows.

Tables, problems and words are the engine's own, over a root in memory; telemetry is what our code
sends of them. Only what the platform itself emits (invocations, Event Grid) is written down here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from openmirror.cdc.relay.reporting import RelayReports
from openmirror.operate.requests import Operator, hold
from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import Failed, Started
from openmirror.protocol.names import PARTNER_EVENTS_FILE, TableFolder
from openmirror.protocol.relay_reports import RelayState
from openmirror.protocol.streams import Offset
from openmirror.runtime.sweeping import publish_all
from openmirror.table import layout
from tests.harness.publishing import table
from tests.infra.queries import HOURS
from tests.infra.recorded import FUNCTIONS, RUNNER, Workspace, moments
from tests.statuspage.scene import NOW, Scene

JOB = "8204417"
_RUNS = "https://adb-5517204417.17.azuredatabricks.net/jobs/8204417/runs/"
_STEP = timedelta(minutes=10)
_US = int((NOW - timedelta(hours=HOURS)).timestamp() * 1e6)


class Day:
    """The mirrors `sales` and `flights`, a runner and the functions, and what they have emitted."""

    def __init__(self) -> None:
        self.workspace = Workspace(NOW - timedelta(hours=HOURS))
        self.runner = self.workspace.signals(RUNNER)
        self.functions = self.workspace.signals(FUNCTIONS)
        self.scene = Scene()
        self.scene.ports = replace(self.scene.ports, telemetry=self.runner)
        for mirror in ("sales", "flights"):
            self.scene.store.make_folder(layout.landing_zone(mirror))
        about = (
            b'{"partnerName": "Contoso", "sourceInfo": {"sourceType": "SQL", "sourceVersion": "9"}}'
        )
        self.scene.store.put(layout.join(layout.landing_zone("sales"), PARTNER_EVENTS_FILE), about)
        self._numbers: dict[TableFolder, int] = {}
        self._relay = RelayReports(
            self.scene.store, layout.landing_zone("sales"), "crm", lambda: self.workspace.now
        )
        self._relay.troubled(RelayState.WAITING, "broker:9092 does not answer")
        self._dead_letters = {"landing-events": 0, "table-work": 0, "event-grid": 0}

    def at(self, moment: datetime) -> None:
        """Let all clocks stand there."""
        self.workspace.now = moment
        self.scene.at(NOW - moment)

    def land(self, folder: TableFolder, skipped: int = 0, **columns: list[Any]) -> None:
        """Land the table's next file, or one that comes too early."""
        number = self._numbers.get(folder, 0) + 1 + skipped
        self._numbers[folder] = number
        self.scene.land(folder, number, **columns)

    def applied(self, *folders: TableFolder) -> None:
        """A file for each table, which a runner applies some seconds after it has landed."""
        began = self.workspace.now
        for place, folder in enumerate(folders):
            seed = hash_of(folder, began)
            self.at(began - timedelta(seconds=6 + seed % 31 + 9 * place))
            self.land(folder)
            self.at(began + timedelta(seconds=place))
            self.scene.reconcile_until_idle(folder)
        self.at(began)

    def passed(self) -> None:
        """A status pass over both mirrors, and what the platform emits meanwhile."""
        publish_all(self.scene.ports, ["sales", "flights"])
        self._relay.landing(Offset(70), lambda: (Offset(5), Offset(100)), _US)
        self.functions.dead_letters_waiting(self._dead_letters)
        for function in ("sweep", "start_runner", "landing", "dead_letters"):
            self.workspace.request(function)

    def given_up(self, source: str, identity: str, reason: str) -> None:
        """A message is dead-lettered."""
        dead_letter = DeadLetter(
            source=source, identity=identity, at=self.workspace.now, reason=reason, body=b"{"
        )
        self.functions.dead_letter_kept(dead_letter)
        self._dead_letters[source] += 1

    def run(self, number: int, failed: str = "") -> None:
        """A run is started, or the last one is found to have failed."""
        page = f"{_RUNS}{number}"
        outcome = Failed(failed, str(number), page) if failed else Started(str(number), page)
        self.functions.asked_for_runner(JOB, outcome)


def hash_of(folder: TableFolder, moment: datetime) -> int:
    """A number that looks like chance and is the same in every run."""
    return sum(map(ord, str(folder))) * 31 + int(moment.timestamp()) // 300 * 17


@cache
def day() -> Day:
    """The story: a table waits for a missing number, one is paused, one is held, one is warned."""
    made = Day()
    orders, customers = (
        table("sales", "Sales.schema/Orders"),
        table("sales", "Sales.schema/Customers"),
    )
    shipments = table("sales", "Sales.schema/Shipments")
    invoices, ledger = (
        table("sales", "Finance.schema/Invoices"),
        table("sales", "Finance.schema/Ledger"),
    )
    flights = [table("flights", name) for name in ("airlines", "flights", "planes", "weather")]
    running = {orders, customers, shipments, invoices, ledger, *flights}
    began = NOW - timedelta(hours=HOURS)
    late = NOW - timedelta(minutes=10)
    steps = [*moments(began, late, _STEP), *moments(late, NOW, timedelta(minutes=1))[1:]]
    for step in steps:
        made.at(step)
        before = NOW - step
        if before == timedelta(minutes=230):
            made.run(60117)
        if before == timedelta(minutes=90):
            hold(
                made.scene.ports,
                ledger,
                Operator("ann@contoso.com", "nightly load of the warehouse"),
            )
            made.land(ledger)
            running.discard(ledger)
        if before == timedelta(minutes=70):
            made.land(shipments, skipped=1)
            made.land(shipments)
            made.scene.reconcile_until_idle(shipments)
            running.discard(shipments)
        if before == timedelta(minutes=40):
            made.land(invoices, id=[1], __rowMarker__=[3])
            made.scene.reconcile_until_idle(invoices)
            running.discard(invoices)
        if before == timedelta(minutes=30):
            made.run(
                60129, "the last run failed: the cluster was lost (spot instances were reclaimed)"
            )
        if before == timedelta(minutes=20):
            made.run(60131)
            made.given_up("landing-events", "7d0c41fe", "it is not JSON text")
            made.workspace.request(
                "landing", ok=False, error="NotAnEvent: the message is not JSON text"
            )
        if before == timedelta(minutes=9):
            stray = layout.join(layout.table_folder(customers), "export-final(2).parquet")
            made.scene.store.put(stray, b"")
        if before % _STEP == timedelta(0) and before:
            made.applied(
                *(one for one in sorted(running) if one == orders or hash_of(one, step) % 3)
            )
            made.workspace.delivery(
                DeliverySuccessCount=len(running) * 3 + hash_of(orders, step) % 9,
                DeadLetteredCount=6 if before == timedelta(minutes=120) else 0,
                DroppedEventCount=0,
            )
        made.passed()
    made.at(NOW)
    return made
