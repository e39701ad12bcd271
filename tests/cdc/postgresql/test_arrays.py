"""Arrays as JSON: every text that a real server writes of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from openmirror.cdc.postgresql.arrays import ArrayRefused, json_of_array
from openmirror.cdc.postgresql.changes import change_rows
from openmirror.cdc.postgresql.copied import copied_rows
from openmirror.cdc.postgresql.types import TEXT, TextForm, TypeReading
from openmirror.cdc.postgresql.values import to_arrow
from openmirror.protocol.schema import ColumnType
from standins.postgres import PostgresServer
from tests.cdc.postgresql.server_texts import Sent, sent_by
from tests.harness.examples import examples

_INT = TypeReading(ColumnType("integer"), TextForm.INTEGER)
_DIGITS = TypeReading(ColumnType("string"), TextForm.DIGITS)
_BOOLEAN = TypeReading(ColumnType("boolean"), TextForm.BOOLEAN)
_JSON = TypeReading(ColumnType("string"), TextForm.JSON)


def _array(element: TypeReading, delimiter: str = ",") -> TypeReading:
    return TypeReading(ColumnType("string"), TextForm.ARRAY, element, delimiter)


@pytest.mark.parametrize(
    ("text", "element", "expected"),
    [
        ("{}", _INT, "[]"),
        ("{1,NULL,-3}", _INT, "[1,null,-3]"),
        ("{{1,2},{3,4}}", _INT, "[[1,2],[3,4]]"),
        ("{{{1},{2}},{{3},{4}}}", _INT, "[[[1],[2]],[[3],[4]]]"),
        ("{1.50,NaN,-Infinity,1e+20}", _DIGITS, '[1.50,"NaN","-Infinity",1e+20]'),
        ("{t,f,NULL}", _BOOLEAN, "[true,false,null]"),
        ('{"NULL",NULL,null,""}', TEXT, '["NULL",null,"null",""]'),
        (r'{"a\"b","c\\d","{","}",",",x}', TEXT, r'["a\"b","c\\d","{","}",",","x"]'),
        ('{"a\nb","\t"," é"}', TEXT, r'["a\nb","\t"," é"]'),
        ('{"{\\"a\\": [1, \\"\\\\\\"\\"]}",NULL,null}', _JSON, r'[{"a": [1, "\""]},null,null]'),
        ("{1,2}", TEXT, '["1","2"]'),
        ('{"{1,2}","{}"}', _array(_INT), '["{1,2}","{}"]'),
    ],
)
def test_arrays_of_each_kind(text: str, element: TypeReading, expected: str) -> None:
    assert json_of_array(text, element) == expected
    whole = pa.array([text.encode(), None, b"{}"], pa.binary())
    assert to_arrow(whole, _array(element), "UTF8").to_pylist() == [expected, None, "[]"]
    json.loads(expected)


def test_boxes_stand_between_semicolons() -> None:
    text = "{(1,1),(0,0);(2,2),(1,1)}"
    assert json_of_array(text, TEXT, ";") == '["(1,1),(0,0)","(2,2),(1,1)"]'
    assert json_of_array("{{(1,1),(0,0)};{NULL}}", TEXT, ";") == '[["(1,1),(0,0)"],[null]]'


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "}", "1", "{1", "{1}}", "{1,}", "{,1}", "{1,,2}", "{1}{2}", "{{}}", "{1,{2}",
        "{{1}2}", "{1 }", '{"a}', '{"a"b}', "{}x", '{"a"', " {1}", "{1}\n", '{"\\',
    ],
)  # fmt: skip
def test_other_texts_are_no_arrays(text: str) -> None:
    with pytest.raises(ArrayRefused, match="no array"):
        json_of_array(text, TEXT)


@pytest.mark.parametrize("text", ["[0:1]={1,2}", "[2:2][1:2]={{1,2}}", "[-5:-5]={NULL}"])
def test_bounds_that_do_not_begin_at_one_are_refused(text: str) -> None:
    with pytest.raises(ArrayRefused, match="bounds do not begin at 1"):
        json_of_array(text, _INT)


@pytest.fixture(scope="module")
def sent(postgres: PostgresServer) -> Iterator[Sent]:
    with postgres.database("arrays_of_a_server") as url, sent_by(url) as sent:
        sent.run("CREATE DOMAIN cents AS numeric(12,2)")
        yield sent


@dataclass(frozen=True)
class Kind:
    type: str
    elements: st.SearchStrategy[str]
    seen_there: Callable[[str], object]
    """What stands in JSON for the text of an element, as `json.loads` reads it."""


def _number(text: str) -> object:
    return text if text in ("NaN", "Infinity", "-Infinity") else Decimal(text)


_TEXTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=8)
_ODD = st.text(st.sampled_from('\\,"\n {}[];:=NULnul.\t'), max_size=6)
_FLOATS = (st.floats() | st.sampled_from([1e300, 5e-324, -0.0])).map(repr)
_NUMBERS = st.decimals(-(10**30), 10**30, allow_nan=False, places=12).map("{:f}".format)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _ODD, lambda inner: st.lists(inner, max_size=3)
)
_KINDS = [
    Kind("int", st.integers(-9, 2**31 - 1).map(str), Decimal),
    Kind("bigint", st.integers(-(2**63), 2**63 - 1).map(str), Decimal),
    Kind("float8", _FLOATS, _number),
    Kind("numeric", _NUMBERS | st.sampled_from(["NaN", "Infinity", "-Infinity"]), _number),
    Kind("cents", st.decimals(-99, 99, places=2, allow_nan=False).map(str), _number),
    Kind("boolean", st.sampled_from("tf"), lambda text: text == "t"),
    Kind("text", _TEXTS | _ODD | st.sampled_from(["NULL", "null", ""]), str),
    Kind("char(3)", st.text(st.sampled_from('a ",\\'), max_size=3), str),
    Kind("jsonb", _VALUES.map(json.dumps), lambda text: json.loads(text, parse_float=Decimal)),
    Kind("json", _VALUES.map(json.dumps), lambda text: json.loads(text, parse_float=Decimal)),
    Kind("date", st.dates().map(str), str),
    Kind("box", st.just("(1,1),(0,0)"), str),
    Kind("bytea", st.binary(max_size=4).map(lambda b: "\\x" + b.hex()), str),
]


def _quoted(text: str | None) -> str:
    if text is None:
        return "NULL"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.type)
def test_each_array_is_as_the_server_says(sent: Sent, kind: Kind) -> None:
    sent.run("DROP TABLE IF EXISTS v")
    sent.run(f"CREATE TABLE v (id int PRIMARY KEY, v {kind.type}[])")
    shape = sent.shape("v")
    mark = ";" if kind.type == "box" else ","

    def literal(rows: list[list[str | None]]) -> str:
        inner = ["{" + mark.join(map(_quoted, row)) + "}" for row in rows]
        return inner[0] if len(rows) == 1 else "{" + mark.join(inner) + "}"

    row = st.lists(st.none() | kind.elements, min_size=2, max_size=2)
    line = st.lists(st.none() | kind.elements, max_size=5)
    arrays = st.lists(line, min_size=1, max_size=1) | st.lists(row, min_size=2, max_size=3)

    @drawn(max_examples=examples(3), deadline=None)
    @given(st.lists(arrays, min_size=1, max_size=12))
    def check(whole: list[list[list[str | None]]]) -> None:
        sent.run("DELETE FROM v")
        sent.log()
        sent.run(
            f"INSERT INTO v SELECT n, x::{kind.type}[] FROM unnest(%s::text[]) "
            "WITH ORDINALITY AS u (x, n)",
            ([literal(rows) for rows in whole],),
        )
        # The server itself takes the arrays apart.
        seen_there: list[list[object]] = [[] for _ in whole]
        for key, text in sent.texts(
            "SELECT id, CASE WHEN e IS NOT NULL THEN format('%s', e) END FROM v, "
            "unnest(v) WITH ORDINALITY AS u (e, n) ORDER BY id, n"
        ):
            seen_there[int(key or 0) - 1].append(
                None if text is None else kind.seen_there(text.decode())
            )
        messages, _ = sent.rows_of_log("v")
        changes = change_rows(messages, shape, "UTF8", while_loading=False)
        assert changes.stop is None
        copied = copied_rows(sent.copied("SELECT * FROM v ORDER BY id"), shape, "UTF8")
        for table in (changes.table, copied):
            found = [json.loads(text, parse_float=Decimal, parse_int=Decimal)
                     for text in table.column("v").to_pylist()]  # fmt: skip
            flat = [
                one if len(rows) == 1 else [element for inner in one for element in inner]
                for one, rows in zip(found, whole, strict=True)
            ]
            assert flat == seen_there
            assert [len(one) for one, rows in zip(found, whole, strict=True) if len(rows) > 1] == [
                len(rows) for rows in whole if len(rows) > 1
            ]

    check()
