"""What operators see of tables that have partitions, or whose files are found by their time."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from openmirror import wiring
from openmirror.ports import Step
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.reconciliation import reconcile, reconcile_until_idle
from openmirror.settings import Settings
from openmirror.table import layout
from tests.harness.command_line import Root, run
from tests.harness.dying import Killed, dies_at
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name, parquet, table
from tests.unit.test_cli import ITEMS

TRIPS = table("m", "Trips")
NORTH, SOUTH = "Region=North", "Region=South"


GOOD = parquet(id=[1])


def _declare(root: Root, folder: TableFolder, **options: object) -> None:
    text = json.dumps({"keyColumns": ["id"], **options})
    root.put(folder, "_metadata.json", text.encode())


def _partitioned(root: Root, *files: str) -> None:
    _declare(root, TRIPS, isPartitionEnabled=True)
    for file in files:
        partition, _, number = file.rpartition("/")
        name = file_name(int(number))
        root.put(TRIPS, f"{partition}/{name}" if partition else name, GOOD)


def _partitions(root: Root) -> list[dict[str, Any]]:
    return root.table_status("Trips")["openmirror"]["partitions"]


def _without_since(partition: dict[str, Any]) -> dict[str, Any]:
    waiting = partition["waitingFor"]
    if waiting:
        since = datetime.fromisoformat(waiting.pop("since"))
        assert (datetime.now(UTC) - since).total_seconds() < 600
    return partition


def test_each_partition_has_its_own_sequence_pending_files_and_wait(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{NORTH}/2", f"{SOUTH}/1", f"{SOUTH}/3", f"{SOUTH}/4", "2")
    assert root.run("drain").exit_code == 3
    assert [_without_since(partition) for partition in _partitions(root)] == [
        {
            "partition": "",
            "appliedSequence": "0",
            "pendingFiles": 1,
            "waitingFor": {"kind": "gap", "sequence": "1", "partition": ""},
        },
        {"partition": NORTH, "appliedSequence": "2", "pendingFiles": 0, "waitingFor": None},
        {
            "partition": SOUTH,
            "appliedSequence": "1",
            "pendingFiles": 2,
            "waitingFor": {"kind": "gap", "sequence": "2", "partition": SOUTH},
        },
    ]
    status = root.table_status("Trips")["openmirror"]
    assert (status["appliedSequence"], status["pendingFiles"]) == ("3", 3)
    assert status["waitingFor"]["kind"] == "gap"


def test_a_file_that_is_still_written_is_the_wait_of_its_partition(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{SOUTH}/1", f"{SOUTH}/3")
    name = f"{SOUTH}/{2:020d}.parquet"
    root.put(TRIPS, name, b"")
    assert root.run("drain").exit_code == 3
    north, south = _partitions(root)
    assert north["waitingFor"] is None
    assert south["pendingFiles"] == 2
    waiting = south["waitingFor"]
    assert (waiting["kind"], waiting["sequence"], waiting["file"]) == ("incomplete", "2", name)
    assert waiting["until"] > waiting["since"]
    assert root.table_status("Trips")["openmirror"]["waitingFor"] == waiting


def test_people_are_shown_which_partitions_wait_and_what_ends_each_wait(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{NORTH}/3", f"{SOUTH}/2", "5")
    root.run("drain")
    shown = " ".join(run("status", root=root.path, env={"COLUMNS": "300"}).stdout.split())
    assert "waits: gap" in shown
    assert ", and 2 more" in shown
    for wanted in (f"{NORTH}/2", f"{SOUTH}/1", "/1"):
        assert f"openmirror skip m/dbo.Trips --through {wanted} --why" in shown
    assert shown.count("waits since") == 3


def test_many_waiting_partitions_are_not_all_listed_one_by_one(root: Root) -> None:
    _partitioned(root, "1", *(f"Day={day}/2" for day in range(30)))
    root.run("drain")
    shown = root.run("status").stdout
    assert shown.count("openmirror skip") == 11
    assert "19 more partitions wait" in shown
    assert len(_partitions(root)) == 31


def test_skipping_what_a_partition_lacks_lets_it_go_on(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{NORTH}/3", f"{SOUTH}/2")
    root.run("drain")
    done = root.run("skip", "dbo.Trips", "--through", f"{NORTH}/2", "--why", "lost for good")
    assert done.exit_code == 0
    assert root.run("drain").exit_code == 3
    north, south = _partitions(root)
    assert (north["appliedSequence"], north["waitingFor"]) == ("3", None)
    assert south["waitingFor"]["sequence"] == "1"


def test_a_bad_file_of_a_partition_that_is_skipped_leaves_no_gap(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{NORTH}/3")
    bad = f"{NORTH}/{2:020d}.parquet"
    root.put(TRIPS, bad, b"certainly no parquet file")
    assert root.run("drain").exit_code == 3
    assert root.table_status("Trips")["openmirror"]["problem"]["file"] == bad
    assert root.run("skip", "dbo.Trips", "--file", bad, "--why", "not needed").exit_code == 0
    assert root.run("drain").exit_code == 0
    (north,) = _partitions(root)
    assert (north["appliedSequence"], north["waitingFor"]) == ("3", None)


def test_partitions_of_files_found_by_their_time_have_no_sequence_and_no_wait(
    root: Root,
) -> None:
    _declare(
        root,
        TRIPS,
        isPartitionEnabled=True,
        fileDetectionStrategy="LastUpdateTimeFileDetection",
    )
    root.put(TRIPS, f"{NORTH}/a.parquet", GOOD)
    root.put(TRIPS, f"{NORTH}/b.parquet", b"")
    root.put(TRIPS, f"{SOUTH}/a.parquet", GOOD)
    assert root.run("drain").exit_code == 3
    assert _partitions(root) == [
        {"partition": NORTH, "appliedSequence": None, "pendingFiles": 1, "waitingFor": None},
        {"partition": SOUTH, "appliedSequence": None, "pendingFiles": 0, "waitingFor": None},
    ]
    waiting = root.table_status("Trips")["openmirror"]["waitingFor"]
    assert (waiting["kind"], waiting["file"]) == ("incomplete", f"{NORTH}/b.parquet")
    assert "sequence" not in waiting


def test_tables_without_partitions_have_no_such_list(root: Root) -> None:
    root.land(ITEMS, 1)
    _declare(root, TRIPS, fileDetectionStrategy="LastUpdateTimeFileDetection")
    root.put(TRIPS, "a.parquet", GOOD)
    assert root.run("drain").exit_code == 0
    for name in ("Items", "Trips"):
        assert "partitions" not in root.table_status(name)["openmirror"]


def test_a_good_text_file_in_its_quiet_period_cannot_be_skipped(root: Root) -> None:
    _declare(root, TRIPS, FileFormat="CSV", fileDetectionStrategy="LastUpdateTimeFileDetection")
    root.put(TRIPS, "a.csv", b"id,v\r\n1,x\r\n")
    place = root.path / layout.join(layout.table_folder(TRIPS), "a.csv")
    ahead = datetime.now(UTC).timestamp() + 3600
    os.utime(place, (ahead, ahead))  # as a clock that is fast would leave it
    waiting = root.table_status("Trips")["openmirror"]["waitingFor"]
    assert (waiting["kind"], waiting["file"]) == ("settle", "a.csv")
    refused = root.run("skip", "dbo.Trips", "--file", "a.csv", "--why", "x")
    assert refused.exit_code != 0
    assert "nothing stops at a.csv" in " ".join(refused.stderr.split())


def test_a_drain_sits_out_a_quiet_period_beside_a_file_that_is_still_written(
    root: Root,
) -> None:
    _declare(root, TRIPS, FileFormat="CSV", isPartitionEnabled=True)
    empty = f"{NORTH}/{1:020d}.csv"
    root.put(TRIPS, empty, b"")
    place = root.path / layout.table_folder(TRIPS) / empty
    before = datetime.now(UTC).timestamp() - 60
    os.utime(place, (before, before))
    root.put(TRIPS, f"{SOUTH}/{1:020d}.csv", b"id,v\r\n1,x\r\n")
    drained = run("drain", root=root.path, env={"OPENMIRROR_QUIET_PERIOD": "1"})
    assert drained.exit_code == 3
    north, south = _partitions(root)
    assert north["waitingFor"]["kind"] == "incomplete"
    assert (south["appliedSequence"], south["waitingFor"]) == ("1", None)


def test_what_is_only_decided_is_not_shown_as_applied(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{SOUTH}/1")
    root.run("drain")
    _partitioned(root, f"{NORTH}/2", f"{NORTH}/3", f"{SOUTH}/2")
    ports = wiring.local_ports(Settings(root=root.path))
    with pytest.raises(Killed):
        reconcile_until_idle(
            replace(ports, steps=dies_at(Step.BEFORE_COMMIT)), PaperEngine(root.store), TRIPS
        )
    shown = [(p["partition"], p["appliedSequence"], p["pendingFiles"]) for p in _partitions(root)]
    assert shown == [(NORTH, "1", 2), (SOUTH, "1", 1)]
    assert root.run("drain").exit_code == 0
    shown = [(p["partition"], p["appliedSequence"], p["pendingFiles"]) for p in _partitions(root)]
    assert shown == [(NORTH, "3", 0), (SOUTH, "2", 0)]


def test_a_rebuild_shows_how_far_it_has_come_in_each_partition(root: Root) -> None:
    _partitioned(root, f"{NORTH}/1", f"{NORTH}/2", f"{SOUTH}/1")
    root.run("drain")
    root.run("clean")
    root.run("reseed", "dbo.Trips", "--why", "to see it")
    ports = wiring.local_ports(Settings(root=root.path, batch_files=1))
    reconcile(ports, PaperEngine(root.store), TRIPS)
    status = root.table_status("Trips")
    assert (status["status"], status["openmirror"]["appliedSequence"]) == ("Reseeding", "1")
    shown = [(p["partition"], p["appliedSequence"]) for p in _partitions(root)]
    assert shown == [(NORTH, "1"), (SOUTH, "0")]
    assert root.run("drain").exit_code == 0
    shown = [(p["partition"], p["appliedSequence"]) for p in _partitions(root)]
    assert shown == [(NORTH, "2"), (SOUTH, "1")]
