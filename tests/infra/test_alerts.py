"""Each alert fires for its fault, is silent for a healthy system, and ends with the fault."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import Failed, Refused, Started, Unreachable
from openmirror.ports.telemetry.table_status_event import Health
from tests.infra.alert_rules import LOG, rules
from tests.infra.living import BEGIN, ORDERS, System
from tests.infra.queries import GAP_MINUTES, LAG_MINUTES


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


def down(system: System) -> None:
    system.stream = {
        "state": "Failed",
        "health": Health.ERROR,
        "warnings": ("StreamDown: stream crm: the topic is gone",),
    }


def behind(system: System) -> None:
    system.stream = {"records_behind": 9000, "seconds_behind": LAG_MINUTES * 60 + 1.0}


def short_of_retention(system: System) -> None:
    text = "StreamRetentionShort: stream crm: 60% of what its topic still holds has not landed."
    system.stream = {"health": Health.WARNING, "warnings": (text,)}


def growing(system: System) -> None:
    text = "StreamSlotGrows: stream crm: its database keeps 12.0 GiB of its log for it."
    system.stream = {"health": Health.WARNING, "warnings": (text,)}


def unlisted(system: System) -> None:
    system.unlisted = {"sales"}


def stopped(system: System) -> None:
    system.workspace.silent = True


def failing(system: System) -> None:
    system.failing = {"cleanup"}


def given_up(system: System) -> None:
    dead_letter = DeadLetter(
        source="landing-events",
        identity="7d0c",
        at=system.workspace.now,
        reason="no JSON",
        body=b"",
    )
    system.functions.dead_letter_kept(dead_letter)
    system.dead_letters = 1


def refused(system: System) -> None:
    system.outcome = Refused("the identity has no CAN_MANAGE_RUN on job 8204417")


def run_failed(system: System) -> None:
    system.outcome = Failed("the last run failed", "77", "https://adb-1/jobs/8204417/runs/77")


def healed(system: System) -> None:
    system.stands()
    system.stream = {}
    system.workspace.silent, system.dead_letters = False, 0
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
    "a database is not landed": (
        down,
        {"stream-down"},
        {"Mirror": "hr", "Stream": "crm", "State": "Failed"},
    ),
    "a database lags": (behind, {"stream-lags"}, {"Stream": "crm", "LagMinutes": 15.0}),
    "a topic may soon lose records": (short_of_retention, {"stream-lags"}, {"Stream": "crm"}),
    "a slot grows": (growing, {"stream-lags"}, {"Stream": "crm"}),
    "a zone cannot be listed": (unlisted, {"mirror-silent"}, {"Mirror": "sales"}),
    "the functions are stopped": (stopped, {"mirror-silent", "functions-silent"}, {}),
    "a function fails": (failing, {"functions-fail"}, {"Function": "cleanup"}),
    "a message was given up": (given_up, {"dead-letters-waiting"}, {"Source": "landing-events"}),
    "the job is refused": (refused, {"runner-fails"}, {"Outcome": "Refused", "Job": "8204417"}),
    "a run failed": (run_failed, {"runner-fails"}, {"Outcome": "Failed"}),
}


def test_a_healthy_system_raises_no_alert(system: System) -> None:
    assert system.all_firing() == set()


@pytest.mark.parametrize("fault", FAULTS)
def test_an_alert_fires_for_its_fault_alone_and_ends_with_it(system: System, fault: str) -> None:
    plant, wanted, row = FAULTS[fault]
    plant(system)
    system.live(25)
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


def test_a_service_that_is_away_for_some_minutes_raises_no_alert(system: System) -> None:
    system.stream = {
        "state": "Waiting",
        "since": system.workspace.now,
        "health": Health.ERROR,
        "warnings": ("StreamDown: x",),
    }
    system.live(4)
    assert system.all_firing() == set()
    system.live(5)
    assert system.all_firing() == {"stream-down"}


def test_a_gap_is_reported_only_after_its_time(system: System) -> None:
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


def test_a_runner_alone_does_not_show_that_the_functions_run(system: System) -> None:
    stopped(system)
    system.live(20)
    system.workspace.silent = False
    system.runner.report_statuses("sales", [system.statuses[ORDERS]])
    assert {"functions-silent"} <= system.all_firing()


def test_no_telemetry_at_all_is_reported() -> None:
    system = System()
    assert system.all_firing() == {"functions-silent"}


def test_a_gap_that_began_before_the_window_is_still_seen() -> None:
    """Its time may be longer than the window: the event has the time of its begin."""
    system = System()
    gap(system)
    system.live(300)
    assert system.all_firing() == {"table-gap"}
