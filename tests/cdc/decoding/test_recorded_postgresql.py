"""What a real connector wrote of a table with a column of every type, in both of its modes.

Debezium's connector for PostgreSQL 3.7.0.Final, with Kafka Connect's JSON converter, recorded
three rows of a snapshot, an update, a changed key, a delete and a truncate: with
`decimal.handling.mode=precise` and `time.precision.mode=microseconds`, and with text for both.
"""

from __future__ import annotations

import math
import struct
from datetime import date, datetime
from decimal import Decimal

from openmirror.cdc.decoded import SourceTable
from openmirror.cdc.decoding.decoder import Decoder
from tests.cdc.decoding.recorded import own_columns, recorded


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


FIRST = {
    "id": 1,
    "small": -32768,
    "whole": -(2**31),
    "big": -(2**63),
    "positive": 7,
    "yes": True,
    "one_float": struct.unpack("f", struct.pack("f", 0.1))[0],
    "two_float": 1e-300,
    "money": Decimal("-1234.56"),
    "price": Decimal("-1.50"),
    "huge": Decimal("-9999999999999999999999999999.9999999999"),
    "longer": "1234567890123456789012345678901234567890",
    "below": Decimal("0.00123"),
    # A snapshot has it without its last zero; as text it has it.
    "any_scale": "123.456789",
    "day": date(2026, 11, 20),
    "clock": "01:02:03.456789",
    "clock3": "01:02:03.400000",
    "clock_zone": "23:02:03.456789Z",
    "moment": at("2026-11-20T01:02:03.456789"),
    "moment3": at("2026-11-20T01:02:03.4"),
    "instant": at("2026-11-20T01:02:03.456789+02:00"),
    "words": 'a "q" \\ \n é 😀 ,"payload":{}',
    "short": "abc",
    "padded": "ab   ",
    "folded": "CiTeXt",
    "uid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "feeling": "ok",
    "json": '{"a": 1.50}',
    "jsonb": '{"a": {"c": null}, "b": 1}',
    "xml": '<a b="c">x</a>',
    "path": "a.b.c",
    "lexemes": "'a':1",
    "address": "192.168.0.1/24",
    "network": "10.0.0.0/8",
    "card": "08:00:2b:01:02:03",
    "ints": "[1,5)",
    "store": '{"a":"1","b":null}',
    "flag": True,
    "flags": b"\x05",
    "many_flags": b"\x01\x00\x03",
    "bytes": b"\x00\xff\x10",
    "names": '["a",null,"\\"q\\""]',
    "numbers": "[1,2]",
    "uids": '["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]',
    "place": '{"x":1.5,"y":2.5,"wkb":"AQEAAAAAAAAAAAD4PwAAAAAAAARA","srid":null}',
    'odd "name".ü': "odd",
}
FIRST_IN_TEXT = FIRST | {
    "money": "-1234.56",
    "price": "-1.50",
    "huge": "-9999999999999999999999999999.9999999999",
    "below": "0.00123",
    "any_scale": "123.4567890",
    "bytes": "AP8Q",
    "iv": "P1Y2M3DT4H5M6.7S",
    "decs": '["1.50","-2.25"]',
    "moments": '["2026-11-20T01:02:03Z"]',
    "days": '["2026-11-20Z"]',
}
AT_THE_EDGES = {
    "small": 32767,
    "whole": 2**31 - 1,
    "big": 2**63 - 1,
    "two_float": -math.inf,
    "money": Decimal("92233720368547758.07"),
    "price": Decimal("99999999.99"),
    "huge": Decimal("0.0000000001"),
    "longer": "-1",
    "below": Decimal("-0.00999"),
    "any_scale": "1" + "0" * 50,
    "day": date(1, 1, 1),
    "clock": "24:00:00",
    "moment": at("0001-01-01T00:00:00"),
    "moment3": at("1969-12-31T23:59:59.999"),
    "instant": at("9999-12-31T23:59:59.999999+00:00"),
    "words": "",
    "json": "null",
    "flags": b"",
    "bytes": b"\x80",
    "names": "[]",
}


def test_every_type_of_a_real_connector_is_exact(decoder: Decoder) -> None:
    decoded = decoder.decode(recorded("postgresql_numbers"))
    assert decoded.undecodable == ()
    (table,) = decoded.tables
    first, second, third, *_ = (own_columns(row) for row in table.rows.to_pylist())
    assert first == FIRST
    assert {name: second[name] for name in AT_THE_EDGES} == AT_THE_EDGES
    assert math.isnan(second["one_float"])
    assert third["any_scale"] == "0." + "0" * 49 + "1"
    assert third["two_float"] == 5e-324
    assert {name for name, value in third.items() if value is None} == set(FIRST) - {
        *("id", "price", "moment", "bytes", "one_float", "two_float", "any_scale"),
        *("day", "clock", "instant"),
    }


def test_every_type_of_a_real_connector_in_text_is_exact(decoder: Decoder) -> None:
    decoded = decoder.decode(recorded("postgresql_texts"))
    assert decoded.undecodable == ()
    (table,) = decoded.tables
    rows = {row["id"]: own_columns(row) for row in table.rows.slice(0, 3).to_pylist()}
    assert rows[1] == FIRST_IN_TEXT
    # The connector says midnight for 24:00 in text.
    assert rows[2]["clock"] == "00:00:00"
    assert rows[2]["day"] == date(1, 1, 1)
    assert rows[3]["any_scale"] == "0." + "0" * 49 + "1"


def test_what_happened_to_a_row_is_read_in_its_order(decoder: Decoder) -> None:
    decoded = decoder.decode(recorded("postgresql_numbers"))
    (table,) = decoded.tables
    assert table.table == SourceTable("precise", "public", "every_type")
    assert table.keys == ("id", "price", "moment", "bytes")
    found = [(r["__op"], r["__snapshot"], r["__pair"], r["id"]) for r in table.rows.to_pylist()]
    assert found == [
        ("r", "first", None, 1),
        ("r", "true", None, 2),
        ("r", "last", None, 3),
        ("u", "false", None, 3),
        ("d", "false", "newkey", 3),
        ("c", "false", "oldkey", 4),
        ("d", "false", None, 4),
        ("t", "false", None, None),
    ]
    delete = table.rows.slice(6, 1).to_pylist()[0]
    assert {name: value for name, value in own_columns(delete).items() if value is not None} == {
        "id": 4,
        "price": Decimal("0.00"),
        "moment": at("9999-12-31T23:59:59.999999"),
        "bytes": b"",
    }
    # A heartbeat, and both ends of four transactions.
    assert decoded.others == 9
