"""A landing zone on disk for tests: publishes change files, and mirrors and reads them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from math import isfinite
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from openmirror.columnar.large_inserts import LargeInserts
from openmirror.columnar.small_batches import SmallBatches
from openmirror.columnar.small_tables import UNPACKED, SmallTables
from openmirror.deltalog import DataFilesReplay, LogReplay
from openmirror.formats.conversion import FileConverter
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Decision, Limits, ObservedState
from openmirror.ports import FileStore, Step, Steps, TableEngine, no_steps
from openmirror.progress.union import EventSink, discard
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.discovery import discover
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings
from openmirror.spark.copies import Copies
from openmirror.spark.engine import SparkEngine
from openmirror.spark.places import local_spark_paths
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.control import ControlDocument
from tests.harness.clock import Clock
from tests.harness.publishing import file_name

MIRROR = "m"
MOST_RECONCILIATIONS = 20
"""More than any test needs; a table that is never at rest is a failure."""

NO_WAITS = Limits(
    metadata_grace=timedelta(0),
    incomplete_grace=timedelta(minutes=10),
    quiet_period=timedelta(0),
    drop_grace=timedelta(0),
)


class AheadStore(LocalStore):
    """A local store whose listings carry the test's clock."""

    def __init__(self, root: Path, steps: Steps, clock: Clock) -> None:
        super().__init__(root, steps)
        self._clock = clock

    def list_folder(self, folder: layout.StorePath) -> Any:
        return replace(super().list_folder(folder), at=self._clock())


@dataclass
class Zone:
    """One root with one mirror."""

    root: Path

    @property
    def landing(self) -> Path:
        return self.root / layout.landing_zone(MIRROR)

    def folder(self, table: str) -> Path:
        return self.landing / table

    def metadata(self, table: str, document: Mapping[str, object] | bytes) -> None:
        path = self.folder(table) / "_metadata.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        _publish(path, data)

    def put(self, table: str, sequence: int, data: Mapping[str, Any] | pa.Table) -> Path:
        """Publish a change file as careful publishers do: under `_`, then renamed."""
        path = self.folder(table) / file_name(sequence)
        path.parent.mkdir(parents=True, exist_ok=True)
        table_data = data if isinstance(data, pa.Table) else pa.table(dict(data))
        staged = path.with_name("_" + path.name)
        pq.write_table(table_data, staged)
        staged.rename(path)
        return path

    def put_bytes(self, table: str, name: str, data: bytes) -> Path:
        path = self.folder(table) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _publish(path, data)
        return path


def _publish(path: Path, data: bytes) -> None:
    staged = path.with_name("_staged-" + path.name)
    staged.write_bytes(data)
    staged.rename(path)


class Product:
    """The product over a zone: what a runner, an operator and a reader would do."""

    def __init__(
        self,
        zone: Zone,
        engine: Callable[[LocalStore], TableEngine],
        limits: Limits = NO_WAITS,
        steps: Steps = no_steps,
        emit: EventSink = discard,
    ) -> None:
        self.zone = zone
        self.clock = Clock(None)
        store = AheadStore(zone.root, steps, self.clock)
        self.ports = RootPorts(
            store=store,
            inspector=ChangeFileInspector(store),
            logs=LogReplay(store),
            data_files=DataFilesReplay(store),
            clock=self.clock,
            limits=limits,
            steps=steps,
            emit=emit,
        )
        self.engine = engine(store)
        open_mirror(store, MIRROR)

    def table(self, path: str) -> TableFolder:
        """`path` is a folder's key: `orders`, or `_history/orders` for its history."""
        return TableFolder.of_key(MIRROR, path)

    def reconcile_until_idle(self, path: str) -> Decision:
        """Reconcile a table until nothing is left to do, failures included; the last decision."""
        for _ in range(MOST_RECONCILIATIONS):
            done = reconcile(self.ports, self.engine, self.table(path))
            if not done.reschedule:
                return done.decision
        raise AssertionError(
            f"{path} is not at rest after {MOST_RECONCILIATIONS} reconciliations: {done}"
        )

    def reconcile_all(self) -> dict[str, Decision]:
        folders = discover(self.ports.store, MIRROR)
        return {folder.key: self.reconcile_until_idle(folder.key) for folder in folders}

    def observed(self, path: str) -> ObservedState:
        return observe(self.ports, self.table(path)).observed

    def control(self, path: str) -> ControlDocument:
        return Documents(self.ports.store).table(self.table(path)).value

    def delta_path(self, path: str) -> Path:
        return self.zone.root / self.observed(path).table

    def versions(self, path: str) -> int:
        return len(list((self.delta_path(path) / "_delta_log").glob("[0-9]*.json")))

    def rows(self, path: str) -> list[dict[str, Any]]:
        return read_delta(self.delta_path(path))

    def with_steps(self, steps: Steps) -> Product:
        """Another runner over the same zone."""
        return Product(self.zone, lambda _: self.engine, self.ports.limits, steps)


_CHECKSUMS = "spark.databricks.delta.allFilesInCrc.enabled"
DIRECT = Settings.model_fields["direct_batch"].default


@dataclass(frozen=True)
class Paths:
    """Which of the engine's quicker paths are open, by the settings that close them."""

    small_batch: int = Settings.model_fields["small_batch"].default
    small_table: int = Settings.model_fields["small_table"].default
    copies: bool = True
    direct: bool = True
    checksums: bool = False
    """Whether checksums list data files, as the product's do; what Spark needs for new tables then
    is too much for all tests."""
    sessions: Mapping[str, str] = field(default_factory=dict)
    """What each session of Spark is given besides."""

    def engine(self, spark: SparkSession, root: Path, store: FileStore) -> SparkEngine:
        return SparkEngine(
            spark,
            local_spark_paths(str(root)),
            FileConverter(store),
            {**({_CHECKSUMS: "true"} if self.checksums else {}), **self.sessions},
            small_batches=SmallBatches(store, self.small_batch, most_direct=DIRECT)
            if self.small_batch
            else None,
            copies=Copies(store) if self.copies else None,
            small_table=self.small_table,
            small_tables=SmallTables(UNPACKED * self.small_table) if self.direct else None,
            large_inserts=LargeInserts(store, DIRECT) if self.direct else None,
        )


EVERY_PATH = Paths()


class Mirror(Product):
    """The product with Spark, each runner with an engine of its own."""

    def __init__(
        self,
        zone: Zone,
        spark: SparkSession,
        limits: Limits = NO_WAITS,
        steps: Steps = no_steps,
        emit: EventSink = discard,
        paths: Paths = EVERY_PATH,
    ) -> None:
        self.spark = spark
        super().__init__(
            zone,
            lambda store: paths.engine(spark, zone.root, store),
            limits,
            steps,
            emit,
        )

    def with_steps(self, steps: Steps) -> Mirror:
        return Mirror(self.zone, self.spark, self.ports.limits, steps)


def forget_logs(spark: SparkSession) -> None:
    """Have Spark read Delta's logs as another process would: from the files as they are now."""
    jvm = spark._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def read_delta(path: Path, version: int | None = None) -> list[dict[str, Any]]:
    """A table's rows as a reader that is not Spark sees them; now, or at a version."""
    table = deltalake.DeltaTable(str(path), version)
    query = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t")
    return pa.table(query.read_all()).to_pylist()


def bag(rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Rows as a comparable bag: order, spelling of names and quirks of numbers do not matter."""
    return sorted(
        tuple(sorted((name.lower(), _plain(value)) for name, value in row.items())) for row in rows
    )


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"number {_shortest(Decimal(value))}" if isfinite(value) else f"number {value}"
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return f"number {_shortest(Decimal(value))}"
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat()
    return repr(value)


def _shortest(value: Decimal) -> str:
    """Every digit that counts, and 0 without a sign."""
    with localcontext(prec=1_000):
        return f"{value.normalize() + 0:f}"


class StopAt(Exception):
    """Raised out of a step to leave a runner where it stands."""


def stop_at(wanted: Step) -> Steps:
    """Steps that abandon the runner at one place."""

    def steps(step: Step) -> None:
        if step is wanted:
            raise StopAt(step)

    return steps
