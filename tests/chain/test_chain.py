"""The whole way: SDK → endpoint → events → queue → functions → queue → runner → Delta → status."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from openmirror.ports.telemetry import runner_start_event, table_operation, table_status_event
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.progress.tables import BatchCommitted
from openmirror.protocol.names import TableFolder, TablePath, table_name
from openmirror.table import layout
from openmirror.telemetry.figures import METRICS
from tests.azure_platform import APP
from tests.chain.mangling import Mangled
from tests.chain.publishing import Publisher
from tests.chain.whole import Chain, chain
from tests.infra.telemetry_tables import Row, rows
from tests.property.histories import History, random_history
from tests.zone import bag, read_delta

MIRROR = "chain"
TABLES = ("orders", "Sales.schema/Orders", "Sales.schema/Zürich 1", "a.b")
RUNNER = "openmirror.runner"
COMMITS = ("Snapshotting", "Replicating")
ALWAYS = {
    table_operation: (*table_operation.FIELDS[:7], "Mirror", "LandingFolder", "OperationId"),
    table_status_event: table_status_event.FIELDS[:9],
    runner_start_event: ("Outcome", "JobId", "RunId", "RunPage"),
}
PATIENCE = 300.0


def folders() -> list[TableFolder]:
    return [TableFolder(MIRROR, TablePath.parse(path)) for path in TABLES]


def histories(draw: random.Random) -> dict[TableFolder, History]:
    """A history for each table, all with columns, so that there is a table to compare.

    One of three files; two are enough to be out of order.
    """
    found = {}
    for folder in folders():
        files = 2 if found else 3
        history = random_history(draw.randrange(10**6), files=files, rows=60)
        while len(history.files) < files or not history.expected().columns:
            history = random_history(draw.randrange(10**6), files=files, rows=60)
        found[folder] = history
    return found


def delta_path(root: Path, folder: TableFolder) -> Path:
    return root / layout.delta_table(MIRROR, table_name(folder.path, "dbo"))


def monitored(root: Path) -> dict[str, dict[str, Any]]:
    tables = json.loads((root / layout.monitoring(MIRROR) / "tables.json").read_bytes())["tables"]
    return {t["normalizedTableName"]: t for t in tables}


@pytest.mark.usefixtures("spark")
def test_what_an_sdk_writes_is_mirrored_through_every_part_whatever_happens_to_its_events(
    tmp_path: Path,
) -> None:
    seed = int(os.environ.get("OPENMIRROR_SEED", "1"))
    sys.stdout.write(f"OPENMIRROR_SEED={seed}\n")
    draw = random.Random(seed)
    sent = histories(draw)
    root = tmp_path / "account"
    (tmp_path / "azurite").mkdir()
    with chain(root, tmp_path / "azurite", partial(Mangled, draw=draw), [MIRROR]) as parts:
        publisher = Publisher(parts.server, draw)
        for folder, history in sent.items():
            publisher.begin(folder, history.metadata)
        rounds = max(len(history.files) for history in sent.values())
        for number in range(1, rounds + 1):
            for folder, history in sent.items():
                if number <= len(history.files):
                    publisher.publish(folder, number, history.files[number - 1])
            parts.turn()
        parts.events.flush()

        until = time.monotonic() + PATIENCE
        lengths = {folder: len(history.files) for folder, history in sent.items()}
        while applied(parts) != lengths or parts.length(WORK_QUEUE) or parts.length(EVENTS_QUEUE):
            assert time.monotonic() < until, f"applied {applied(parts)} of {lengths}"
            parts.turn()

        for folder, history in sent.items():
            got = bag(read_delta(delta_path(root, folder)))
            assert got == bag(history.expected_rows()), f"{folder}, seed {history.seed}"
        # Each file exactly once, and in order.
        for folder, last in lengths.items():
            assert commits(parts, folder) == list(range(1, last + 1))
        assert all(parts.events.counts[kind] for kind in ("raised", "lost", "twice"))
        assert parts.events.counts["lost"] > 0.15 * parts.events.counts["raised"]

        failed = [(name, result.error) for name, result in parts.pump.results if result.error]
        assert not failed
        for name in (EVENTS_QUEUE, WORK_QUEUE):
            assert not list(parts.queues.list_queues(name + POISON_SUFFIX))

        assert parts.app.timer("cleanup").error is None
        for folder, last in lengths.items():
            landing = root / layout.table_folder(folder)
            left = sorted(p.name for p in landing.iterdir() if not p.name.startswith("_"))
            archive = root / layout.archive_folder(folder)
            moved = sorted(p.name for p in archive.iterdir()) if archive.exists() else []
            assert left == [f"{last:020d}.parquet"]
            assert moved == [f"{number:020d}.parquet" for number in range(1, last)]
        parts.runner.stop()
    status = monitored(root)
    assert len(status) == len(TABLES)
    assert {table["status"] for table in status.values()} == {"Replicating"}
    reported = rows(parts.azure.sent.items)
    got_every_commit(reported, lengths)
    got_the_status_of_every_table(reported)
    has_the_fields_of_todays_code(reported)


def got_every_commit(reported: dict[str, list[Row]], lengths: dict[TableFolder, int]) -> None:
    """Each file once, in an event, a span and a count of rows, all sent by the runner."""
    operations = [r for r in reported["AppEvents"] if r["Name"] == table_operation.EVENT]
    commits = [r for r in operations if r["Properties"]["OperationName"] in COMMITS]
    assert {row["AppRoleName"] for row in commits} == {RUNNER}
    found = {folder: list[int]() for folder in lengths}
    for row in commits:
        properties = row["Properties"]
        folder = TableFolder(properties["Mirror"], TablePath.parse(properties["LandingFolder"]))
        first, last = int(properties["FirstSequence"]), int(properties["LastSequence"])
        found[folder] += range(first, last + 1)
    assert found == {folder: list(range(1, last + 1)) for folder, last in lengths.items()}
    spans = {row["OperationId"] for row in reported["AppDependencies"]}
    assert {row["OperationId"] for row in commits} <= spans
    metrics = {row["Name"] for row in reported["AppMetrics"] if row["AppRoleName"] == RUNNER}
    assert {"rows_applied", "bytes_processed", "replication_lag_seconds"} <= metrics


def got_the_status_of_every_table(reported: dict[str, list[Row]]) -> None:
    """By functions and runner both; the newest says that all is applied."""
    found = [row for row in reported["AppEvents"] if row["Name"] == table_status_event.EVENT]
    # Two exports of one process may arrive in another order than they were made.
    events = sorted(found, key=lambda row: row["TimeGenerated"])
    for role in (APP, RUNNER):
        mine = [row["Properties"] for row in events if row["AppRoleName"] == role]
        newest = {TablePath.parse(reported["LandingFolder"]): reported for reported in mine}
        assert set(newest) == {folder.path for folder in folders()}
        assert {reported["Stage"] for reported in newest.values()} == {"Replicating"}
    gauges = {row["Name"] for row in reported["AppMetrics"] if row["AppRoleName"] == APP}
    assert {"pending_files", "oldest_pending_age_seconds", "table_status", "heartbeat"} <= gauges
    starts = [row for row in reported["AppEvents"] if row["Name"] == runner_start_event.EVENT]
    assert [row["Properties"]["Outcome"] for row in starts] == ["Started"]
    assert {row["AppRoleName"] for row in starts} == {APP}


def has_the_fields_of_todays_code(reported: dict[str, list[Row]]) -> None:
    """What is always there arrives with every event, and nothing that is not documented."""
    for module, always in ALWAYS.items():
        events = [row["Properties"] for row in reported["AppEvents"] if row["Name"] == module.EVENT]
        for properties in events:
            assert set(always) <= properties.keys() <= {*module.FIELDS, "logger_name"}
    for row in reported["AppMetrics"]:
        if row["Name"] in METRICS:
            assert tuple(row["Properties"]) == METRICS[row["Name"]]
            assert row["Sum"] is not None


def applied(parts: Chain) -> dict[TableFolder, int]:
    return {folder: len(commits(parts, folder)) for folder in folders()}


def commits(parts: Chain, folder: TableFolder) -> list[int]:
    """The numbers that the runner reported as committed, in order."""
    return [
        number
        for event in parts.emitted
        if isinstance(event, BatchCommitted) and event.folder == folder
        for number in range(event.first, event.last + 1)
    ]
