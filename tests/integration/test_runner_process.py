"""The runner as it is started: over the local endpoint, with a real queue."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from openmirror.ports import WorkItem
from openmirror.ports.storage_account import AccountUrl
from openmirror.progress.runner import MessageDeadLettered
from openmirror.settings import Settings
from openmirror.stores.azure.leases import BlobLeases
from openmirror.stores.azure.queue import StorageWorkQueue
from openmirror.table import layout
from openmirror.wiring import root_ports
from spark_jobs.run import run
from standins.azurite import Azurite
from tests.emulator_server import EndpointServer
from tests.kill.runners import kill_group
from tests.spark_accounts import applied, expected, publish, rows_at, table

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 240.0
STATUS_FILES = {"replicator.json", "tables.json"}


def environment(served: EndpointServer, azurite: Azurite) -> dict[str, str]:
    return {
        **os.environ,
        "OPENMIRROR_ROOT": f"{served.url}/{served.account}",
        "OPENMIRROR_ACCOUNT_KEY": served.key,
        "OPENMIRROR_QUEUES": azurite.connection_string,
        "OPENMIRROR_METADATA_GRACE": "0",
        "OPENMIRROR_RUNNER_POLL": "200ms",
        "OPENMIRROR_DRIVER_MEMORY": "1g",
        "PYTHONPATH": str(CHECKOUT),
    }


def wait(done: Callable[[], bool], why: Callable[[], str] = str) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, why()
        time.sleep(0.1)


def landed(root: Path) -> set[str]:
    return {path.name for path in (root / "landing").rglob("*") if path.is_file()}


def test_a_run_in_a_given_application_drains_the_queue_and_writes_only_status_below_landing(
    served: EndpointServer,
    azurite: Azurite,
    work_queue: StorageWorkQueue,
    spark: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    mirror = f"given{uuid.uuid4().hex[:8]}"
    whole, waiting = table(mirror, "Orders"), table(mirror, "Waits")
    publish(served.root, whole, 1, 2)
    publish(served.root, waiting, 1, 3)
    before = landed(served.root)
    for folder in (whole, waiting, whole):
        work_queue.send(WorkItem(folder, "a test", "c7"))
    work_queue._queue.send_message("no work item")
    code = run(["--set", "runner_idle=1s"], environment(served, azurite))
    output = capfd.readouterr().err
    assert code == 0, output
    assert rows_at(served.root / "lake" / mirror / "Tables/dbo/Orders", tmp_path) == expected(2)
    assert work_queue.length() == 0
    assert landed(served.root) - before == STATUS_FILES
    assert "correlation=c7" in output
    assert "kind=gap" in output
    assert MessageDeadLettered.name in output
    assert spark.range(1).count() == 1, "what was given is not stopped"
    account = AccountUrl.parse(f"{served.url}/{served.account}")
    assert BlobLeases.connect(account, served.key).take(whole), "no lease is left"


@pytest.mark.parametrize(
    "runner",
    [
        "tests.integration.run_on_paper",
        # With Spark, whose start costs more than all else here: runners that have it in processes
        # of their own are in tests/kill, and the test above has it in this one.
        pytest.param("spark_jobs.run", marks=pytest.mark.soak),
    ],
)
def test_a_process_works_until_it_is_asked_to_stop_and_ends_well(
    served: EndpointServer,
    azurite: Azurite,
    work_queue: StorageWorkQueue,
    tmp_path: Path,
    runner: str,
) -> None:
    folder = table("stays", "Orders")
    publish(served.root, folder, 1)
    output = tmp_path / "output"
    env = environment(served, azurite)
    with output.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", runner, "--continuous"],
            env=env,
            stdin=subprocess.DEVNULL,
            stderr=log,
            stdout=log,
            start_new_session=True,
        )
    try:
        delta = served.root / "lake/stays/Tables/dbo/Orders/_delta_log"

        def versions() -> int:
            assert process.poll() is None, output.read_text()[-3000:]
            return len(list(delta.glob("*.json")))

        wait(lambda: versions() == 1, output.read_text)
        publish(served.root, folder, 2)
        work_queue.send(WorkItem(folder, "a test"))
        wait(lambda: versions() == 2, output.read_text)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, output.read_text()[-3000:]
    finally:
        kill_group(process)
        process.wait()
    assert applied(root_ports(Settings.load(env)), folder) == [1, 2]
    if runner == "spark_jobs.run":
        assert rows_at(delta.parent, tmp_path) == expected(2)
    assert "stopped" in output.read_text().splitlines()[-1]
    status = served.root / layout.monitoring("stays") / "tables.json"
    [shown] = json.loads(status.read_text())["tables"]
    assert int(shown["metrics"]["processedRowCount"]) == 4
