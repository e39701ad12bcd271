"""Which data files a log names: as deltalake says, from every form that a log can have."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from openmirror.deltalog import DataFilesReplay, LogReplay
from openmirror.errors import ConditionFailed, NotThere
from openmirror.plan.maintenance_steps import LiveFile, TableFiles
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from openmirror.table.log import BrokenLog, TableLog
from tests.harness.stores import Call, WatchedStore

TABLE = StorePath("lake/m/Tables/dbo/t")


class Table:
    """A table that deltalake writes, and its log's files."""

    def __init__(self, root: Path) -> None:
        self.path = root / TABLE
        self.log = self.path / "_delta_log"
        self.store = WatchedStore(LocalStore(root))

    def append(self, first: int, count: int = 4) -> None:
        write_deltalake(self.path, pa.table({"id": range(first, first + count)}), mode="append")

    def delete(self, condition: str) -> None:
        DeltaTable(self.path).delete(condition)

    def checkpoint(self) -> None:
        DeltaTable(self.path).create_checkpoint()

    def commit(self, version: int) -> Path:
        return self.log / f"{version:020d}.json"

    def actions(self, version: int) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.commit(version).read_text().splitlines()]

    def read(self) -> TableFiles:
        found = DataFilesReplay(self.store).data_files(TABLE)
        assert isinstance(found, TableFiles), found
        return found

    def is_as_deltalake_says(self) -> bool:
        found, table = self.read(), DeltaTable(self.path)
        sizes = pa.table(table.get_add_actions()).column("size_bytes").to_pylist()
        return found.version == table.version() and sorted(f.size for f in found.live) == sorted(
            sizes
        )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Table(tmp_path)
    made.path.mkdir(parents=True)
    for number in range(4):
        made.append(number * 4)
    made.delete("id = 5")
    made.delete("id >= 12")
    return made


def test_there_are_none_without_a_table(tmp_path: Path) -> None:
    assert DataFilesReplay(LocalStore(tmp_path)).data_files(TABLE) is None


def test_live_and_removed_files_are_those_of_the_newest_version(table: Table) -> None:
    assert table.is_as_deltalake_says()
    found = table.read()
    assert (len(found.live), len(found.dead)) == (3, 2)
    assert all(file.size > 0 for file in found.dead)
    ages = [datetime.now(UTC) - file.removed_at for file in found.dead]
    assert all(timedelta() <= age < timedelta(minutes=5) for age in ages)


def test_a_checkpoint_says_the_same_as_the_commits_before_it(table: Table) -> None:
    before = table.read()
    table.checkpoint()
    for version in range(5):
        table.commit(version).unlink()
    after = table.read()
    assert sorted(after.live) == sorted(before.live)
    assert sorted(after.dead) == sorted(before.dead)
    table.append(100)
    assert table.is_as_deltalake_says()


def with_sidecars(table: Table) -> None:
    """A V2 checkpoint as Delta writes one: what counts at the top, files in two sidecars."""
    rows, top = [], []
    for version in range(6):
        for action in table.actions(version):
            (rows if action.keys() & {"add", "remove"} else top).append(action)
    removed = {row["remove"]["path"] for row in rows if "remove" in row}  # type: ignore[index]
    files = [row for row in rows if "remove" in row or row["add"]["path"] not in removed]  # type: ignore[index]
    folder = table.log / "_sidecars"
    folder.mkdir()
    half = len(files) // 2
    for name, part in (("a.parquet", files[:half]), ("b.parquet", files[half:])):
        columns = {
            kind: pa.array([without_empty(row[kind]) if kind in row else None for row in part])
            for kind in ("add", "remove")
        }
        pq.write_table(pa.table(columns), folder / name)
        top.append({"sidecar": {"path": name, "sizeInBytes": 1, "modificationTime": 1}})
    lines = "\n".join(json.dumps(action) for action in top if "commitInfo" not in action)
    unique = "80a083e8-7026-4e79-81be-64bd76c43a11"
    (table.log / f"{5:020d}.checkpoint.{unique}.json").write_text(lines)
    for version in range(5):
        table.commit(version).unlink()


def without_empty(action: object) -> dict[str, object]:
    """Parquet has no struct without fields."""
    assert isinstance(action, dict)
    return {name: value for name, value in action.items() if value != {}}


def test_a_v2_checkpoint_has_its_files_in_sidecars(table: Table) -> None:
    before = table.read()
    with_sidecars(table)
    after = table.read()
    assert sorted(after.live) == sorted(before.live)
    assert sorted(after.dead) == sorted(before.dead)
    assert isinstance(LogReplay(table.store).read(TABLE), TableLog)


def test_compacted_commits_change_nothing(table: Table) -> None:
    before = table.read()
    lines = "".join(table.commit(version).read_text() for version in (1, 2, 3))
    (table.log / f"{1:020d}.{3:020d}.compacted.json").write_text(lines)
    assert table.read() == before
    assert isinstance(LogReplay(table.store).read(TABLE), TableLog)


def test_rows_that_a_deletion_vector_marks_are_counted(table: Table) -> None:
    found = add = next(a["add"] for a in table.actions(0) if "add" in a)
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 9}
    assert isinstance(add, dict)
    marked = {**add, "deletionVector": {**vector, "cardinality": 3}}
    lines = [{"remove": {"path": add["path"], "deletionTimestamp": 1}}, {"add": marked}]
    table.commit(6).write_text("\n".join(map(json.dumps, lines)))
    found = next(file for file in table.read().live if file.deleted)
    assert (found.rows, found.deleted, found.share) == (4, 3, 0.75)
    assert len(table.read().dead) == 2, "the data file itself is still live"


def test_a_file_without_statistics_may_be_all_deleted() -> None:
    assert LiveFile(10, rows=0, deleted=1).share == 1.0


@pytest.mark.parametrize(
    ("gone", "info", "named"),
    [
        ((), None, True),
        ((0, 1), None, False),
        ((0, 1), 1, False),
        ((0, 1), 2, True),
        ((0, 1), "x", False),
    ],
)
def test_whether_the_log_still_names_what_was_removed_since_the_last_vacuum(
    table: Table, gone: tuple[int, ...], info: object, named: bool
) -> None:
    table.checkpoint()
    for version in gone:
        table.commit(version).unlink()
    if info is not None:
        text = json.dumps({"latestCommitVersionOutsideOfRetentionWindow": info})
        (table.log / "_last_vacuum_info").write_text(text)
    assert table.read().names_all_dead is named


@pytest.mark.parametrize(
    ("note", "noted"),
    [
        ("{}", 3),
        ('{"latestCommitVersionOutsideOfRetentionWindow": null}', 3),
        # Another VACUUM's, or no note that Delta writes: it stays.
        ('{"latestCommitVersionOutsideOfRetentionWindow": 1}', 1),
        ("not JSON", None),
        ("[]", None),
        (None, None),
    ],
)
def test_a_vacuum_that_listed_the_folder_is_noted_so_that_the_next_goes_by_the_log(
    table: Table, note: str | None, noted: int | None
) -> None:
    table.checkpoint()
    path, now = table.log / "_last_vacuum_info", datetime.now(UTC)
    for version in range(6):
        modified = (now - timedelta(days=10 - version)).timestamp()
        os.utime(table.commit(version), (modified, modified))
    for version in (0, 1, 2):
        table.commit(version).unlink()
    checksum = path.with_name("._last_vacuum_info.crc")
    if note is not None:
        path.write_text(note)
        checksum.write_bytes(b"of that note")
    DataFilesReplay(table.store).swept(TABLE, now - timedelta(days=6, hours=12))
    if noted is None:
        assert (path.read_text() if path.exists() else None) == note
    else:
        key = "latestCommitVersionOutsideOfRetentionWindow"
        assert json.loads(path.read_text()) == {key: noted}
    assert table.read().names_all_dead is (noted == 3)
    # Hadoop would take another note for a damaged one.
    assert checksum.exists() is (note is not None and noted != 3)


def test_a_vacuum_whose_retention_is_older_than_the_log_leaves_no_note(table: Table) -> None:
    (table.log / "_last_vacuum_info").write_text("{}")
    DataFilesReplay(table.store).swept(TABLE, datetime.now(UTC) - timedelta(days=30))
    assert (table.log / "_last_vacuum_info").read_text() == "{}"


READERS = [lambda s: LogReplay(s).read(TABLE), lambda s: DataFilesReplay(s).data_files(TABLE)]


@pytest.mark.parametrize("read", READERS)
def test_a_log_that_is_cleaned_while_it_is_read_is_read_anew(table: Table, read: object) -> None:
    """Delta deletes commits before a checkpoint; what was listed is gone then, and not broken."""
    first = iter([True])

    def cleaned(call: Call) -> None:
        if call.method == "read" and next(first, False):
            table.checkpoint()
            for version in range(5):
                table.commit(version).unlink()

    table.store.before = cleaned
    found = read(table.store)  # type: ignore[operator]
    assert not isinstance(found, BrokenLog)
    assert found.version == 5


@pytest.mark.parametrize("read", READERS[:1])
def test_a_listing_that_a_clean_up_cut_in_two_is_no_broken_log(table: Table, read: object) -> None:
    calls: Iterator[int] = iter(range(9))
    versions = {n: table.commit(n).read_bytes() for n in range(3)}

    def cut(call: Call) -> None:
        """The first listing has neither the checkpoint nor the first commits."""
        if call.method != "list_folder":
            return
        if next(calls) == 0:
            for version in versions:
                table.commit(version).unlink()
        else:
            for version, data in versions.items():
                table.commit(version).write_bytes(data)

    table.store.before = cut
    assert isinstance(read(table.store), TableLog)  # type: ignore[operator]


@pytest.mark.parametrize("read", READERS)
def test_a_log_that_is_another_one_each_time_is_to_be_observed_again(
    table: Table, read: object
) -> None:
    def gone(call: Call) -> None:
        if call.method == "read":
            raise NotThere(call.path)

    table.store.before = gone
    with pytest.raises((NotThere, ConditionFailed)):
        read(table.store)  # type: ignore[operator]


def test_a_log_with_a_gap_is_broken(table: Table) -> None:
    table.commit(3).unlink()
    found = DataFilesReplay(table.store).data_files(TABLE)
    assert isinstance(found, BrokenLog)
    assert "version 3 is missing" in found.reason
