"""Large batches of inserts as data files: what is written, what is left to Spark, what is wrong."""

from __future__ import annotations

import errno
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.columnar import data_files
from openmirror.columnar.large_inserts import LargeInserts
from openmirror.errors import ConditionFailed, Unavailable
from openmirror.plan.observed import InsertPolicy
from openmirror.ports import BadFile
from openmirror.ports.new_files import Codec, NotWritten, WrittenInserts
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.rules import Code
from openmirror.spark.copies import Copies
from openmirror.table.control import Truncated
from tests.harness.stores import Call, WatchedStore
from tests.unit.columnar.test_small_batches import Landing, changes

MOST, UNFIT = 1 << 20, NotWritten.UNFIT


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path / "root")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "written"
    place.mkdir()
    return place


def written(
    landing: Landing, folder: Path, *, most: int = MOST, data_file: int = MOST, **policy: Any
) -> WrittenInserts | BadFile | NotWritten:
    inserts = LargeInserts(landing.store, most, data_file=data_file)
    return inserts.written(landing.batch("id", **policy), Codec.SNAPPY, folder)


def rows_in(found: WrittenInserts | BadFile | NotWritten) -> list[list[dict[str, Any]]]:
    assert isinstance(found, WrittenInserts), found
    return [pq.read_table(found.folder / new.name).to_pylist() for new in found.files]


@pytest.mark.parametrize("data_file", [1, 50, MOST])
def test_every_row_is_in_a_data_file_in_the_types_of_the_table(
    landing: Landing, folder: Path, data_file: int
) -> None:
    landing.put(changes((0, 1), (0, 2)))
    landing.put(pa.table({"ID": pa.array([], pa.int32())}))
    landing.put(pa.table({"v": ["x"], "id": pa.array([3], pa.int64())}))
    landing.put(pa.table({"Id": pa.array([None, 5], pa.int16())}))
    found = written(landing, folder, data_file=data_file)
    files = rows_in(found)
    assert [row for rows in files for row in rows] == [
        {"id": 1, "v": None}, {"id": 2, "v": None}, {"id": 3, "v": "x"}, {"id": None, "v": None},
        {"id": 5, "v": None},
    ]  # fmt: skip
    assert isinstance(found, WrittenInserts)
    assert [new.rows for new in found.files] == [len(rows) for rows in files]
    assert [new.bytes for new in found.files] == [
        (folder / new.name).stat().st_size for new in found.files
    ]
    assert len(list(folder.iterdir())) == len(files), "a file without rows was left"
    assert (found.counts.inserts, found.counts.operations) == (5, 5)
    assert list(found.checksums) == [file.sequence for file in landing.files]


def test_of_several_row_groups_each_counts_in_what_the_log_says_of_the_file(
    landing: Landing, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_files, "_ROW_GROUP", 1)
    for number in (2, 1, 3):
        landing.put(pa.table({"id": [number, None]}))
    found = written(landing, folder)
    assert isinstance(found, WrittenInserts)
    [new] = found.files
    assert pq.ParquetFile(folder / new.name).num_row_groups == 3
    assert json.loads(new.statistics) == {
        "numRecords": 6, "minValues": {"id": 1}, "maxValues": {"id": 3}, "nullCount": {"id": 3}
    }  # fmt: skip


def test_row_groups_are_not_as_small_as_change_files(landing: Landing, folder: Path) -> None:
    for _ in range(20):
        landing.put(pa.table({"id": [1]}))
    found = written(landing, folder)
    assert isinstance(found, WrittenInserts)
    [new] = found.files
    about = pq.ParquetFile(folder / new.name).metadata
    assert (about.num_rows, about.num_row_groups) == (20, 1)


@pytest.mark.parametrize("marker", [1, 2, 4, 9, None])
def test_a_row_that_is_no_insert_leaves_all_of_them_to_others(
    landing: Landing, folder: Path, marker: int | None
) -> None:
    landing.put(changes(*[(0, at) for at in range(10)]))
    landing.put(changes((0, 1), (marker, 2), marker=pa.int32()))
    assert written(landing, folder) is NotWritten.OTHER_CHANGES


def test_no_more_is_read_once_a_row_is_none(landing: Landing, folder: Path) -> None:
    landing.put(changes((1, 0)))
    for at in range(1, 10):
        landing.put(changes((0, at)))
    reads: list[Call] = []
    store = WatchedStore(landing.store, reads.append, lambda call: None)
    inserts = LargeInserts(store, MOST, threads=1, data_file=1)
    found = inserts.written(landing.batch("id"), Codec.SNAPPY, folder)
    assert found is NotWritten.OTHER_CHANGES
    assert len(reads) == 1


def test_numbers_do_not_count_however_many_there_are(landing: Landing, folder: Path) -> None:
    columns = {f"n{at}": range(1_000) for at in range(30)}
    landing.put(pa.table(columns), compression="zstd")
    most = landing.files[0].size
    assert 4 * most < 1_000 * 30 * 16
    assert isinstance(written(landing, folder, most=most), WrittenInserts)


def test_what_would_not_just_be_added_is_left_to_others(landing: Landing, folder: Path) -> None:
    landing.put(changes((0, 1)))
    assert written(landing, folder, insert=InsertPolicy.UPSERT) is NotWritten.UNTRIED
    assert written(landing, folder, most=10) is NotWritten.UNTRIED, "a file that is too large"
    batch = replace(landing.batch("id"), lineage=Lineage.WRITTEN)
    found = LargeInserts(landing.store, MOST).written(batch, Codec.SNAPPY, folder)
    assert found is NotWritten.UNTRIED


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.binary(1000)])
def test_a_file_that_unpacks_to_too_much_is_left_to_others(
    landing: Landing, folder: Path, kind: pa.DataType
) -> None:
    landing.put(pa.table({"id": [1] * 1000, "v": pa.array(["x" * 1000] * 1000).cast(kind)}))
    assert landing.files[0].size < 10_000
    assert written(landing, folder, most=10_000) is UNFIT


def test_the_first_damaged_file_is_named(landing: Landing, folder: Path) -> None:
    for number in range(4):
        landing.put(pa.table({"id": [number], "v": ["x" * 5000]}), compression="none")
    for number in (1, 3):
        file = landing.files[number]
        data = bytearray(landing.store.read(file.path).data)
        data[4:40] = b"\xff" * 36
        etag = landing.store.write(file.path, bytes(data))
        assert file.facts is not None
        landing.files[number] = replace(file, etag=etag, facts=replace(file.facts, etag=etag))
    for data_file in (1, MOST):
        found = written(landing, folder, data_file=data_file)
        assert isinstance(found, BadFile)
        assert (found.name, found.broken.code) == (landing.files[1].name, Code.FILE_UNREADABLE)


def test_a_file_that_was_replaced_is_not_read(landing: Landing, folder: Path) -> None:
    file = landing.put(pa.table({"id": [1]}))
    landing.store.write(file.path, b"another")
    with pytest.raises(ConditionFailed, match="replaced"):
        written(landing, folder)
    assert not list(folder.iterdir())


def test_a_time_that_is_cut_to_microseconds_is_named(landing: Landing, folder: Path) -> None:
    landing.put(pa.table({"id": [1]}))
    landing.put(pa.table({"at": pa.array([1], pa.timestamp("ns"))}))
    found = written(landing, folder)
    assert isinstance(found, WrittenInserts)
    truncated = found.counts.first_truncated
    assert isinstance(truncated, Truncated)
    assert truncated.file == landing.files[1].name


@contextmanager
def no_room() -> Iterator[None]:
    """No file can have more than a few bytes; only the error's number is another on a full disk.

    For no longer than it is asked for: what the tests print may go into a file as well.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full(landing: Landing) -> Landing:
    """More than there will be room for."""
    landing.put(pa.table({"id": range(10_000)}))
    return landing


@pytest.mark.usefixtures("full")
def test_where_there_is_no_room_the_remedy_is_named(landing: Landing) -> None:
    folder = Copies(landing.store).folder()
    with pytest.raises(Unavailable, match=r"no room in .* Set TMPDIR"), folder as place, no_room():
        written(landing, place)
    assert not place.exists()


def test_other_failures_are_not_taken_for_a_lack_of_room(landing: Landing) -> None:
    with pytest.raises(PermissionError), Copies(landing.store).folder():
        raise PermissionError(errno.EACCES, "not this")
