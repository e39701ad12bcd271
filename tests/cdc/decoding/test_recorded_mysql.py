"""What a real connector wrote of a table with a column of every type of MySQL, in both modes.

MySQL 9.7 with Debezium's connector 3.5.0.Final, by the configuration of `cdc template`, and by one
with text for numbers, times and bytes (`record_mysql`).
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from openmirror.cdc.decoded import SourceTable
from openmirror.cdc.decoding.decoder import Decoder
from tests.cdc.decoding.recorded import own_columns, present, recorded


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


FIRST = {
    "id": 1,
    "tiny": -128,
    "tiny_plus": 255,
    "small": -32768,
    "small_plus": 65535,
    "medium": -8388608,
    "medium_plus": 16777215,
    "whole": -(2**31),
    "whole_plus": 2**32 - 1,
    "big": -(2**63),
    "big_plus": Decimal(2**64 - 1),
    "yes": 1,
    "one_float": 0.10000000149011612,
    "two_float": 1e-300,
    "price": Decimal("-1.50"),
    "huge": Decimal("-9999999999999999999999999999.9999999999"),
    "longer": "-12345678901234567890123456789012345.000000000000000000000000000001",
    "plain": Decimal("9999999999"),
    "day": date(2026, 11, 20),
    "clock": "-838:59:59",
    "clock3": "01:02:03.400000",
    "clock6": "838:59:59",
    "moment": at("2026-11-20T01:02:03"),
    "moment3": at("2026-11-20T01:02:03.4"),
    "moment6": at("2026-11-20T01:02:03.456789"),
    "instant": at("2026-11-20T01:02:03+02:00"),
    "instant6": at("2026-11-20T01:02:03.456789+02:00"),
    "year": 2155,
    "short": "abc",
    "padded": "ab",
    "words": 'a "q" \\ \n é 😀 ,"payload":{}',
    "latin": "ÿé",
    "feeling": "ü",
    "feelings": "x,y",
    "json": '{"a": 1.5, "b": [null, "é"]}',
    "flag": True,
    "flags": b"\x05\x08",
    "fixed": b"\x00\x01\x00\x00",
    "bytes": b"\x00\xff\x10",
    "large": b"\x80",
    "place": '{"x":1.5,"y":2.5,"wkb":"AQEAAAAAAAAAAAD4PwAAAAAAAARA","srid":null}',
    "shape": '{"wkb":"AQIAAAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPA/AAAAAAAA8D8=","srid":null}',
}
AT_THE_EDGES = {
    "id": 2**63 - 1,
    "tiny": 127,
    "two_float": -1.7976931348623157e308,
    "price": Decimal("99999999.99"),
    "huge": Decimal("0.0000000001"),
    "longer": "-1." + "0" * 30,
    "day": date(9999, 12, 31),
    "clock": "00:00:00",
    "clock6": "23:59:59.999999",
    "moment": at("1000-01-01T00:00:00"),
    "moment6": at("9999-12-31T23:59:59.499999"),
    "instant": at("1970-01-01T00:00:01+00:00"),
    "instant6": at("2038-01-19T03:14:07.499999+00:00"),
    "year": 1901,
    "words": "",
    "feeling": "",
    "feelings": "",
    "json": "null",
    "flag": False,
    "flags": b"\x00\x00",
    "bytes": b"",
}


def test_every_type_of_a_real_mysql_is_exact(decoder: Decoder) -> None:
    decoded = decoder.decode(recorded("mysql_numbers"))
    assert decoded.undecodable == ()
    (table,) = decoded.tables
    first, third, second, *_ = (own_columns(row) for row in table.rows.to_pylist())
    assert first == FIRST
    assert {name: second[name] for name in AT_THE_EDGES} == AT_THE_EDGES
    assert present(third) == {"id": 3, "price": Decimal("0.00")}


def test_times_of_mysql_are_refused_as_text_which_would_lose_those_beyond_a_day(
    decoder: Decoder,
) -> None:
    decoded = decoder.decode(recorded("mysql_texts"))
    assert decoded.tables == ()
    stop = decoded.undecodable[0].stop
    assert "'clock'" in stop.detail
    assert "time.precision.mode=adaptive_time_microseconds" in stop.remedy


def test_what_happened_to_a_row_of_mysql_is_read_in_its_order(decoder: Decoder) -> None:
    (table,) = decoder.decode(recorded("mysql_numbers")).tables
    assert table.table == SourceTable("mysql_numbers", "", "every_type")
    assert table.keys == ("id", "price")
    rows = table.rows.to_pylist()
    assert [(r["__op"], r["__snapshot"], r["__pair"], r["id"]) for r in rows] == [
        ("r", "first", None, 1),
        ("r", "true", None, 3),
        ("r", "last", None, 2**63 - 1),
        ("u", "false", None, 3),
        ("d", "false", "newkey", 3),
        ("c", "false", "oldkey", 4),
        ("d", "false", None, 4),
        ("t", "false", None, None),
    ]
    places = [row["__position"] for row in rows]
    assert places == sorted(places)
    assert present(own_columns(rows[5])) == {"id": 4, "price": Decimal("0.00"), "small": 5}
