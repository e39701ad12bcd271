"""A file whose time lies in the future: its waits count from the first observation of it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from openmirror.ingress.event_filter import filter_event
from openmirror.operate import requests
from openmirror.plan import Limits
from openmirror.plan.decisions import Pause, Replace, Wait, WaitKind
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.reconcile.clean import clean_table
from openmirror.runtime.draining import drain
from openmirror.runtime.sweeping import sweep
from openmirror.runtime.workers import WorkerPool
from openmirror.status import table_status
from openmirror.status.words import Warn
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.harness.clock import START, Clock
from tests.harness.publishing import file_name, parquet, table
from tests.harness.world import World

T = table("m", "T")
PLACE = layout.table_folder(T)
FIRST, SECOND = file_name(1, "csv"), file_name(2, "csv")
FIVE_SECONDS = timedelta(seconds=5)
AHEAD = timedelta(days=400)


class TextTable(World):
    """One table of text in memory; the clock stands still unless it `runs`."""

    def __init__(self, quiet_period: timedelta = FIVE_SECONDS, *, runs: bool = False) -> None:
        limits = Limits(metadata_grace=timedelta(0), quiet_period=quiet_period)
        super().__init__(limits, Clock(None if runs else START))
        self.write("_metadata.json", json.dumps({"FileFormat": "CSV"}))

    def write(self, name: str, content: str, ahead: timedelta = timedelta(0)) -> ETag:
        """Write a file, whose time may lie in the future."""
        return self.store.put(join(PLACE, name), content.encode(), self.clock() + ahead)


def warnings(world: World) -> tuple[Warn, ...]:
    return table_status(world.observed(T), world.decision(T)).warnings


def test_a_file_of_the_future_is_quiet_from_the_first_observation_at_it() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n", ahead=AHEAD)
    wait = world.reconcile(T)
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.QUIET_PERIOD
    assert (wait.waiting.since, wait.waiting.until) == (START, START + FIVE_SECONDS)
    world.clock.turn(timedelta(seconds=4.999))
    assert isinstance(world.reconcile(T), Wait)
    world.clock.turn(timedelta(seconds=0.001))
    assert isinstance(world.decision(T), Replace)


def test_another_content_of_the_future_begins_a_new_quiet_period() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n", ahead=AHEAD)
    world.reconcile(T)
    world.clock.turn(timedelta(seconds=4))
    world.write(FIRST, "a\n1\n2\n", ahead=AHEAD)
    world.reconcile(T)
    world.clock.turn(timedelta(seconds=4))
    assert isinstance(world.reconcile(T), Wait)
    world.clock.turn(timedelta(seconds=1))
    assert isinstance(world.decision(T), Replace)


def test_a_time_that_two_clocks_may_differ_by_is_believed() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n", ahead=timedelta(minutes=1))
    wait = world.reconcile(T)
    assert isinstance(wait, Wait)
    assert wait.waiting.until == world.clock() + timedelta(minutes=1) + FIVE_SECONDS
    assert not world.control(T).first_seen


def test_a_long_quiet_period_does_not_begin_anew_once_the_time_of_the_file_has_come() -> None:
    world = TextTable(timedelta(minutes=10))
    world.write(FIRST, "a\n1\n", ahead=timedelta(minutes=5))
    world.reconcile(T)
    world.clock.turn(timedelta(minutes=9))
    assert isinstance(world.reconcile(T), Wait)
    world.clock.turn(timedelta(minutes=1))
    assert isinstance(world.decision(T), Replace)


def test_an_unfinished_file_of_the_future_becomes_a_problem_in_the_end() -> None:
    world = TextTable()
    world.write(FIRST, "", ahead=AHEAD)
    wait = world.reconcile(T)
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.INCOMPLETE
    world.clock.turn(world.ports.limits.incomplete_grace)
    assert isinstance(world.decision(T), Pause)


@pytest.mark.parametrize("kind", ["parquet", "twins"])
def test_a_folder_without_metadata_waits_for_it_once_and_not_until_the_future(kind: str) -> None:
    world = TextTable()
    world.store.delete_file(join(PLACE, "_metadata.json"))
    world.limits = Limits()
    world.ports = world.process()
    if kind == "parquet":
        path = join(PLACE, file_name(1))
        world.store.put(path, parquet(), world.clock() + AHEAD)
    else:
        world.write(file_name(1), "PAR1", ahead=AHEAD)
        world.write(f"{1:020d}.PARQUET", "PAR1", ahead=AHEAD)
    wait = world.reconcile(T)
    assert isinstance(wait, Wait)
    assert wait.waiting.kind is WaitKind.METADATA
    world.clock.turn(world.ports.limits.metadata_grace)
    assert isinstance(world.decision(T), Replace if kind == "parquet" else Pause)


def test_the_sweep_brings_a_runner_that_writes_the_first_observation_down() -> None:
    world = TextTable(timedelta(minutes=10))
    world.write(FIRST, "a\n1\n", ahead=AHEAD)
    workers = WorkerPool(lambda folder: None, 1)
    try:
        assert sweep(world.ports, ["m"], workers).woken == [T]
        world.reconcile(T)
        assert sweep(world.ports, ["m"], workers).woken == []
        world.clock.turn(timedelta(minutes=10))
        assert sweep(world.ports, ["m"], workers).woken == [T]
    finally:
        workers.stop(1)


def test_a_partial_observation_leaves_the_first_seen_as_they_are() -> None:
    world = TextTable(timedelta(minutes=10))
    etag = world.write(FIRST, "a\n1\n", ahead=AHEAD)
    world.reconcile(T)
    before = world.control(T)
    path = join(PLACE, FIRST)
    event = LandingEvent(identity="e-1", kind=EventKind.FILE_WRITTEN, path=path, size=4, etag=etag)
    filter_event(world.ports, event)
    world.write(SECOND, "\0", ahead=AHEAD)
    assert world.control(T) == before


def test_a_drain_applies_files_of_the_future_and_forgets_when_it_saw_them() -> None:
    world = TextTable(timedelta(seconds=0.5), runs=True)
    for number in (1, 2, 3):
        world.write(file_name(number, "csv"), "a\n1\n", ahead=AHEAD)
    done = drain(world.ports, world.engine, ["m"], workers=1)
    assert not done.stopped
    assert world.applied(T) == 3
    assert not world.control(T).first_seen


def test_a_reseed_waits_once_for_files_of_the_future_that_it_reads_again() -> None:
    world = TextTable()
    for number in (1, 2):
        world.write(file_name(number, "csv"), "a\n1\n", ahead=AHEAD)
    world.reconcile(T)
    world.clock.turn(FIVE_SECONDS)
    world.reconcile_until_idle(T)
    assert world.applied(T) == 2
    clean_table(world.ports, T)
    requests.reseed(world.ports, T, requests.Operator("me"))
    assert isinstance(world.reconcile(T), Wait)
    world.clock.turn(FIVE_SECONDS)
    world.reconcile_until_idle(T)
    assert world.applied(T) == 2
    assert world.control(T).epoch == 2
    assert not world.control(T).first_seen


def test_every_file_of_the_future_in_the_folder_is_a_warning_that_names_the_farthest() -> None:
    world = TextTable()
    world.write(FIRST, "a\n1\n", ahead=timedelta(hours=1))
    world.write(SECOND, "a\n1\n", ahead=AHEAD)
    world.write(file_name(3, "csv"), "a\n1\n")
    [warning] = warnings(world)
    assert (warning.code, warning.file) == (Code.FILE_TIME_AHEAD, SECOND)
    assert "and that of 1 more" in warning.detail
    world.clock.turn(AHEAD)
    assert not warnings(world)


def test_what_is_ordered_by_time_keeps_a_time_of_the_future() -> None:
    world = TextTable(timedelta(0))
    options = {"FileFormat": "CSV", "fileDetectionStrategy": "LastUpdateTimeFileDetection"}
    world.write("_metadata.json", json.dumps(options))
    world.write("a.csv", "a\n1\n", ahead=AHEAD)
    world.clock.turn(timedelta(seconds=1))
    world.write("b.csv", "a\n1\n")
    decision = world.decision(T)
    assert isinstance(decision, Replace)
    assert [file.name for file in decision.batch.files] == ["b.csv", "a.csv"]


@pytest.mark.parametrize(
    ("seconds", "moment"),
    [
        (1 << 40, datetime.max.replace(tzinfo=UTC)),
        (-(1 << 40), datetime.min.replace(tzinfo=UTC)),
        (10.5, datetime(1970, 1, 1, 0, 0, 10, 500_000, tzinfo=UTC)),
    ],
)
def test_a_time_that_no_calendar_has_is_the_last_or_the_first_that_one_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, moment: datetime
) -> None:
    """Some file systems keep such times; the one that tests run on may not."""
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").write_bytes(b"")
    stat = os.stat

    class Facts:
        def __init__(self, facts: os.stat_result) -> None:
            self._facts = facts

        def __getattr__(self, name: str) -> object:
            return seconds if name == "st_mtime" else getattr(self._facts, name)

    monkeypatch.setattr(os, "stat", lambda *args, **more: Facts(stat(*args, **more)))
    [entry] = LocalStore(tmp_path).list_folder(StorePath("f")).entries
    assert entry.modified == moment
