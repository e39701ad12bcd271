"""The other types of SQL Server and Oracle, and the other settings of values, as minted."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.streams import StopCode
from tests.cdc.decoding.recorded import own_columns, recorded

POINT = bytes.fromhex("010c000000000000f83f0000000000000440")
DIGITS = "4567891"


def _clocks(most: int) -> dict[str, str]:
    """01:02:03.4567891 in columns of zero to seven digits, of which so many are kept."""
    kept = [DIGITS[: min(n, most)] for n in range(8)]
    found = [f"{d:0<6}" if len(d) < 7 else f"{d:0<9}" for d in kept]
    return {f"clock{n}": "01:02:03" + (f".{found[n]}" if kept[n] else "") for n in range(8)}


def _moments(name: str, zone: str) -> dict[str, datetime]:
    return {
        f"{name}{n}": datetime.fromisoformat(f"2026-11-20T01:02:03.{DIGITS[:n]:0<6.6}{zone}")
        for n in range(8)
    }


@pytest.mark.parametrize(
    ("name", "most", "plain"),
    [
        ("sqlserver_types", 7, True),
        ("sqlserver_types_microseconds", 6, True),
        ("sqlserver_types_all_text", 7, False),
    ],
)
def test_all_digits_of_sql_servers_times_and_its_rarer_types(
    decoder: Decoder, name: str, most: int, plain: bool
) -> None:
    decoded = decoder.decode(recorded(name))
    (table,) = decoded.tables
    first, edges, _, updated = table.rows.to_pylist()
    assert own_columns(first) == {
        "id": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        **_clocks(most),
        **_moments("moment", ""),
        **_moments("instant", "+00:00"),
        "small_fraction": Decimal("-0." + "9" * 38) if plain else "-0." + "9" * 38,
        "digit": Decimal("9") if plain else "9",
        "long_words": "long",
        "old_wide": "ü",
        "long_bytes": b"\x00\xff" if plain else "AP8=",
        "named": "sys",
        "above": b"\x5a\xc0" if plain else "WsA=",
        # As SQL Server keeps them, which is no WKB.
        "shape": bytes(4) + POINT if plain else "AAAAAAEMAAAAAAAA+D8AAAAAAAAEQA==",
        "place": b"\xe6\x10\0\0" + POINT if plain else "5hAAAAEMAAAAAAAA+D8AAAAAAAAEQA==",
    }
    assert edges["instant7"] == datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    # There was a value before: NULL is what the update made of it.
    assert [updated[name] for name in ("long_words", "old_wide", "long_bytes")] == [None] * 3
    assert updated["__absent"] is None


def test_an_offset_that_leads_out_of_the_years_is_a_value_without_a_place(decoder: Decoder) -> None:
    (undecodable,) = decoder.decode(recorded("sqlserver_types")).undecodable
    assert undecodable.stop.code is StopCode.SOURCE_VALUE_INVALID
    assert "'instant0'" in undecodable.stop.detail


def test_rarer_types_of_oracle_read_the_same_in_a_snapshot_and_in_its_log(decoder: Decoder) -> None:
    (table,) = decoder.decode(recorded("oracle_types")).tables
    first, _, _, streamed = table.rows.to_pylist()
    assert own_columns(streamed) == {**own_columns(first), "ID": Decimal("4")}
    assert first["BEYOND_FRACTION"] == Decimal("0.00099")
    assert first["LONG_FRACTION"] == "0." + "0" * 126 + "1"
    assert (first["N3"], first["N10"]) == (999, 9999999999)
    assert first["INSTANT9"] == datetime(2026, 11, 20, 9, 2, 3, 456789, tzinfo=UTC)
    assert first["YES"] is True
    assert first["WIDE_CLOB"] == "large ü"


def test_negative_scales_of_oracle_are_exact_as_text_alone(decoder: Decoder) -> None:
    refused = decoder.decode(recorded("oracle_types_microseconds"))
    assert refused.tables == ()
    assert {found.stop.code for found in refused.undecodable} == {StopCode.SOURCE_TYPE_UNSUPPORTED}
    (table,) = decoder.decode(recorded("oracle_types_all_text")).tables
    first, *_, streamed = table.rows.to_pylist()
    assert first["MILLIONS"] == streamed["MILLIONS"] == "9" * 38 + "0" * 6
    assert first["N2"] == "-99"
