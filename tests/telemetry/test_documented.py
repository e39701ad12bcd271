"""docs/OPERATIONS.md names every event, property and metric that is sent, and no other."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from openmirror.errors import CannotStart
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.telemetry import (
    dead_letter_event,
    runner_start_event,
    stream_status_event,
    table_operation,
    table_status_event,
)
from openmirror.settings import Settings
from openmirror.status import FabricStatus, StageWord
from openmirror.telemetry.figures import METRICS

OPERATIONS = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text()
TELEMETRY = OPERATIONS.partition("\n## Telemetry")[2].partition("\n## ")[0]
WORD = re.compile(r"`([^`\n]+)`")
NAMES = set(WORD.findall(re.sub(r"```.*?```", "", TELEMETRY, flags=re.DOTALL)))


def table(heading: str) -> list[list[str]]:
    """The rows below the heading that begins so, cell by cell."""
    _, _, after = TELEMETRY.partition(f"\n| {heading} |")
    lines = after.partition("\n\n")[0].splitlines()[2:]
    assert lines, heading
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def properties(after: str) -> list[str]:
    """Those in the table of properties that follows a text."""
    rows = TELEMETRY.partition(after)[2].partition("| Property |")[2].partition("\n\n")[0]
    return [word for line in rows.splitlines()[2:] for word in WORD.findall(line.split(" | ")[0])]


@pytest.mark.parametrize(
    "module",
    [
        table_operation,
        table_status_event,
        stream_status_event,
        runner_start_event,
        dead_letter_event,
    ],
    ids=lambda m: m.EVENT,
)
def test_every_event_and_each_of_its_properties_is_named(module: object) -> None:
    assert module.EVENT in NAMES  # type: ignore[attr-defined]
    assert not set(module.FIELDS) - NAMES  # type: ignore[attr-defined]


def test_the_properties_of_a_status_and_of_a_start_are_listed_and_no_others() -> None:
    assert sorted(properties(f"`{table_status_event.EVENT}`: what")) == sorted(
        table_status_event.FIELDS
    )
    assert sorted(properties(f"`{stream_status_event.EVENT}`, emitted")) == sorted(
        stream_status_event.FIELDS
    )
    assert sorted(properties(f"`{runner_start_event.EVENT}`, when")) == sorted(
        runner_start_event.FIELDS
    )


def test_the_metrics_are_listed_with_their_dimensions() -> None:
    found = {row[0].strip("`"): tuple(row[1].split(", ")) for row in table("Metric")}
    assert found == METRICS
    assert list(found) == list(METRICS)


def test_every_word_of_a_stage_and_of_an_outcome_is_explained() -> None:
    assert {word.value for word in StageWord} - {word.value for word in FabricStatus} <= NAMES
    assert {kind.__name__ for kind in runner_start_event.REPORTED} <= NAMES
    assert set(runner_start_event.REPORTED) < set(StartOutcome.__args__)


def test_a_table_is_reported_often_enough_that_silence_means_something() -> None:
    assert Settings.load({}).status_repeat == timedelta(minutes=15)
    assert Settings.load({"OPENMIRROR_STATUS_REPEAT": "30m"}).status_repeat < timedelta(minutes=45)
    with pytest.raises(CannotStart, match="OPENMIRROR_STATUS_REPEAT is"):
        Settings.load({"OPENMIRROR_STATUS_REPEAT": "31m"})
    assert "TimeGenerated > ago(45m)" in TELEMETRY
