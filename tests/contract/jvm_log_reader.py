"""A LogReader over the class of Delta itself, in the JVM: what the replay is measured by."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from openmirror.ports import LogReader
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.spark.failures import spark_is_alive
from openmirror.spark.places import SparkPaths
from openmirror.table.layout import StorePath
from openmirror.table.log import AppId, BatchRecord, BrokenLog, TableLog, TableProtocol
from openmirror.table.user_metadata import decode

_BETWEEN = "\0"
"""Joins what is handed over as one text: no name and no JSON holds it."""
_ARROW = " -> "
_CLUSTERING = "DomainMetadata(delta.clustering,"
"""How a Scala value begins as text."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def has_delta_log(spark: SparkSession) -> bool:
    """Whether Delta's own class is there; Databricks has another."""
    try:
        found = spark._jvm.java.lang.Class.forName("org.apache.spark.sql.delta.DeltaLog")  # type: ignore[union-attr]
    except Py4JJavaError:
        return False
    return found is not None


class DeltaLogReader:
    """LogReader by Delta itself, where it can read a log whole.

    What it finds no table in, or cannot read, is for `otherwise` to say: Delta's own words for a
    damaged log are not ours, and to it remains without a commit are no table.
    """

    def __init__(self, spark: SparkSession, place: SparkPaths, otherwise: LogReader) -> None:
        self._spark = spark
        self._place = place
        self._otherwise = otherwise
        jvm: Any = spark._jvm
        self._logs = jvm.org.apache.spark.sql.delta.DeltaLog
        self._names = jvm.org.apache.spark.sql.delta.util.FileNames
        self._none = jvm.scala.Option.empty()

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        """The newest state of the log at this path; None when there is no table."""
        with spark_is_alive():
            try:
                log = self._read(table)
            except Py4JError:
                log = None
        return log if log is not None else self._otherwise.read(table)

    def _read(self, table: StorePath) -> TableLog | None:
        place = self._place(table)
        # Delta remembers a log by its path, and would go on with one that was moved away.
        self._logs.invalidateCache(self._spark._jsparkSession, self._path(place))
        delta_log = self._logs.forTable(self._spark._jsparkSession, place)
        snapshot = delta_log.update(False, self._none, self._none)
        version = int(snapshot.version())
        if version < 0:
            return None
        metadata = snapshot.metadata()
        log = TableLog(
            path=table,
            table_id=str(metadata.id()),
            version=version,
            transactions=_transactions(snapshot.transactions().mkString(_BETWEEN)),
            schema=_schema(str(metadata.schemaString())),
            properties=_pairs(metadata.configuration().mkString(_BETWEEN)),
            protocol=_protocol(json.loads(str(snapshot.protocol().json()))["protocol"]),
            clustering=_clustering(
                snapshot.domainMetadata().mkString(_BETWEEN), str(metadata.schemaString())
            ),
        )
        return self._with_history(delta_log, log) if log.epochs else log

    def _path(self, place: str) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path(place)  # type: ignore[union-attr]

    def _with_history(self, delta_log: Any, log: TableLog) -> TableLog | None:
        """The log with what only its commits say; None when they are not all there."""
        wanted = set() if log.live else {epoch.app_id for epoch in log.epochs}
        before: dict[AppId, Position] = {}
        batch_record: BatchRecord | None = None
        for version in range(log.version, -1, -1):
            if batch_record is not None and wanted == before.keys():
                break
            actions = self._commit(delta_log, version)
            for action in actions:
                batch_record = batch_record or _batch_record(action)
                if txn := action.get("txn"):
                    app, position = AppId(str(txn["appId"])), Position(int(txn["version"]))
                    if app in wanted and position < FENCED:
                        before.setdefault(app, position)
        return replace(
            log,
            batch_record=batch_record,
            before_fence={app: before.get(app, START) for app in wanted},
        )

    def _commit(self, delta_log: Any, version: int) -> list[dict[str, Any]]:
        file = self._names.unsafeDeltaFile(delta_log.logPath(), version)
        lines = delta_log.store().read(file, delta_log.newDeltaHadoopConf())
        return [json.loads(line) for line in str(lines.mkString(_BETWEEN)).split(_BETWEEN)]


def _pairs(text: str) -> dict[str, str]:
    found = (pair.partition(_ARROW) for pair in text.split(_BETWEEN) if pair)
    return {key: value for key, _, value in found}


def _transactions(text: str) -> dict[AppId, Position]:
    found = (pair.rpartition(_ARROW) for pair in text.split(_BETWEEN) if pair)
    return {AppId(app): Position(int(version)) for app, _, version in found}


def _protocol(of: dict[str, Any]) -> TableProtocol:
    version = of["minReaderVersion"]
    return TableProtocol(
        reader_version=version,
        writer_version=of["minWriterVersion"],
        reader_features=frozenset(
            ["columnMapping"] if version == 2 else of.get("readerFeatures", [])
        ),
        writer_features=frozenset(of.get("writerFeatures", [])),
    )


def _schema(text: str) -> TableSchema:
    columns = []
    for field in json.loads(text)["fields"]:
        kind = field["type"] if isinstance(field["type"], str) else field["type"]["type"]
        columns.append(Column(field["name"], ColumnType(kind.replace(" ", ""))))
    return TableSchema(tuple(columns))


def _clustering(domains: str, schema: str) -> tuple[str, ...]:
    """What is clustered by, in the table's own names; the log has those of its files."""
    for domain in domains.split(_BETWEEN):
        if domain.startswith(_CLUSTERING):
            parsed = json.loads(domain.removeprefix(_CLUSTERING).rpartition(",")[0])
            names = {
                one.get("metadata", {}).get("delta.columnMapping.physicalName"): one["name"]
                for one in json.loads(schema)["fields"]
            }
            found = (".".join(parts) for parts in parsed["clusteringColumns"])
            return tuple(names.get(name, name) for name in found)
    return ()


def _batch_record(action: dict[str, Any]) -> BatchRecord | None:
    info = action.get("commitInfo") or {}
    text = info.get("userMetadata")
    batch_record = decode(text) if isinstance(text, str) else None
    millis = info.get("inCommitTimestamp") or info.get("timestamp")
    if batch_record is None or not isinstance(millis, (int, float)):
        return batch_record
    return replace(batch_record, committed_at=_EPOCH + timedelta(milliseconds=millis))
