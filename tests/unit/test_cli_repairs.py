"""What mends a table without a new initial load, and where an operator finds it afterwards."""

from __future__ import annotations

import getpass
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from openmirror.errors import Problem
from openmirror.plan.transitions.history import MOST_ENDED, with_act, with_end
from openmirror.progress.tables import AttemptFailed
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.rules import Code
from openmirror.reconcile.reconciliation import reconcile
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.table.control import Act, ControlDocument
from openmirror.wiring import local_ports
from tests.harness.command_line import Root, run
from tests.harness.paper import PaperEngine
from tests.harness.publishing import KEYED, table
from tests.unit.test_cli import ITEMS, ORDERS

TABLE = "Sales.Orders"
SECOND = f"{2:020d}.parquet"


def _history(root: Root) -> list[dict[str, Any]]:
    return json.loads(root.run("history", TABLE, "--json").stdout)["data"]


def _of(root: Root, event: str) -> list[dict[str, Any]]:
    return [line for line in _history(root) if line["event"] == event]


def _applied(root: Root) -> str:
    return root.table_status("Orders")["openmirror"]["appliedSequence"]


def _with_a_bad_second_file(root: Root) -> None:
    root.land(ORDERS, 1, 3)
    root.put(ORDERS, SECOND, b"certainly no parquet file")
    assert root.run("drain").exit_code == 3
    assert _applied(root) == "1"


def test_a_file_that_is_replaced_resumes_its_table_and_history_says_what_had_stopped_it(
    root: Root,
) -> None:
    _with_a_bad_second_file(root)
    (recorded,) = _of(root, "problem")
    assert (recorded["code"], recorded["file"]) == ("FileUnreadable", SECOND)
    assert (recorded["at"], recorded["ended"]) == (recorded["since"], None)
    assert f"paused by FileUnreadable at {SECOND}" in _shown(root)

    root.land(ORDERS, 2)
    assert root.run("drain").exit_code == 0
    assert _applied(root) == "3"
    newest, over, *_ = _history(root)
    assert (newest["event"], newest["lastSequence"]) == ("commit", "3")
    assert over == {**recorded, "at": over["at"], "ended": "the file was replaced"}
    assert over["at"] >= recorded["since"]
    assert not _of(root, "act"), "nobody had to do anything"
    assert f"no longer FileUnreadable at {SECOND}: the file was replaced" in _shown(root)


def _shown(root: Root) -> str:
    """History as people see it, whatever the lines are broken into."""
    words = root.run("history", TABLE).stdout.split()
    return " ".join(words)


def test_metadata_that_is_mended_resumes_its_table(root: Root) -> None:
    root.land(ORDERS, 1)
    root.put(ORDERS, "_metadata.json", b'{"keyColumns": "id"')
    assert root.run("drain").exit_code == 3
    root.put(ORDERS, "_metadata.json", KEYED)
    assert root.run("drain").exit_code == 0
    (over,) = _of(root, "problem")
    assert (over["code"], over["ended"]) == ("MetadataInvalid", "_metadata.json was changed")


def test_a_bad_file_that_is_replaced_by_another_bad_one_is_one_problem(
    root: Root,
) -> None:
    _with_a_bad_second_file(root)
    root.put(ORDERS, SECOND, b"still no parquet file")
    assert root.run("drain").exit_code == 3
    (recorded,) = _of(root, "problem")
    assert recorded["ended"] is None


def test_retry_observes_again_and_is_remembered_with_who_and_why(root: Root) -> None:
    _with_a_bad_second_file(root)
    assert root.run("retry", TABLE, "--why", "the disk is empty again").exit_code == 0
    act, over, *_ = _history(root)
    me = getpass.getuser()
    assert (act["what"], act["by"], act["why"]) == ("retry", me, "the disk is empty again")
    assert over["ended"] == f"retry, by {me}"
    assert root.run("drain").exit_code == 3
    assert [line["ended"] for line in _of(root, "problem")] == [None, f"retry, by {me}"]


def test_skips_go_on_behind_a_file_and_a_gap_and_are_remembered(root: Root) -> None:
    _with_a_bad_second_file(root)
    root.land(ORDERS, 5)
    assert root.run("skip", TABLE, "--file", SECOND, "--why", "test data").exit_code == 0
    assert root.run("drain").exit_code == 3
    assert root.run("skip", TABLE, "--through", "4", "--why", "lost in May").exit_code == 0
    assert root.run("drain").exit_code == 0
    assert _applied(root) == "5"
    acts = [(act["what"], act["why"]) for act in _of(root, "act")]
    assert acts == [("skip --through 4", "lost in May"), (f"skip --file {SECOND}", "test data")]
    (over,) = _of(root, "problem")
    assert over["ended"] == f"skip --file {SECOND}, by {getpass.getuser()}"


def test_a_reseed_reads_folder_and_archive_and_is_remembered(root: Root) -> None:
    root.land(ORDERS, 1, 2, 3)
    assert root.run("drain").exit_code == 0
    assert root.run("clean").exit_code == 0
    there = root.path / layout.table_folder(ORDERS)
    assert not (there / SECOND).exists()
    assert root.run("reseed", TABLE, "--why", "keys were wrong").exit_code == 0
    assert root.run("drain").exit_code == 0
    built, act, first = _history(root)
    assert (built["kind"], built["firstSequence"], built["lastSequence"]) == ("replace", "1", "3")
    assert built["files"] == 3
    assert (act["what"], act["why"]) == ("reseed", "keys were wrong")
    assert first["kind"] == "replace"


def test_a_folder_that_moved_into_the_default_schema_is_adopted_with_its_rows(
    root: Root,
) -> None:
    root.land(ITEMS, 1, 2)
    assert root.run("drain").exit_code == 0
    zone = root.path / layout.landing_zone("m")
    (zone / "dbo.schema").mkdir()
    (zone / "Items").rename(zone / "dbo.schema" / "Items")
    for _ in range(2):
        assert root.run("drain").exit_code == 3, "one table is the other's until it is adopted"
    for verb, folder in (("undrop", "m/Items"), ("adopt", "m/dbo.schema/Items")):
        assert root.run(verb, folder).exit_code == 0
        root.run("drain")
    assert root.run("resume", "m/Items").exit_code == 0
    root.land(table("m", "dbo.schema/Items"), 3)
    assert root.run("drain").exit_code == 0
    shown = root.run("history", "m/dbo.schema/Items", "--json").stdout
    newest = json.loads(shown)["data"][0]
    assert (newest["kind"], newest["firstSequence"]) == ("extend", "3")


def test_a_folder_in_the_place_of_a_dropped_table_is_named_until_it_is_away(root: Root) -> None:
    root.land(ITEMS, 1)
    assert root.run("drain").exit_code == 0
    root.folder(ITEMS).rename(root.path / "gone")
    for _ in range(2):
        root.run("drain")
    place = root.path / "lake/m/Tables/dbo/Items"
    assert not place.exists(), "it is dropped"
    place.mkdir()
    assert root.run("undrop", "m/Items").exit_code == 0
    heard: list[ProgressEvent] = []
    ports = replace(local_ports(Settings(root=root.path)), emit=heard.append)
    again = reconcile(ports, PaperEngine(ports.store), ITEMS)
    assert again.delay, "asked again at once, it would be so for ever"
    [failed] = (event for event in heard if isinstance(event, AttemptFailed))
    assert "Items is a folder without a table" in failed.error
    place.rmdir()
    root.run("drain")
    assert (place / "_delta_log").is_dir()


def test_the_oldest_problems_are_forgotten_and_no_act_for_them() -> None:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    control = with_act(ControlDocument(folder="m/t"), Act(at, "ann", "pause"))
    for number in range(MOST_ENDED + 5):
        problem = Problem(code=Code.FILE_UNREADABLE, detail="", file=str(number))
        control = with_end(control, problem, at, "the file was replaced")
    assert [over.problem.file for over in control.ended] == [str(n) for n in range(5, 25)]
    assert control.acts


def test_one_drain_rebuilds_a_table_from_its_archive_however_small_its_batches_are(
    root: Root,
) -> None:
    root.land(ORDERS, 1, 2, 3, 4)
    root.run("drain")
    assert root.run("clean").exit_code == 0
    place = root.path / layout.archive_folder(ORDERS)
    assert len(list(place.iterdir())) == 3
    assert root.run("reseed", TABLE, "--why", "to see it").exit_code == 0
    drained = run("drain", root=root.path, env={"OPENMIRROR_BATCH_FILES": "1"})
    assert drained.exit_code == 0
    status = root.table_status("Orders")
    assert (status["status"], status["openmirror"]["appliedSequence"]) == ("Replicating", "4")
