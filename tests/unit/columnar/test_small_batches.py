"""Small batches in this process: what is taken, what is left to Spark, what is wrong with files."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.columnar.small_batches import SmallBatches
from openmirror.errors import ConditionFailed, NotThere
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.plan.history import VERSIONS
from openmirror.plan.observed import InsertPolicy, TablePolicy
from openmirror.plan.own_columns import OwnColumns
from openmirror.plan.own_group import with_columns
from openmirror.plan.soft_deletes import Deletes
from openmirror.ports import BadFile, Entry
from openmirror.ports.merge_rows import FoldedBatch
from openmirror.protocol.checksums import RunningChecksum
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.protocol.rows import SoftDeletes
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import (
    SchemaUnion,
    TableSchema,
    union_schema,
)
from openmirror.protocol.sequence import Position, Sequence
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.control import BatchKind, FrozenOptions
from openmirror.table.layout import StorePath
from openmirror.table.log import Epoch

FOLDER = TableFolder("m", TablePath("", "T"))
AT = datetime(2026, 1, 1, tzinfo=UTC)
MOST = 1 << 20


class Landing:
    """A folder of a root on disk, and the batch of all that lies in it."""

    def __init__(self, root: Path) -> None:
        self.store = LocalStore(root)
        self.files: list[LandedFile] = []
        self.schema = TableSchema()

    def put(self, table: pa.Table | bytes, **options: Any) -> LandedFile:
        data = table if isinstance(table, bytes) else parquet(table, **options)
        number = len(self.files) + 1
        name = f"{number:020d}.parquet"
        path = StorePath(f"{layout.table_folder(FOLDER)}/{name}")
        etag = self.store.write(path, data)
        facts = ChangeFileInspector(self.store).inspect(
            path, Entry(name, False, len(data), AT, etag)
        )
        assert facts.broken is None, facts.broken
        merged = union_schema(self.schema, facts.schema)
        assert isinstance(merged, SchemaUnion)
        self.schema = merged.schema
        file = LandedFile(
            sequence=Sequence(number), name=name, path=path, etag=etag, size=len(data),
            modified=AT, facts=facts,
        )  # fmt: skip
        self.files.append(file)
        return file

    def batch(self, *keys: str, **policy: Any) -> Batch:
        return Batch(
            folder=FOLDER,
            table=StorePath("lake/m/Tables/dbo/T"),
            kind=BatchKind.EXTEND,
            epoch=Epoch(FOLDER, Incarnation("i"), 1),
            first=Sequence(1),
            last=Position(len(self.files)),
            files=tuple(self.files),
            frozen=FrozenOptions(key_columns=keys),
            union=SchemaUnion(self.schema),
            policy=TablePolicy(**policy),
            features=TableFeatures(),
            applied=Position(0),
            may_create=False,
        )

    def fold(self, *keys: str, most: int = MOST, **policy: Any) -> FoldedBatch | BadFile | None:
        return SmallBatches(self.store, most).fold(self.batch(*keys, **policy))


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path)


def rows_of(found: object) -> list[dict[str, Any]]:
    assert isinstance(found, FoldedBatch), found
    rows: list[dict[str, Any]] = found.rows.to_pylist()
    return rows


def changes(*rows: tuple[object, int], marker: pa.DataType | None = None) -> pa.Table:
    markers, ids = zip(*rows, strict=True)
    return pa.table({"__rowMarker__": pa.array(markers, marker), "id": pa.array(ids, pa.int32())})


OLD = {"org.apache.spark.version": "2.4.8"}
NEW = {"org.apache.spark.version": "3.5.1"}
AS_OLD = {**NEW, "org.apache.spark.legacyDateTime": ""}


@pytest.mark.parametrize(
    ("about", "kind", "is_here"),
    [
        (OLD, pa.date32(), False),
        (OLD, pa.timestamp("us"), False),
        (OLD, pa.int64(), True),
        (AS_OLD, pa.date32(), False),
        (NEW, pa.date32(), True),
        ({}, pa.date32(), True),
    ],
)
def test_days_that_spark_reads_by_another_calendar_are_left_to_it(
    landing: Landing, about: dict[str, str], kind: pa.DataType, is_here: bool
) -> None:
    landing.put(pa.table({"v": pa.array([-719_164], kind)}).replace_schema_metadata(about))
    assert (landing.fold() is not None) is is_here


def test_files_of_a_batch_are_one_order_in_the_types_of_its_union(landing: Landing) -> None:
    first = landing.put(pa.table({"ID": pa.array([1, 2], pa.int32())}))
    landing.put(pa.table({"v": ["x"], "id": pa.array([3], pa.int64()), "__rowMarker__": [4]}))
    found = landing.fold("id")
    assert rows_of(found) == [
        {"c0": 1, "c1": None, "kind": "plain_insert", "may_insert": False},
        {"c0": 2, "c1": None, "kind": "plain_insert", "may_insert": False},
        {"c0": 3, "c1": "x", "kind": "update", "may_insert": True},
    ]
    assert isinstance(found, FoldedBatch)
    assert found.rows.schema.field("c0").type == pa.int64()
    assert (found.counts.inserts, found.counts.updates, found.counts.deletes) == (2, 1, 0)
    assert found.needs.bounds == {"c0": (3, 3)}, "a plain insert is not merged"
    running = RunningChecksum()
    running.update(landing.store.read(first.path).data)
    assert found.checksums[first.sequence] == running.checksum


@pytest.mark.parametrize(
    ("values", "kind"),
    [([2, 4], pa.int8()), ([2.0, 4.0], pa.float64()), (["2", " 4.0 "], pa.string())],
)
def test_markers_of_any_type_mean_what_the_protocol_says(
    values: list[object], kind: pa.DataType, landing: Landing
) -> None:
    landing.put(changes((values[0], 1), (values[1], 2), marker=kind))
    assert [row["kind"] for row in rows_of(landing.fold("id"))] == ["delete", "update"]


def test_inserts_are_upserts_where_the_policy_says_so(landing: Landing) -> None:
    landing.put(changes((0, 1), (0, 1), (2, 7)))
    found = rows_of(landing.fold("id", insert=InsertPolicy.UPSERT))
    assert [(row["c0"], row["kind"]) for row in found] == [(1, "update"), (7, "delete")]


@pytest.mark.parametrize(
    ("table", "keys", "code", "words"),
    [
        (changes((0, 1), (7, 2)), ("id",), Code.ROW_MARKER_INVALID, "row 2 has __rowMarker__ = 7"),
        (changes((None, 1), (7, 2)), ("id",), Code.ROW_MARKER_INVALID, "= NULL"),
        (changes(("x", 1)), ("id",), Code.ROW_MARKER_INVALID, "row 1 has __rowMarker__ = 'x'"),
        (changes((0, 1), (2, 2)), (), Code.KEY_COLUMNS_UNDECLARED, "row 2"),
    ],
)
def test_the_first_wrong_marker_is_its_files_problem(
    table: pa.Table, keys: tuple[str, ...], code: Code, words: str, landing: Landing
) -> None:
    landing.put(pa.table({"id": pa.array([5], pa.int32())}))
    landing.put(table)
    found = landing.fold(*keys)
    assert isinstance(found, BadFile)
    assert (found.name, found.broken.code) == (landing.files[1].name, code)
    assert words in found.broken.detail


def test_a_damaged_page_is_its_files_problem(landing: Landing) -> None:
    whole = parquet(pa.table({"id": list(range(1000)), "v": ["x" * 9] * 1000}))
    data = bytearray(whole)
    data[4:200] = b"\xff" * 196
    landing.put(pa.table({"id": [1]}))
    landing.put(bytes(data))
    found = landing.fold("id")
    assert isinstance(found, BadFile)
    assert (found.name, found.broken.code) == (landing.files[1].name, Code.FILE_UNREADABLE)


def test_a_file_that_was_replaced_or_has_gone_is_not_read_as_what_was_planned(
    landing: Landing,
) -> None:
    file = landing.put(pa.table({"id": [1]}))
    landing.store.write(file.path, parquet(pa.table({"id": [2]})))
    with pytest.raises(ConditionFailed):
        landing.fold("id")
    landing.store.delete_file(file.path)
    with pytest.raises(NotThere):
        landing.fold("id")


def test_what_repeats_is_measured_before_any_of_it_is_unpacked(landing: Landing) -> None:
    once, rows = pa.array(["x" * 100_000]), 20_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), once)
    file = landing.put(pa.table({"id": list(range(rows)), "v": column}))
    assert file.size < MOST
    pool = pa.default_memory_pool()
    before = max(pool.max_memory(), 256 << 20)
    assert landing.fold("id", most=64 << 20) is None
    assert pool.max_memory() <= before, "of the two gigabytes some were unpacked"


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"id": pa.array(range(200_000), pa.int64())}),
        pa.table({"id": [1], "v": ["x" * (MOST + 1)]}),
        pa.table({"id": [1], "nested": [[{"a": 1}]]}),
        pa.table({"id": [1, 1], "v": [1, 2], "__rowMarker__": ["4", '101 ["v"]']}),
    ],
    ids=["many rows", "a large value", "nested", "a partial update"],
)
def test_what_is_not_small_or_not_for_here_is_left_to_spark(
    table: pa.Table, landing: Landing
) -> None:
    landing.put(table)
    assert landing.fold("id") is None


@pytest.mark.parametrize("history", [False, True])
def test_long_text_of_a_bag_of_rows_is_not_repeated_for_each_of_them_here(
    landing: Landing, history: bool
) -> None:
    """An insert before an update has the update's values, and a version of a history as well."""
    rows, text = 60, "x" * (MOST // 2)
    landing.put(
        pa.table(
            {
                "id": [1] * (rows + 1),
                "v": ["a"] * rows + [text],
                "__rowMarker__": [0] * rows + [1],
            }
        )
    )
    found = versions(landing) if history else landing.fold("id")
    assert found is None


def test_tables_with_a_version_column_are_left_to_spark(landing: Landing) -> None:
    landing.put(pa.table({"id": [1], "n": [1]}))
    batch = landing.batch("id")
    versioned = replace(batch, frozen=replace(batch.frozen, version_column="n"))
    assert SmallBatches(landing.store, MOST).fold(versioned) is None


def test_what_is_before_the_last_truncate_leaves_nothing(landing: Landing) -> None:
    landing.put(changes((0, 1), (100, 0), (4, 2)))
    landing.put(changes((2, 2), (100, 0), (0, 3), (4, 4)))
    found = landing.fold("id")
    assert [(r["c0"], r["kind"]) for r in rows_of(found)] == [(3, "plain_insert"), (4, "update")]
    assert isinstance(found, FoldedBatch)
    assert found.truncates
    assert (found.counts.inserts, found.counts.updates, found.counts.deletes) == (2, 2, 3)


def test_files_without_rows_or_without_columns_are_batches_too(landing: Landing) -> None:
    landing.put(pa.table({"id": pa.array([], pa.int64())}))
    assert rows_of(landing.fold("id")) == []
    landing.put(pa.table({"nothing": pa.nulls(2)}))
    assert [row["c0"] for row in rows_of(landing.fold("id"))] == [None, None]


def softly(
    landing: Landing, time_column: str | None = None, lineage: Lineage = Lineage.NONE
) -> FoldedBatch | BadFile | None:
    own = OwnColumns(Deletes(SoftDeletes(time_column)), lineage)
    batch = replace(
        landing.batch("id"),
        union=SchemaUnion(own.after(landing.schema)),
        soft=own.deletes.soft,
        lineage=lineage,
    )
    return SmallBatches(landing.store, MOST).fold(batch)


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()], ids=str
)
def test_soft_deletes_are_folded_with_the_times_that_are_known(
    kind: pa.DataType, landing: Landing
) -> None:
    day = datetime(2024, 2, 29, tzinfo=UTC)
    landing.put(
        pa.table(
            {
                "__rowMarker__": [4, 2, 0, 2],
                "id": [1, 1, 2, 3],
                "at": pa.array([None, day, None, None], pa.timestamp("us", "UTC")).cast(kind),
            }
        )
    )
    found = softly(landing, "AT")
    shown = [(r["c0"], r["kind"], r["c2"], r["deleted"]) for r in rows_of(found)]
    assert shown == [
        (1, "update", day, True),
        (2, "plain_insert", None, False),
        (3, "mark", None, True),
        (1, "unmark", None, False),
    ]
    assert isinstance(found, FoldedBatch)
    assert (found.needs.marks, found.needs.unmarks, found.needs.deletes) == (True, True, False)
    assert found.needs.bounds == {"c0": (1, 3)}
    [first, *_] = rows_of(softly(landing))
    assert (first["c2"], first["deleted"]) == (None, True), "the decision's time is written later"


def test_rows_have_the_place_of_what_wrote_them_or_marked_them(landing: Landing) -> None:
    landing.put(changes((0, 1), (4, 2), (0, 3)))
    landing.put(changes((2, 1), (1, 2), (2, 4), (2, 4), (0, 5)))
    found = softly(landing, lineage=Lineage.WRITTEN)
    first, second = (f"{number:020d}.parquet" for number in (1, 2))
    shown = [tuple(r[f"c{at}"] for at in (0, 2, 3, 4, 5, 6)) for r in rows_of(found)]
    assert shown == [
        (1, second, 2, 1, None, "delete"),
        (3, first, 1, 3, None, "insert"),
        (2, second, 2, 2, None, "update"),
        (5, second, 2, 5, None, "insert"),
        (1, second, 2, 1, None, "delete"),
        (4, second, 2, 3, None, "delete"),
        (2, second, 2, 2, None, "update"),
    ]


def test_a_truncate_that_marks_rows_is_folded_by_spark(landing: Landing) -> None:
    landing.put(changes((0, 1), (100, 1), marker=pa.int32()))
    assert softly(landing) is None
    assert isinstance(landing.fold("id"), FoldedBatch)


def versions(landing: Landing) -> FoldedBatch | BadFile | None:
    """The fold of all that lies there, of the folder's history."""
    batch = replace(landing.batch("id"), folder=FOLDER.history)
    union = SchemaUnion(with_columns(batch.union.schema, [VERSIONS]))
    return SmallBatches(landing.store, MOST).fold(replace(batch, union=union))


def test_a_history_has_a_row_for_each_version_and_the_place_of_what_opened_and_closed_it(
    landing: Landing,
) -> None:
    landing.put(changes((0, 1), (1, 2), marker=pa.int32()))
    landing.put(changes((2, 1), (4, 2), marker=pa.int32()))
    rows = rows_of(versions(landing))
    names = with_columns(landing.schema, [VERSIONS]).names
    places = ("_operation", "_sequence", "_row", "_closed_operation", "_closed_sequence")
    at = [f"c{names.index(name)}" for name in ("id", *places, "_closed_row")]
    found = [(*(row[name] for name in at), row["kind"], row["at_least_once"]) for row in rows]
    assert found == [
        (1, "insert", 1, 1, "delete", 2, 1, "opens", None),
        (2, "update", 1, 2, "upsert", 2, 2, "opens", True),
        (2, "upsert", 2, 2, None, None, None, "opens", True),
        (2, "update", 1, 2, "update", 1, 2, "closes", None),
        (1, "delete", 2, 1, "delete", 2, 1, "closes", None),
    ]


def test_a_truncate_that_closes_versions_is_folded_by_spark(landing: Landing) -> None:
    landing.put(changes((0, 1), (100, 1), marker=pa.int32()))
    assert versions(landing) is None
