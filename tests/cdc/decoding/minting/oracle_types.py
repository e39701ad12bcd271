"""The other types of Oracle, and all by the other settings of values (see the package)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.cdc.decoding.minting.mint import (
    Event,
    MintedColumn,
    compiled,
    java,
    row,
    start_jvm,
)
from tests.cdc.decoding.minting.oracle import minted, unavailable
from tests.cdc.decoding.recorded import FOLDER, written

_MODES: Mapping[str, Mapping[str, str]] = {
    "oracle_types": {
        "decimal.handling.mode": "precise",
        "time.precision.mode": "isostring",
        "interval.handling.mode": "string",
    },
    "oracle_types_microseconds": {
        "decimal.handling.mode": "precise",
        "time.precision.mode": "microseconds",
        "interval.handling.mode": "numeric",
    },
    "oracle_types_all_text": {
        "decimal.handling.mode": "string",
        "time.precision.mode": "isostring",
        "interval.handling.mode": "string",
        "binary.handling.mode": "base64",
    },
}
_DIGITS = range(10)


def _number(name: str, length: int, scale: int | None, optional: bool = True) -> MintedColumn:
    return MintedColumn(
        name=name, type="NUMBER", jdbc=2, length=length, scale=scale, optional=optional
    )


# As the driver's DatabaseMetaData has them.
_COLUMNS = (
    _number("ID", 38, 0, optional=False),
    _number("N2", 2, 0),
    _number("N3", 3, 0),
    _number("N4", 4, 0),
    _number("N5", 5, 0),
    _number("N9", 9, 0),
    _number("N10", 10, 0),
    _number("N18", 18, 0),
    _number("N19", 19, 0),
    _number("ALL_FRACTION", 38, 38),
    _number("BEYOND_FRACTION", 2, 5),
    _number("LONG_FRACTION", 38, 127),
    MintedColumn(name="FEW_BITS", type="FLOAT", jdbc=6, length=10),
    MintedColumn(name="ONE_FLOAT", type="BINARY_FLOAT", jdbc=100),
    MintedColumn(name="TWO_FLOAT", type="BINARY_DOUBLE", jdbc=101),
    *(MintedColumn(name=f"MOMENT{n}", type=f"TIMESTAMP({n})", jdbc=93, length=n) for n in _DIGITS),
    *(
        MintedColumn(
            name=f"INSTANT{n}", type=f"TIMESTAMP({n}) WITH TIME ZONE", jdbc=-101, length=13, scale=n
        )
        for n in (0, 3, 9)
    ),
    MintedColumn(
        name="LOCAL9", type="TIMESTAMP(9) WITH LOCAL TIME ZONE", jdbc=-102, length=11, scale=9
    ),
    MintedColumn(name="MONTHS", type="INTERVAL YEAR(9) TO MONTH", jdbc=-103, length=9),
    MintedColumn(name="SECONDS0", type="INTERVAL DAY TO SECOND", jdbc=-104, length=2, scale=0),
    MintedColumn(name="SECONDS6", type="INTERVAL DAY TO SECOND", jdbc=-104, length=9, scale=6),
    # With more than six digits the connector takes them for microseconds: 4.123456789 s become 127.
    MintedColumn(name="SECONDS9", type="INTERVAL DAY TO SECOND", jdbc=-104, length=9, scale=9),
    MintedColumn(name="WIDE_PADDED", type="NCHAR", jdbc=-15, length=5),
    MintedColumn(name="WIDE_CLOB", type="NCLOB", jdbc=2011),
    MintedColumn(name="XML", type="XMLTYPE", jdbc=2009),
    MintedColumn(name="YES", type="BOOLEAN", jdbc=16),
    MintedColumn(name="LONG_WORDS", type="LONG", jdbc=-1),
    MintedColumn(name="LONG_BYTES", type="LONG RAW", jdbc=-4),
    MintedColumn(name="BFILE", type="BFILE", jdbc=-13),
    MintedColumn(name="JSON", type="JSON", jdbc=2016),
    MintedColumn(name="VECTOR", type="VECTOR", jdbc=-105),
    MintedColumn(name="ANYTHING", type="ANYDATA", jdbc=1111),
)
_WHOLE_MILLIONS = (_number("MILLIONS", 38, -6), _number("LARGEST", 38, -84))
LEFT_OUT = ("BFILE", "JSON", "VECTOR", "ANYTHING")
"""The columns that are in no record: the connector has no converter of their types."""
_LOBS = ("WIDE_CLOB", "XML")


def main(plugin: Path) -> None:
    """Write a file of each mode."""
    with compiled(plugin, "NoDatabase.java") as classes:
        start_jvm(plugin, classes)
        for name, mode in _MODES.items():
            (FOLDER / f"{name}.json").write_text(written(_records(name, mode)))


def _records(name: str, mode: Mapping[str, str]) -> list[Event]:
    # A numeric of a negative scale would stop the table where times are tried.
    columns = _COLUMNS if name == "oracle_types" else (*_COLUMNS, *_WHOLE_MILLIONS)
    mint, places = minted(name, "ALL_TYPES", columns, ("ID",), mode)
    expected = [column.name for column in columns if column.name not in LEFT_OUT]
    assert mint.columns == expected, mint.columns
    filled = partial(row, columns)
    streamed = filled(_streamed())
    updated = filled({**_streamed(), **dict.fromkeys(_LOBS, unavailable())})
    return [
        mint.event("r", places.snapshot("FIRST"), None, filled(_first())),
        mint.event("r", places.snapshot("TRUE"), None, filled(_edges())),
        mint.event("r", places.snapshot("LAST"), None, filled({"ID": _decimal("3")})),
        mint.event("c", places.change("2589451", "0a00040019040000", 1), None, streamed),
        mint.event("u", places.change("2589460", "0500060004040000", 1), streamed, updated),
    ]


def _decimal(text: str) -> Any:
    return java("java.math.BigDecimal")(text)


def _moments(clock: str, day: str) -> dict[str, Any]:
    """A time with nine digits behind its point, and each column as many of them as it has."""
    moment, stamp = java("oracle.sql.TIMESTAMP"), java("java.sql.Timestamp")
    return {
        f"MOMENT{n}": moment(stamp.valueOf(f"{day} {clock[: len(clock) - 9 + n].rstrip('.')}"))
        for n in _DIGITS
    }


def _first() -> dict[str, Any]:
    """As the driver gives them."""
    raw, zoned = java("[B"), java("java.time.ZonedDateTime")
    return {
        "ID": _decimal("1"),
        "N2": _decimal("-99"),
        "N3": _decimal("999"),
        "N4": _decimal("-9999"),
        "N5": _decimal("99999"),
        "N9": _decimal("-999999999"),
        "N10": _decimal("9999999999"),
        "N18": _decimal("-" + "9" * 18),
        "N19": _decimal("9" * 19),
        "ALL_FRACTION": _decimal("-0." + "9" * 38),
        "BEYOND_FRACTION": _decimal("0.00099"),
        "LONG_FRACTION": _decimal("1E-127"),
        "MILLIONS": _decimal("9" * 38 + "000000"),
        "LARGEST": _decimal("-" + "9" * 38 + "0" * 84),
        "FEW_BITS": _decimal("0.125"),
        "ONE_FLOAT": java("java.lang.Float")(0.1),
        "TWO_FLOAT": java("java.lang.Double")(5e-324),
        **_moments("01:02:03.456789123", "2026-11-20"),
        "INSTANT0": zoned.parse("2026-11-20T01:02:03+05:30"),
        "INSTANT3": zoned.parse("2026-11-20T01:02:03.4+05:30"),
        "INSTANT9": zoned.parse("2026-11-20T01:02:03.456789123-08:00"),
        "LOCAL9": zoned.parse("2026-11-20T01:02:03.456789123Z"),
        "MONTHS": java("oracle.sql.INTERVALYM")("-999999999-11"),
        "SECONDS0": java("oracle.sql.INTERVALDS")("1 02:03:04.0"),
        "SECONDS6": java("oracle.sql.INTERVALDS")("-999999999 23:59:59.999999"),
        "SECONDS9": java("oracle.sql.INTERVALDS")("1 02:03:04.123456789"),
        "WIDE_PADDED": "ü    ",
        "WIDE_CLOB": "large ü",
        "XML": '<a b="c">x</a>',
        "YES": java("java.lang.Boolean")(True),
        "LONG_WORDS": "long",
        "LONG_BYTES": raw(b"\x00\xff"),
    }


def _edges() -> dict[str, Any]:
    zoned = java("java.time.ZonedDateTime")
    return {
        "ID": _decimal("9" * 38),
        "N2": _decimal("0"),
        "ONE_FLOAT": java("java.lang.Float")(float("inf")),
        "TWO_FLOAT": java("java.lang.Double")(float("nan")),
        **_moments("23:59:59.999999999", "9999-12-31"),
        "INSTANT9": zoned.parse("0001-01-01T14:00:00+14:00"),
        "SECONDS6": java("oracle.sql.INTERVALDS")("0 00:00:00.000001"),
        "SECONDS9": java("oracle.sql.INTERVALDS")("-0 00:00:00.000000001"),
        "YES": java("java.lang.Boolean")(False),
        "LONG_WORDS": "",
        "LONG_BYTES": java("[B")(b""),
    }


def _streamed() -> dict[str, Any]:
    """The first row as LogMiner gives it."""
    day, clock = "2026-11-20", "01:02:03.456789123"
    moments = {f"MOMENT{n}": f"TO_TIMESTAMP('{day} {clock[: 9 + n]}')" for n in _DIGITS}
    return {
        "ID": "4",
        "N2": "-99",
        "N3": "999",
        "N4": "-9999",
        "N5": "99999",
        "N9": "-999999999",
        "N10": "9999999999",
        "N18": "-" + "9" * 18,
        "N19": "9" * 19,
        "ALL_FRACTION": "-." + "9" * 38,
        "BEYOND_FRACTION": ".00099",
        "LONG_FRACTION": "." + "0" * 126 + "1",
        "MILLIONS": "9" * 38 + "000000",
        "LARGEST": "-" + "9" * 38 + "0" * 84,
        "FEW_BITS": ".125",
        "ONE_FLOAT": "1.0E-001",
        "TWO_FLOAT": "4.9406564584124654E-324",
        **moments,
        "INSTANT0": "TO_TIMESTAMP_TZ('2026-11-20 01:02:03 +05:30')",
        "INSTANT3": "TO_TIMESTAMP_TZ('2026-11-20 01:02:03.400 +05:30')",
        "INSTANT9": "TO_TIMESTAMP_TZ('2026-11-20 01:02:03.456789123 -08:00')",
        "LOCAL9": "TO_TIMESTAMP_TZ('2026-11-20 01:02:03.456789123 +00:00')",
        "MONTHS": "TO_YMINTERVAL('-999999999-11')",
        "SECONDS0": "TO_DSINTERVAL('+01 02:03:04.')",
        "SECONDS6": "TO_DSINTERVAL('-999999999 23:59:59.999999')",
        "SECONDS9": "TO_DSINTERVAL('+000000001 02:03:04.123456789')",
        "WIDE_PADDED": "UNISTR('\\00FC    ')",
        "WIDE_CLOB": "large ü",
        "XML": '<a b="c">x</a>',
        "YES": "1",
        "LONG_WORDS": "long",
        "LONG_BYTES": "HEXTORAW('00ff')",
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
