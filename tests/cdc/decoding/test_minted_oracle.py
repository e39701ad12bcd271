"""What the converters of Debezium's connector for Oracle write, of every type that it has.

By 3.5.0.Final and Kafka Connect's JSON converter (`minting.oracle`), as LogMiner feeds them: with
times in text, as `cdc template` configures it, and with times in numbers, as it is by default.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from openmirror.cdc.decoded import SourceTable
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.streams import StopCode
from tests.cdc.decoding.recorded import own_columns, present, recorded


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


FIRST = {
    "ID": 1,
    "TINY": -99,
    "SMALL": 9999,
    "BIG": -999999999999999999,
    "WHOLE": Decimal("9" * 38),
    "PRICE": Decimal("-1.50"),
    "ANY_SCALE": "123.456789",
    "HUNDREDS": -123400,
    "ONE_FLOAT": 0.10000000149011612,
    "TWO_FLOAT": 1e-300,
    "OLD_FLOAT": "0.1",
    "DAY": at("2026-11-20T01:02:03"),
    "MOMENT0": at("2026-11-20T01:02:03"),
    "MOMENT6": at("2026-11-20T01:02:03.456789"),
    "MOMENT9": at("2026-11-20T01:02:03.456789"),
    "INSTANT": at("2026-11-20T01:02:03.456789+02:00"),
    "LOCAL": at("2026-11-19T23:02:03.456789+00:00"),
    "PADDED": "ab   ",
    "WORDS": 'a "q" \\ \n é 😀 ,"payload":{}',
    "WIDE": "ü",
    "CLOB": "large",
    "BLOB": b"\x80",
    "BYTES": b"\x00\xff\x10",
    "ROW_ID": "AAAR9VAAMAAAACXAAA",
    "MONTHS": "P-3Y-6M0DT0H0M0S",
    "SECONDS": "P0Y0M-1DT-2H-3M-4.567891S",
}
AT_THE_EDGES = {
    "ID": 999999999,
    "WHOLE": Decimal("-" + "9" * 38),
    "PRICE": Decimal("99999999.99"),
    "ANY_SCALE": "1" + "0" * 125,
    "TWO_FLOAT": -1.7976931348623157e308,
    "DAY": at("9999-12-31T23:59:59"),
    "MOMENT6": at("0001-01-01T00:00:00"),
    "MOMENT9": at("9999-12-31T23:59:59.999999"),
    "INSTANT": at("9999-12-31T23:59:59.999999+00:00"),
}


def test_every_type_of_oracle_is_exact_but_for_digits_below_a_microsecond(
    decoder: Decoder,
) -> None:
    (table,) = decoder.decode(recorded("oracle_texts")).tables
    first, second, third, _, created, *_ = table.rows.to_pylist()
    assert own_columns(first) == FIRST
    assert present(own_columns(second)) == AT_THE_EDGES
    assert present(own_columns(third)) == {"ID": 3, "PRICE": Decimal("0.00")}
    # As LogMiner has values, so they read in a snapshot.
    streamed = {"ID": 4, "PRICE": Decimal("0.00"), "WORDS": "words"}
    assert own_columns(created) == FIRST | streamed


def test_a_large_value_that_the_log_of_oracle_leaves_out_stops_the_table(decoder: Decoder) -> None:
    """The connector sends changes of such tables in no order that holds."""
    (undecodable,) = decoder.decode(recorded("oracle_texts")).undecodable
    assert undecodable.stop.code is StopCode.VALUE_UNAVAILABLE
    assert "lob.enabled=false" in undecodable.stop.remedy


def test_nanoseconds_of_oracle_in_numbers_are_refused(decoder: Decoder) -> None:
    decoded = decoder.decode(recorded("oracle_numbers"))
    assert decoded.tables == ()
    stop = decoded.undecodable[0].stop
    assert "'MOMENT9'" in stop.detail
    assert "time.precision.mode=isostring" in stop.remedy


def test_changes_of_oracle_stand_at_their_commit_and_have_numbers_in_their_transaction(
    decoder: Decoder,
) -> None:
    (table,) = decoder.decode(recorded("oracle_texts")).tables
    assert table.table == SourceTable("ORCLPDB1", "SHOP", "EVERY_TYPE")
    assert table.keys == ("ID", "PRICE")
    found = [
        (r["__op"], r["__pair"], r["__transaction"], r["__position"], r["__within"])
        for r in table.rows.to_pylist()
    ]
    assert found == [
        *[("r", None, None, [2589400], None)] * 3,
        # Both halves of a changed key have one number.
        ("d", "newkey", "0500060004040000", [2589460], [7]),
        ("c", "oldkey", "0500060004040000", [2589460], [7]),
        ("d", None, "0500060005040000", [10**16], [1]),
        ("t", None, "0500060006040000", [10**16 + 1], [1]),
    ]
