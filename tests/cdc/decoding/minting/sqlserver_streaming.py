"""SQL Server's streaming source over change tables of our own, and over again from each offset.

Its order, its numbers, its pairs and what it repeats after a restart are then its own (see the
package).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jpype

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

INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER = 2, 1, 3, 4
_KIND = "io.debezium.connector.sqlserver."
_COLUMNS = (
    MintedColumn(name="id", type="int", jdbc=4, length=10, scale=0, optional=False),
    MintedColumn(name="words", type="nvarchar", jdbc=-9, length=50),
)


@dataclass(frozen=True)
class ChangeRow:
    """A row of a change table."""

    table: str
    commit: str
    command: int
    sequence: str
    operation: int
    row: tuple[Any, ...]


class StreamingSource:
    """The connector from one offset to the end of some change tables."""

    def __init__(self, name: str, tables: Sequence[str], settings: Mapping[str, str]) -> None:
        given = {
            "topic.prefix": name,
            "database.names": "shop",
            "database.hostname": "h",
            "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
            "task.id": "0",
            "extended.headers.enabled": "false",
            "column.propagate.source.type": ".*",
            **settings,
        }
        self.is_direct = given.get("data.query.mode", "direct") == "direct"
        self._name, self._tables = name, tables
        self._given = configuration(given)
        self.config = java(_KIND + "SqlServerConnectorConfig")(self._given)
        self._converters = java(_KIND + "SqlServerValueConverters")(
            self.config.getDecimalMode(),
            self.config.getTemporalPrecisionMode(),
            self.config.binaryHandlingMode(),
        )

    def stream(self, rows: Sequence[ChangeRow], offset: Any = None) -> list[Dispatched]:
        """What it sends; `offset` is that of an earlier record."""
        change_tables = [self._change_table(table) for table in self._tables]
        last = _lsn(max(row.commit for row in rows))
        asked = jpype.JProxy(
            "java.util.function.Function", dict={"apply": lambda asked: self._found(rows, asked)}
        )
        server = java("NoServer")(
            self.config, self._converters, java("java.util.ArrayList")(change_tables), asked, last
        )
        metadata = java("java.lang.Class").forName(_KIND + "SqlServerEventMetadataProvider")
        constructor = metadata.getDeclaredConstructors()[0]
        constructor.setAccessible(True)
        schema = java(_KIND + "SqlServerDatabaseSchema")(
            self.config,
            server.getDefaultValueConverter(),
            self._converters,
            Dispatching.naming(self.config),
            java("io.debezium.schema.SchemaNameAdjuster").NO_OP,
            java("io.debezium.relational.CustomConverterRegistry")(java("java.util.ArrayList")()),
            java(_KIND + "SqlServerTaskContext")(self._given, self.config),
        )
        for table in self._tables:
            schema.refresh(table_of(("shop", "dbo", table), _COLUMNS, ("id",)))
        dispatching = Dispatching(self.config, schema, constructor.newInstance())
        source = java(_KIND + "SqlServerStreamingChangeEventSource")(
            self.config,
            server,
            server,
            dispatching.dispatcher,
            dispatching.errors(_KIND + "SqlServerErrorHandler"),
            java("io.debezium.util.Clock").SYSTEM,
            schema,
            jpype.JObject(None, java("io.debezium.pipeline.notification.NotificationService")),
            dispatching.initial_snapshots(),
        )
        context = self._context(offset, _lsn(min(row.commit for row in rows)))
        source.init(context)
        running = jpype.JProxy(
            "io.debezium.pipeline.source.spi.ChangeEventSource$ChangeEventSourceContext",
            dict={"isRunning": lambda: True, "isPaused": lambda: False},
        )
        partition = java(_KIND + "SqlServerPartition")(self._name, "shop")
        source.executeIteration(running, partition, context)
        schema.close()  # else the next one waits a minute for the name of its metrics
        return dispatching.sent()

    def _context(self, offset: Any, first: Any) -> Any:
        if offset is not None:
            loader = java(_KIND + "SqlServerOffsetContext$Loader")(self.config)
            return loader.load(offset)
        position = java(_KIND + "TxLogPosition").valueOf(first)
        return java(_KIND + "SqlServerOffsetContext")(self.config, position, None, False)

    def _change_table(self, table: str) -> Any:
        columns = java("java.util.ArrayList")([column.name for column in _COLUMNS])
        table_id = java("io.debezium.relational.TableId")("shop", "dbo", table)
        start = _lsn("00000000:00000000:0001")
        return java(_KIND + "SqlServerChangeTable")(table_id, table, 1, start, columns)

    def _found(self, rows: Sequence[ChangeRow], asked: Any) -> Any:
        """The rows as the connector's query gives them, in the order of its mode."""
        table, since, sequence, operation, to, most = (
            java("java.lang.String").valueOf(part) for part in asked
        )
        after = (str(since), str(sequence), int(str(operation)))
        found = [
            row
            for row in rows
            if row.table == table
            and (row.commit, row.sequence, row.operation) > after
            and row.commit <= str(to)
        ]
        found.sort(key=self._order)
        answer = java("java.util.ArrayList")()
        stamp = java("java.sql.Timestamp")
        for row in found[: int(str(most)) or None]:
            commit, at = _lsn(row.commit).getBinary(), _lsn(row.sequence).getBinary()
            time = stamp(1795136523000 + 1000 * int(row.commit[9:17], 16))
            operation = java("java.lang.Integer")(row.operation)
            values = [commit, at, operation, None, *row.row, time]
            answer.add(jpype.JArray(jpype.JObject)(values))
        return answer

    def _order(self, row: ChangeRow) -> tuple[Any, ...]:
        command = (row.command,) if self.is_direct else ()
        return (row.commit, *command, row.sequence, row.operation)


def _lsn(text: str) -> Any:
    return java(_KIND + "Lsn").valueOf(text)


def lsn(commit: int, number: int) -> str:
    """An LSN as text."""
    return f"00000027:{commit:08x}:{number:04x}"


def changes(
    commit: int, of: Sequence[tuple[str, int, str, Sequence[tuple[Any, ...]]]]
) -> Iterator[ChangeRow]:
    """A transaction: of each command its table, its number in the log, and what it did to rows."""
    for command, (table, number, op, images) in enumerate(of, start=1):
        operations = {"c": (INSERT,), "d": (DELETE,), "u": (UPDATE_BEFORE, UPDATE_AFTER)}
        pairs = {"k": (DELETE, INSERT)}
        for operation, image in zip({**operations, **pairs}[op], images, strict=True):
            row = (java("java.lang.Integer")(image[0]), image[1])
            at = lsn(commit + 9, 1), command, lsn(commit, number)
            yield ChangeRow(table, *at, operation, row)


def _scenario() -> list[ChangeRow]:
    """Numbers in the log that do not rise with the commands; a changed key; two tables."""
    return [
        *changes(0x700, [("orders", 2, "c", [(1, "a")]), ("orders", 3, "c", [(2, "b")])]),
        *changes(
            0x720,
            [
                ("orders", 5, "u", [(1, "a"), (1, "a2")]),
                ("items", 4, "c", [(7, "x")]),
                ("orders", 3, "u", [(1, "a2"), (1, "a3")]),
                ("orders", 9, "k", [(2, "b"), (3, "b")]),
                ("items", 2, "u", [(7, "x"), (7, "y")]),
                ("orders", 6, "d", [(1, "a3")]),
            ],
        ),
        *changes(0x740, [("items", 2, "d", [(7, "y")]), ("orders", 1, "c", [(4, "d")])]),
    ]


_FILES: Mapping[str, tuple[Mapping[str, str], Sequence[int]]] = {
    "sqlserver_restarts": ({}, range(3, 11)),
    # Its records carry the offset of the change that they come before: behind one, that is lost.
    "sqlserver_transactions": ({"provide.transaction.metadata": "true"}, (5,)),
}
"""The settings, and behind which records of the whole stream it is begun again."""


def main(plugin: Path) -> None:
    """Write a whole stream as topic `0`, and as topic `n` the one from behind its nth record."""
    with compiled(plugin, "NoServer.java") as classes:
        start_jvm(plugin, classes)
        rows = _scenario()
        for name, (settings, stops) in _FILES.items():
            source = StreamingSource(name, ("orders", "items"), settings)
            records = with_restarts(partial(source.stream, rows), stops)
            (FOLDER / f"{name}.json").write_text(written(records))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
