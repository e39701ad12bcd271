"""What Debezium's connector for SQL Server writes, by its own converters (see the package)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.cdc.decoding.minting.mint import (
    Event,
    Mint,
    MintedColumn,
    configuration,
    java,
    row,
    start_jvm,
)
from tests.cdc.decoding.recorded import FOLDER, written

_MODES: Mapping[str, Mapping[str, str]] = {
    "sqlserver_texts": {
        "column.propagate.source.type": ".*",
        "decimal.handling.mode": "precise",
        "time.precision.mode": "isostring",
    },
    "sqlserver_numbers": {
        "decimal.handling.mode": "precise",
        "time.precision.mode": "adaptive",
    },
}
# As the driver's DatabaseMetaData has them.
_COLUMNS = (
    MintedColumn(name="id", type="int", jdbc=4, length=10, scale=0, optional=False),
    MintedColumn(name="yes", type="bit", jdbc=-7, length=1),
    MintedColumn(name="tiny", type="tinyint", jdbc=-6, length=3, scale=0),
    MintedColumn(name="small", type="smallint", jdbc=5, length=5, scale=0),
    MintedColumn(name="big", type="bigint", jdbc=-5, length=19, scale=0),
    MintedColumn(name="one_float", type="real", jdbc=7, length=24),
    MintedColumn(name="two_float", type="float", jdbc=8, length=53),
    MintedColumn(name="price", type="decimal", jdbc=3, length=10, scale=2, optional=False),
    MintedColumn(name="huge", type="numeric", jdbc=2, length=38, scale=10),
    MintedColumn(name="money", type="money", jdbc=3, length=19, scale=4),
    MintedColumn(name="small_money", type="smallmoney", jdbc=3, length=10, scale=4),
    MintedColumn(name="day", type="date", jdbc=91, length=10, scale=0),
    MintedColumn(name="clock0", type="time", jdbc=92, length=8, scale=0),
    MintedColumn(name="clock3", type="time", jdbc=92, length=12, scale=3),
    MintedColumn(name="clock7", type="time", jdbc=92, length=16, scale=7),
    MintedColumn(name="old", type="datetime", jdbc=93, length=23, scale=3),
    MintedColumn(name="small_old", type="smalldatetime", jdbc=93, length=16, scale=0),
    MintedColumn(name="moment0", type="datetime2", jdbc=93, length=19, scale=0),
    MintedColumn(name="moment6", type="datetime2", jdbc=93, length=26, scale=6),
    MintedColumn(name="moment7", type="datetime2", jdbc=93, length=27, scale=7),
    MintedColumn(name="instant", type="datetimeoffset", jdbc=-155, length=34, scale=7),
    MintedColumn(name="padded", type="char", jdbc=1, length=5),
    MintedColumn(name="short", type="varchar", jdbc=12, length=20),
    MintedColumn(name="wide", type="nchar", jdbc=-15, length=5),
    MintedColumn(name="words", type="nvarchar", jdbc=-9, length=2**31 - 1),
    MintedColumn(name="old_text", type="text", jdbc=-1, length=2**31 - 1),
    MintedColumn(name="xml", type="xml", jdbc=-16, length=2**31 - 1),
    MintedColumn(name="uid", type="uniqueidentifier", jdbc=1, length=36),
    MintedColumn(name="fixed", type="binary", jdbc=-2, length=4),
    MintedColumn(name="bytes", type="varbinary", jdbc=-3, length=20),
    MintedColumn(name="image", type="image", jdbc=-4, length=2**31 - 1),
    MintedColumn(name="version", type="timestamp", jdbc=-2, length=8),
    MintedColumn(name="variant", type="sql_variant", jdbc=-156, length=8000),
)


def main(plugin: Path) -> None:
    """Write both files."""
    start_jvm(plugin)
    for name, mode in _MODES.items():
        (FOLDER / f"{name}.json").write_text(written(_records(name, mode)))


def _records(name: str, mode: Mapping[str, str]) -> list[Event]:
    mint, places = minted(name, "every_type", _COLUMNS, ("id", "price"), mode)
    first, edges, nothing = (row(_COLUMNS, values) for values in (_first(), _edges(), {}))
    nothing[0], nothing[7] = 3, java("java.math.BigDecimal")("0.00")
    large = [column.name for column in _COLUMNS].index("words")
    # An update of another column: of a large value the change table has NULL on both sides.
    touched = [*first]
    touched[3], touched[large] = java("java.lang.Short")(7), None
    before = [*first]
    before[large] = None
    updated = [*nothing[:3], java("java.lang.Short")(5), *nothing[4:]]
    moved = [4, *updated[1:]]
    return [
        mint.event("r", places.snapshot("FIRST"), None, first),
        mint.event("r", places.snapshot("TRUE"), None, edges),
        mint.event("r", places.snapshot("LAST"), None, nothing),
        mint.event("u", places.change("758:0005", "758:0003", 2), nothing, updated),
        mint.event("u", places.change("759:0004", "759:0002", 2), before, touched),
        mint.event("u", places.change("759:0008", "759:0006", 2), first, touched),
        # A primary key's change is in the change table as a delete and an insert.
        mint.event("d", places.change("760:0006", "760:0002", 1), updated, None),
        mint.tombstone(updated),
        mint.event("c", places.change("760:0006", "760:0002", 1), None, moved),
        mint.event("d", places.change("770:0004", "770:0002", 1), moved, None),
        mint.tombstone(moved),
    ]


class Places:
    """Where changes stand, as the connector's own context says it."""

    def __init__(self, config: Any, table: Any) -> None:
        self._kind = "io.debezium.connector.sqlserver."
        self._config, self._table = config, table
        self._at = java("java.time.Instant").parse("2026-11-20T01:02:03.457Z")
        self._context = self._new(None)

    def snapshot(self, mark: str) -> Any:
        context = self._new(java("io.debezium.connector.SnapshotType").INITIAL)
        marks = java("io.debezium.connector.SnapshotRecord")
        context.markSnapshotRecord(getattr(marks, mark))
        context.event(self._table, self._at)
        return context

    def change(self, commit: str, change: str, events: int) -> Any:
        """The context counts the events of one place, so it stays the same one."""
        position = java(self._kind + "TxLogPosition")
        at = position.valueOf(self._lsn(commit), self._lsn(change))
        self._context.setChangePosition(at, events)
        self._context.event(self._table, self._at)
        return self._context

    def _new(self, snapshot: Any) -> Any:
        position = java(self._kind + "TxLogPosition").valueOf(self._lsn("700:0001"))
        return java(self._kind + "SqlServerOffsetContext")(self._config, position, snapshot, False)

    def _lsn(self, end: str) -> Any:
        return java(self._kind + "Lsn").valueOf(f"00000027:00000{end}")


def minted(
    name: str,
    table: str,
    columns: Sequence[MintedColumn],
    keys: Sequence[str],
    mode: Mapping[str, str] | None = None,
) -> tuple[Mint, Places]:
    """A table by the connector's own classes, and where its changes stand."""
    given = {"topic.prefix": name, "database.names": "shop", "database.hostname": "h"}
    kind = "io.debezium.connector.sqlserver.SqlServer"
    config = java(f"{kind}ConnectorConfig")(configuration({**given, **(mode or {})}))
    converters = java(f"{kind}ValueConverters")(
        config.getDecimalMode(), config.getTemporalPrecisionMode(), config.binaryHandlingMode()
    )
    mint = Mint(("shop", "dbo", table), columns, keys, config, converters)
    return mint, Places(config, mint.id)


def _first() -> dict[str, Any]:
    """As the driver gives them."""
    decimal, stamp = java("java.math.BigDecimal"), java("java.sql.Timestamp")
    raw = java("[B")
    return {
        "id": java("java.lang.Integer")(1),
        "yes": java("java.lang.Boolean")(True),
        "tiny": java("java.lang.Short")(255),
        "small": java("java.lang.Short")(-32768),
        "big": java("java.lang.Long")(-(2**63)),
        "one_float": java("java.lang.Float")(0.1),
        "two_float": java("java.lang.Double")(1e-300),
        "price": decimal("-1.50"),
        "huge": decimal("-9999999999999999999999999999.9999999999"),
        "money": decimal("922337203685477.5807"),
        "small_money": decimal("-214748.3648"),
        "day": java("java.sql.Date").valueOf("2026-11-20"),
        "clock0": stamp.valueOf("1970-01-01 01:02:03"),
        "clock3": stamp.valueOf("1970-01-01 01:02:03.4"),
        "clock7": stamp.valueOf("1970-01-01 01:02:03.4567891"),
        "old": stamp.valueOf("2026-11-20 01:02:03.457"),
        "small_old": stamp.valueOf("2026-11-20 01:02:00"),
        "moment0": stamp.valueOf("2026-11-20 01:02:03"),
        "moment6": stamp.valueOf("2026-11-20 01:02:03.456789"),
        "moment7": stamp.valueOf("2026-11-20 01:02:03.4567891"),
        "instant": _offset("2026-11-20 01:02:03.4567891", 120),
        "padded": "ab   ",
        "short": "abc",
        "wide": "ü    ",
        "words": 'a "q" \\ \n é 😀 ,"payload":{}',
        "old_text": "text",
        "xml": '<a b="c">x</a>',
        "uid": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "fixed": raw(b"\x00\x01\x00\x00"),
        "bytes": raw(b"\x00\xff\x10"),
        "image": raw(b"\x80"),
        "version": raw(b"\x00\x00\x00\x00\x00\x00\x07\xd1"),
    }


def _edges() -> dict[str, Any]:
    decimal, stamp = java("java.math.BigDecimal"), java("java.sql.Timestamp")
    return {
        "id": java("java.lang.Integer")(2**31 - 1),
        "yes": java("java.lang.Boolean")(False),
        "tiny": java("java.lang.Short")(0),
        "big": java("java.lang.Long")(2**63 - 1),
        "two_float": java("java.lang.Double")(-1.7976931348623157e308),
        "price": decimal("99999999.99"),
        "huge": decimal("0.0000000001"),
        "money": decimal("-922337203685477.5808"),
        "day": java("java.sql.Date").valueOf("0001-01-01"),
        "clock7": stamp.valueOf("1970-01-01 23:59:59.9999999"),
        "old": stamp.valueOf("1753-01-01 00:00:00"),
        "moment0": stamp.valueOf("9999-12-31 23:59:59"),
        "moment6": stamp.valueOf("0001-01-01 00:00:00"),
        # The end of a period that has none, in every temporal table.
        "moment7": stamp.valueOf("9999-12-31 23:59:59.9999999"),
        "instant": _offset("9999-12-31 13:59:59.9999999", -840),
        "words": "",
        "bytes": java("[B")(b""),
    }


def _offset(local: str, minutes: int) -> Any:
    """A datetimeoffset by its own clock."""
    return java("microsoft.sql.DateTimeOffset").valueOf(
        java("java.sql.Timestamp").valueOf(local), minutes
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
