"""Spark reads each change file under whatever name it has, and each row at its own place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from openmirror.errors import ConditionFailed, NotThere
from openmirror.formats.conversion import FileConverter
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.plan.observed import TablePolicy
from openmirror.ports import BadFile, Entry, FileStore
from openmirror.ports.merge_rows import positional
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import Incarnation, TableFolder, TablePath
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import SchemaUnion, TableSchema, union_schema
from openmirror.protocol.sequence import Position, Sequence
from openmirror.spark import reading
from openmirror.spark.access import abfs_settings
from openmirror.spark.copies import Copies
from openmirror.spark.engine import SparkEngine, SparkPrepared
from openmirror.spark.frames import MARKER, ROW, SEQUENCE
from openmirror.spark.places import account_spark_paths, local_spark_paths
from openmirror.spark.transacting import fresh_session
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.control import BatchKind, FrozenOptions
from openmirror.table.layout import StorePath
from openmirror.table.log import Epoch
from tests.emulator_server import EndpointServer
from tests.spark_accounts import forget

FOLDER = TableFolder("m", TablePath("", "T"))
AT = datetime(2026, 1, 1, tzinfo=UTC)

# Every one that a store can hold; the last ones Hadoop does not read, or passes over in silence.
NAMES = [
    "00000000000000000001.parquet",
    "part-0001.parquet",
    "Year=2024/00000000000000000001.parquet",
    "Year=2025/00000000000000000001.parquet",
    "Year=2024/Region=EU west/part-0001.parquet",
    "id=5/n=x.parquet",
    "Hour=10:00/p.parquet",
    "00000000000000000002.parquet",  # neither the second nor the ninth is its sequence
    "a b.parquet",
    "100%.parquet",
    "%20x.parquet",
    "e\u0301é.parquet",
    "nb\u00a0sp.parquet",
    "a[1]{b}*?.parquet",
    "h#h+p&p;c,omma.parquet",
    "quo'te.parquet",
    "😀~$^|!@.parquet",
    "no extension ",
    "2024-01-01T10:00:00.parquet",
    ".hidden.parquet",
    "x._COPYING_",
]


@dataclass
class Root:
    """A root: its store, and an engine that reads it."""

    store: FileStore
    engine: SparkEngine


@pytest.fixture(params=["copied", "held"])
def root(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Root:
    """A folder, whose files Spark reads from copies, or holds."""
    store, paths = LocalStore(tmp_path), local_spark_paths(str(tmp_path))
    copies = Copies(store) if request.param == "copied" else None
    return Root(store, SparkEngine(spark, paths, converter(store), copies=copies))


def converter(store: FileStore) -> FileConverter:
    """One that makes several parts of a small file."""
    return FileConverter(store, most_rows=2)


@pytest.fixture
def served_root(served: EndpointServer, spark: SparkSession) -> Iterator[Root]:
    account = AccountUrl.parse(f"{served.url}/{served.account}")
    store = AzureStore.connect(account, served.key)
    access = abfs_settings(account, served.key, {})
    yield Root(store, SparkEngine(spark, account_spark_paths(account), converter(store), access))
    store.close()
    forget(spark, account)


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def batch(root: Root, files: Iterable[tuple[str, pa.Table | bytes]]) -> Batch:
    """A batch of such files, in this order; sequences count from 1 whatever the names."""
    inspector, landed = ChangeFileInspector(root.store), []
    schema = TableSchema()
    for number, (name, content) in enumerate(files, start=1):
        path = StorePath(f"{layout.table_folder(FOLDER)}/{name}")
        data = content if isinstance(content, bytes) else parquet(content)
        etag = root.store.write(path, data)
        facts = inspector.inspect(path, Entry(name, False, len(data), AT, etag))
        assert facts.broken is None
        merged = union_schema(schema, facts.schema)
        assert isinstance(merged, SchemaUnion)
        schema = merged.schema
        landed.append(
            LandedFile(
                sequence=Sequence(number),
                name=name,
                path=path,
                etag=facts.etag,
                size=len(data),
                modified=AT,
                facts=facts,
            )
        )
    return Batch(
        folder=FOLDER,
        table=StorePath("lake/m/Tables/dbo/T"),
        kind=BatchKind.REPLACE,
        epoch=Epoch(FOLDER, Incarnation("i"), 1),
        first=Sequence(1),
        last=Position(len(landed)),
        files=tuple(landed),
        frozen=FrozenOptions(key_columns=("id",)),
        union=SchemaUnion(schema),
        policy=TablePolicy(),
        features=TableFeatures(),
        applied=Position(0),
        may_create=True,
    )


def read(root: Root, of: Batch) -> list[tuple[object, ...]]:
    """Sequence, row, marker and values of each row, in order."""
    held = root.engine.read(of)
    assert isinstance(held, SparkPrepared), held
    columns = [SEQUENCE, ROW, MARKER, *positional(len(of.union.schema.columns))]
    rows = sorted(tuple(row) for row in held.changes.select(*columns).collect())
    held.release()
    return rows


def leftovers(root: Root) -> tuple[Entry, ...]:
    try:
        return root.store.list_folder(layout.conversions("m")).entries
    except NotThere:  # a damaged file may end it all before another has written a part
        return ()


def table(number: int, *, nested: bool = False) -> pa.Table:
    """Three rows that say which file they are of; names of folders are names of columns too."""
    columns = {"id": [number] * 3, "Year": ["a", "b", "c"], "n": [0, 1, 2]}
    more = {"l": [[number]] * 3} if nested else {}
    return pa.table({**columns, "__rowMarker__": [4, 0, 4], **more})


def of_names(names: list[str]) -> list[tuple[str, pa.Table]]:
    """Every third has to be converted for what is in it."""
    return [(name, table(at, nested=at % 3 == 0)) for at, name in enumerate(names, start=1)]


def expected(count: int) -> list[tuple[object, ...]]:
    rows = []
    for number in range(1, count + 1):
        text = f"[{number}]" if number % 3 == 0 else None
        rows += [(number, row, (4, 0, 4)[row], number, "abc"[row], row, text) for row in range(3)]
    return rows


def test_every_name_is_read_and_no_number_is_taken_from_one(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LISTED", 4)  # several lists
    assert read(root, batch(root, of_names(NAMES))) == expected(len(NAMES))
    assert leftovers(root) == ()


def test_so_it_is_on_a_storage_account(served_root: Root) -> None:
    assert read(served_root, batch(served_root, of_names(NAMES))) == expected(len(NAMES))
    assert leftovers(served_root) == ()


_WITH_CHECKSUMS = {
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
"""Hadoop's own way with local files, which the session of the tests goes without."""


def test_a_checksum_file_of_hadoops_beside_a_landed_file_is_never_believed(
    tmp_path: Path, spark: SparkSession
) -> None:
    store = LocalStore(tmp_path)
    paths = local_spark_paths(str(tmp_path))
    root = Root(store, SparkEngine(spark, paths, converter(store), _WITH_CHECKSUMS))
    of = batch(root, [("1.parquet", table(1)), ("2.parquet", table(2)), ("3.parquet", table(3))])
    for file in of.files:
        beside = StorePath(f"{layout.folder_of(file.path)}/.{file.name}.crc")
        store.write(beside, b"crc\0\0\0\x02\0" + bytes(100))
    assert [row[:2] for row in read(root, of)] == [(n, row) for n in (1, 2, 3) for row in range(3)]
    session = fresh_session(spark, _WITH_CHECKSUMS)
    with pytest.raises(Py4JJavaError, match="ChecksumException"):
        session.read.schema("id long").parquet(paths(of.files[0].path)).collect()


_ENCODINGS = {
    "PLAIN": ("b", "i", "l", "f", "d", "s", "x", "n"),
    "RLE": ("b",),
    "DELTA_BINARY_PACKED": ("i", "l"),
    "DELTA_LENGTH_BYTE_ARRAY": ("s",),
    "DELTA_BYTE_ARRAY": ("s", "x", "n"),
    "BYTE_STREAM_SPLIT": ("i", "l", "f", "d", "x", "n"),
}
_CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


def of_every_type() -> pa.Table:
    count = range(50)
    columns = {
        "b": pa.array([number % 3 == 0 for number in count]),
        "i": pa.array(count, pa.int32()),
        "l": pa.array([number << 40 for number in count]),
        "f": pa.array([number / 2 for number in count], pa.float32()),
        "d": pa.array([number / 4 for number in count]),
        "s": pa.array([f"text {number * 7}" for number in count]),
        "x": pa.array([b"%04d" % number for number in count], pa.binary(4)),
        "n": pa.array([Decimal(number) for number in count], pa.decimal128(30, 1)),
    }
    gaps = pa.array([number % 7 != 0 for number in count])
    return pa.table({name: pc.if_else(gaps, array, None) for name, array in columns.items()})


def test_every_encoding_and_every_codec_of_parquet_is_read(root: Root) -> None:
    whole = of_every_type()
    columns = whole.to_pydict()
    for version in ("1.0", "2.0"):
        ways: list[dict[str, Any]] = [{"compression": codec} for codec in _CODECS]
        for encoding, names in _ENCODINGS.items():
            chosen = dict.fromkeys(names, encoding)
            ways.append({"use_dictionary": False, "column_encoding": chosen})
        files = [
            (f"{number}.parquet", parquet(whole, data_page_version=version, **way))
            for number, way in enumerate(ways)
        ]
        rows = read(root, batch(root, files))
        assert len(rows) == len(files) * whole.num_rows
        for sequence, row, _, *values in rows:
            expected_values = [columns[name][row] for name in whole.column_names]
            assert [bytes(v) if isinstance(v, bytearray) else v for v in values] == (
                expected_values
            ), ways[sequence - 1]


def damaged(of: pa.Table, column: int = 0) -> bytes:
    """The file with zeros where the pages of one column are."""
    data = bytearray(parquet(of, use_dictionary=False))
    chunk = pq.read_metadata(pa.BufferReader(bytes(data))).row_group(0).column(column)
    at, size = chunk.data_page_offset, chunk.total_compressed_size
    data[at : at + size] = bytes(size)
    return bytes(data)


@pytest.mark.parametrize(("nested", "column"), [(False, 0), (False, 2), (True, 0)])
def test_a_damaged_file_is_named_as_it_lies_in_the_folder(
    root: Root, *, nested: bool, column: int
) -> None:
    bad = ("Year=2025/a %20[b].parquet", damaged(table(2, nested=nested), column))
    files = [("Year=2024/a %20[b].parquet", table(1)), bad, ("z.parquet", table(3, nested=True))]
    found = root.engine.read(batch(root, files))
    assert isinstance(found, BadFile), found
    assert (found.name, found.broken.code) == (bad[0], Code.FILE_UNREADABLE)
    assert leftovers(root) == ()


def test_a_batch_of_inserts_with_a_damaged_file_is_refused_before_it_is_decided(
    root: Root,
) -> None:
    whole = table(1).drop_columns(["__rowMarker__"])
    files = [("1.parquet", whole), ("2.parquet", damaged(whole, 2))]
    found = root.engine.read(batch(root, files))
    assert isinstance(found, BadFile), found
    assert (found.name, found.broken.code) == ("2.parquet", Code.FILE_UNREADABLE)


def test_what_becomes_of_a_file_once_it_is_read_does_not_reach_the_batch(root: Root) -> None:
    planned = batch(root, [("a.parquet", table(1)), ("b.parquet", table(2, nested=True))])
    prepared = root.engine.read(planned)
    assert isinstance(prepared, SparkPrepared)
    root.store.write(planned.files[0].path, parquet(table(7)))
    root.store.delete_file(planned.files[1].path)
    assert sorted(row["c0"] for row in prepared.changes.collect()) == [1, 1, 1, 2, 2, 2]
    prepared.release()
    assert leftovers(root) == ()


def test_a_wrong_marker_is_named_by_its_row_in_the_change_file(root: Root) -> None:
    wrong = pa.table({"id": [1] * 6, "l": [[1]] * 6, "__rowMarker__": [0, 0, 0, 0, 7, 9]})
    found = root.engine.read(batch(root, [("a.parquet", table(1)), ("b/c.parquet", wrong)]))
    assert isinstance(found, BadFile), found
    assert found.name == "b/c.parquet"
    assert found.broken.detail == "row 5 has __rowMarker__ = 7; allowed are 0, 1, 2 and 4"
    assert leftovers(root) == ()


def test_the_first_file_whose_conversion_fails_is_the_one_that_is_named(root: Root) -> None:
    beyond = pa.table({"id": [1, 1], "t": pa.array([1, 86_400_000], pa.time32("ms"))})
    files = [(f"{number}.parquet", beyond) for number in range(2, 6)]
    found = root.engine.read(batch(root, [("1.parquet", table(1, nested=True)), *files]))
    assert isinstance(found, BadFile), found
    assert (found.name, found.broken.code) == ("2.parquet", Code.VALUE_INVALID)
    assert found.broken.detail.startswith("row 2, column 't': 86400000000 microseconds")
    assert leftovers(root) == ()


def test_a_file_that_goes_or_changes_while_it_is_converted_is_a_lost_race(root: Root) -> None:
    planned = batch(root, [("a.parquet", table(1, nested=True))])
    path = planned.files[0].path
    root.store.write(path, parquet(table(2, nested=True)))
    with pytest.raises(ConditionFailed):
        root.engine.read(planned)
    root.store.delete_file(path)
    with pytest.raises(NotThere):
        root.engine.read(planned)
