"""The Function App under the real runtime library: it indexes, and every function runs."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

from functions import bindings
from openmirror.errors import CannotStart
from openmirror.ports import WorkItem
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE, encode
from openmirror.reconcile.liveness import SWEPT_EVERY
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.wiring.functions import function_settings
from standins.functions_host import FunctionsHost, IndexingFailed, host
from tests.functions.conftest import Publisher, Queues, cloud, text
from tests.harness.publishing import table

ROOT = Path(__file__).parents[2]
HOST = json.loads((ROOT / "host.json").read_text())
DOCS = "".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))

QUEUE = {"direction": "IN", "type": "queueTrigger", "connection": "OPENMIRROR_QUEUES"}
TIMER = {"direction": "IN", "type": "timerTrigger", "name": "timer"}
TRIGGERS: dict[str, dict[str, Any]] = {
    "landing": {**QUEUE, "name": "message", "queueName": "landing-events"},
    "landing_webhook": {"direction": "IN", "type": "eventGridTrigger", "name": "event"},
    "sweep": {**TIMER, "schedule": "*/30 * * * * *", "runOnStartup": True},
    "start_runner": {**TIMER, "schedule": "*/10 * * * * *"},
    "cleanup": {**TIMER, "schedule": "0 */10 * * * *"},
    "poison_events": {**QUEUE, "name": "message", "queueName": "landing-events-poison"},
    "poison_work": {**QUEUE, "name": "message", "queueName": "table-work-poison"},
    "dead_letters": {**TIMER, "schedule": "0 */5 * * * *"},
}


def test_the_runtime_indexes_every_function_with_its_trigger(app: FunctionsHost) -> None:
    found = {name: app.trigger(name) for name in app.functions}
    others = {name for name in found if found[name]["type"] == "httpTrigger"}
    assert {name: found[name] for name in found if name not in others} == TRIGGERS
    assert {"status", "getMirroringStatus", "getTablesMirroringStatus", "operate"} <= others


@pytest.mark.parametrize("wrong", ["messages", "msg"])
def test_a_parameter_that_is_not_called_as_its_binding_fails_the_index(
    tmp_path: Path, wrong: str
) -> None:
    source = (ROOT / "functions" / "landing.py").read_text()
    (tmp_path / "function_app.py").write_text(
        source.replace("def landing(message:", f"def landing({wrong}:").replace(
            "blueprint = func.Blueprint()", "blueprint = func.FunctionApp()"
        )
    )
    for needed in ("functions", "openmirror"):
        (tmp_path / needed).symlink_to(ROOT / needed)
    with pytest.raises(IndexingFailed, match="landing"), host({}, tmp_path):
        pass


def test_importing_the_app_needs_no_setting_and_builds_nothing() -> None:
    script = (
        "import sys; sys.path.insert(0, '.'); import function_app, functions.built as built; "
        "assert built._built.cache_info().currsize == 0; "
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=ROOT, env={}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for heavy in ("pyspark", "delta", "typer", "starlette", "uvicorn", "watchfiles", "pandas"):
        assert f"'{heavy}'" not in run.stdout


def test_a_file_that_landed_wakes_for_its_table(
    app: FunctionsHost, publisher: Publisher, queues: Queues
) -> None:
    publisher.metadata()
    landed = publisher.land(1)
    result = app.queue("landing", base64.b64encode(text(landed).encode()).decode())
    assert result.error is None
    (work_item,) = queues.wake_ups()
    assert work_item == WorkItem(table("m", publisher.table), f"{1:020d}.parquet", "event-1")


@pytest.mark.parametrize("schema", ["grid", "cloud"])
def test_event_grid_may_deliver_by_itself_in_either_schema(
    app: FunctionsHost, publisher: Publisher, queues: Queues, schema: str
) -> None:
    publisher.metadata()
    landed = publisher.land(1)
    if schema == "cloud":
        landed = cloud(landed["subject"].partition("/blobs/")[2])
    assert app.event_grid("landing_webhook", landed).error is None
    assert len(queues.wake_ups()) == 1


def test_the_sweep_wakes_for_what_no_event_reported_and_writes_the_status_files(
    app: FunctionsHost, publisher: Publisher, queues: Queues, root: Path
) -> None:
    publisher.metadata()
    publisher.land(1)
    assert app.timer("sweep").error is None
    assert table("m", publisher.table) in {
        work_item.folder for work_item in queues.wake_ups() if work_item
    }
    monitoring = root / "landing" / "m" / "Files" / "Monitoring"
    assert publisher.table in (monitoring / "tables.json").read_text()
    assert "lastHeartbeatTime" in (monitoring / "replicator.json").read_text()


def test_an_event_sweeps_where_the_timer_stands_still(
    settings: dict[str, str], tmp_path: Path, queues: Queues
) -> None:
    zone = tmp_path / "landing" / "m" / "Files" / "LandingZone"
    heard, unheard = Publisher(zone, "Heard"), Publisher(zone, "Unheard")
    for publisher in (heard, unheard):
        publisher.metadata()
        publisher.land(1)
    with host({**settings, "OPENMIRROR_ROOT": str(tmp_path)}) as app:
        for _ in range(2):
            assert app.queue("landing", text(heard.land(1))).error is None
    found = [(item.folder.path.table, item.reason) for item in queues.wake_ups() if item]
    # Once: the second event finds that somebody has swept.
    assert found.count(("Unheard", "sweep")) == 1
    record = json.loads((tmp_path / layout.sweep_record()).read_text())
    assert (record["by"], record["timerAt"]) == ("event", None)
    assert (tmp_path / layout.events_record()).exists()


@pytest.mark.parametrize("function", ["sweep", "start_runner", "cleanup", "dead_letters"])
@pytest.mark.parametrize("past_due", [False, True])
def test_every_timer_runs(app: FunctionsHost, function: str, past_due: bool) -> None:
    assert app.timer(function, past_due=past_due).error is None


def test_a_table_that_cannot_be_observed_is_logged_once_by_each_function(
    settings: dict[str, str], tmp_path: Path
) -> None:
    folder = table("m", "Damaged")
    (tmp_path / layout.table_folder(folder)).mkdir(parents=True)
    document = tmp_path / layout.control_document(folder)
    document.parent.mkdir(parents=True)
    document.write_text("no json")
    logged = tmp_path / "log"
    with (
        logged.open("w") as log,
        host({**settings, "OPENMIRROR_ROOT": str(tmp_path)}, log=log) as app,
    ):
        lines = []
        for function in ("cleanup", "sweep"):
            assert app.timer(function).error is None
            lines.append([one for one in logged.read_text().splitlines() if "Damaged" in one])
    ((of_the_first,), (again, of_the_second)) = lines
    assert again == of_the_first
    for line in (of_the_first, of_the_second):
        assert "m/Damaged: control-document-invalid" in line


@pytest.mark.parametrize("path", ["", "?mirror=m"])
def test_the_status_page_is_there(app: FunctionsHost, path: str) -> None:
    query = {"mirror": "m"} if path else {}
    result = app.http("status", query=query)
    assert result.error is None
    assert result.value["status"] == 200
    assert "<html" in result.value["body"]


def test_a_message_that_is_no_event_fails_and_says_why(app: FunctionsHost) -> None:
    result = app.queue("landing", "not an event")
    assert result.error is not None
    assert "no JSON object" in result.error


def test_poison_of_both_queues_and_undelivered_events_become_dead_letters(
    app: FunctionsHost, queues: Queues, blobs: BlobServiceClient
) -> None:
    assert app.queue("poison_events", "junk \u00e4", identity="id-1").error is None
    work_item = encode(WorkItem(table("m", "T"), "sweep"))
    encoded = base64.b64encode(work_item.encode()).decode()
    assert app.queue("poison_work", encoded, identity="id-2").error is None
    container = blobs.get_container_client("dead-letters")
    container.upload_blob("TOPIC/SUB/2026/11/21/9/x.json", b'[{"deadLetterReason": "Gone"}]')
    assert app.timer("dead_letters").error is None
    names = sorted(blob.name for blob in container.list_blobs())
    assert [name.partition("/")[0] for name in names] == ["event-grid", EVENTS_QUEUE, WORK_QUEUE]
    kept = [json.loads(container.download_blob(name).readall()) for name in names]
    assert [dead_letter["body"] for dead_letter in kept] == [
        '[{"deadLetterReason": "Gone"}]',
        "junk \u00e4",
        work_item,
    ]
    assert all(re.search(r"/\d{4}-\d\d-\d\d/", name) for name in names)


MISSING = {
    "OPENMIRROR_ROOT",
    "OPENMIRROR_QUEUES__queueServiceUri",
    "OPENMIRROR_DEAD_LETTERS__blobServiceUri",
}


def test_the_first_sweep_which_runs_at_start_names_every_setting_that_is_missing() -> None:
    assert TRIGGERS["sweep"]["runOnStartup"]
    with host({}) as app:
        result = app.timer("sweep")
    assert result.error is not None
    assert result.error.startswith("CannotStart")
    for name in MISSING:
        assert name in result.error


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"OPENMIRROR_BATCH_FILES": "many"}, {"OPENMIRROR_BATCH_FILES"}),
        ({"DATABRICKS_HOST": "https://x"}, {"OPENMIRROR_JOB", *MISSING}),
        ({"OPENMIRROR_JOB": "7"}, {"DATABRICKS_HOST", *MISSING}),
        ({"OPENMIRROR_JOB": "7", "DATABRICKS_HOST": "x"}, {"DATABRICKS_HOST is 'x'"}),
        ({"OPENMIRROR_QUEUES": "https://q"}, {"OPENMIRROR_QUEUES"}),
    ],
)
def test_every_setting_that_is_wrong_is_named(given: dict[str, str], named: set[str]) -> None:
    with pytest.raises(CannotStart) as caught:
        function_settings(given)
    for name in named:
        assert name in str(caught.value)


def test_schedules_are_the_defaults_of_the_settings_and_stand_in_the_docs() -> None:
    fields = Settings.model_fields
    assert fields["sweep_interval"].default == timedelta(seconds=30)
    assert timedelta(seconds=30) == SWEPT_EVERY
    assert fields["cleanup_interval"].default == timedelta(minutes=10)
    for schedule in (bindings.SWEEP, bindings.START_RUNNER, bindings.CLEANUP, bindings.COLLECT):
        assert f"`{schedule}`" in DOCS


def test_the_docs_name_every_function_queue_and_limit() -> None:
    for name in TRIGGERS:
        assert f"`{name}`" in DOCS
    for queue in (EVENTS_QUEUE, WORK_QUEUE):
        assert f"`{queue}`" in DOCS
        assert f"`{queue}{POISON_SUFFIX}`" in DOCS
    assert f"`maxDequeueCount` {HOST['extensions']['queues']['maxDequeueCount']}" in DOCS


def test_host_json_is_what_the_functions_are_made_for() -> None:
    queues = HOST["extensions"]["queues"]
    # Our own code takes the base64 off: the host would throw away what has none.
    assert queues["messageEncoding"] == "none"
    assert HOST["functionTimeout"] == "00:05:00"
    assert HOST["telemetryMode"] == "OpenTelemetry"
