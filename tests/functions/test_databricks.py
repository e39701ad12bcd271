"""The runner's job is started when there is work and no run, through the real Databricks SDK."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

from openmirror.databricks import runner_job
from openmirror.databricks.runner_job import SCOPE, DatabricksJob
from openmirror.ingress.event_filter import Woken
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import SURE_FOR, Starter
from openmirror.ports import WorkItem
from openmirror.ports.jobs import (
    AlreadyActive,
    Failed,
    NotNeeded,
    Refused,
    Skipped,
    Started,
    StartOutcome,
    Unreachable,
)
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.runtime.sweeping import sweep
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import join
from tests.databricks_stub import JOB, Jobs, Run, jobs_api
from tests.harness.clock import Clock
from tests.harness.publishing import file_name, table
from tests.harness.world import World


class Identity:
    """A managed identity."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def get_token(self, *scopes: str) -> AccessToken:
        self.scopes += scopes
        return AccessToken("a-token", 2**33)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setattr(runner_job, "RETRY_SECONDS", 1)
    with jobs_api() as jobs:
        yield jobs


def now() -> datetime:
    return datetime.now(UTC)


def job(api: Jobs, number: int = JOB, delay: timedelta = timedelta()) -> DatabricksJob:
    return DatabricksJob(api.url, number, Identity(), now, delay)


def test_a_run_is_started_in_the_identitys_name(api: Jobs) -> None:
    identity = Identity()
    assert DatabricksJob(api.url, JOB, identity, now).start() == Started("1")
    assert set(identity.scopes) == {SCOPE}
    assert set(api.headers) == {"Bearer a-token"}


def test_credentials_of_other_kinds_in_the_environment_change_nothing(
    api: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOKEN", "CLIENT_ID", "CLIENT_SECRET", "USERNAME", "PASSWORD"):
        monkeypatch.setenv(f"DATABRICKS_{name}", "another")
    assert job(api).start() == Started("1")
    assert set(api.headers) == {"Bearer a-token"}


def test_a_run_that_is_active_is_left_alone(api: Jobs) -> None:
    api.runs.append(Run(1))
    assert job(api).start() == AlreadyActive("1")
    assert "run-now" not in api.asked


@pytest.mark.parametrize("state", ["QUEUED", "PENDING", "WAITING", "TERMINATING"])
def test_a_run_that_waits_for_its_turn_counts_as_active(api: Jobs, state: str) -> None:
    api.runs.append(Run(1, state))
    assert job(api).start() == AlreadyActive("1")


def test_two_that_ask_at_once_get_one_run(api: Jobs) -> None:
    api.runs.append(Run(1))
    api.end()
    one, other = job(api), job(api)
    assert one.start() == Started("2")
    api.runs[-1].state = "BLOCKED"
    # The other one had listed the runs before.
    assert other._run(other._connected(), 1, attempts=2) == Started("2")
    assert len(api.runs) == 2


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("ended", ["SUCCESS", "FAILED", "CANCELED"])
def test_new_work_after_a_run_that_ended_gets_a_fresh_run(api: Jobs, old: bool, ended: str) -> None:
    api.old = old
    runner = job(api)
    assert runner.start() == Started("1")
    for number in (2, 3):
        api.end("RUN_EXECUTION_ERROR" if ended == "FAILED" and not old else ended)
        assert runner.start() == Started(str(number))
    assert len(set(api.tokens)) == 3
    assert all(len(token) <= 64 for token in api.tokens)


def test_a_dead_run_is_not_handed_back_even_while_it_is_not_listed_yet(api: Jobs) -> None:
    api.forgets_ended = True
    assert job(api).start() == Started("1")
    api.end()
    assert job(api).start() == Started("2")


@pytest.mark.parametrize(
    "code",
    ["MAX_CONCURRENT_RUNS_EXCEEDED", "MAX_JOB_QUEUE_SIZE_EXCEEDED", "WORKSPACE_RUN_LIMIT_EXCEEDED"],
)
def test_a_run_that_the_platform_did_not_take_is_skipped_and_tried_again(
    api: Jobs, code: str
) -> None:
    api.ends_at_once = code
    outcome = job(api).start()
    assert isinstance(outcome, Skipped)
    assert code in outcome.reason
    api.ends_at_once = None
    assert job(api).start() == Started("2")


def test_a_skipped_run_in_the_older_words_is_understood(api: Jobs) -> None:
    api.old, api.ends_at_once = True, "SKIPPED"
    assert isinstance(job(api).start(), Skipped)


def test_a_run_that_fails_at_once_is_reported(api: Jobs) -> None:
    api.ends_at_once = "CLUSTER_ERROR"
    outcome = job(api).start()
    assert isinstance(outcome, Failed)
    assert "CLUSTER_ERROR: as the test wants it" in outcome.reason


def test_runs_that_fail_are_not_started_one_after_another(api: Jobs) -> None:
    runner = job(api, delay=timedelta(minutes=1))
    assert runner.start() == Started("1")
    api.end("DRIVER_ERROR", "out of memory", ago=0)
    outcome = runner.start()
    assert isinstance(outcome, Failed)
    assert "out of memory" in outcome.reason
    api.runs[-1].ended -= 61
    assert runner.start() == Started("2")


def test_a_missing_grant_is_named(api: Jobs) -> None:
    api.refusals = [(403, "PERMISSION_DENIED", "User does not have permission")]
    outcome = job(api).start()
    assert isinstance(outcome, Refused)
    assert "CAN_MANAGE_RUN" in outcome.reason


def test_an_identity_that_is_not_there_is_named(api: Jobs) -> None:
    class Nobody:
        def get_token(self, *scopes: str) -> AccessToken:
            raise ClientAuthenticationError("no managed identity endpoint found")

    outcome = DatabricksJob(api.url, JOB, Nobody(), now).start()
    assert isinstance(outcome, Refused)
    assert "no managed identity endpoint found" in outcome.reason


def test_a_service_of_tokens_that_cannot_be_reached_is_no_failure_of_an_event(api: Jobs) -> None:
    class Away:
        def get_token(self, *scopes: str) -> AccessToken:
            raise ServiceRequestError("connection refused")

    outcome = DatabricksJob(api.url, JOB, Away(), now).start()
    assert isinstance(outcome, Unreachable)
    assert "connection refused" in outcome.reason


@pytest.mark.parametrize(
    "refusal",
    [
        (404, "RESOURCE_DOES_NOT_EXIST", "gone"),
        (400, "INVALID_PARAMETER_VALUE", "Job 77 does not exist."),
    ],
)
def test_a_job_that_does_not_exist_names_the_settings(
    api: Jobs, refusal: tuple[int, str, str]
) -> None:
    api.refusals = [refusal]
    outcome = job(api).start()
    assert isinstance(outcome, Failed)
    assert "OPENMIRROR_JOB" in outcome.reason


def test_a_busy_platform_is_asked_again_by_the_sdk(
    api: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_job, "RETRY_SECONDS", 30)
    api.refusals = [(429, "REQUEST_LIMIT_EXCEEDED", "slow down")] * 2
    assert job(api).start() == Started("1")


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "QUOTA_EXCEEDED"), (503, "TEMPORARILY_UNAVAILABLE"), (500, "INTERNAL_ERROR")],
)
def test_a_platform_that_stays_busy_is_a_value_with_its_words(
    api: Jobs, status: int, code: str
) -> None:
    api.refusals = [(status, code, "not now, please")] * 40
    outcome = job(api).start()
    assert isinstance(outcome, Unreachable)
    assert "not now, please" in outcome.reason


def test_a_platform_that_does_not_answer_is_a_value(api: Jobs) -> None:
    outcome = DatabricksJob("http://127.0.0.1:1", JOB, Identity(), now).start()
    assert isinstance(outcome, Unreachable)


def test_any_other_refusal_is_reported_in_the_platforms_words(api: Jobs) -> None:
    api.refusals = [(400, "BAD_REQUEST", "job is being deleted")]
    assert job(api).start() == Failed(f"the job {JOB} of {api.url}: job is being deleted")


def test_a_run_is_known_by_its_number_and_the_page_that_a_person_opens(
    api: Jobs,
) -> None:
    started = job(api).start()
    assert isinstance(started, Started)
    assert (started.run, started.page) == ("1", f"{api.url}/jobs/{JOB}/runs/1")
    api.pages = "https://adb-1.azuredatabricks.net"
    api.end("INTERNAL_ERROR", "no such class", ago=1)
    failed = job(api, delay=timedelta(minutes=1)).start()
    assert isinstance(failed, Failed)
    assert (failed.run, failed.page) == ("1", f"{api.pages}/?o=1#job/{JOB}/run/1")
    api.ends_at_once = "SKIPPED"
    skipped = job(api).start()
    assert isinstance(skipped, Skipped)
    assert (skipped.run, skipped.page) == ("2", f"{api.pages}/?o=1#job/{JOB}/run/2")


def test_a_refusal_has_the_platforms_words_and_nothing_of_the_clients_settings(
    api: Jobs,
) -> None:
    api.refusals.append((403, "PERMISSION_DENIED", "no right to manage runs"))
    refused = job(api).start()
    assert isinstance(refused, Refused)
    assert refused.reason.startswith(f"the job {JOB} of {api.url}: no right to manage runs. Add ")
    assert "onfig" not in refused.reason


class QueueAndJob:
    """A queue, a clock and a job."""

    def __init__(self, api: Jobs) -> None:
        self.clock = Clock()
        self.queue = MemoryWorkQueue(self.clock)
        self.starter = Starter(self.queue, job(api), self.clock)

    def wake(self) -> None:
        self.queue.send(WorkItem(table("m", "T"), "test"))

    def drain(self) -> None:
        for taken in self.queue.take(100):
            self.queue.delete(taken)

    def later(self) -> StartOutcome:
        self.clock.turn(SURE_FOR)
        return self.starter.start_if_needed()


def test_an_empty_queue_starts_nothing_however_long_it_is_so(api: Jobs) -> None:
    world = QueueAndJob(api)
    for _ in range(50):
        assert isinstance(world.later(), NotNeeded)
    assert not api.asked


def test_work_starts_one_run_and_a_finished_run_is_followed_by_a_fresh_one(api: Jobs) -> None:
    world = QueueAndJob(api)
    world.wake()
    assert world.later() == Started("1")
    assert world.later() == AlreadyActive("1")
    world.drain()
    api.end()
    assert isinstance(world.later(), NotNeeded)
    world.wake()
    assert world.later() == Started("2")


def test_many_events_at_once_ask_the_platform_once(api: Jobs) -> None:
    world = QueueAndJob(api)
    world.wake()
    world.starter.start_if_needed()
    asked = len(api.asked)
    for _ in range(100):
        assert world.starter.start_if_needed() == Started("1")
    assert len(api.asked) == asked


def test_events_do_not_wait_for_one_another_while_the_platform_does_not_answer(api: Jobs) -> None:
    class Silent:
        identity = str(JOB)
        asked, answered = threading.Event(), threading.Event()

        def start(self) -> StartOutcome:
            self.asked.set()
            assert self.answered.wait(30)
            return Unreachable("no answer")

    world, silent = QueueAndJob(api), Silent()
    world.wake()
    starter = Starter(world.queue, silent, world.clock)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(starter.start_if_needed)
        assert silent.asked.wait(30)
        assert isinstance(starter.start_if_needed(), NotNeeded)
        silent.answered.set()
        assert first.result() == Unreachable("no answer")
    assert starter.start_if_needed() == Unreachable("no answer")  # for as long as it is good


def test_tables_that_wait_or_are_paused_start_no_run_however_long_and_whatever_lands(
    api: Jobs,
) -> None:
    world = QueueAndJob(api)
    zone = World(clock=world.clock)
    gap, paused = table("m", "Gap"), table("m", "Paused")
    zone.land(gap, 1, 3)
    zone.land(paused, 1)
    zone.put(paused, file_name(2), b"no parquet at all")
    for folder in (gap, paused):
        zone.reconcile_until_idle(folder)
    sweep(zone.ports, ["m"], QueueWaker(world.queue, "sweep"))
    world.drain()
    for hour in range(4, 28):
        world.clock.turn(timedelta(hours=1))
        for folder in (gap, paused):
            zone.land(folder, hour)
            path = join(layout.table_folder(folder), file_name(hour))
            event = LandingEvent(identity="e", kind=EventKind.FILE_WRITTEN, path=path, size=9)
            received = receive(zone.ports, world.queue, world.starter, [event])
            assert not isinstance(received.answers[0][1], Woken)
        sweep(zone.ports, ["m"], QueueWaker(world.queue, "sweep"))
        assert isinstance(world.later(), NotNeeded)
    assert not api.asked
    zone.land(gap, 2)
    sweep(zone.ports, ["m"], QueueWaker(world.queue, "sweep"))
    assert world.later() == Started("1")


def test_without_a_job_a_runner_is_always_on(api: Jobs) -> None:
    world = QueueAndJob(api)
    world.wake()
    assert isinstance(Starter(world.queue, None, now).start_if_needed(), NotNeeded)
