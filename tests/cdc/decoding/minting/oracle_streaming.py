"""Oracle's reader of LogMiner over rows of our own, and over again from each offset.

Its order, its numbers, its pairs and what it repeats after a restart are then its own (see the
package).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jpype

from openmirror.spark.jars import default_cache
from standins.kafka.jars import cluster_jars
from tests.cdc.decoding.minting.dispatching import Dispatched, Dispatching, with_restarts
from tests.cdc.decoding.minting.mint import (
    MintedColumn,
    compiled,
    configuration,
    java,
    start_jvm,
    table_of,
)
from tests.cdc.decoding.recorded import FOLDER, written

_KIND = "io.debezium.connector.oracle."
_COLUMNS = (
    MintedColumn(name="ID", type="NUMBER", jdbc=2, length=9, scale=0, optional=False),
    MintedColumn(name="WORDS", type="VARCHAR2", jdbc=12, length=10),
)
_FROM, _TO = "100", "1000"
INSERT, DELETE, UPDATE, START, COMMIT = 1, 2, 3, 6, 7

Image = tuple[int, str]
"""ID and WORDS of a row."""


class StreamingSource:
    """The connector from one offset to the end of its log."""

    def __init__(self, name: str, settings: Mapping[str, str]) -> None:
        given = {
            "topic.prefix": name,
            "database.dbname": "ORCLCDB",
            "database.hostname": "h",
            "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
            "task.id": "0",
            "extended.headers.enabled": "false",
            **settings,
        }
        self._name, self._given = name, configuration(given)
        self._config = java(_KIND + "OracleConnectorConfig")(self._given)
        self._database = java("NoLog$Database")(self._config.getJdbcConfig())

    def stream(self, rows: Sequence[Sequence[Any]], offset: Any = None) -> list[Dispatched]:
        """What it sends; `offset` is that of an earlier record."""
        task = java(_KIND + "OracleTaskContext")(self._given, self._config)
        schema = self._schema(task)
        metadata = java("java.lang.Class").forName(_KIND + "OracleEventMetadataProvider")
        constructor = metadata.getDeclaredConstructors()[0]
        constructor.setAccessible(True)
        provider = constructor.newInstance()
        dispatching = Dispatching(self._config, schema, provider)
        no_tables = jpype.JProxy(
            "io.debezium.pipeline.metrics.CapturedTablesSupplier",
            dict={"getCapturedTables": java("java.util.ArrayList")},
        )
        metrics = java(_KIND + "logminer.LogMinerStreamingChangeEventSourceMetrics")(
            task, dispatching.queue, provider, self._config, no_tables
        )
        log = java("java.util.ArrayList")()
        for row in rows:
            log.add(jpype.JArray(jpype.JObject)(list(row)))
        source = java("NoLog")(
            self._config,
            self._database,
            dispatching.dispatcher,
            dispatching.errors(_KIND + "OracleErrorHandler"),
            schema,
            self._given,
            metrics,
            log,
        )
        running = jpype.JProxy(
            "io.debezium.pipeline.source.spi.ChangeEventSource$ChangeEventSourceContext",
            dict={"isRunning": lambda: True, "isPaused": lambda: False},
        )
        partition = java(_KIND + "OraclePartition")(self._name, "ORCLCDB")
        source.mine(partition, self._context(offset), running, _FROM, _TO)
        schema.close()  # else the next one waits a minute for the name of its metrics
        return dispatching.sent()

    def _schema(self, task: Any) -> Any:
        cases = java(_KIND + "StreamingAdapter$TableNameCaseSensitivity")
        schema = java(_KIND + "OracleDatabaseSchema")(
            self._config,
            java(_KIND + "OracleValueConverters")(self._config, self._database),
            jpype.JObject(None, java("io.debezium.relational.DefaultValueConverter")),
            java("io.debezium.schema.SchemaNameAdjuster").NO_OP,
            Dispatching.naming(self._config),
            cases.SENSITIVE,
            False,
            java("io.debezium.relational.CustomConverterRegistry")(java("java.util.ArrayList")()),
            task,
        )
        for table in ("ORDERS", "ITEMS"):
            schema.refresh(table_of(("ORCLCDB", "SHOP", table), _COLUMNS, ("ID",)))
        return schema

    def _context(self, offset: Any) -> Any:
        if offset is not None:
            loader = _KIND + "logminer.buffered.BufferedLogMinerOracleOffsetContextLoader"
            return java(loader)(self._config).load(offset)
        builder = java(_KIND + "OracleOffsetContext").create().logicalName(self._config)
        builder.scn(java(_KIND + "Scn").valueOf(_FROM))
        builder.commitScn(java(_KIND + "CommitScn").empty())
        builder.transactionContext(java("io.debezium.pipeline.txmetadata.TransactionContext")())
        incremental = "io.debezium.pipeline.source.snapshot.incremental."
        asked = java(incremental + "SignalBasedIncrementalSnapshotContext")()
        return builder.incrementalSnapshotContext(asked).build()


def log_row(scn: int, transaction: int, operation: int, table: str = "", sql: str = "") -> Any:
    """A row of V$LOGMNR_CONTENTS, in the order of the connector's query."""
    names = {INSERT: "INSERT", DELETE: "DELETE", UPDATE: "UPDATE", START: "START", COMMIT: "COMMIT"}
    number = java("java.lang.Integer")
    none, one = number(0), number(1)
    at = java("java.sql.Timestamp")(1795136523000 + scn)
    xid = java("[B")(bytes([5, 0, transaction, 0, 1, 0, 0, 0]))
    place = [table or None, "SHOP" if table else None, names[operation], "SHOP"]
    ids = ["AAAR9VAAMAAAACXAAA", none, f" 0x{scn:06x}.00000010.0010 ", none, None, none, one]
    objects = [one, one, one, None, None, None, None, None, none]
    return [str(scn), sql or None, number(operation), at, xid, none, *place, *ids, *objects]


def changed(scn: int, transaction: int, table: str, old: Image | None, new: Image | None) -> Any:
    """A change as LogMiner writes it: in SQL."""
    name = f'"SHOP"."{table}"'
    where = "" if old is None else f"where \"ID\" = '{old[0]}' and \"WORDS\" = '{old[1]}'"
    if old is None:
        assert new is not None
        sql = f"insert into {name}(\"ID\",\"WORDS\") values ('{new[0]}','{new[1]}');"
        return log_row(scn, transaction, INSERT, table, sql)
    if new is None:
        return log_row(scn, transaction, DELETE, table, f"delete from {name} {where};")
    sql = f"update {name} set \"ID\" = '{new[0]}', \"WORDS\" = '{new[1]}' {where};"
    return log_row(scn, transaction, UPDATE, table, sql)


def _interleaved() -> list[Any]:
    """The first that begins is the last to commit, and two commit at one SCN."""
    return [
        log_row(201, 1, START),
        changed(202, 1, "ORDERS", None, (1, "a")),
        log_row(203, 2, START),
        changed(204, 2, "ORDERS", None, (2, "b")),
        changed(205, 2, "ORDERS", (2, "b"), (2, "c")),
        log_row(206, 3, START),
        changed(207, 3, "ITEMS", None, (7, "x")),
        changed(208, 2, "ORDERS", (2, "c"), (3, "c")),
        log_row(209, 2, COMMIT),
        log_row(209, 3, COMMIT),
        changed(210, 1, "ORDERS", (1, "a"), None),
        changed(211, 1, "ITEMS", None, (8, "y")),
        log_row(212, 1, COMMIT),
    ]


def main(plugin: Path) -> None:
    """Write a whole stream as topic `0`, and as topic `n` the one from behind its nth record."""
    kafka = cluster_jars(default_cache(), print)
    with compiled(plugin, "NoLog.java", *kafka) as classes:
        start_jvm(plugin, classes)
        _write("oracle_restarts", {}, _interleaved(), range(1, 8))
        # Behind a record that begins a transaction the change that follows it is lost.
        metadata = {"provide.transaction.metadata": "true"}
        _write("oracle_transactions", metadata, _interleaved(), (1,))


def _write(
    name: str, settings: Mapping[str, str], rows: Sequence[Any], stops: Sequence[int]
) -> None:
    source = StreamingSource(name, settings)
    records = with_restarts(partial(source.stream, rows), stops)
    (FOLDER / f"{name}.json").write_text(written(records))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
