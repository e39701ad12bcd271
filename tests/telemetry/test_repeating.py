"""What has not changed is emitted rarely, and nothing that has is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from openmirror.telemetry.repeating import FIGURES_SECONDS, MOST_AT_ONCE, Report, ReportSchedule
from tests.harness.clock import Seconds

REPEAT = timedelta(minutes=15)


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def schedule(clock: Seconds) -> ReportSchedule:
    return ReportSchedule(REPEAT, clock)


def test_what_stays_as_it_is_is_reported_once_and_then_at_every_repeat(
    schedule: ReportSchedule, clock: Seconds
) -> None:
    reported = []
    for second in range(0, 2 * 15 * 60 + 1, 30):
        clock.now = float(second)
        if schedule.due("m", {"t": Report("good", 1)}):
            reported.append(second)
    assert reported == [0, 900, 1800]


def test_another_state_is_reported_at_once(schedule: ReportSchedule, clock: Seconds) -> None:
    assert schedule.due("m", {"t": Report("good"), "u": Report("good")}) == ["t", "u"]
    clock.now = 0.1
    assert schedule.due("m", {"t": Report("bad"), "u": Report("good")}) == ["t"]
    clock.now = 0.2
    assert schedule.due("m", {"t": Report("good"), "u": Report("good")}) == ["t"]


def test_other_figures_are_reported_once_a_minute(schedule: ReportSchedule, clock: Seconds) -> None:
    reported = []
    for second in range(0, 301, 5):
        clock.now = float(second)
        if schedule.due("m", {"t": Report("good", second)}):
            reported.append(second)
    assert reported == [0, 60, 120, 180, 240, 300]
    assert FIGURES_SECONDS == 60


def test_what_is_gone_is_forgotten_so_that_it_is_reported_when_it_is_back(
    schedule: ReportSchedule,
) -> None:
    assert schedule.due("m", {"t": Report("good")}) == ["t"]
    assert schedule.due("m", {}) == []
    assert schedule.due("m", {"t": Report("good")}) == ["t"]


def test_groups_know_nothing_of_each_other(schedule: ReportSchedule) -> None:
    assert schedule.due("m", {"t": Report("good")}) == ["t"]
    assert schedule.due("n", {"t": Report("good")}) == ["t"]
    assert schedule.due("m", {"t": Report("good")}) == []


def test_of_more_than_can_be_reported_at_once_all_get_their_turn(
    schedule: ReportSchedule, clock: Seconds
) -> None:
    many = 2 * MOST_AT_ONCE + 500
    seen: list[int] = []
    for turn in range(3):
        clock.now = turn * 30.0
        due = schedule.due("m", {n: Report("good", clock.now) for n in range(many)})
        assert len(due) <= MOST_AT_ONCE
        seen += due
    # The third turn has come to those that were never emitted before it repeats any.
    assert set(seen) == set(range(many))
