"""Each alert fires for its fault, is silent for a healthy system, and ends with the fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from openmirror.ports.jobs import AlreadyActive, Failed, Refused, Started, Unreachable
from openmirror.ports.letters import Letter
from openmirror.protocol.names import TableName
from openmirror.statusevent import Health, Standing
from tests.infra.bicep.expansion import Deployed, expand
from tests.infra.bicep.folder import Folder
from tests.infra.kql_tables import run
from tests.infra.queries import GAP_MINUTES, LAG_MINUTES, analysed, filled, texts
from tests.infra.recorded import FUNCTIONS, RUNNER, Workspace
from tests.infra.telemetry_tables import SCHEMAS
from tests.unit.paper import table

OPERATIONS = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text()
BEGIN = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ORDERS, PRICES = table("sales", "Sales.schema/Orders"), table("hr", "prices")
NAMES = {ORDERS: TableName("Sales", "Orders"), PRICES: TableName("dbo", "prices")}
LOG = "Microsoft.Insights/scheduledQueryRules"
METRIC = "Microsoft.Insights/metricAlerts"


@cache
def rules() -> dict[str, Deployed]:
    """Every rule that alerts.bicep makes, by the last part of its name."""
    given = {
        "name": "openmirror",
        "location": "westeurope",
        "tags": {},
        "workspaceId": "/subscriptions/s/resourceGroups/g/providers/p/workspaces/log-openmirror",
        "systemTopicId": "/subscriptions/s/resourceGroups/g/providers/p/systemTopics/egst",
        "alertEmail": "ops@contoso.com",
        "lagAlertMinutes": LAG_MINUTES,
        "gapAlertMinutes": GAP_MINUTES,
    }
    made = expand(Folder.at(), given, template="alerts.bicep").resources
    return {
        one.name.removeprefix("alert-openmirror-"): one for one in made if one.type in (LOG, METRIC)
    }


def minutes(iso: str) -> int:
    """A duration as Azure writes it."""
    amount, unit = re.fullmatch(r"PT?(\d+)([MHD])", iso).groups()  # type: ignore[union-attr]
    return int(amount) * {"M": 1, "H": 60, "D": 1440}[unit]


@dataclass
class System:
    """A Function App and a runner over two tables, one minute after the other."""

    workspace: Workspace

    def __init__(self) -> None:
        self.workspace = Workspace(BEGIN)
        self.functions = self.workspace.signals(FUNCTIONS)
        self.runner = self.workspace.signals(RUNNER)
        self.standings = {
            folder: Standing(
                folder=folder,
                table=NAMES[folder],
                status="Replicating",
                stage="Replicating",
                health=Health.RUNNING,
            )
            for folder in (ORDERS, PRICES)
        }
        self.letters = 0
        self.failing: set[str] = set()
        self.unlisted: set[str] = set()
        self.outcome: Any = AlreadyActive("1")

    def stands(self, folder: Any = ORDERS, **how: Any) -> None:
        """From now on a table stands like this."""
        healthy: Mapping[str, Any] = {
            "folder": folder,
            "table": NAMES[folder],
            "status": "Replicating",
            "stage": "Replicating",
            "health": Health.RUNNING,
        }
        self.standings[folder] = Standing(**{**healthy, **how})

    def live(self, length: int) -> None:
        """So many minutes pass: passes over both mirrors, timers, and an event now and then."""
        for _ in range(length):
            self.workspace.now += timedelta(minutes=1)
            for folder, standing in self.standings.items():
                if folder.mirror not in self.unlisted:
                    self.functions.stand(folder.mirror, [standing])
            for function in ("sweep", "landing", "cleanup"):
                wrong = function in self.failing
                said = "AccessDenied: the role is missing" if wrong else ""
                self.workspace.request(function, ok=not wrong, said=said)
            self.functions.letters_wait({"landing-events": self.letters, "event-grid": 0})
            self.functions.asked_for_runner("8204417", self.outcome)

    def firing(self, name: str) -> list[dict[str, Any]]:
        """What a rule finds now, over no more than it looks back."""
        back = timedelta(minutes=minutes(rules()[name].properties["windowSize"]))
        seen = {
            one: [row for row in rows if row["TimeGenerated"] > self.workspace.now - back]
            for one, rows in self.workspace.tables.items()
        }
        return run(analysed()[f"alerts/{name}"].tree, seen, SCHEMAS, self.workspace.now)

    def all_firing(self) -> set[str]:
        return {name for name, rule in rules().items() if rule.type == LOG and self.firing(name)}


@pytest.fixture
def system() -> System:
    made = System()
    made.live(40)
    return made


def paused(system: System) -> None:
    system.stands(
        status="Failed",
        stage="Paused",
        health=Health.ERROR,
        pending_files=2,
        oldest_pending_seconds=7200.0,
        error_code="RowMarkerInvalid",
        error_message="7.parquet: row 12 has __rowMarker__ = 3",
        remedy="Replace the file.",
        error_since=system.workspace.now,
    )


def lags(system: System) -> None:
    system.stands(pending_files=9, oldest_pending_seconds=LAG_MINUTES * 60 + 1.0)


def gap(system: System) -> None:
    system.stands(
        stage="Waiting",
        health=Health.WARNING,
        pending_files=2,
        oldest_pending_seconds=7200.0,
        waiting_for="gap",
        waiting_since=system.workspace.now - timedelta(minutes=GAP_MINUTES + 1),
        waiting_text="00000000000000000004 is missing",
    )


def warned(system: System) -> None:
    text = "SequenceReused: 2.parquet: it is never read."
    system.stands(health=Health.WARNING, warnings=(text,))


def unconfirmed(system: System) -> None:
    system.stands(
        stage="Waiting",
        health=Health.WARNING,
        waiting_for="confirmation",
        waiting_since=system.workspace.now,
        waiting_text="9 of 9 folders are gone",
    )


def unlisted(system: System) -> None:
    system.unlisted = {"sales"}


def stopped(system: System) -> None:
    system.workspace.silent = True


def failing(system: System) -> None:
    system.failing = {"cleanup"}


def given_up(system: System) -> None:
    letter = Letter(
        source="landing-events",
        identity="7d0c",
        at=system.workspace.now,
        reason="no JSON",
        body=b"",
    )
    system.functions.letter_kept(letter)
    system.letters = 1


def refused(system: System) -> None:
    system.outcome = Refused("the identity has no CAN_MANAGE_RUN on job 8204417")


def run_failed(system: System) -> None:
    system.outcome = Failed("the last run failed", "77", "https://adb-1/jobs/8204417/runs/77")


def healed(system: System) -> None:
    system.stands()
    system.workspace.silent, system.letters = False, 0
    system.failing, system.unlisted = set(), set()
    system.outcome = Started("2")


FAULTS: dict[str, tuple[Callable[[System], None], set[str], dict[str, Any]]] = {
    "a table is paused": (
        paused,
        {"table-paused"},
        {"Mirror": "sales", "Table": "Sales.Orders", "ErrorCode": "RowMarkerInvalid"},
    ),
    "a table lags": (lags, {"table-lags"}, {"Mirror": "sales", "LagMinutes": 15.0}),
    "a number is missing": (gap, {"table-gap"}, {"Table": "Sales.Orders"}),
    "a table has a warning": (warned, {"table-warning"}, {"Table": "Sales.Orders"}),
    "drops wait for a person": (unconfirmed, {"table-warning"}, {"WaitingFor": "confirmation"}),
    "a zone cannot be listed": (unlisted, {"mirror-silent"}, {"Mirror": "sales"}),
    "the functions are stopped": (stopped, {"mirror-silent", "functions-silent"}, {}),
    "a function fails": (failing, {"functions-fail"}, {"Function": "cleanup"}),
    "a message was given up": (given_up, {"letters-waiting"}, {"Source": "landing-events"}),
    "the job is refused": (refused, {"runner-fails"}, {"Outcome": "Refused", "Job": "8204417"}),
    "a run failed": (run_failed, {"runner-fails"}, {"Outcome": "Failed"}),
}


def test_a_healthy_system_raises_no_alert(system: System) -> None:
    assert system.all_firing() == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_an_alert_fires_for_its_fault_alone_and_ends_with_it(system: System, fault: str) -> None:
    plant, wanted, row = FAULTS[fault]
    plant(system)
    system.live(20)
    assert system.all_firing() == wanted
    for name in wanted:
        assert any(row.items() <= found.items() for found in system.firing(name))
    system.live(35)
    assert wanted <= system.all_firing(), "it has to stand as long as its cause"
    healed(system)
    system.live(35)
    assert system.all_firing() == set()


def test_every_rule_on_logs_has_a_fault_that_it_fires_for() -> None:
    logs = {name for name, rule in rules().items() if rule.type == LOG}
    assert set().union(*(wanted for _, wanted, _ in FAULTS.values())) == logs


@pytest.mark.parametrize(
    "how",
    [
        {"health": Health.STOPPED, "stage": "Held", "status": "Stopped", "warnings": ("Held: x",)},
        {"health": Health.WARNING, "warnings": ("Skipped: 4.parquet",)},
        {"oldest_pending_seconds": LAG_MINUTES * 60 - 1.0, "pending_files": 3},
        {"waiting_for": "incomplete", "health": Health.WARNING, "stage": "Waiting"},
        {
            "waiting_for": "schema",
            "waiting_since": BEGIN - timedelta(days=3),
            "oldest_pending_seconds": 260_000.0,
            "pending_files": 1,
            "stage": "Waiting",
        },
    ],
    ids=["held", "skipped by hand", "almost late", "waits for an upload", "waits for a type"],
)
def test_what_needs_nobody_raises_no_alert(system: System, how: dict[str, Any]) -> None:
    late = {"pending_files": 4, "oldest_pending_seconds": 9000.0}
    system.stands(**({**late, **how} if how.get("stage") == "Held" else how))
    system.live(20)
    assert system.all_firing() == set()


def test_a_gap_is_told_only_after_its_time(system: System) -> None:
    gap(system)
    young = system.workspace.now - timedelta(minutes=GAP_MINUTES - 25)
    system.stands(stage="Waiting", health=Health.WARNING, waiting_for="gap", waiting_since=young)
    system.live(20)
    assert system.all_firing() == set()
    system.live(15)
    assert system.all_firing() == {"table-gap"}


def test_a_wrong_call_is_no_failure_of_the_function_that_refuses_it(system: System) -> None:
    for _ in range(5):
        system.workspace.request("operate", ok=False, code="409")
    assert system.all_firing() == set()
    for _ in range(3):
        system.workspace.request("operate", ok=False, code="500")
    assert system.all_firing() == {"functions-fail"}


def test_a_platform_that_is_away_for_a_while_raises_no_alert(system: System) -> None:
    system.outcome = Unreachable("503")
    system.live(20)
    assert system.all_firing() == set()


def test_a_runner_alone_is_no_sign_of_life_of_the_functions(system: System) -> None:
    stopped(system)
    system.live(20)
    system.workspace.silent = False
    system.runner.stand("sales", [system.standings[ORDERS]])
    assert {"functions-silent"} <= system.all_firing()


def test_no_telemetry_at_all_is_told() -> None:
    system = System()
    assert system.all_firing() == {"functions-silent"}


# --- The rules themselves


def test_every_query_is_a_rule_and_bicep_fills_in_the_minutes() -> None:
    queries = {
        name: rule.properties["criteria"]["allOf"][0]["query"]
        for name, rule in rules().items()
        if rule.type == LOG
    }
    assert queries == {name: filled(text) for name, text in texts("alerts").items()}


@pytest.mark.parametrize("name", texts("alerts"))
def test_a_mail_names_what_it_is_about(name: str) -> None:
    """Dimensions are columns of the answer, each of a type that Azure takes."""
    (criterion,) = rules()[name].properties["criteria"]["allOf"]
    columns = analysed()[f"alerts/{name}"].columns
    named = [one["name"] for one in criterion["dimensions"]]
    assert {columns[one] for one in named} <= {"string"}
    assert ("Table" in columns) == ("Table" in named)
    assert ("Mirror" in columns) == ("Mirror" in named)


def test_every_rule_names_a_heading_that_is_there_and_every_heading_has_a_rule() -> None:
    section = OPERATIONS.partition("\n## Alerts\n")[2].partition("\n## ")[0]
    headings = set(re.findall(r"^### (.+)$", section, re.MULTILINE))
    named = set()
    for rule in rules().values():
        page, _, heading = rule.properties["description"].rpartition(": ")
        assert page.endswith("docs/OPERATIONS.md, Alerts")
        named.add(heading.rstrip("."))
    assert named == headings


def test_severity_says_how_urgent_it_is_and_every_alert_ends_by_itself() -> None:
    severities = {name: rule.properties["severity"] for name, rule in rules().items()}
    assert [name for name, one in severities.items() if one == 1] == ["table-paused"]
    assert {name for name, one in severities.items() if one == 3} == {
        "letters-waiting",
        "table-warning",
        "events-not-delivered",
    }
    assert set(severities.values()) == {1, 2, 3}
    for rule in rules().values():
        assert rule.properties["autoMitigate"] is True
        assert rule.properties["enabled"] is True


@pytest.mark.parametrize("name", texts("alerts"))
def test_a_rule_looks_back_as_far_as_its_query(name: str) -> None:
    back = minutes(rules()[name].properties["windowSize"])
    asked = [int(one) for one in re.findall(r"ago\((\d+)m\)", texts("alerts")[name])]
    assert all(one <= back for one in asked)
    assert back <= 2 * 1440
    if "OpenmirrorTableStatus" in texts("alerts")[name]:
        assert back >= 60, "a status that does not change is told every 15 to 30 minutes"


def test_a_gap_that_began_before_the_window_is_still_seen() -> None:
    """Its time may be longer than the window: the event tells since when."""
    system = System()
    gap(system)
    system.live(300)
    assert system.all_firing() == {"table-gap"}


def test_metric_rules_watch_what_event_grid_counts() -> None:
    metrics = {
        rule.properties["criteria"]["allOf"][0]["metricName"]
        for rule in rules().values()
        if rule.type == METRIC
    }
    assert metrics == {"DroppedEventCount", "DeadLetteredCount", "DeliveryAttemptFailCount"}
