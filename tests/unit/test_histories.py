"""A history beside its table: when it begins, goes on, waits and stops (PROTOCOL §5.9).

By the engine that keeps rows by definition, so without Spark.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from openmirror.operate import requests
from openmirror.operate.finding import find_table
from openmirror.operate.report import publish, statuses
from openmirror.plan import plan
from openmirror.plan.decisions import Idle, Pause
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.rules import Code
from openmirror.reconcile.clean import clean_table
from openmirror.reconcile.discovery import discover, explore
from openmirror.runtime.waking import tables_of
from openmirror.status import Word, table_status
from openmirror.table import layout
from openmirror.table.control import BeginReason
from openmirror.table.log import TableLog
from tests.conformance.reference_engine import ReferenceEngine
from tests.zone import MIRROR, NO_WAITS, Product, Zone

_ME = requests.Operator("somebody")
HISTORY = "_history/t"


class Histories(Product):
    """A mirror whose tables have histories, as an operator sees them."""

    def __init__(self, root: Path) -> None:
        super().__init__(Zone(root), ReferenceEngine, NO_WAITS)
        self.turn("scd2")
        self.zone.metadata("t", {"keyColumns": ["id"]})

    def turn(self, how: str, **more: Any) -> None:
        path = self.zone.root / layout.mirror_settings(MIRROR)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"openmirror": {"history": how, **more}}))

    def write(self, *numbers: int, table: str = "t") -> None:
        for number in numbers:
            rows = {"__rowMarker__": [4], "id": [number % 2], "v": [str(number)]}
            self.zone.put(table, number, rows)

    def apply(self, *tables: str) -> None:
        for table in tables or ("t", HISTORY):
            assert isinstance(self.reconcile_until_idle(table), Idle), table

    def kept(self) -> list[tuple[Any, ...]]:
        """Of each version its value, what opened it and where, and where it was closed."""
        log = self.observed(HISTORY).log
        assert isinstance(log, TableLog)
        assert isinstance(self.engine, ReferenceEngine)
        names = ("v", "_operation", "_sequence", "_closed_sequence")
        rows = self.engine.rows(log)
        return sorted((tuple(row[name] for name in names) for row in rows), key=repr)

    def warnings(self, table: str = HISTORY) -> set[str]:
        observed = self.observed(table)
        decision = plan(observed, self.ports.limits, observed.at)
        return {warning.code for warning in table_status(observed, decision).warnings}

    def archived(self) -> list[str]:
        archive = self.zone.folder("t") / "_ProcessedFiles"
        return sorted(path.stem.lstrip("0") for path in archive.glob("*.parquet"))

    def clean(self) -> None:
        clean_table(self.ports, self.table("t"))
        clean_table(self.ports, self.table(HISTORY))

    def paused(self, table: str) -> Code:
        decision = self.reconcile_until_idle(table)
        assert isinstance(decision, Pause), decision
        return decision.problem.code


@pytest.fixture
def histories(tmp_path: Path) -> Histories:
    return Histories(tmp_path)


_FOLLOWED = [
    ("1", "upsert", 1, 3),
    ("2", "upsert", 2, None),
    ("3", "upsert", 3, None),
]


@pytest.mark.parametrize("order", [("t", HISTORY), (HISTORY, "t")], ids=["last", "first"])
def test_a_history_of_a_new_folder_has_every_version_whichever_table_is_first(
    histories: Histories, order: tuple[str, str]
) -> None:
    histories.write(1, 2)
    histories.apply(*order)
    histories.write(3)
    histories.apply(*order)
    assert histories.kept() == _FOLLOWED
    assert histories.control(HISTORY).begun is None


def test_a_history_of_a_table_that_has_data_begins_from_now(histories: Histories) -> None:
    histories.turn("none")
    histories.write(1, 2)
    histories.apply("t")
    histories.turn("scd2")
    histories.apply()
    histories.write(3)
    histories.apply(HISTORY, "t")
    assert histories.kept() == [
        ("1", "begin", 2, 3),
        ("2", "begin", 2, None),
        ("3", "upsert", 3, None),
    ]
    assert not histories.warnings()


def test_either_table_goes_on_while_the_other_is_held(histories: Histories) -> None:
    histories.write(1)
    histories.apply()
    for held, goes_on in (("t", HISTORY), (HISTORY, "t")):
        requests.hold(histories.ports, histories.table(held), _ME)
        before = histories.observed(held).applied
        histories.write(before + 1)
        histories.apply(goes_on)
        assert histories.observed(goes_on).applied == before + 1
        assert histories.observed(held).applied == before
        requests.resume(histories.ports, histories.table(held), _ME)
        histories.apply()
    assert histories.kept() == _FOLLOWED


def test_cleanup_waits_for_the_slower_of_the_two(histories: Histories) -> None:
    histories.write(1, 2)
    histories.apply()
    histories.write(3, 4)
    histories.apply("t")
    histories.clean()
    assert histories.archived() == ["1", "2"]
    histories.apply(HISTORY)
    histories.clean()
    assert histories.archived() == ["1", "2", "3"]
    histories.write(5)
    histories.apply()
    assert histories.observed(HISTORY).record.archived_through == 3  # type: ignore[union-attr]


def test_cleanup_does_not_wait_for_a_history_that_is_refused_or_not_wanted(
    histories: Histories,
) -> None:
    histories.turn("none")
    histories.write(1, 2)
    histories.apply("t")
    histories.clean()
    assert histories.archived() == ["1"]
    histories.turn("scd2")
    for number in (1, 2):
        histories.zone.put("keyless", number, {"id": [number]})
    histories.apply("keyless")
    assert histories.paused("_history/keyless") is Code.KEY_COLUMNS_UNDECLARED
    clean_table(histories.ports, histories.table("keyless"))
    assert len(list((histories.zone.folder("keyless") / "_ProcessedFiles").iterdir())) == 1


def test_a_history_that_is_turned_off_stays_as_it_is_and_goes_on_from_the_archive(
    histories: Histories,
) -> None:
    histories.write(1)
    histories.apply()
    histories.turn("none")
    histories.write(2, 3, 4)
    histories.apply()
    histories.clean()
    assert [version[0] for version in histories.kept()] == ["1"]
    assert histories.warnings() == {Word.HISTORY_STOPPED}
    histories.turn("scd2")
    histories.apply()
    assert [version[1] for version in histories.kept()] == ["upsert"] * 4
    assert not histories.warnings()


def test_a_history_whose_files_are_gone_begins_anew_and_its_status_shows_it(
    histories: Histories,
) -> None:
    histories.write(1)
    histories.apply()
    histories.turn("none")
    histories.write(2, 3, 4)
    histories.apply("t")
    histories.clean()
    shutil.rmtree(histories.zone.folder("t") / "_ProcessedFiles")
    histories.turn("scd2")
    histories.apply()
    assert histories.kept() == [
        ("1", "upsert", 1, 4),
        ("3", "begin", 4, None),
        ("4", "begin", 4, None),
    ]
    assert histories.warnings() == {Word.HISTORY_BEGUN_ANEW}
    requests.reseed(histories.ports, histories.table(HISTORY), _ME)
    histories.apply()
    assert not histories.warnings()


@pytest.mark.parametrize("by", ["an operator", "the policy"])
def test_a_history_never_reads_other_bytes_than_its_table_has_applied(
    histories: Histories, by: str
) -> None:
    histories.write(1)
    histories.apply()
    histories.write(2)
    histories.apply("t")
    [file] = (path for path in histories.zone.folder("t").glob("*2.parquet"))
    histories.zone.put("t", 2, {"__rowMarker__": [4], "id": [0], "v": ["other"]})
    assert histories.paused(HISTORY) is Code.APPLIED_FILE_CHANGED
    assert histories.paused("t") is Code.APPLIED_FILE_CHANGED
    if by == "an operator":
        requests.skip_file(histories.ports, histories.table("t"), file.name, _ME)
    else:
        histories.turn("scd2", overwrittenFiles="ignore")
    histories.apply()
    assert histories.kept() == [
        ("1", "begin", 2, None),
        ("1", "upsert", 1, 2),
        ("2", "begin", 2, None),
    ]
    begun = histories.control(HISTORY).begun
    assert begun is not None
    assert begun.why is BeginReason.GAP
    histories.write(3)
    histories.apply()
    assert ("3", "upsert", 3, None) in histories.kept()


def test_a_history_reads_a_file_that_was_written_over_with_the_same_bytes(
    histories: Histories,
) -> None:
    histories.write(1, 2)
    histories.apply("t")
    histories.write(2)
    assert histories.paused(HISTORY) is Code.APPLIED_FILE_CHANGED
    histories.write(3)
    histories.apply()
    assert histories.kept() == _FOLLOWED


def test_a_history_that_begins_after_its_files_were_written_over_begins_from_now(
    histories: Histories,
) -> None:
    histories.turn("scd2", overwrittenFiles="ignore")
    histories.write(1, 2)
    histories.apply("t")
    histories.zone.put("t", 2, {"__rowMarker__": [4], "id": [0], "v": ["other"]})
    histories.apply()
    assert histories.kept() == [("1", "begin", 2, None), ("2", "begin", 2, None)]


def test_a_history_of_a_table_whose_keys_were_declared_later_begins_from_then(
    histories: Histories,
) -> None:
    histories.turn("scd2", insert="upsert")
    histories.zone.metadata("t", {})
    histories.zone.put("t", 1, {"id": [1, 1], "v": ["a", "b"]})
    histories.apply("t")
    assert histories.paused(HISTORY) is Code.KEY_COLUMNS_UNDECLARED
    histories.zone.metadata("t", {"keyColumns": ["id"]})
    histories.write(3, 2)
    histories.apply()
    assert histories.kept() == [
        ("2", "begin", 3, None),
        ("3", "begin", 3, None),
        ("3", "begin", 3, None),
    ]


def test_a_history_that_is_lost_begins_anew(histories: Histories) -> None:
    histories.write(1, 2)
    histories.apply()
    shutil.rmtree(histories.delta_path(HISTORY))
    histories.write(3)
    histories.apply()
    assert histories.kept() == [
        ("2", "begin", 3, None),
        ("3", "begin", 3, None),
    ]
    assert histories.warnings() == {Word.HISTORY_BEGUN_ANEW}


def test_a_history_outlives_its_folder_and_goes_on_with_the_next(histories: Histories) -> None:
    histories.write(1)
    histories.apply()
    shutil.rmtree(histories.zone.folder("t"))
    histories.clock.turn(timedelta(days=1))
    for _ in range(3):
        histories.reconcile_until_idle("t")
        histories.apply(HISTORY)
    assert histories.observed("t").log is None, "the current table is dropped"
    histories.zone.metadata("t", {"keyColumns": ["id"]})
    histories.write(1)
    histories.apply(HISTORY, "t")
    assert histories.kept() == [("1", "upsert", 1, 0), ("1", "upsert", 1, None)]


def test_what_the_current_table_skips_its_history_skips(histories: Histories) -> None:
    histories.write(1, 3)
    histories.reconcile_until_idle("t")
    requests.skip_through(histories.ports, histories.table("t"), Through.parse("2"), _ME)
    histories.apply()
    assert [version[2] for version in histories.kept()] == [1, 3]


@pytest.mark.parametrize("has_table", [True, False])
def test_a_folder_of_a_historys_name_is_a_collision(histories: Histories, has_table: bool) -> None:
    if has_table:
        histories.turn("none")
    histories.zone.metadata("t__history", {"keyColumns": ["id"]})
    histories.write(1, table="t__history")
    if has_table:
        histories.apply("t__history")
        histories.turn("scd2")
    histories.write(1)
    histories.apply("t")
    late, early = (HISTORY, "t__history") if has_table else ("t__history", HISTORY)
    histories.apply(early)
    assert histories.paused(late) is Code.TABLE_NAME_COLLISION


def test_a_table_with_a_ledger_has_no_history(histories: Histories) -> None:
    histories.zone.metadata("t", {"keyColumns": ["id"], "isPartitionEnabled": True})
    histories.apply("t")
    histories.zone.put_bytes("t", "Year=2026/00000000000000000001.parquet", b"")
    assert histories.paused(HISTORY) is Code.MIRROR_SETTINGS_INVALID


def test_a_history_is_found_listed_and_woken_by_its_name(histories: Histories) -> None:
    histories.write(1)
    histories.apply()
    store, table = histories.ports.store, histories.table("t")
    assert discover(store, MIRROR) == [table, table.history]
    assert explore(store, MIRROR).folders == [table, table.history]
    assert find_table(store, [MIRROR], "dbo.t__history") == table.history
    shown = {str(status.name) for status in statuses(histories.ports, [MIRROR])}
    assert shown == {"dbo.t", "dbo.t__history"}
    assert tables_of(histories.ports, table) == (table, table.history)
    publish(histories.ports, MIRROR)
    read = histories.zone.root / layout.monitoring(MIRROR) / "tables.json"
    assert "__history" not in read.read_text(), "a publisher did not send it"


def _broken(histories: Histories) -> None:
    path = histories.zone.root / layout.mirror_settings(MIRROR)
    path.write_text("{")


@pytest.mark.parametrize("change", [_broken, lambda h: h.turn("none")], ids=["broken", "none"])
def test_a_history_that_was_begun_is_shown_whatever_mirroring_json_says(
    histories: Histories, change: Callable[[Histories], None]
) -> None:
    histories.write(1)
    histories.apply()
    change(histories)
    assert histories.table(HISTORY) in discover(histories.ports.store, MIRROR)


def test_a_lost_control_document_of_a_history_is_made_anew(histories: Histories) -> None:
    histories.write(1, 2)
    histories.apply()
    path = histories.zone.root / layout.control_document(histories.table(HISTORY))
    path.unlink()
    histories.write(3)
    histories.apply()
    assert histories.kept() == _FOLLOWED
    assert histories.warnings() == {Code.CONTROL_DOCUMENT_REBUILT}


def test_a_reseed_concerns_one_of_the_two(histories: Histories) -> None:
    histories.write(1, 2, 3)
    histories.apply()
    requests.reseed(histories.ports, histories.table("t"), _ME)
    limits = replace(histories.ports.limits, batch_files=1)
    histories.ports = replace(histories.ports, limits=limits)
    histories.apply()
    assert histories.kept() == _FOLLOWED


def test_a_history_that_another_tool_has_changed_is_left_alone(histories: Histories) -> None:
    histories.write(1)
    histories.apply()
    log = histories.delta_path(HISTORY) / "_delta_log"
    versions = sorted(log.glob("[0-9]*.json"))
    actions = [json.loads(line) for path in versions for line in path.read_text().splitlines()]
    changed = next(action["metaData"] for action in reversed(actions) if "metaData" in action)
    schema = json.loads(changed["schemaString"])
    schema["fields"] = [one for one in schema["fields"] if one["name"] != "_is_current"]
    changed["schemaString"] = json.dumps(schema)
    (log / f"{len(versions):020d}.json").write_text(json.dumps({"metaData": changed}))
    histories.write(2)
    assert histories.paused(HISTORY) is Code.TABLE_NOT_OURS
    histories.apply("t")


def test_a_column_of_our_name_that_the_table_has_keeps_its_history_from_beginning(
    histories: Histories,
) -> None:
    histories.turn("none")
    histories.zone.put("t", 1, {"__rowMarker__": [4], "id": [1], "_Row": [1]})
    histories.apply("t")
    histories.turn("scd2")
    assert histories.paused(HISTORY) is Code.COLUMN_NAME_RESERVED
    histories.apply("t")
