"""What Debezium's connector for Oracle (LogMiner) writes, by its own converters (see the package).

`javac` is needed: the converters ask a connection of a class of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.cdc.decoding.minting.mint import (
    Event,
    Mint,
    MintedColumn,
    compiled,
    configuration,
    java,
    row,
    start_jvm,
)
from tests.cdc.decoding.recorded import FOLDER, written

_KIND = "io.debezium.connector.oracle.Oracle"
_MODES: Mapping[str, Mapping[str, str]] = {
    "oracle_texts": {
        "decimal.handling.mode": "precise",
        "time.precision.mode": "isostring",
        "interval.handling.mode": "string",
    },
    "oracle_numbers": {"decimal.handling.mode": "precise", "time.precision.mode": "adaptive"},
}
_COLUMNS = (
    MintedColumn(name="ID", type="NUMBER", jdbc=2, length=9, scale=0, optional=False),
    MintedColumn(name="TINY", type="NUMBER", jdbc=2, length=2, scale=0),
    MintedColumn(name="SMALL", type="NUMBER", jdbc=2, length=4, scale=0),
    MintedColumn(name="BIG", type="NUMBER", jdbc=2, length=18, scale=0),
    MintedColumn(name="WHOLE", type="NUMBER", jdbc=2, length=38, scale=0),
    MintedColumn(name="PRICE", type="NUMBER", jdbc=2, length=10, scale=2, optional=False),
    MintedColumn(name="ANY_SCALE", type="NUMBER", jdbc=2, length=0),
    MintedColumn(name="HUNDREDS", type="NUMBER", jdbc=2, length=10, scale=-2),
    MintedColumn(name="ONE_FLOAT", type="BINARY_FLOAT", jdbc=100),
    MintedColumn(name="TWO_FLOAT", type="BINARY_DOUBLE", jdbc=101),
    MintedColumn(name="OLD_FLOAT", type="FLOAT", jdbc=6, length=126),
    MintedColumn(name="DAY", type="DATE", jdbc=93, length=0),
    MintedColumn(name="MOMENT0", type="TIMESTAMP(0)", jdbc=93, length=0),
    MintedColumn(name="MOMENT6", type="TIMESTAMP(6)", jdbc=93, length=6),
    MintedColumn(name="MOMENT9", type="TIMESTAMP(9)", jdbc=93, length=9),
    MintedColumn(name="INSTANT", type="TIMESTAMP(6) WITH TIME ZONE", jdbc=-101, length=13, scale=6),
    MintedColumn(
        name="LOCAL", type="TIMESTAMP(6) WITH LOCAL TIME ZONE", jdbc=-102, length=11, scale=6
    ),
    MintedColumn(name="PADDED", type="CHAR", jdbc=1, length=5),
    MintedColumn(name="WORDS", type="VARCHAR2", jdbc=12, length=4000),
    MintedColumn(name="WIDE", type="NVARCHAR2", jdbc=-9, length=2000),
    MintedColumn(name="CLOB", type="CLOB", jdbc=2005),
    MintedColumn(name="BLOB", type="BLOB", jdbc=2004),
    MintedColumn(name="BYTES", type="RAW", jdbc=-2, length=20),
    MintedColumn(name="ROW_ID", type="ROWID", jdbc=-8),
)
_SPANS = (
    MintedColumn(name="MONTHS", type="INTERVAL YEAR TO MONTH", jdbc=-103, length=2),
    MintedColumn(name="SECONDS", type="INTERVAL DAY TO SECOND", jdbc=-104, length=2, scale=6),
)


def main(plugin: Path) -> None:
    """Write both files."""
    with compiled(plugin, "NoDatabase.java") as classes:
        start_jvm(plugin, classes)
        for name, mode in _MODES.items():
            (FOLDER / f"{name}.json").write_text(written(_records(name, mode)))


def _records(name: str, mode: Mapping[str, str]) -> list[Event]:
    columns = (*_COLUMNS, *_SPANS) if "interval.handling.mode" in mode else _COLUMNS
    mint, places = minted(name, "EVERY_TYPE", columns, ("ID", "PRICE"), mode)
    filled = partial(row, columns)
    first, edges = filled(_first()), filled(_edges())
    nothing = filled({"ID": _number("3"), "PRICE": _number("0")})
    # What LogMiner gives: texts, and nothing of large values that have not changed.
    streamed = filled(_streamed())
    updated = filled({**_streamed(), **dict.fromkeys(("CLOB", "BLOB"), unavailable())})
    moved = ["4", *streamed[1:]]
    new_key = {"__debezium.newkey": '{"ID":4,"PRICE":"AA=="}'}
    old_key = {"__debezium.oldkey": '{"ID":3,"PRICE":"AA=="}'}
    return [
        mint.event("r", places.snapshot("FIRST"), None, first),
        mint.event("r", places.snapshot("TRUE"), None, edges),
        mint.event("r", places.snapshot("LAST"), None, nothing),
        mint.event("u", places.change("2589451", "0a00040019040000", 1), nothing, updated),
        mint.event("d", places.change("2589460", "0500060004040000", 7), streamed, None, new_key),
        mint.tombstone(streamed, new_key),
        mint.event("c", places.change("2589460", "0500060004040000", 7), None, moved, old_key),
        mint.event("d", places.change("10000000000000000", "0500060005040000", 1), moved, None),
        mint.tombstone(moved),
        mint.event("t", places.change("10000000000000001", "0500060006040000", 1), None, None),
    ]


def minted(
    name: str,
    table: str,
    columns: Sequence[MintedColumn],
    keys: Sequence[str],
    mode: Mapping[str, str] | None = None,
) -> tuple[Mint, Places]:
    """A table by the connector's own classes, and where its changes stand."""
    given = {"topic.prefix": name, "database.dbname": "ORCLCDB", "database.hostname": "h"}
    config = java(f"{_KIND}ConnectorConfig")(configuration({**given, **(mode or {})}))
    database = java("NoDatabase")(config.getJdbcConfig())
    converters = java(f"{_KIND}ValueConverters")(config, database)
    mint = Mint(("ORCLPDB1", "SHOP", table), columns, keys, config, converters)
    return mint, Places(config, mint.id)


def unavailable() -> Any:
    """What stands for a value that the log does not have."""
    return java(f"{_KIND}ValueConverters").UNAVAILABLE_VALUE


class Places:
    """Where changes stand, as the connector's own context says it."""

    def __init__(self, config: Any, table: Any) -> None:
        self._config, self._table = config, table
        self._scn = java("io.debezium.connector.oracle.Scn")
        self._at = java("java.time.Instant").parse("2026-11-20T01:02:03Z")

    def snapshot(self, mark: str) -> Any:
        context = self._new(java("io.debezium.connector.SnapshotType").INITIAL)
        marks = java("io.debezium.connector.SnapshotRecord")
        context.markSnapshotRecord(getattr(marks, mark))
        context.event(self._table, self._at)
        return context

    def change(self, commit: str, transaction: str, number: int) -> Any:
        """A change, by its number in a transaction; a few others were written into its log."""
        context = self._new(None)
        context.setEventScn(self._scn.valueOf("2589440"))
        context.setEventCommitScn(self._scn.valueOf(commit))
        context.setTransactionId(transaction)
        context.setTransactionSequence(java("java.lang.Long")(number))
        context.setRedoThread(java("java.lang.Integer")(1))
        context.setRsId(" 0x000018.0000005b.0010 ")
        context.setSsn(0)
        context.setRowId("AAAR9VAAMAAAACXAAA")
        context.setCommitTime(self._at)
        context.event(self._table, self._at)
        return context

    def _new(self, snapshot: Any) -> Any:
        builder = java("io.debezium.connector.oracle.OracleOffsetContext").create()
        builder.logicalName(self._config).scn(self._scn.valueOf("2589400")).snapshot(snapshot)
        builder.commitScn(java("io.debezium.connector.oracle.CommitScn").empty())
        transactions = java("io.debezium.pipeline.txmetadata.TransactionContext")()
        return builder.transactionContext(transactions).build()


def _number(text: str) -> Any:
    return java("java.math.BigDecimal")(text)


def _timestamp(text: str) -> Any:
    return java("oracle.sql.TIMESTAMP")(java("java.sql.Timestamp").valueOf(text))


def _first() -> dict[str, Any]:
    """As the driver gives them."""
    raw, zoned = java("[B"), java("java.time.ZonedDateTime")
    return {
        "ID": _number("1"),
        "TINY": _number("-99"),
        "SMALL": _number("9999"),
        "BIG": _number("-999999999999999999"),
        "WHOLE": _number("9" * 38),
        "PRICE": _number("-1.5"),
        "ANY_SCALE": _number("123.4567890"),
        "HUNDREDS": _number("-123400"),
        "ONE_FLOAT": java("java.lang.Float")(0.1),
        "TWO_FLOAT": java("java.lang.Double")(1e-300),
        "OLD_FLOAT": _number("0.1"),
        "DAY": _timestamp("2026-11-20 01:02:03"),
        "MOMENT0": _timestamp("2026-11-20 01:02:03"),
        "MOMENT6": _timestamp("2026-11-20 01:02:03.456789"),
        "MOMENT9": _timestamp("2026-11-20 01:02:03.456789123"),
        "INSTANT": zoned.parse("2026-11-20T01:02:03.456789+02:00"),
        "LOCAL": zoned.parse("2026-11-19T23:02:03.456789Z"),
        "PADDED": "ab   ",
        "WORDS": 'a "q" \\ \n é 😀 ,"payload":{}',
        "WIDE": "ü",
        "CLOB": "large",
        "BLOB": raw(b"\x80"),
        "BYTES": java("oracle.sql.RAW")(raw(b"\x00\xff\x10")),
        "ROW_ID": "AAAR9VAAMAAAACXAAA",
        "MONTHS": java("oracle.sql.INTERVALYM")("-3-6"),
        "SECONDS": java("oracle.sql.INTERVALDS")("-1 02:03:04.567891"),
    }


def _edges() -> dict[str, Any]:
    return {
        "ID": _number("999999999"),
        "WHOLE": _number("-" + "9" * 38),
        "PRICE": _number("99999999.99"),
        "ANY_SCALE": _number("1E+125"),
        "TWO_FLOAT": java("java.lang.Double")(-1.7976931348623157e308),
        "DAY": _timestamp("9999-12-31 23:59:59"),
        "MOMENT6": _timestamp("0001-01-01 00:00:00"),
        "MOMENT9": _timestamp("9999-12-31 23:59:59.999999999"),
        "INSTANT": java("java.time.ZonedDateTime").parse("9999-12-31T13:59:59.999999-10:00"),
    }


def _streamed() -> dict[str, Any]:
    """As LogMiner gives them."""
    return {
        "ID": "3",
        "TINY": "-99",
        "SMALL": "9999",
        "BIG": "-999999999999999999",
        "WHOLE": "9" * 38,
        "PRICE": "0",
        "ANY_SCALE": "123.456789",
        "HUNDREDS": "-123400",
        "ONE_FLOAT": "1.0E-001",
        "TWO_FLOAT": "1.0E-300",
        "OLD_FLOAT": ".1",
        "DAY": "TO_DATE('2026-11-20 01:02:03', 'YYYY-MM-DD HH24:MI:SS')",
        "MOMENT0": "TO_TIMESTAMP('2026-11-20 01:02:03.')",
        "MOMENT6": "TO_TIMESTAMP('2026-11-20 01:02:03.456789')",
        "MOMENT9": "TO_TIMESTAMP('2026-11-20 01:02:03.456789123')",
        "INSTANT": "TO_TIMESTAMP_TZ('2026-11-20 01:02:03.456789 +02:00')",
        "LOCAL": "TO_TIMESTAMP_TZ('2026-11-19 23:02:03.456789 +00:00')",
        "PADDED": "ab   ",
        "WORDS": "words",
        "WIDE": "UNISTR('\\00FC')",
        "CLOB": "large",
        "BLOB": "HEXTORAW('80')",
        "BYTES": "HEXTORAW('00ff10')",
        "ROW_ID": "AAAR9VAAMAAAACXAAA",
        "MONTHS": "TO_YMINTERVAL('-03-06')",
        "SECONDS": "TO_DSINTERVAL('-1 02:03:04.567891')",
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
