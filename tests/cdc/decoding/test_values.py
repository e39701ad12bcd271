"""What Spark read of a JSON value, and what stands in its Delta type: each way of writing one."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from openmirror.cdc.decoding.converting import convert
from openmirror.cdc.decoding.types import Reading, WrittenAs
from openmirror.protocol.schema import ColumnType

LARGEST = 10**38 - 1


def reading(kind: str, form: WrittenAs = WrittenAs.PLAIN, scale: int = 0) -> Reading:
    return Reading(ColumnType(kind), form, scale)


def unscaled(number: int) -> bytes:
    """As Java's BigInteger writes it: the fewest bytes."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def converted(raw: list[Any], kind: pa.DataType, how: Reading) -> list[Any]:
    """Values, where each has a place."""
    column = convert(pa.array(raw, kind), how)
    assert column.invalid is None
    return list(column.values.to_pylist())


def invalid(raw: list[Any], kind: pa.DataType, how: Reading) -> list[bool]:
    """Where a value has no place; NULL stands for those."""
    column = convert(pa.array(raw, kind), how)
    assert column.invalid is not None
    bad = list(column.invalid.to_pylist())
    assert [value is None for value in column.values.to_pylist()] == [
        wrong or value is None for wrong, value in zip(bad, raw, strict=True)
    ]
    return bad


def at(moment: str) -> datetime:
    return datetime.fromisoformat(moment)


def test_a_decimal_is_exact_to_its_last_digit() -> None:
    numbers = [0, -1, 127, 128, -128, -129, 255, 256, LARGEST, -LARGEST, None]
    raw = [None if number is None else unscaled(number) for number in numbers]
    wide = reading("decimal(38,10)", WrittenAs.DECIMAL, 10)
    assert converted(raw, pa.binary(), wide) == [
        None
        if number is None
        else Decimal((number < 0, Decimal(abs(number)).as_tuple().digits, -10))
        for number in numbers
    ]
    assert converted([unscaled(-150)], pa.binary(), reading("decimal(5,2)", WrittenAs.DECIMAL)) == [
        Decimal("-1.50")
    ]


def test_a_decimal_may_be_written_with_more_bytes_than_it_needs() -> None:
    raw = [b"\x00\x00\x07", b"\xff\xff\xf9", b"\x00" * 16]
    assert converted(raw, pa.binary(), reading("decimal(3,0)", WrittenAs.DECIMAL)) == [7, -7, 0]


def test_a_decimal_of_more_digits_than_its_column_has_no_place() -> None:
    raw = [unscaled(n) for n in (999, 1000, -1000, -999, LARGEST + 1, 1 << 200)] + [b"", None]
    narrow = reading("decimal(3,1)", WrittenAs.DECIMAL, 1)
    assert invalid(raw, pa.binary(), narrow) == [
        *(False, True, True, False, True, True, True),
        False,
    ]


def test_the_largest_numbers_of_sixteen_bytes_are_not_taken_for_decimals() -> None:
    raw = [unscaled(n) for n in (LARGEST, LARGEST + 1, (1 << 127) - 1, -(1 << 127))]
    wide = reading("decimal(38,0)", WrittenAs.DECIMAL)
    assert invalid(raw, pa.binary(), wide) == [False, True, True, True]


def test_a_decimal_of_more_than_38_digits_is_plain_text() -> None:
    numbers = [0, -5, 12345, LARGEST + 1, -(10**50), 1 << 9000, None]
    raw = [None if number is None else unscaled(number) for number in numbers]
    texts = converted(raw, pa.binary(), reading("string", WrittenAs.LONG_DECIMAL, 2))
    assert texts[:5] == [
        "0.00",
        "-0.05",
        "123.45",
        "1000000000000000000000000000000000000.00",
        "-1" + "0" * 48 + ".00",
    ]
    assert Decimal(texts[5]) == Decimal(1 << 9000).scaleb(-2, Context(prec=4000))
    assert texts[6] is None


def test_a_decimal_with_a_scale_of_its_own_is_plain_text() -> None:
    kind = pa.struct([("scale", pa.int32()), ("value", pa.binary())])
    cases = [(0, 12), (1, -15), (50, 1), (-3, 7), (-3, 0), (4, 1 << 140), (2, -5)]
    raw = [{"scale": scale, "value": unscaled(number)} for scale, number in cases]
    texts = converted([*raw, None], kind, reading("string", WrittenAs.VARIABLE_DECIMAL))
    assert texts == [
        "12",
        "-1.5",
        "0." + "0" * 49 + "1",
        "7000",
        "0",
        f"{(1 << 140) // 10**4}.{(1 << 140) % 10**4:04}",
        "-0.05",
        None,
    ]


def test_days_are_dates_in_years_1_to_9999() -> None:
    days = reading("date", WrittenAs.DAYS)
    raw = [0, -1, 20777, -719162, 2932896, None]
    assert converted(raw, pa.int32(), days) == [
        date(1970, 1, 1),
        date(1969, 12, 31),
        date(2026, 11, 20),
        date(1, 1, 1),
        date(9999, 12, 31),
        None,
    ]
    # The day after, the one before, and what a connector writes for infinity.
    assert invalid([2932897, -719163, 2146033979, 0], pa.int32(), days) == [True, True, True, False]


@pytest.mark.parametrize(
    ("digits", "raw"),
    [(3, [1500, -1, 0]), (6, [1500000, -1000, 0])],
)
def test_a_timestamp_is_the_same_moment_in_every_unit(digits: int, raw: list[int]) -> None:
    how = reading("timestamp_ntz", WrittenAs.TIMESTAMP, digits)
    assert converted(raw, pa.int64(), how) == [
        at("1970-01-01T00:00:01.500000"),
        at("1969-12-31T23:59:59.999000"),
        at("1970-01-01T00:00:00"),
    ]


def test_a_timestamp_beyond_the_years_has_no_place() -> None:
    how = reading("timestamp_ntz", WrittenAs.TIMESTAMP, 6)
    first, last = -62135596800000000, 253402300799999999
    assert converted([first, last], pa.int64(), how) == [
        at("0001-01-01T00:00:00"),
        at("9999-12-31T23:59:59.999999"),
    ]
    infinity = (1 << 63) - 1
    assert invalid([first - 1, last + 1, infinity, -infinity - 1, 0], pa.int64(), how) == [
        *(True, True, True, True),
        False,
    ]


def test_what_is_finer_than_a_microsecond_is_cut_off_and_known_to_be() -> None:
    how = reading("timestamp_ntz", WrittenAs.ISO_TIMESTAMP)
    texts = ["9999-12-31T23:59:59.9999999Z", "2026-11-20T01:02:03.1234560Z", "2026-11-20T01:02:03Z"]
    column = convert(pa.array([*texts, None]), how)
    assert column.values.to_pylist() == [
        at("9999-12-31T23:59:59.999999"),
        at("2026-11-20T01:02:03.123456"),
        at("2026-11-20T01:02:03"),
        None,
    ]
    assert column.invalid is None
    assert column.cut is not None
    assert column.cut.to_pylist() == [True, False, False, None]
    instant = convert(
        pa.array(["2026-11-20T01:02:03.123456789+02:00"]),
        reading("timestamp", WrittenAs.ZONED_TIMESTAMP),
    )
    assert instant.values.to_pylist() == [at("2026-11-19T23:02:03.123456+00:00")]
    assert instant.cut is not None
    assert instant.cut.to_pylist() == [True]


def test_a_time_keeps_every_digit() -> None:
    in_numbers = reading("string", WrittenAs.TIME, 9)
    raw = [3723456789100, 3723456789000, 3723000000000, 86399999999999]
    texts = ["01:02:03.456789100", "01:02:03.456789", "01:02:03", "23:59:59.999999999"]
    assert converted(raw, pa.int64(), in_numbers) == texts
    in_text = reading("string", WrittenAs.ISO_TIME)
    written = ["01:02:03.4567891Z", "01:02:03.456789Z", "01:02:03Z", "23:59:59.999999999Z"]
    assert converted(written, pa.string(), in_text) == texts


def test_a_time_of_day_has_a_fraction_only_where_there_is_one() -> None:
    how = reading("string", WrittenAs.TIME, 6)
    raw = [0, 3723456789, 3723000000, 86399999999, 86400000000, 1, None]
    assert converted(raw, pa.int64(), how) == [
        "00:00:00",
        "01:02:03.456789",
        "01:02:03",
        "23:59:59.999999",
        "24:00:00",
        "00:00:00.000001",
        None,
    ]
    assert converted([3723400], pa.int32(), reading("string", WrittenAs.TIME, 3)) == [
        "01:02:03.400000"
    ]
    # What MySQL and MariaDB call a time may be longer than a day, and below zero.
    assert converted([-1, 86400000001, -3020399000000], pa.int64(), how) == [
        "-00:00:00.000001",
        "24:00:00.000001",
        "-838:59:59",
    ]
    beyond = 839 * 3600 * 1_000_000
    assert invalid([beyond, -beyond, 5], pa.int64(), how) == [True, True, False]


def test_a_time_in_text_reads_as_one_in_numbers_does() -> None:
    how = reading("string", WrittenAs.ISO_TIME)
    raw = ["01:02:03.456Z", "01:02:03Z", "00:00:00.000Z", None]
    assert converted(raw, pa.string(), how) == ["01:02:03.456000", "01:02:03", "00:00:00", None]
    assert invalid(["1:02:03Z", "", "01:02:03.1234567890Z", "01:02:03"], pa.string(), how) == [
        *(True, True, True),
        False,
    ]


def test_a_date_in_text_means_nothing_by_its_z() -> None:
    how = reading("date", WrittenAs.ISO_DATE)
    assert converted(["2026-11-20Z", "0001-01-01Z", "9999-12-31", None], pa.string(), how) == [
        date(2026, 11, 20),
        date(1, 1, 1),
        date(9999, 12, 31),
        None,
    ]
    bad = ["+10000-01-01Z", "-0043-03-15Z", "0000-01-01Z", "2026-02-30Z", "infinity", "2026-11-20Z"]
    assert invalid(bad, pa.string(), how) == [True, True, True, True, True, False]


def test_a_timestamp_in_text_means_nothing_by_its_z() -> None:
    how = reading("timestamp_ntz", WrittenAs.ISO_TIMESTAMP)
    raw = ["2026-11-20T01:02:03.4Z", "2026-11-20T01:02:03", "0001-01-01T00:00:00Z", None]
    assert converted(raw, pa.string(), how) == [
        at("2026-11-20T01:02:03.400000"),
        at("2026-11-20T01:02:03"),
        at("0001-01-01T00:00:00"),
        None,
    ]
    bad = ["+292278994-08-16T23:00:00Z", "2026-13-01T00:00:00Z", "2026-11-20T01:02:03+01:00", "x"]
    assert invalid([*bad, raw[0]], pa.string(), how) == [True, True, True, True, False]


def test_an_instant_is_the_same_moment_with_any_offset() -> None:
    how = reading("timestamp", WrittenAs.ZONED_TIMESTAMP)
    raw = ["2026-11-19T23:02:03.456789Z", "2026-11-20T01:02:03.456789+02:00", None]
    moment = datetime(2026, 11, 19, 23, 2, 3, 456789, UTC)
    assert converted(raw, pa.string(), how) == [moment, moment, None]


def test_an_instant_beyond_the_years_or_without_an_offset_has_no_place() -> None:
    how = reading("timestamp", WrittenAs.ZONED_TIMESTAMP)
    bad = [
        "infinity",
        "-infinity",
        "+10000-01-01T00:00:00Z",
        "-0043-03-15T01:00:00.000000Z",
        "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+01:00",
        "2026-02-30T00:00:00Z",
        "2026-11-20T01:02:03",
        "2026-11-20T01:02:03.1234567890Z",
    ]
    assert invalid([*bad, "2026-11-20T01:02:03Z"], pa.string(), how) == [True] * 9 + [False]


@pytest.mark.parametrize("form", [WrittenAs.DECIMAL, WrittenAs.LONG_DECIMAL])
def test_no_decimals_are_no_decimals(form: WrittenAs) -> None:
    kind = "decimal(5,2)" if form is WrittenAs.DECIMAL else "string"
    assert converted([], pa.binary(), reading(kind, form, 2)) == []
    assert converted([None, None], pa.binary(), reading(kind, form, 2)) == [None, None]


def test_a_byte_is_no_larger_than_a_byte() -> None:
    how = reading("byte")
    assert converted([-128, 127, None], pa.int16(), how) == [-128, 127, None]
    assert invalid([128, -129, 200, 0], pa.int16(), how) == [True, True, True, False]


def test_floats_keep_what_is_no_number() -> None:
    raw = [math.inf, -math.inf, -0.0, 5e-324, None]
    assert converted(raw, pa.float64(), reading("double")) == raw
    (value,) = converted([math.nan], pa.float64(), reading("double"))
    assert math.isnan(value)
