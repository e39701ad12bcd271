"""Hostile values through a real server's log and COPY, compared with what the server says."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from openmirror.cdc.postgresql.changes import change_rows
from openmirror.cdc.postgresql.copied import copied_rows
from openmirror.cdc.postgresql.encodings import UnknownEncoding, codec_of, decoded, encoded
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.cdc.postgresql.types import TEXT, TextForm, TypeReading
from openmirror.cdc.postgresql.values import ValueRefused, to_arrow
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StopCode
from standins.postgres import PostgresServer
from tests.cdc.postgresql.server_texts import Sent, sent_by
from tests.harness.examples import examples

_ENCODINGS = """
CREATE FUNCTION converted(content bytea, encoding name) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN convert_from(content, encoding);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$
"""


@pytest.fixture(scope="module")
def sent(postgres: PostgresServer) -> Iterator[Sent]:
    with postgres.database("hostile_values") as url, sent_by(url) as sent:
        sent.run("CREATE EXTENSION citext")
        sent.run("CREATE EXTENSION hstore")
        sent.run("CREATE TYPE pair AS (a int, b text)")
        sent.run("CREATE DOMAIN cents AS numeric(12,2)")
        yield sent


@dataclass(frozen=True)
class Kind:
    """Values of one type, and what the server says of each, by its own means."""

    type: str
    literals: st.SearchStrategy[str]
    oracle: str
    seen_there: Callable[[str], Any]
    """The value that the oracle's text means."""
    seen: Callable[[Any], Any] = lambda value: value
    """A value of the Arrow column, to be compared with it."""


def _bits(size: str) -> Callable[[Any], bytes]:
    return lambda value: struct.pack(size, value)


def _hex(text: str) -> bytes:
    return bytes.fromhex(text)


def _micros(value: datetime) -> int:
    epoch = datetime(1970, 1, 1, tzinfo=value.tzinfo)
    return (value - epoch) // timedelta(microseconds=1)


def _integers(bits: int) -> st.SearchStrategy[str]:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return (st.sampled_from([least, most, 0, -1]) | st.integers(least, most)).map(str)


def _decimals(precision: int, scale: int) -> st.SearchStrategy[str]:
    most = 10**precision - 1
    units = st.sampled_from([most, -most, 0, 1]) | st.integers(-most, most)
    return units.map(lambda n: f"{Decimal(n).scaleb(-scale, _WIDE):f}")


_WIDE = Context(prec=60)
_NO_CONTROL = st.characters(blacklist_characters="\0", blacklist_categories=("Cs",))
_TEXTS = st.one_of(
    st.text(_NO_CONTROL, max_size=20),
    st.text(st.sampled_from('\\,"\n\r\t {}[];:=NULabc.\ufeff'), max_size=12),
    st.sampled_from(["NULL", "null", "\\N", "\\.", "", " ", "\ufeff", "u", "x" * 5000, "\x7f\x01"]),
)
_FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308, 1e22, 0.1])
_FLOATS_4 = st.floats(width=32) | st.sampled_from([1.401298464324817e-45, 3.4028234663852886e38])
_DATES = st.dates() | st.sampled_from([date.min, date.max, date(1582, 10, 10), date(1970, 1, 1)])
_MOMENTS = st.datetimes().map(str) | st.sampled_from(
    ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1582-10-10 00:00:00"]
)
_OFFSETS = st.sampled_from(["+00", "-03:30", "+05:30", "+15:59:59", "-15:59"])
_INNER_DATES = st.dates(date(2, 1, 1), date(9998, 12, 31)).map(str)
_ZONED = st.tuples(_INNER_DATES, st.times().map(str), _OFFSETS).map("{0[0]} {0[1]}{0[2]}".format)
_NOT_FINITE = st.sampled_from(["NaN", "Infinity", "-Infinity", "1e-900"])


def _days(value: date) -> int:
    return (value - date(1970, 1, 1)).days


def _same_text(type: str, literals: st.SearchStrategy[str]) -> Kind:
    # `format` calls the type's output function, where a cast may strip blanks.
    oracle = "CASE WHEN v IS DISTINCT FROM NULL THEN format('%s', v) END"
    return Kind(type, literals, oracle, str)


_KINDS = [
    Kind("smallint", _integers(16), "v", int),
    Kind("integer", _integers(32), "v", int),
    Kind("bigint", _integers(64), "v", int),
    Kind("oid", st.integers(0, 2**32 - 1).map(str), "v::bigint", int),
    Kind("xid", st.integers(0, 2**32 - 1).map(str), "v::text::bigint", int),
    Kind("boolean", st.sampled_from("tf"), "v::int", lambda text: text == "1"),
    Kind("double precision", _FLOATS.map(repr), "encode(float8send(v),'hex')", _hex, _bits(">d")),
    Kind("real", _FLOATS_4.map(repr), "encode(float4send(v),'hex')", _hex, _bits(">f")),
    Kind("numeric(12,2)", _decimals(12, 2), "v::text", Decimal),
    Kind("numeric(38,0)", _decimals(38, 0), "v::text", Decimal),
    Kind("numeric(38,38)", _decimals(38, 38), "v::text", Decimal),
    Kind("numeric(3,-2)", st.integers(-99_900, 99_900).map(str), "v::text", Decimal),
    Kind("cents", _decimals(12, 2), "v::text", Decimal),
    Kind("money", _decimals(18, 2), "v::numeric", Decimal),
    Kind("date", _DATES.map(str), "v - date '1970-01-01'", int, _days),
    Kind("timestamp", _MOMENTS, "(extract(epoch from v)*1000000)::bigint", int, _micros),
    Kind("timestamptz", _ZONED, "(extract(epoch from v)*1000000)::bigint", int, _micros),
    Kind(
        "bytea", st.binary(max_size=40).map(lambda b: "\\x" + b.hex()),
        "translate(encode(v, 'base64'), E'\\n', '')", base64.b64decode,
    ),
    _same_text("text", _TEXTS),
    _same_text("varchar(5000)", _TEXTS),
    _same_text("char(7)", st.text(st.sampled_from('a "\\,\n'), max_size=7)),
    _same_text("name", st.text(st.sampled_from('a "\\,é'), max_size=20)),
    _same_text('"char"', st.text(st.sampled_from('a "\\,'), max_size=1)),
    _same_text("citext", _TEXTS),
    _same_text("numeric", _decimals(60, 30) | _NOT_FINITE),
    _same_text("json", _TEXTS.map(json.dumps)),
    _same_text("uuid", st.uuids().map(str)),
    _same_text("time", st.times().map(str) | st.just("24:00")),
    _same_text("timetz", st.tuples(st.times().map(str), _OFFSETS).map("".join)),
    _same_text("interval", st.sampled_from(["1 mon -2 days +03:04:05.6", "-1 y", "24:00", "0"])),
    _same_text("varbit", st.text("01", max_size=20)),
    _same_text("bit(4)", st.text("01", min_size=4, max_size=4)),
    _same_text("inet", st.ip_addresses().map(str)),
    _same_text("point", st.tuples(_FLOATS, _FLOATS).map(lambda p: f"({p[0]!r},{p[1]!r})")),
    _same_text("int4range", st.sampled_from(["[1,5]", "empty", "(,)", "[,7)"])),
    _same_text("tsvector", st.sampled_from(["a:1A b:2 'it''s'", "", "'a b' c"])),
    _same_text("xid8", st.integers(0, 2**64 - 1).map(str)),
    _same_text("hstore", st.sampled_from(['a=>1, "b c"=>NULL, "q\\""=>"x,y"', ""])),
    _same_text("pair", st.sampled_from(['(1,"x,\\"y")', "(,)", '(2,"")'])),
]  # fmt: skip


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.type)
def test_each_value_is_as_the_server_says(sent: Sent, kind: Kind) -> None:
    sent.run("DROP TABLE IF EXISTS v")
    sent.run(f"CREATE TABLE v (id int PRIMARY KEY, v {kind.type})")
    shape = sent.shape("v")

    @drawn(max_examples=examples(4), deadline=None)
    @given(st.lists(st.none() | kind.literals, min_size=1, max_size=25))
    def check(literals: list[str | None]) -> None:
        sent.run("DELETE FROM v")
        sent.log()
        sent.run(
            f"INSERT INTO v SELECT n, x::{kind.type} FROM unnest(%s::text[]) "
            "WITH ORDINALITY AS u (x, n)",
            (literals,),
        )
        seen_there = [
            None if text is None else kind.seen_there(text.decode())
            for _, text in sent.texts(f"SELECT id, {kind.oracle} FROM v ORDER BY id")
        ]
        messages, logged = sent.rows_of_log("v")
        assert logged == shape
        changes = change_rows(messages, shape, "UTF8", while_loading=False)
        assert changes.stop is None
        rows = copied_rows(sent.copied("SELECT * FROM v ORDER BY id"), shape, "UTF8")
        for table in (changes.table, rows):
            column = table.column("v")
            assert column.type == arrow_type(shape.columns[1].reading.type)
            column.validate(full=True)
            seen = [None if v is None else kind.seen(v) for v in column.to_pylist()]
            assert seen == seen_there
        # One column alone is another text to COPY: a NULL is an empty line.
        alone = copied_rows(sent.copied("SELECT v FROM v ORDER BY id"), _only_v(shape), "UTF8")
        seen = [None if v is None else kind.seen(v) for v in alone.column("v").to_pylist()]
        assert seen == seen_there

    check()


def _only_v(shape: TableShape) -> TableShape:
    return replace(shape, columns=shape.columns[1:], sent=1)


_REFUSED = [
    ("numeric(10,2)", "NaN", "NaN, which decimal(10,2) cannot hold"),
    ("date", "infinity", "an infinity, which date cannot hold"),
    ("date", "0001-01-01 BC", "a moment before Christ, which date cannot hold"),
    ("date", "10000-01-01", "a year after 9999, which date cannot hold"),
    ("timestamp", "-infinity", "an infinity, which timestamp_ntz cannot hold"),
    ("timestamp", "0044-03-15 12:00 BC", "a moment before Christ, which timestamp_ntz cannot hold"),
    ("timestamptz", "10000-01-01 00:00+00", "a year after 9999, which timestamp cannot hold"),
    ("timestamptz", "0001-01-01 00:00+01", "a moment before Christ, which timestamp cannot hold"),
    ("int[]", "[0:1]={1,2}", "an array whose bounds do not begin at 1"),
]


@pytest.mark.parametrize(("type", "literal", "why"), _REFUSED)
def test_a_value_that_delta_cannot_hold_stops_its_table_there(
    sent: Sent, type: str, literal: str, why: str
) -> None:
    sent.run("DROP TABLE IF EXISTS v")
    sent.run(f"CREATE TABLE v (id int PRIMARY KEY, v {type})")
    sent.run(f"INSERT INTO v VALUES (1, NULL), (2, '{literal}'), (3, NULL)")
    messages, shape = sent.rows_of_log("v")
    found = change_rows(messages, shape, "UTF8", while_loading=False, name_keys=True)
    assert found.table.column("id").to_pylist() == [1]
    assert found.stop is not None
    at, stop = found.stop
    assert (at, stop.code) == (1, StopCode.SOURCE_VALUE_INVALID)
    assert stop.detail == f"column public.v.v has {why} (key id=2)"
    assert stop.remedy == "`--as-text public.v.v`, or `--without-column public.v.v`"
    with pytest.raises(ValueRefused) as refused:
        copied_rows(sent.copied("SELECT * FROM v ORDER BY id"), shape, "UTF8")
    assert (refused.value.row, refused.value.why, refused.value.column) == (1, why, "v")
    shape = sent.shape("v", as_text=frozenset("v"))
    whole = change_rows(messages, shape, "UTF8", while_loading=False)
    assert whole.stop is None
    [_, (text,), _] = sent.texts("SELECT v FROM v ORDER BY id")
    assert whole.table.column("v").to_pylist() == [None, (text or b"").decode(), None]


def _read(texts: list[bytes | None], type: str, form: TextForm) -> list[object]:
    reading = TypeReading(ColumnType(type), form)
    # Padded in front, as an array within another one is.
    whole = pa.array([b"\xffpadding", None, *texts], pa.binary())
    found: list[object] = to_arrow(whole.slice(2), reading, "UTF8").to_pylist()
    return found


@pytest.mark.parametrize(
    ("type", "form", "text"),
    [
        ("integer", TextForm.INTEGER, b"0x1f"),
        ("integer", TextForm.INTEGER, b" 1"),
        ("integer", TextForm.INTEGER, b"2147483648"),
        ("short", TextForm.INTEGER, b"-32769"),
        ("long", TextForm.INTEGER, b""),
        ("boolean", TextForm.BOOLEAN, b"true"),
        ("double", TextForm.FLOAT, b"1e400"),
        ("double", TextForm.FLOAT, b"1e-400"),
        ("float", TextForm.FLOAT, b"1e39"),
        ("float", TextForm.FLOAT, b"1e-46"),
        ("double", TextForm.FLOAT, b"inf"),
        ("double", TextForm.FLOAT, b"nan"),
        ("decimal(4,2)", TextForm.DECIMAL, b"1.555"),
        ("decimal(4,2)", TextForm.DECIMAL, b"100.00"),
        ("decimal(4,2)", TextForm.DECIMAL, b"Infinity"),
        ("decimal(19,2)", TextForm.MONEY, b"1.00"),
        ("decimal(19,2)", TextForm.MONEY, b"1,00 EUR"),
        ("decimal(19,2)", TextForm.MONEY, b"$1,0000.00"),
        ("date", TextForm.DATE, b"2024-02-30"),
        ("date", TextForm.DATE, b"01/02/2024"),
        ("timestamp_ntz", TextForm.TIMESTAMP, b"2024-01-01 00:00:00+00"),
        ("timestamp_ntz", TextForm.TIMESTAMP, b"2024-01-01 00:00:00.1234567"),
        ("timestamp_ntz", TextForm.TIMESTAMP, b"2024-01-01 24:00:00"),
        ("timestamp", TextForm.ZONED_TIMESTAMP, b"2024-01-01 00:00:00"),
        ("timestamp", TextForm.ZONED_TIMESTAMP, b"9999-12-31 23:59:59-01"),
        ("timestamp", TextForm.ZONED_TIMESTAMP, b"0001-01-01 00:00:00+01"),
        ("binary", TextForm.BYTES, b"\\x0"),
        ("binary", TextForm.BYTES, b"\\xzz"),
        ("binary", TextForm.BYTES, b"ab"),
        ("binary", TextForm.BYTES, b"\\000"),
        ("string", TextForm.TEXT, b"\xed\xa0\x80"),
        ("string", TextForm.TEXT, b"\xc0\x80"),
    ],
)
def test_texts_that_pyarrow_would_change_or_refuse_are_refused(
    type: str, form: TextForm, text: bytes
) -> None:
    with pytest.raises(ValueRefused) as refused:
        _read([None, text, text], type, form)
    assert refused.value.row == 1


def test_zoned_timestamps_of_any_offset_are_exact() -> None:
    texts: list[bytes | None] = [
        b"2024-01-01 00:00:00+15:59:59",
        b"2024-01-01 00:00:00.5-00:30",
        None,
        b"2024-01-01 00:00:00.000001+05",
    ]
    whole = [*texts, b"2024-01-01 12:00:00+00"]
    read = _read(whole, "timestamp", TextForm.ZONED_TIMESTAMP)
    assert read == [
        datetime(2023, 12, 31, 8, 0, 1, tzinfo=UTC),
        datetime(2024, 1, 1, 0, 30, 0, 500_000, tzinfo=UTC),
        None,
        datetime(2023, 12, 31, 19, 0, 0, 1, tzinfo=UTC),
        datetime(2024, 1, 1, 12, tzinfo=UTC),
    ]
    for text, value in zip(whole, read, strict=True):
        if text is not None and b"59:59" not in text:
            assert _read([text], "timestamp", TextForm.ZONED_TIMESTAMP) == [value]


def test_columns_without_any_value() -> None:
    for type, form in [
        ("integer", TextForm.INTEGER),
        ("string", TextForm.TEXT),
        ("binary", TextForm.BYTES),
    ]:
        assert _read([None, None], type, form) == [None, None]
        assert _read([], type, form) == []


def test_numbers_are_rounded_once() -> None:
    # Rounded to a double first, this would become the other one of two floats.
    assert _read([b"7.038531e-26"], "float", TextForm.FLOAT) == [
        struct.unpack(">f", struct.pack(">I", 0x15AE43FD))[0]
    ]
    [nan, least] = _read([b"NaN", b"-0"], "float", TextForm.FLOAT)
    assert math.isnan(float(str(nan)))
    assert math.copysign(1, float(str(least))) == -1


_SERVER_ENCODINGS = [
    "EUC_CN", "EUC_JIS_2004", "EUC_JP", "EUC_KR", "ISO_8859_5", "ISO_8859_6", "ISO_8859_7",
    "ISO_8859_8", "KOI8R", "KOI8U", *(f"LATIN{n}" for n in range(1, 11)),
    "WIN866", "WIN874", *(f"WIN125{n}" for n in range(9)),
]  # fmt: skip


def test_each_code_of_each_encoding_is_as_the_server_converts_it(sent: Sent) -> None:
    sent.run(_ENCODINGS)
    for encoding in _SERVER_ENCODINGS:
        codes = [bytes([one]) for one in range(1, 256)]
        if encoding.startswith("EUC"):
            high = range(0xA1, 0xFF)
            codes += [bytes([a, b]) for a in (0x8E, *high) for b in high]
            # A sample of the third plane: all of it takes a second for each encoding.
            codes += [bytes([0x8F, a, b]) for a in high for b in (0xA1, 0xB7, 0xC3, 0xFE)]
        rows = sent.texts(
            f"SELECT converted(decode(c, 'hex'), '{encoding}') FROM unnest("
            f"'{{{','.join(code.hex() for code in codes)}}}'::text[]) "
            "WITH ORDINALITY AS u (c, n) ORDER BY n"
        )
        for code, (seen_there,) in zip(codes, rows, strict=True):
            try:
                text = decoded(code, encoding)
            except UnicodeDecodeError:
                continue
            if seen_there is not None:
                assert text == seen_there.decode(), (encoding, code)
                assert encoded(text, encoding) == code or encoding.startswith("EUC")


def test_texts_of_other_encodings() -> None:
    whole = pa.array([b"plain", None, b"\x80 \xe9"], pa.binary())
    assert to_arrow(whole, TEXT, "WIN1252").to_pylist() == ["plain", None, "€ é"]
    assert to_arrow(whole.slice(0, 2), TEXT, "WIN1252").to_pylist() == ["plain", None]
    # The server does not know what the bytes of such a database mean.
    assert to_arrow(pa.array([b"\xc3\xa9"]), TEXT, "SQL_ASCII").to_pylist() == ["é"]
    for encoding in ("SQL_ASCII", "UTF8", "EUC_JP"):
        with pytest.raises(ValueRefused, match=f"no text of {encoding}"):
            to_arrow(whole, TEXT, encoding)
    with pytest.raises(UnknownEncoding):
        codec_of("EUC_TW")
