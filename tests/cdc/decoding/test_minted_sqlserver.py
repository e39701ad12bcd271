"""What the converters of Debezium's connector for SQL Server write, of every type that it has.

By 3.5.0.Final and Kafka Connect's JSON converter (`minting.sqlserver`): with times in text, as
`cdc template` configures it, and with times in numbers, as it is by default.
"""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

from openmirror.cdc.decoded import SourceTable
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RECORDS
from openmirror.protocol.streams import StopCode
from tests.cdc.decoding.recorded import own_columns, present, recorded


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


FIRST = {
    "id": 1,
    "yes": True,
    "tiny": 255,
    "small": -32768,
    "big": -(2**63),
    "one_float": 0.10000000149011612,
    "two_float": 1e-300,
    "price": Decimal("-1.50"),
    "huge": Decimal("-9999999999999999999999999999.9999999999"),
    "money": Decimal("922337203685477.5807"),
    "small_money": Decimal("-214748.3648"),
    "day": date(2026, 11, 20),
    "clock0": "01:02:03",
    "clock3": "01:02:03.400000",
    "clock7": "01:02:03.456789100",
    "old": at("2026-11-20T01:02:03.457"),
    "small_old": at("2026-11-20T01:02:00"),
    "moment0": at("2026-11-20T01:02:03"),
    "moment6": at("2026-11-20T01:02:03.456789"),
    "moment7": at("2026-11-20T01:02:03.456789"),
    "instant": at("2026-11-20T01:02:03.456789+00:00"),
    "padded": "ab   ",
    "short": "abc",
    "wide": "ü    ",
    "words": 'a "q" \\ \n é 😀 ,"payload":{}',
    "old_text": "text",
    "xml": '<a b="c">x</a>',
    "uid": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
    "fixed": b"\x00\x01\x00\x00",
    "bytes": b"\x00\xff\x10",
    "image": b"\x80",
    "version": b"\x00\x00\x00\x00\x00\x00\x07\xd1",
}
AT_THE_EDGES = {
    "id": 2**31 - 1,
    "yes": False,
    "tiny": 0,
    "big": 2**63 - 1,
    "two_float": -1.7976931348623157e308,
    "price": Decimal("99999999.99"),
    "huge": Decimal("0.0000000001"),
    "money": Decimal("-922337203685477.5808"),
    "day": date(1, 1, 1),
    "clock7": "23:59:59.999999900",
    "old": at("1753-01-01T00:00:00"),
    "moment0": at("9999-12-31T23:59:59"),
    "moment6": at("0001-01-01T00:00:00"),
    "moment7": at("9999-12-31T23:59:59.999999"),
    "instant": at("9999-12-31T13:59:59.999999+00:00"),
    "words": "",
    "bytes": b"",
}


def test_every_type_of_sql_server_is_exact_but_for_the_seventh_digit(decoder: Decoder) -> None:
    (table,) = decoder.decode(recorded("sqlserver_texts")).tables
    first, second, third, *_ = (own_columns(row) for row in table.rows.to_pylist())
    assert first == FIRST
    assert present(second) == AT_THE_EDGES
    assert present(third) == {"id": 3, "price": Decimal("0.00")}


def test_nanoseconds_in_numbers_are_refused_since_they_end_in_2262(decoder: Decoder) -> None:
    decoded = decoder.decode(recorded("sqlserver_numbers"))
    assert decoded.tables == ()
    stop = decoded.undecodable[0].stop
    assert "'moment7'" in stop.detail
    assert "time.precision.mode=isostring" in stop.remedy


def test_changes_of_sql_server_stand_at_their_commit_and_have_numbers_there(
    decoder: Decoder,
) -> None:
    (table,) = decoder.decode(recorded("sqlserver_texts")).tables
    assert table.table == SourceTable("shop", "dbo", "every_type")
    assert table.keys == ("id", "price")
    found = [
        (r["__op"], r["__snapshot"], r["__position"], r["__within"], r["id"])
        for r in table.rows.to_pylist()
    ]
    snapshot = [0x27, 0x700, 1]
    assert found == [
        ("r", "first", snapshot, None, 1),
        ("r", "true", snapshot, None, 2**31 - 1),
        ("r", "last", snapshot, None, 3),
        ("u", "false", [0x27, 0x759, 4], [0x27, 0x759, 2, 2], 1),
        ("u", "false", [0x27, 0x759, 8], [0x27, 0x759, 6, 2], 1),
        # A changed key, without a word that it is one.
        ("d", "false", [0x27, 0x760, 6], [0x27, 0x760, 2, 1], 3),
        ("c", "false", [0x27, 0x760, 6], [0x27, 0x760, 2, 2], 4),
        ("d", "false", [0x27, 0x770, 4], [0x27, 0x770, 2, 1], 4),
    ]


def test_a_large_value_that_an_update_leaves_as_it_was_is_kept(decoder: Decoder) -> None:
    (table,) = decoder.decode(recorded("sqlserver_texts")).tables
    kept, emptied = (row for row in table.rows.to_pylist() if row["__op"] == "u")
    # NULL on both sides, and NULL where there was a value.
    assert json.loads(kept["__absent"]) == ["words"]
    assert emptied["__absent"] is None
    assert own_columns(emptied) == FIRST | {"small": 7, "words": None}


def test_null_that_may_be_a_value_or_none_is_no_value(decoder: Decoder) -> None:
    (undecodable,) = decoder.decode(recorded("sqlserver_texts")).undecodable
    assert undecodable.stop.code is StopCode.VALUE_UNAVAILABLE
    assert "'old_text'" in undecodable.stop.detail
    assert "varchar(max)" in undecodable.stop.remedy


def test_text_of_which_nobody_knows_its_type_is_refused(decoder: Decoder) -> None:
    """As the connector writes it unless it is asked for types."""
    texts = recorded("sqlserver_texts").to_pylist()
    bare = [
        {
            **one,
            "value": one["value"]
            and re.sub(rb'"__debezium.source.column.type":"[^"]*",', b"", one["value"]),
        }
        for one in texts
    ]
    decoded = decoder.decode(pa.Table.from_pylist(bare, schema=RECORDS))
    assert decoded.tables == ()
    stop = decoded.undecodable[0].stop
    assert stop.code is StopCode.SOURCE_TYPE_UNSUPPORTED
    assert "column.propagate.source.type=.*" in stop.remedy
