"""What the tests of engines share: one table's world for each engine, to land and inspect files."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from openmirror.columnar.large_inserts import LargeInserts
from openmirror.columnar.small_batches import SmallBatches
from openmirror.columnar.small_tables import SmallTables
from openmirror.deltalog import LogReplay
from openmirror.formats.conversion import FileConverter
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Batch
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.ports import BadFile, Entry, TableEngine
from openmirror.ports.merge_rows import FoldedBatch
from openmirror.protocol.names import ETag, TableFolder, TablePath
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import Sequence
from openmirror.spark import committing
from openmirror.spark.copies import Copies
from openmirror.spark.deletion_vectors import FilesRead
from openmirror.spark.engine import SparkEngine
from openmirror.spark.new_data_files import DataFolder
from openmirror.spark.places import local_spark_paths
from openmirror.stores.local.store import LocalStore
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from openmirror.table.log import BrokenLog, TableLog
from tests.harness.meanwhile import once_before
from tests.harness.paper import PaperEngine
from tests.simulation.delta_model import DAMAGED, ModelDelta
from tests.zone import read_delta

FOLDER = TableFolder("m", TablePath.parse("T"))
TABLE = StorePath("lake/m/Tables/dbo/T")
LANDING = layout.table_folder(FOLDER)
RECORD = "i"
SCHEMA = TableSchema((Column("id", ColumnType("long")), Column("v", ColumnType("string"))))
AT = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = 120.0


class EngineRig(Protocol):
    """One engine over a root of its own, with one table's folder."""

    engine: TableEngine
    features: TableFeatures
    """What its tables are made with."""

    def land(self, number: int) -> LandedFile:
        """Publish a change file with one row, the file's number under a new key, and inspect it."""
        ...

    def damage(self, file: LandedFile) -> LandedFile:
        """Break a file's data; its footer stays, and its facts do. As it is listed then."""
        ...

    def lose(self, file: LandedFile) -> None:
        """Delete a file."""
        ...

    def log(self) -> TableLog | None:
        """What the table's log says."""
        ...

    def files(self) -> list[int] | None:
        """Whose rows the table has, in order; None for an engine that keeps no rows."""
        ...

    def take_away(self) -> None:
        """Move the table to another place, with its log."""
        ...

    def meanwhile(self, act: Callable[[], None]) -> None:
        """Have this done while the next commit is between its reading of the log and its end."""
        ...


class OnDisk:
    """Real change files and real logs, below a local folder."""

    engine: TableEngine
    features = TableFeatures()

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = LocalStore(root)

    def land(self, number: int) -> LandedFile:
        name = f"{number:020d}.parquet"
        path, sink = join(LANDING, name), io.BytesIO()
        # Enough of a value that damage can spare the footer.
        columns: dict[str, Any] = {"id": [number], "v": ["x" * 5000]}
        if self.upserts(number):
            columns["__rowMarker__"] = pa.array([Marker.UPSERT.value], pa.int32())
        pq.write_table(pa.table(columns), sink, compression="none", use_dictionary=False)
        data = sink.getvalue()
        etag = self.store.write(path, data)
        facts = ChangeFileInspector(self.store).inspect(
            path, Entry(name, False, len(data), AT, etag)
        )
        return LandedFile(
            sequence=Sequence(number),
            name=name,
            path=path,
            etag=etag,
            size=len(data),
            modified=AT,
            facts=facts,
        )

    def upserts(self, number: int) -> bool:
        """Whether a file's row is an upsert, not an insert."""
        return False

    def damage(self, file: LandedFile) -> LandedFile:
        data = bytearray(self.store.read(file.path).data)
        data[4:40] = b"\xff" * 36
        etag = self.store.write(file.path, bytes(data))
        assert file.facts is not None
        return replace(file, etag=etag, facts=replace(file.facts, etag=etag))

    def lose(self, file: LandedFile) -> None:
        (self.root / file.path).unlink()

    def log(self) -> TableLog | None:
        log = LogReplay(self.store).read(TABLE)
        assert not isinstance(log, BrokenLog)
        return log

    def take_away(self) -> None:
        (self.root / TABLE).rename(self.root / "retained")


class InSpark(OnDisk):
    """The product's engine, over a table with deletion vectors: files of even numbers are upserts,
    which replace rows where they lie, and the others are inserts, which it appends."""

    features = TableFeatures(properties=(("delta.enableDeletionVectors", "true"),))

    def __init__(self, root: Path, spark: SparkSession, patch: pytest.MonkeyPatch) -> None:
        super().__init__(root)
        self._patch = patch
        self.engine = SparkEngine(spark, local_spark_paths(str(root)), FileConverter(self.store))

    def files(self) -> list[int]:
        return sorted(row["id"] for row in read_delta(self.root / TABLE))

    def meanwhile(self, act: Callable[[], None]) -> None:
        """A row of an append waits for it, since rows are computed inside the transaction; a
        replace of rows does it before it marks any."""
        append, begun, go = committing.append, self.root / "begun", self.root / "go"

        def other() -> None:
            assert _comes(begun)
            act()
            go.touch()

        def waiting(frame: Any, *rest: Any) -> None:
            self._patch.setattr(committing, "append", append)
            thread = threading.Thread(target=other)
            thread.start()
            waits = _until(str(begun), str(go))
            try:
                append(frame.withColumn("c0", waits(F.col("c0"))), *rest)
            finally:
                thread.join(PATIENCE)

        def beside() -> None:
            thread = threading.Thread(target=act)
            thread.start()
            thread.join(PATIENCE)

        self._patch.setattr(committing, "append", waiting)
        once_before(self._patch, FilesRead, "without", beside)

    def upserts(self, number: int) -> bool:
        return number % 2 == 0


class _EveryOther(SmallBatches):
    """Takes a batch for a small one by its first number, so that each test has both kinds."""

    def fold(self, batch: Batch, *, direct: bool = False) -> FoldedBatch | BadFile | None:
        return super().fold(batch) if batch.first % 2 else None


class Directly(InSpark):
    """The product's engine, where it writes the data files of batches itself: of those that begin
    with an odd number as of small ones, of the others as of large ones."""

    features = TableFeatures()

    def __init__(self, root: Path, spark: SparkSession, patch: pytest.MonkeyPatch) -> None:
        super().__init__(root, spark, patch)
        self._during: list[Callable[[], None]] = []
        self.wrote = 0
        put = DataFolder.put

        def later(*of: Any) -> bool:
            while self._during:
                self._during.pop()()
            self.wrote += 1
            return put(*of)

        patch.setattr(DataFolder, "put", later)
        self.engine = SparkEngine(
            spark,
            local_spark_paths(str(root)),
            FileConverter(self.store),
            small_batches=_EveryOther(self.store, 1 << 20),
            copies=Copies(self.store),
            small_table=1 << 20,
            small_tables=SmallTables(1 << 24),
            large_inserts=LargeInserts(self.store, 1 << 20),
        )

    def meanwhile(self, act: Callable[[], None]) -> None:
        self._during.append(act)

    def upserts(self, number: int) -> bool:
        return False


def _until(begun: str, go: str) -> Any:
    """A function of Spark's that says when it is called, and then waits until it may go on."""

    def wait(value: int) -> int:
        import time
        from pathlib import Path

        Path(begun).touch()
        for _ in range(400):
            if Path(go).exists():
                return value
            time.sleep(0.1)
        raise TimeoutError(go)

    return F.udf(wait, LongType(), useArrow=False).asNondeterministic()


def _comes(path: Path) -> bool:
    moments = threading.Event()
    return any(path.exists() or moments.wait(0.05) for _ in range(int(PATIENCE / 0.05)))


class _Interrupted(LocalStore):
    """A store in which something else happens just before a log is written to."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.before: list[Callable[[], None]] = []

    def write(self, path: StorePath, data: bytes, only_if: Any = None) -> ETag:
        while self.before and "_delta_log" in path:
            self.before.pop()()
        return super().write(path, data, only_if)


class OnPaper(OnDisk):
    """The engine of tests without Spark: real logs, no rows."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._interrupted = _Interrupted(root)
        self.engine = PaperEngine(self._interrupted)
        self._other = PaperEngine(self.store)

    def files(self) -> None:
        return None

    def meanwhile(self, act: Callable[[], None]) -> None:
        def as_another() -> None:
            mine, self.engine = self.engine, self._other
            act()
            self.engine = mine

        self._interrupted.before.append(as_another)


class InTheModel:
    """The simulation's model of Delta, over the store in memory."""

    features = TableFeatures()

    def __init__(self) -> None:
        self.store = MemoryStore(lambda: AT)
        self._acts: list[Callable[[], None]] = []
        self._model = ModelDelta(
            self.store, self._stall, _wrong, lambda epoch, rows: None, Random(1)
        )
        self.engine: TableEngine = self._model  # type: ignore[assignment] - its batches are its own

    def _stall(self, what: str, of: object) -> None:
        while self._acts and what == "end":
            self._acts.pop()()

    def land(self, number: int) -> LandedFile:
        name = f"{number:020d}.parquet"
        path, data = join(LANDING, name), f"{RECORD} {number} 1".encode()
        etag = self.store.write(path, data)
        facts = FileFacts(etag=etag, completeness=Completeness.COMPLETE, rows=1, schema=SCHEMA)
        return LandedFile(
            sequence=Sequence(number),
            name=name,
            path=path,
            etag=etag,
            size=len(data),
            modified=AT,
            facts=facts,
        )

    def damage(self, file: LandedFile) -> LandedFile:
        return replace(file, etag=self.store.write(file.path, DAMAGED))

    def lose(self, file: LandedFile) -> None:
        self.store.delete_file(file.path)

    def log(self) -> TableLog | None:
        return self._model.read_log(TABLE)

    def files(self) -> list[int]:
        log = self._model.log_at(TABLE)
        return [row.sequence for row in log.rows] if log else []

    def take_away(self) -> None:
        self.store.move_folder(TABLE, StorePath("lake/m/elsewhere"))

    def meanwhile(self, act: Callable[[], None]) -> None:
        self._acts.append(act)


def _wrong(what: str) -> None:
    raise AssertionError(what)
