"""The other types of SQL Server, and all by the other settings of values (see the package)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cdc.decoding.minting.mint import (
    Event,
    MintedColumn,
    java,
    row,
    start_jvm,
)
from tests.cdc.decoding.minting.sqlserver import minted
from tests.cdc.decoding.recorded import FOLDER, written

_MODES: Mapping[str, Mapping[str, str]] = {
    "sqlserver_types": {
        "column.propagate.source.type": ".*",
        "decimal.handling.mode": "precise",
        "time.precision.mode": "isostring",
    },
    "sqlserver_types_microseconds": {
        "column.propagate.source.type": ".*",
        "decimal.handling.mode": "precise",
        "time.precision.mode": "microseconds",
    },
    "sqlserver_types_all_text": {
        "column.propagate.source.type": ".*",
        "decimal.handling.mode": "string",
        "time.precision.mode": "isostring",
        "binary.handling.mode": "base64",
    },
}
_DIGITS = range(8)
_LONGEST = 2**31 - 1
# As the driver's DatabaseMetaData has them: its own codes where it has no other, and a type that is
# a class of .NET's as VARBINARY.
_COLUMNS = (
    MintedColumn(name="id", type="uniqueidentifier", jdbc=1, length=36, optional=False),
    *(MintedColumn(name=f"clock{n}", type="time", jdbc=92, length=16, scale=n) for n in _DIGITS),
    *(
        MintedColumn(name=f"moment{n}", type="datetime2", jdbc=93, length=27, scale=n)
        for n in _DIGITS
    ),
    *(
        MintedColumn(name=f"instant{n}", type="datetimeoffset", jdbc=-155, length=34, scale=n)
        for n in _DIGITS
    ),
    MintedColumn(name="small_fraction", type="decimal", jdbc=3, length=38, scale=38),
    MintedColumn(name="digit", type="numeric", jdbc=2, length=1, scale=0),
    MintedColumn(name="long_words", type="varchar", jdbc=12, length=_LONGEST),
    MintedColumn(name="old_wide", type="ntext", jdbc=-16, length=2**30 - 1),
    MintedColumn(name="long_bytes", type="varbinary", jdbc=-3, length=_LONGEST),
    MintedColumn(name="named", type="sysname", jdbc=-9, length=128, optional=False),
    MintedColumn(name="above", type="hierarchyid", jdbc=-3, length=892),
    MintedColumn(name="shape", type="geometry", jdbc=-3, length=_LONGEST),
    MintedColumn(name="place", type="geography", jdbc=-3, length=_LONGEST),
    MintedColumn(name="variant", type="sql_variant", jdbc=-150, length=8000),
    MintedColumn(name="json", type="json", jdbc=-158, length=_LONGEST),
    MintedColumn(name="vector", type="vector", jdbc=-159, length=3),
)
LEFT_OUT = ("variant", "json", "vector")
"""The columns that are in no record: the connector has no converter of their types."""
# The point (1.5, 2.5) as SQL Server keeps it: SRID, version, properties, two doubles.
_POINT = "{}010c000000000000f83f0000000000000440"


def main(plugin: Path) -> None:
    """Write a file of each mode."""
    start_jvm(plugin)
    for name, mode in _MODES.items():
        (FOLDER / f"{name}.json").write_text(written(_records(name, mode)))


def _records(name: str, mode: Mapping[str, str]) -> list[Event]:
    mint, places = minted(name, "all_types", _COLUMNS, ("id",), mode)
    expected = [column.name for column in _COLUMNS if column.name not in LEFT_OUT]
    assert mint.columns == expected, mint.columns
    first, edges, nothing = (row(_COLUMNS, values) for values in (_first(), _edges(), _nothing()))
    emptied, out_of_years = row(_COLUMNS, _emptied()), row(_COLUMNS, _out_of_years())
    return [
        mint.event("r", places.snapshot("FIRST"), None, first),
        mint.event("r", places.snapshot("TRUE"), None, edges),
        mint.event("r", places.snapshot("LAST"), None, nothing),
        mint.event("u", places.change("758:0005", "758:0003", 2), first, emptied),
        mint.event("c", places.change("760:0004", "760:0002", 1), None, out_of_years),
    ]


def _times(clock: str, day: str, minutes: int) -> dict[str, Any]:
    """A time with seven digits behind its point, and each column as many of them as it has."""
    stamp, offset = java("java.sql.Timestamp"), java("microsoft.sql.DateTimeOffset")
    found: dict[str, Any] = {}
    for digits in _DIGITS:
        cut = clock[: len(clock) - 7 + digits].rstrip(".")
        found[f"clock{digits}"] = stamp.valueOf(f"1970-01-01 {cut}")
        found[f"moment{digits}"] = stamp.valueOf(f"{day} {cut}")
        found[f"instant{digits}"] = offset.valueOf(stamp.valueOf(f"{day} {cut}"), minutes)
    return found


def _first() -> dict[str, Any]:
    raw = java("[B")
    return {
        "id": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        **_times("01:02:03.4567891", "2026-11-20", 330),
        "small_fraction": java("java.math.BigDecimal")("-0." + "9" * 38),
        "digit": java("java.math.BigDecimal")("9"),
        "long_words": "long",
        "old_wide": "ü",
        "long_bytes": raw(b"\x00\xff"),
        "named": "sys",
        "above": raw(bytes.fromhex("5ac0")),
        "shape": raw(bytes.fromhex(_POINT.format("00000000"))),
        "place": raw(bytes.fromhex(_POINT.format("e6100000"))),
    }


def _edges() -> dict[str, Any]:
    return {
        "id": "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        **_times("23:59:59.9999999", "9999-12-31", -840),
        "small_fraction": java("java.math.BigDecimal")("1E-38"),
        "digit": java("java.math.BigDecimal")("-9"),
        "long_words": "",
        "long_bytes": java("[B")(b""),
        "named": "",
    }


def _out_of_years() -> dict[str, Any]:
    """The offset leads out of the years that a date can have."""
    local = java("java.sql.Timestamp").valueOf("0001-01-01 00:00:00")
    instant = java("microsoft.sql.DateTimeOffset").valueOf(local, 840)
    return {"id": "11111111-1111-1111-1111-111111111111", "named": "n", "instant0": instant}


def _nothing() -> dict[str, Any]:
    return {"id": "00000000-0000-0000-0000-000000000000", "named": "n"}


def _emptied() -> dict[str, Any]:
    """The row after an update that empties its large values."""
    large = ("long_words", "old_wide", "long_bytes")
    return {n: v for n, v in _first().items() if n not in large} | {"named": "other"}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
