"""What arrives at Application Insights, by the real exporter and over real HTTP."""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from openmirror.errors import CannotStart
from openmirror.ingress.event_filter import handle_event
from openmirror.ingress.start_runner import SURE_FOR, Starter
from openmirror.operate.requests import Operator, hold
from openmirror.ports import CommitResult, Counts, Step, Transaction, WorkItem
from openmirror.ports.jobs import AlreadyActive, Failed, Refused, Started, StartOutcome
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.ports.telemetry import runner_start_event, table_status_event
from openmirror.progress.base import Severity
from openmirror.progress.context import log_context
from openmirror.progress.runner import WorkItemTaken
from openmirror.progress.tables import BatchCommitted, BatchStarted
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.runner import Runner, RunnerTiming
from openmirror.runtime.sweeping import clean, publish_all
from openmirror.stores.memory.work import MemoryLeases, MemoryWorkQueue
from openmirror.table import layout
from openmirror.table.layout import join
from openmirror.table.phases import Phase
from openmirror.wiring.telemetry import CONNECTION, emitting, emitting_through_the_host
from tests.harness.dying import Killed, dies_at
from tests.harness.paper import PaperEngine
from tests.harness.stores import Call
from tests.ingestion_stub import QUIET, Ingestion, ingestion
from tests.telemetry.rig import ITEMS, ORDERS, Emitter
from tests.unit.test_progress import KINDS, example

ROLE = "runner"
REPEAT = timedelta(minutes=15)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Ingestion]:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    # Where the exporter keeps what it could not send.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ingestion() as kept:
        yield kept


@pytest.fixture
def world() -> Emitter:
    return Emitter()


def process(world: Emitter, sent: Ingestion) -> AbstractContextManager[RootPorts]:
    """A runner of its own, from its start to its end."""
    return emitting(world.process(), {CONNECTION: sent.connection_string}, ROLE, REPEAT)


class Mixed(PaperEngine):
    """An engine whose batches hold changes of every kind."""

    def read(self, batch: Any) -> Any:
        prepared = super().read(batch)

        class Held:
            counts = Counts(inserts=5, updates=3, deletes=1)
            checksums = prepared.checksums
            phases = prepared.phases
            asks_table = prepared.asks_table

            def release(self) -> None:
                prepared.release()

        return Held()


def _moment(text: str) -> datetime:
    assert text.endswith("Z")
    return datetime.fromisoformat(text)


def test_a_run_sends_each_operation_with_every_field_of_fabrics_log(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    with process(world, sent) as ports:
        world.run(ports)
        world.land(ORDERS, 2)
        world.land(ORDERS, 3)
        ports.emit(WorkItemTaken(ORDERS, "…3.parquet", 1, "e-42"))
        world.run(ports, engine=Mixed(world.store))
    names = [operation["OperationName"] for operation in sent.operations]
    assert names == [
        "AddTable",
        "StartSnapshotting",
        "Snapshotting",
        "StartReplicating",
        "Replicating",
    ]
    assert len(sent.events("MirroredDatabaseTableExecution")) == len(names)
    last = sent.operations[-1]
    size = sum(
        entry.size
        for entry in world.store.list_folder(layout.table_folder(ORDERS)).entries
        if entry.name.startswith(("00000000000000000002", "00000000000000000003"))
    )
    record = world.store.incarnation(layout.table_folder(ORDERS))
    known = {
        "OperationName": "Replicating",
        "SourceSchemaName": "Sales",
        "SourceTableName": "Orders",
        "ProcessedRows": "9",
        "ProcessedBytes": str(size),
        "MirroringSourceType": "GenericMirror",
        "Mirror": "m",
        "LandingFolder": "Sales.schema/Orders",
        "Epoch": f"openmirror/m/Sales.schema/Orders/{record}/1",
        "FirstSequence": "2",
        "LastSequence": "3",
        "Inserts": "5",
        "Updates": "3",
        "Deletes": "1",
        "Correlation": "e-42",
    }
    measured = {"OperationStartTime", "OperationEndTime", "ReplicatorBatchLatency", "OperationId"}
    phases = {f"{phase.value.capitalize()}Seconds" for phase in Phase}
    measured |= {"WaitSeconds", *phases}
    assert {name: last[name] for name in known} == known
    assert set(last) == {*known, *measured, "logger_name"}
    assert _moment(last["OperationStartTime"]) <= _moment(last["OperationEndTime"])
    assert float(last["ReplicatorBatchLatency"]) >= 0
    assert len({operation["OperationId"] for operation in sent.operations}) == len(names)
    assert {item["tags"]["ai.cloud.role"] for item in sent.items} == {f"openmirror.{ROLE}"}


def test_a_failure_is_sent_with_its_error(world: Emitter, sent: Ingestion) -> None:
    world.land(ORDERS, 1)
    bad = join(layout.table_folder(ORDERS), f"{1:020d}.parquet")
    world.store.write(bad, b"this is no Parquet file")
    with process(world, sent) as ports:
        world.run(ports)
    (failed,) = sent.operations
    assert (failed["OperationName"], failed["ErrorType"]) == ("FailTable", "UserError")
    assert failed["ErrorCode"] == "FileUnreadable"
    assert "Replace the file, under the same name" in failed["ErrorMessage"]


def test_metrics_have_mirror_schema_and_table_and_rows_their_kind(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    world.land(ITEMS, 1)
    world.land(ITEMS, 3)
    with process(world, sent) as ports:
        world.run(ports, ORDERS, ITEMS, engine=Mixed(world.store))
        hold(world.process(), ORDERS, Operator("ann"))
        world.run(ports, ORDERS, ITEMS)
    orders = {"mirror": "m", "schema": "Sales", "table": "Orders"}
    items = {"mirror": "m", "schema": "dbo", "table": "items"}

    def of(name: str, table: dict[str, str]) -> list[dict[str, Any]]:
        return [p for p in sent.metric(name) if {k: p[k] for k in table} == table]

    rows = {point["kind"]: point["value"] for point in of("rows_applied", orders)}
    assert rows == {"inserts": 5, "updates": 3, "deletes": 1}
    assert [p["value"] for p in of("bytes_processed", orders)] == [
        int(o["ProcessedBytes"])
        for o in sent.operations
        if o["OperationName"] == "Snapshotting" and o["SourceTableName"] == "Orders"
    ]
    assert [p["count"] for p in of("batch_duration_seconds", orders)] == [1]
    assert [p["count"] for p in of("replication_lag_seconds", items)] == [1]
    assert [p["value"] for p in of("table_status", orders)] == [3]
    assert [p["value"] for p in of("table_status", items)] == [1]
    assert [p["value"] for p in of("pending_files", items)] == [1]
    assert [p["value"] for p in of("pending_files", orders)] == [0]
    assert of("oldest_pending_age_seconds", items)
    (beat,) = sent.metric("heartbeat")
    assert (beat["mirror"], beat["value"]) == ("m", 2)


def test_a_status_pass_sends_how_each_table_stands_and_what_to_do(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    world.land(ORDERS, 3)
    world.land(ITEMS, 1)
    bad = join(layout.table_folder(ITEMS), f"{2:020d}.parquet")
    world.store.write(bad, b"this is no Parquet file")
    with process(world, sent) as ports:
        world.run(ports, ORDERS, ITEMS)
    orders, items = (newest(sent, folder) for folder in (ORDERS, ITEMS))
    assert (orders["Status"], orders["Stage"], orders["Health"]) == ("Replicating", "Waiting", "1")
    assert (orders["LastSequence"], orders["PendingFiles"]) == ("1", "1")
    assert orders["WaitingFor"] == "gap"
    assert orders["WaitingText"].startswith("00000000000000000002 is missing")
    assert "openmirror skip m/Sales.Orders --through 2" in orders["Remedy"]
    assert _moment(orders["WaitingSince"]) <= _moment(orders["LastCommitTime"])
    assert (items["Status"], items["Stage"], items["Health"]) == ("Failed", "Paused", "2")
    assert items["ErrorCode"] == "FileUnreadable"
    assert items["ErrorMessage"].startswith("00000000000000000002.parquet: ")
    assert "Replace the file, under the same name" in items["Remedy"]
    assert items["ErrorSince"]
    hold(world.process(), ORDERS, Operator("ann", "a test"))
    with process(world, sent) as ports:
        publish_all(ports, ["m"])
    orders = newest(sent, ORDERS)
    assert (orders["Status"], orders["Stage"], orders["Health"]) == ("Stopped", "Held", "3")
    assert "by ann: a test. `openmirror resume`" in orders["Warnings"]


def test_a_dropped_table_is_reported_as_such_and_not_any_more_once_it_is_purged(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    world.store.delete_folder(layout.table_folder(ORDERS))
    world.run(world.process())
    with process(world, sent) as ports:
        world.run(ports)
    gone = newest(sent, ORDERS)
    assert (gone["Status"], gone["Stage"], gone["Health"]) == ("Stopped", "Dropped", "3")
    world.clock.turn(timedelta(days=8))
    clean(world.process(), ["m"])
    before = len(sent.events(table_status_event.EVENT))
    with process(world, sent) as ports:
        world.run(ports)
    assert len(sent.events(table_status_event.EVENT)) == before


def newest(sent: Ingestion, folder: TableFolder) -> dict[str, str]:
    """The status of a table that was sent last."""
    path = str(folder.path)
    return [e for e in sent.events(table_status_event.EVENT) if e["LandingFolder"] == path][-1]


def test_a_status_that_does_not_change_is_sent_once_and_its_gauges_every_time(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    world.land(ORDERS, 3)
    with process(world, sent) as ports:
        world.run(ports)
        for _ in range(5):
            world.clock.turn(timedelta(seconds=30))
            publish_all(ports, ["m"])
    assert [e["Stage"] for e in sent.events(table_status_event.EVENT)] == ["Waiting"]
    (beat,) = sent.metric("heartbeat")
    assert beat["value"] == 6
    (oldest,) = sent.metric("oldest_pending_age_seconds")
    assert oldest["value"] >= 150


class Answers:
    """A job whose platform answers as it was set to."""

    identity = "77"

    def __init__(self, *outcomes: StartOutcome) -> None:
        self._outcomes = list(outcomes)

    def start(self) -> StartOutcome:
        return self._outcomes.pop(0)


def test_a_start_is_sent_when_its_outcome_is_another_one(world: Emitter, sent: Ingestion) -> None:
    page = "https://adb-1.azuredatabricks.net/jobs/77/runs/1"
    counting = [Failed(f"run 1 ended with E; the next in {n} s", "1", page) for n in (50, 40, 30)]
    refused = Refused("no right")
    outcomes = [
        Started("1", page),
        AlreadyActive("1"),
        *counting,
        *(refused, refused),
        AlreadyActive("2"),
        refused,
    ]
    queue = MemoryWorkQueue(world.clock)
    queue.send(WorkItem(ORDERS, "test"))
    with process(world, sent) as ports:
        starter = Starter(queue, Answers(*outcomes), world.clock, ports.telemetry)
        for outcome in outcomes:
            world.clock.turn(SURE_FOR)
            assert starter.start_if_needed() == outcome
            assert (
                starter.start_if_needed() == outcome
            )  # from memory, and not emitted a second time
    starts = sent.events(runner_start_event.EVENT)
    assert [start["Outcome"] for start in starts] == ["Started", "Failed", "Refused", "Refused"]
    assert starts[1]["Detail"] == "run 1 ended with E; the next in 50 s"
    assert {start["JobId"] for start in starts} == {"77"}
    assert [start.get("RunPage") for start in starts] == [page, page, None, None]


def test_event_log_and_span_of_a_commit_are_found_from_each_other(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    with process(world, sent) as ports:
        ports.emit(WorkItemTaken(ORDERS, "…1.parquet", 1, "e-7"))
        world.run(ports)
    (commit,) = [o for o in sent.operations if o["OperationName"] == "Snapshotting"]
    logs = [message["properties"] for message in sent.of_type("MessageData")]
    (committed,) = [log for log in logs if log["event"] == BatchCommitted.name]
    assert committed["operation_id"] == commit["OperationId"]
    assert (committed["first"], committed["last"]) == ("1", "1")
    assert committed["correlation"] == commit["Correlation"] == "e-7"
    (span,) = sent.of_type("RemoteDependencyData")
    assert span["properties"]["OperationId"] == commit["OperationId"]
    traces = {
        item["tags"]["ai.operation.id"]
        for item in sent.items
        if item["data"]["baseData"].get("properties", {}).get("OperationId")
        == commit["OperationId"]
    }
    assert len(traces) == 1


def test_an_event_is_followed_through_event_filter_queue_and_runner_to_its_commit(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    world.run(world.process())
    world.land(ORDERS, 2)
    path = join(layout.table_folder(ORDERS), f"{2:020d}.parquet")
    event = LandingEvent(identity="831e1650", kind=EventKind.FILE_WRITTEN, path=path, size=500)
    queue, leases = MemoryWorkQueue(world.clock), MemoryLeases(world.clock)
    handle_event(world.process(), queue, event)
    # Longer than a test: what moves the table is the message, and no sweep of the runner's own.
    brief, long = timedelta(milliseconds=20), timedelta(hours=1)
    pace = RunnerTiming(
        idle=brief,
        poll=brief,
        keep=long,
        lease_delay=brief,
        sweep=long,
        status=long,
        slowest=timedelta(minutes=5),
        most_takes=5,
    )
    with process(world, sent) as ports:
        runner = Runner(ports, world.engine, queue, leases, list, 1, pace)
        try:
            until = time.monotonic() + 20
            while not runner.is_idle():
                assert time.monotonic() < until
                runner.serve(0.02)
        finally:
            runner.stop()
    (commit,) = [o for o in sent.operations if o["OperationName"] == "Replicating"]
    assert (commit["Correlation"], commit["FirstSequence"]) == ("831e1650", "2")
    logs = {message["properties"]["event"]: message["properties"] for message in _logs(sent)}
    trail = (WorkItemTaken, BatchStarted, BatchCommitted)
    assert {logs[kind.name]["correlation"] for kind in trail} == {"831e1650"}
    assert logs[BatchCommitted.name]["operation_id"] == commit["OperationId"]


def test_an_event_of_progress_arrives_with_its_own_severity_and_all_its_fields(
    world: Emitter, sent: Ingestion
) -> None:
    levels = {Severity.DEBUG: 0, Severity.INFO: 1, Severity.WARNING: 2, Severity.ERROR: 3}
    events = [example(kind) for kind in KINDS]
    with process(world, sent) as ports:
        for event in events:
            ports.emit(event)
    found = {message["properties"]["event"]: message for message in _logs(sent)}
    assert set(found) == {event.name for event in events}
    for event in events:
        message = found[event.name]
        assert message["severityLevel"] == levels[event.severity]
        expected = {key: str(value) for key, value in log_context(event).items()}
        assert message["properties"].items() >= expected.items()


def _logs(sent: Ingestion) -> list[dict[str, Any]]:
    return sent.of_type("MessageData")


def test_a_crash_between_commit_and_save_sends_the_commit_from_the_next_process(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)
    with pytest.raises(Killed), process(world, sent) as ports:
        reconcile_until_idle(replace(ports, steps=dies_at(Step.COMMITTED)), world.engine, ORDERS)
    assert [o["OperationName"] for o in sent.operations] == ["AddTable", "StartSnapshotting"]
    with process(world, sent) as ports:
        world.run(ports)
    assert [o["OperationName"] for o in sent.operations[2:]] == [
        "Snapshotting",
        "StartReplicating",
    ]


def test_a_crash_before_the_save_sends_the_same_operation_id_again(
    world: Emitter, sent: Ingestion
) -> None:
    world.land(ORDERS, 1)

    def dying(call: Call) -> None:
        if call.path == layout.control_document(ORDERS) and b'"applied"' in call.data:
            raise Killed(call)

    world.watched.before = dying
    with pytest.raises(Killed), process(world, sent) as ports:
        world.run(ports)
    world.watched.before = lambda call: None
    with process(world, sent) as ports:
        world.run(ports)
    commits = [o for o in sent.operations if o["OperationName"] == "Snapshotting"]
    assert len(commits) == 2
    assert commits[0]["OperationId"] == commits[1]["OperationId"]


def test_an_operation_has_arrived_before_its_document_is_saved(
    world: Emitter, sent: Ingestion
) -> None:
    """So that no crash at all can lose it."""
    world.land(ORDERS, 1)
    arrived_before: list[list[str]] = []

    def saving(call: Call) -> None:
        if (
            call.method == "write"
            and call.path == layout.control_document(ORDERS)
            and "applied" in json.loads(call.data)
        ):
            arrived_before.append([o["OperationName"] for o in sent.operations])

    world.watched.before = saving
    with process(world, sent) as ports:
        world.run(ports)
    assert "Snapshotting" in arrived_before[0]


def test_one_process_sends_nothing_twice(world: Emitter, sent: Ingestion) -> None:
    world.land(ORDERS, 1)
    bad = join(layout.table_folder(ORDERS), f"{2:020d}.parquet")
    world.store.write(bad, b"this is no Parquet file")

    class Repeated(PaperEngine):
        """As if another runner had come first, each time."""

        def commit(
            self, batch: Any, prepared: Any, transaction: Transaction, batch_record: str
        ) -> CommitResult:
            super().commit(batch, prepared, transaction, batch_record)
            return super().commit(batch, prepared, transaction, batch_record)

    with process(world, sent) as ports:
        for _ in range(3):
            world.run(ports, engine=Repeated(world.store))
        hold(world.process(), ORDERS, Operator("ann"))
        for _ in range(3):
            world.run(ports)
    names = [operation["OperationName"] for operation in sent.operations]
    assert len(names) == len(set(names)) == 6
    assert names[-2:] == ["FailTable", "StopTable"]


def test_what_could_not_be_sent_is_sent_by_the_next_process(
    world: Emitter, sent: Ingestion, tmp_path: Path
) -> None:
    world.land(ORDERS, 1)
    sent.status = 503
    with process(world, sent) as ports:
        world.run(ports)
    assert sent.operations == []
    kept = list(tmp_path.rglob("*@*.lock"))
    assert "Snapshotting" in "".join(path.read_text() for path in kept)
    for path in kept:
        # The exporter leaves it alone for a minute, which is over with this.
        path.rename(path.with_name(path.name.partition("@")[0]))
    sent.status = 200
    world.land(ORDERS, 2)
    with process(world, sent) as ports:
        world.run(ports)
    names = {operation["OperationName"] for operation in sent.operations}
    assert {"AddTable", "Snapshotting", "Replicating"} <= names


def test_a_resource_that_never_answers_holds_a_table_up_for_seconds_only(
    world: Emitter, sent: Ingestion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openmirror.telemetry.azure_monitor._SECONDS", 0.3)
    world.land(ORDERS, 1)
    with socket.create_server(("127.0.0.1", 0)) as backing_off:
        sent.url = f"http://127.0.0.1:{backing_off.getsockname()[1]}"
        began = time.monotonic()
        with process(world, sent) as ports:
            world.run(ports)
        took = time.monotonic() - began
    # Four operations, and what is sent at the end.
    assert took < 30 * 0.3
    assert "Snapshotting" in "".join(path.read_text() for path in tmp_path.rglob("*@*.lock"))


def test_without_a_connection_string_nothing_is_built(world: Emitter) -> None:
    ports = world.process()
    with emitting(ports, {}, ROLE, REPEAT) as same:
        assert same is ports


def test_a_connection_string_that_is_none_is_named_at_start(world: Emitter) -> None:
    with (
        pytest.raises(CannotStart, match="APPLICATIONINSIGHTS_CONNECTION_STRING"),
        emitting(world.process(), {CONNECTION: "InstrumentationKey=no"}, ROLE, REPEAT),
    ):
        pytest.fail("a wrong connection string was taken")


def test_a_function_sends_through_its_host_alone(world: Emitter) -> None:
    """Without providers of the host nothing is sent, and nothing of ours is set up globally."""
    from opentelemetry import metrics, trace

    before = (metrics.get_meter_provider(), trace.get_tracer_provider())
    world.land(ORDERS, 1)
    world.run(emitting_through_the_host(world.process(), REPEAT))
    assert (metrics.get_meter_provider(), trace.get_tracer_provider()) == before
