"""How often a sweep observes a table: seldom at rest, each time while something is on its way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from openmirror.ingress.event_filter import Ignored, filter_event
from openmirror.operate.report import statuses
from openmirror.operate.requests import Operator, hold, hold_mirror
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.reconcile.liveness import EventsTaken
from openmirror.table import layout
from tests.harness.sweeping import SLOWEST, TICK, SweptWorld

HOUR = timedelta(hours=1)
TEXT = b'{"keyColumns": ["id"], "FileFormat": "DelimitedText", "FileExtension": "csv"}'


@pytest.fixture
def world() -> SweptWorld:
    return SweptWorld("A", "B")


@pytest.fixture
def at_rest(world: SweptWorld) -> SweptWorld:
    """The same, hours after anything happened."""
    world.passes(HOUR)
    world.forget_times()
    return world


def is_observed_by_each_pass(world: SweptWorld, count: int = 4) -> bool:
    a, _ = world.tables
    world.forget_times()
    for _ in range(count):
        world.pass_over()
    return len(set(world.times(a))) == count


def test_a_table_at_rest_is_observed_less_and_less_and_never_later_than_five_minutes(
    world: SweptWorld,
) -> None:
    a, _ = world.tables
    world.passes(HOUR)
    gaps = [after - before for before, after in pairwise(world.times(a))]
    assert max(gaps) <= SLOWEST
    assert gaps[:2] == [TICK, 2 * TICK]
    assert set(gaps[5:]) == {SLOWEST - TICK}


@pytest.mark.parametrize("offset", [-3, 3])
def test_a_timer_that_is_seconds_off_makes_no_table_wait_longer(
    world: SweptWorld, offset: int
) -> None:
    a, _ = world.tables
    for number in range(120):
        world.clock.turn(timedelta(seconds=offset if number % 2 else -offset))
        world.pass_over()
    gaps = [after - before for before, after in pairwise(world.times(a))]
    assert max(gaps) <= SLOWEST


def test_what_is_at_rest_costs_a_ninth(at_rest: SweptWorld) -> None:
    a, _ = at_rest.tables
    at_rest.passes(timedelta(minutes=45))
    assert len(at_rest.times(a)) == timedelta(minutes=45) / (9 * TICK)


def test_the_slowest_interval_may_be_set_to_that_of_the_timer() -> None:
    world = SweptWorld("A", "B", slowest=TICK)
    world.passes(HOUR)
    assert is_observed_by_each_pass(world, 10)


def test_a_file_without_an_event_is_found_within_five_minutes_and_its_table_watched(
    at_rest: SweptWorld,
) -> None:
    a, _ = at_rest.tables
    at_rest.land(a, 2)
    done = at_rest.passes(SLOWEST)
    found = next(number for number, one in enumerate(done) if a in one.swept.woken)
    # Nobody applies it: from then on each pass observes it.
    assert all(a in one.swept.woken for one in done[found:])
    assert is_observed_by_each_pass(at_rest)


def _a_quiet_period(world: SweptWorld) -> None:
    world.put(world.tables[0], "_metadata.json", TEXT)
    world.put(world.tables[0], f"{2:020d}.csv", b"id\n1\n")


def _a_grace(world: SweptWorld) -> None:
    world.store.delete_folder(layout.table_folder(world.tables[0]))


def _a_gap(world: SweptWorld) -> None:
    world.land(world.tables[0], 3)


def _a_problem(world: SweptWorld) -> None:
    world.put(world.tables[0], f"{2:020d}.parquet", b"certainly no parquet file")


@pytest.mark.parametrize("happens", [_a_quiet_period, _a_grace, _a_gap, _a_problem])
def test_a_table_on_its_way_is_observed_by_each_pass(
    world: SweptWorld, happens: Callable[[SweptWorld], None]
) -> None:
    world.passes(HOUR)
    happens(world)
    world.passes(SLOWEST)
    assert is_observed_by_each_pass(world)


def _asked(world: SweptWorld) -> None:
    hold(world.ports, world.tables[0], Operator("a person", "why not"))


def _held_with_its_mirror(world: SweptWorld) -> None:
    hold_mirror(world.ports, "m", Operator("a person", "why not"))


def _set(world: SweptWorld) -> None:
    world.store.put(layout.mirror_settings("m"), b"{}")


def _gone(world: SweptWorld) -> None:
    world.store.delete_folder(layout.table_folder(world.tables[0]))


def _another(world: SweptWorld) -> None:
    _gone(world)
    world.land(world.tables[0], 1)


@pytest.mark.parametrize("happens", [_asked, _held_with_its_mirror, _set, _gone, _another])
def test_what_the_listings_of_a_mirror_show_is_seen_by_the_next_pass(
    at_rest: SweptWorld, happens: Callable[[SweptWorld], None]
) -> None:
    a, _ = at_rest.tables
    at_rest.just_observed(a)
    happens(at_rest)
    at_rest.forget_times()
    at_rest.pass_over()
    assert at_rest.times(a)


def test_a_process_that_starts_observes_every_table(at_rest: SweptWorld) -> None:
    at_rest.app = at_rest.started()
    assert at_rest.pass_over().swept.observed == 2


def test_the_status_of_a_table_that_was_not_observed_is_the_one_that_an_observation_gives(
    at_rest: SweptWorld,
) -> None:
    done = next(one for one in at_rest.passes(SLOWEST) if not one.swept.observed)
    assert list(done.swept.seen.values()) == statuses(at_rest.ports, ["m"])


def test_an_event_of_a_table_that_waits_longer_than_a_runner_does_has_it_observed_by_each_pass(
    at_rest: SweptWorld,
) -> None:
    a, _ = at_rest.tables
    at_rest.just_observed(a)
    etag = at_rest.put(a, f"{3:020d}.parquet", b"")  # behind a gap
    path = layout.join(layout.table_folder(a), f"{3:020d}.parquet")
    event = LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, etag=etag)
    answer = filter_event(at_rest.ports, event)
    assert isinstance(answer, Ignored)
    assert answer.watch == a
    EventsTaken(at_rest.store, at_rest.ports.clock).note([answer.watch])
    assert is_observed_by_each_pass(at_rest)


def test_files_that_no_event_announces_make_every_table_watched(at_rest: SweptWorld) -> None:
    a, b = at_rest.tables
    at_rest.land(a, 2)
    done = at_rest.passes(SLOWEST)
    noticed = [number for number, one in enumerate(done) if one.unannounced]
    assert [done[number].unannounced for number in noticed] == [(a,)]
    # As if the app had just started: at once, 30 s later, a minute later.
    at_rest.passes(4 * TICK)
    after = [at for at in at_rest.times(b) if at > at_rest.clock() - len(done) * TICK]
    assert [later - first for first, later in pairwise(after)][:2] == [TICK, 2 * TICK]


def test_a_file_that_is_found_before_its_event_may_come_is_noticed_a_little_later(
    at_rest: SweptWorld,
) -> None:
    a, _ = at_rest.tables
    at_rest.just_observed(a)
    at_rest.passes(8 * TICK)
    at_rest.land(a, 2)
    done = at_rest.passes(4 * TICK)
    assert a in done[0].swept.woken
    assert [one.unannounced for one in done] == [(), (a,), (), ()]


def test_a_runner_that_is_late_makes_nobody_believe_that_events_are_lost(
    at_rest: SweptWorld,
) -> None:
    a, b = at_rest.tables
    taken = EventsTaken(at_rest.store, at_rest.ports.clock)
    taken.note()
    at_rest.clock.turn(timedelta(seconds=20))
    at_rest.land(a, 2)
    taken.note()  # within a minute of the one before, so it is not written down
    assert not [one.unannounced for one in at_rest.passes(SLOWEST) if one.unannounced]
    assert len(at_rest.times(b)) <= 2


DEPLOY = (Path(__file__).parents[2] / "docs" / "DEPLOY.md").read_text()
LISTING, READ = 0.065 / 10_000, 0.0052 / 10_000
PRICES = {
    "list_folder": LISTING,
    "list_from": LISTING,
    "write": LISTING,
    "read": READ,
    "incarnation": READ,
}
"""In USD, as the page names them; an incarnation that is remembered is asked for by a HEAD."""


def a_month(tables: int, slowest: timedelta) -> Counter[str]:
    """Requests of thirty days in which nothing happens, from an hour and a half of them."""
    world = SweptWorld(*(f"T{number}" for number in range(tables)), slowest=slowest)
    world.passes(HOUR / 2)
    world.watched.calls.clear()
    world.passes(1.5 * HOUR)
    count = Counter(call.method for call in world.watched.calls)
    return Counter({name: number * 16 * 30 for name, number in count.items()})


@pytest.mark.parametrize(("slowest", "column"), [(SLOWEST, 2), (TICK, 3)])
def test_what_the_sweep_costs_a_month_is_what_the_page_says(
    slowest: timedelta, column: int
) -> None:
    none, two = a_month(0, slowest), a_month(2, slowest)
    base = sum(none[name] * price for name, price in PRICES.items())
    table = sum((two[name] - none[name]) * price for name, price in PRICES.items()) / 2
    assert "0.065 for 10,000 listings" in DEPLOY
    assert "0.0052 for 10,000 reads" in DEPLOY
    for tables in (10, 100, 500):
        row = re.search(rf"^\| {tables} \| (\d+) \| (\d+) \|$", DEPLOY, re.MULTILINE)
        assert row
        assert int(row[column - 1]) == round(base + tables * table)
