"""What is left of a table's past: as deltalake says, whatever was deleted and damaged."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from openmirror.deltalog import PastReplay
from openmirror.errors import ConditionFailed, NotThere
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from openmirror.table.log import BatchRecord, Epoch
from openmirror.table.past import Past
from openmirror.table.user_metadata import encode
from tests.harness.stores import Call, WatchedStore
from tests.zone import read_delta

TABLE = StorePath("lake/m/Tables/dbo/t")
EPOCH = Epoch(TableFolder("m", TablePath("", "t")), Incarnation("i1"), 1)


class Table:
    """A table that deltalake writes, a batch an append, and what is left of its past."""

    def __init__(self, root: Path) -> None:
        self.path = root / TABLE
        self.path.mkdir(parents=True)
        self.log = self.path / "_delta_log"
        self.store = WatchedStore(LocalStore(root))

    def batch(self, last: int) -> None:
        record = BatchRecord(
            operation="o", folder="m/t", kind="extend", first=last, last=last, files=1
        )
        properties = CommitProperties(
            custom_metadata={"userMetadata": encode(record)},
            app_transactions=[Transaction(EPOCH.app_id, last)],
        )
        rows = pa.table({"id": [last]})
        write_deltalake(self.path, rows, mode="append", commit_properties=properties)

    def commit(self, version: int) -> Path:
        return self.log / f"{version:020d}.json"

    def past(self) -> Past:
        found = PastReplay(self.store).past(TABLE)
        assert found is not None
        return found

    def readable(self) -> set[int]:
        """The versions whose rows deltalake does read."""
        found = set()
        for version in range(DeltaTable(self.path).version() + 1):
            try:
                read_delta(self.path, version)
            except Exception:  # noqa: BLE001 - whatever it says of a file that is not there
                continue
            found.add(version)
        return found


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table(tmp_path)
    for number in range(1, 5):
        made.batch(number)
    return made


def vacuum(table: Table) -> list[str]:
    return DeltaTable(table.path).vacuum(
        retention_hours=0, dry_run=False, enforce_retention_duration=False
    )


def test_there_is_none_without_a_table(tmp_path: Path) -> None:
    assert PastReplay(LocalStore(tmp_path)).past(TABLE) is None


def test_each_commit_says_its_position_and_whether_it_changes_rows(table: Table) -> None:
    DeltaTable(table.path).optimize.compact()
    DeltaTable(table.path).delete("id = 2")
    past = table.past()
    assert [list(commit.transactions.items()) for commit in past.commits] == [
        *([(EPOCH.app_id, number)] for number in range(1, 5)),
        [],
        [],
    ]
    assert [commit.changes_rows for commit in past.commits] == [True] * 4 + [False, True]
    assert [commit.operation for commit in past.commits][-2:] == ["OPTIMIZE", "DELETE"]
    records = [commit.batch_record for commit in past.commits[:4]]
    assert [record.last for record in records if record] == [1, 2, 3, 4]
    assert past.readable == table.readable() == set(range(6))


def test_a_version_whose_files_were_deleted_cannot_be_read(table: Table) -> None:
    DeltaTable(table.path).optimize.compact()
    table.batch(5)
    assert len(vacuum(table)) == 4
    past = table.past()
    whole = {version for version in table.readable() if version <= 5}
    assert past.readable & set(range(6)) == whole == {4, 5}
    assert {file.removed for file in past.gone} == {4}
    times = {past.deleted_at(file) for file in past.gone}
    assert times == {c.at for c in past.commits if c.operation == "VACUUM START"}


def test_a_log_that_was_cleaned_begins_with_its_checkpoint(table: Table) -> None:
    DeltaTable(table.path).create_checkpoint()
    table.batch(5)
    for version in range(3):
        table.commit(version).unlink()
    past = table.past()
    assert past.readable == table.readable() == {3, 4}
    assert past.commits[0].transactions == {EPOCH.app_id: 4}
    table.commit(3).unlink()
    past = table.past()
    assert past.readable == {3, 4}
    assert past.commits[0].transactions == {EPOCH.app_id: 4}


def test_commits_before_a_checkpoint_say_what_they_did_and_not_their_files(table: Table) -> None:
    DeltaTable(table.path).create_checkpoint()
    table.commit(0).unlink()
    past = table.past()
    assert [commit.version for commit in past.commits] == [1, 2, 3]
    assert past.readable == table.readable() == {3}


@pytest.mark.parametrize("content", [b"", b"{", b'{"add": {"size": 7}}', b"[]"])
def test_from_a_damaged_commit_on_nothing_is_known_up_to_the_next_checkpoint(
    table: Table, content: bytes
) -> None:
    DeltaTable(table.path).create_checkpoint()
    table.batch(5)
    table.commit(1).write_bytes(content)
    assert table.past().readable == {0, 3, 4}


def test_a_damaged_checkpoint_is_passed_over_while_the_commits_are_there(table: Table) -> None:
    DeltaTable(table.path).create_checkpoint()
    (checkpoint,) = table.log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(b"no Parquet")
    assert table.past().readable == set(range(4))
    table.commit(0).unlink()
    assert table.past().readable == frozenset()


def test_a_file_that_is_added_again_is_needed_by_every_version_since_it_came_first(
    table: Table,
) -> None:
    first = next(
        action["add"]
        for line in table.commit(0).read_text().splitlines()
        if "add" in (action := json.loads(line))
    )
    again = {"add": {**first, "dataChange": False, "stats": None}}
    table.commit(4).write_text(json.dumps(again))
    (table.path / first["path"]).unlink()
    assert table.past().readable == frozenset()


def test_a_column_that_is_gone_counts_as_rows_that_changed(table: Table) -> None:
    lines = table.commit(0).read_text().splitlines()
    metadata = next(json.loads(line) for line in lines if "metaData" in line)
    metadata["metaData"]["schemaString"] = '{"type": "struct", "fields": []}'
    table.commit(4).write_text(json.dumps(metadata))
    assert [commit.changes_rows for commit in table.past().commits] == [True] * 5


@pytest.mark.parametrize("error", [NotThere, ConditionFailed])
def test_a_log_that_is_cleaned_while_it_is_read_is_read_again(
    table: Table, error: type[Exception]
) -> None:
    left = [2]

    def fail(call: Call) -> None:
        if call.method == "read" and call.path.endswith("2.json") and left[0]:
            left[0] -= 1
            raise error("gone")

    table.store.before = fail
    assert table.past().readable == set(range(4))
    left[0] = 3
    with pytest.raises(error):
        table.past()


@pytest.mark.parametrize("kept", [0, "0", 3_600_000, "3600000"])
def test_a_vacuum_says_as_a_number_or_as_text_how_long_it_keeps_files(
    table: Table, kept: object
) -> None:
    parameters = {"specifiedRetentionMillis": kept, "defaultRetentionMillis": 604800000}
    info = {"timestamp": 1767225600000, "operation": "VACUUM START"}
    table.commit(4).write_text(
        json.dumps({"commitInfo": {**info, "operationParameters": parameters}})
    )
    vacuumed = table.past().commits[-1]
    assert vacuumed.deletes_before == vacuumed.at - timedelta(milliseconds=int(str(kept)))


def test_a_vacuum_that_does_not_say_so_has_deleted_what_nobody_knows(table: Table) -> None:
    table.commit(4).write_text('{"commitInfo": {"timestamp": 1, "operation": "VACUUM START"}}')
    assert table.past().commits[-1].deletes_before is None
