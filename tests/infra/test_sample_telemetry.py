"""The recording that queries are tried on is what today's code sends, and shows every state."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from typing import Any

import pytest

from openmirror.ports.telemetry import (
    dead_letter_event,
    runner_start_event,
    stream_status_event,
    table_operation,
    table_status_event,
)
from openmirror.status import StageWord
from openmirror.telemetry.figures import METRICS
from tests.azure_platform import APP
from tests.infra.record_telemetry import ALL, MIRRORS, SAMPLE, is_kept
from tests.infra.telemetry_tables import Row, rows

EVENTS = {
    module.EVENT: module.FIELDS
    for module in (
        table_status_event,
        stream_status_event,
        runner_start_event,
        dead_letter_event,
    )
}
EVENTS[table_operation.EVENT] = table_operation.FIELDS
ADDED = {"logger_name"}
"""By OpenTelemetry's exporter, to every event."""
AGAIN = "record it again: python -m tests.infra.record_telemetry"


@cache
def items() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(SAMPLE.read_text())
    return found


@cache
def tables() -> dict[str, list[Row]]:
    return rows(items())


def reported(event: str) -> list[dict[str, str]]:
    return [row["Properties"] for row in tables()["AppEvents"] if row["Name"] == event]


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_has_the_fields_of_todays_code(event: str) -> None:
    found = {name for properties in reported(event) for name in properties}
    assert found == {*EVENTS[event], *ADDED}, AGAIN


def test_there_is_no_event_or_metric_that_todays_code_does_not_send() -> None:
    assert {row["Name"] for row in tables()["AppEvents"]} == set(EVENTS), AGAIN
    dimensions: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in tables()["AppMetrics"]:
        dimensions[row["Name"]].add(tuple(row["Properties"]))
    assert dimensions == {name: {keys} for name, keys in METRICS.items()}, AGAIN


def test_functions_and_runner_report_two_mirrors() -> None:
    senders = {"openmirror.runner", APP}
    for row in tables()["AppEvents"] + tables()["AppMetrics"]:
        assert row["AppRoleName"] in senders
    for sender in senders:
        mine = [r["Properties"] for r in tables()["AppEvents"] if r["AppRoleName"] == sender]
        stood = {(p["Mirror"], p["LandingFolder"]) for p in mine if "Stage" in p}
        assert stood == {(folder.mirror, str(folder.path)) for folder in ALL}
    assert {folder.mirror for folder in ALL} == set(MIRRORS)


def test_tables_run_wait_pause_are_held_and_are_dropped() -> None:
    stages = {status["Stage"] for status in reported(table_status_event.EVENT)}
    assert stages >= {
        StageWord.REPLICATING,
        StageWord.WAITING,
        StageWord.PAUSED,
        StageWord.HELD,
        StageWord.DROPPED,
    }
    assert "gap" in {status.get("WaitingFor") for status in reported(table_status_event.EVENT)}


def test_runs_start_fail_and_are_refused_and_dead_letters_wait() -> None:
    assert {"Started", "Failed", "Refused"} <= {
        s["Outcome"] for s in reported(runner_start_event.EVENT)
    }
    waiting = [row for row in tables()["AppMetrics"] if row["Name"] == "dead_letters_waiting"]
    assert {row["Sum"] for row in waiting} == {0, len(reported(dead_letter_event.EVENT))}


def test_the_recording_is_small_and_holds_nothing_else() -> None:
    assert SAMPLE.stat().st_size < 300_000
    assert all(is_kept(item) for item in items())
