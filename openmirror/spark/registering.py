"""Making tables known in a catalog, so that people find them by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from math import inf
from time import monotonic

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from openmirror.plan import Batch
from openmirror.ports import CommitResult, Prepared, TableEngine, Transaction
from openmirror.ports.engine_around import EngineAround
from openmirror.progress.tables import RegistrationFailed
from openmirror.progress.union import EventSink
from openmirror.protocol.names import TableFolder
from openmirror.spark.frames import quoted
from openmirror.spark.places import SparkPaths
from openmirror.spark.transacting import fresh_session
from openmirror.table.layout import StorePath


class Catalog:
    """Registers tables as external ones, under the schema and name that their path has.

    `name` is the catalog's; `{mirror}` in it stands for the mirror's name.
    """

    def __init__(
        self, spark: SparkSession, spark_path: SparkPaths, name: str, settings: Mapping[str, str]
    ) -> None:
        self._spark = spark
        self._spark_path = spark_path
        self._name = name
        self._settings = settings

    def register(self, mirror: str, table: StorePath) -> None:
        """Make a table known, with its schema; does nothing twice.

        Raises what Spark raises, and ValueError when the name is another table's.
        """
        session = fresh_session(self._spark, self._settings)
        schema, _, name = table.rpartition("/")
        parts = (self._name.replace("{mirror}", mirror), schema.rpartition("/")[2], name)
        session.sql(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(map(quoted, parts[:2]))}")
        known = ".".join(map(quoted, parts))
        spark_path = self._spark_path(table)
        session.sql(f"CREATE TABLE IF NOT EXISTS {known} USING DELTA LOCATION {_text(spark_path)}")
        here, there = (_location(session, what) for what in (f"delta.{quoted(spark_path)}", known))
        if here != there:
            raise ValueError(f"{known} is another table, at {there}")


def _location(session: SparkSession, table: str) -> str:
    found = session.sql(f"DESCRIBE DETAIL {table}").select("location").first()
    return str(found[0]) if found else ""


def _text(value: str) -> str:
    """A string as SQL writes it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


Record = Callable[[TableFolder, str | None], None]
"""Writes down why the catalog does not have a table, or None once it has."""

SECONDS_TO_NEXT = 300.0
"""After a failure: so often a commit tries again to register its table."""


class Registering(EngineAround):
    """A TableEngine that registers each table once, after a commit; failing to is no failure.

    What failed is tried again by a later commit, and recorded where status shows it.
    """

    def __init__(
        self,
        engine: TableEngine,
        catalog: Catalog,
        emit: EventSink,
        record: Record,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(engine)
        self._catalog = catalog
        self._emit = emit
        self._record = record
        self._clock = clock
        self._lock = threading.Lock()
        self._due: dict[StorePath, float] = {}
        """When each table is registered next; never again once it is."""

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        """As the engine does; a table that this process has not registered is registered then."""
        result = super().commit(batch, prepared, transaction, batch_record)
        if result is CommitResult.DONE and self._is_due(batch.table):
            self._register(batch)
        return result

    def _is_due(self, table: StorePath) -> bool:
        """Whether it is this commit that registers the table; another one then waits its time."""
        now = self._clock()
        with self._lock:
            if now < self._due.get(table, now):
                return False
            self._due[table] = now + SECONDS_TO_NEXT
            return True

    def _register(self, batch: Batch) -> None:
        try:
            self._catalog.register(batch.folder.mirror, batch.table)
        except (PySparkException, Py4JError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0][:500]
            self._emit(RegistrationFailed(batch.folder, reason))
            self._record(batch.folder, reason)
            return
        with self._lock:
            self._due[batch.table] = inf
        self._record(batch.folder, None)
