"""JSON as publishers copy it from pages: what is invisible in it, and where it may stand."""

from __future__ import annotations

import pytest

from openmirror.protocol.json_text import JsonError, parse_json

_BLANKS = (
    "\u00a0\u1680\u2002\u2003\u2009\u202f\u205f\u3000\u2028\u2029\u200b\u200d\u2060\ufeff\x0b\x85"
)


@pytest.mark.parametrize("blank", _BLANKS)
def test_an_invisible_character_between_values_is_read_as_a_space_and_named(blank: str) -> None:
    text = f'{{\n{blank}{blank}"keyColumns":{blank}[\n"id"{blank}]}}'
    found = parse_json(text.encode())
    assert found.value == {"keyColumns": ["id"]}
    [repair] = found.repairs
    assert repair.startswith(f"the invisible character U+{ord(blank):04X}")
    assert repair.endswith(" at line 2, column 1, and 3 more, was read as a space")


def test_it_stays_what_it_is_in_a_text() -> None:
    valid = parse_json('{"NullValue": "a\u2003b\u200b"}'.encode())
    assert (valid.value, valid.repairs) == ({"NullValue": "a\u2003b\u200b"}, ())
    beside = parse_json('{\u2003"NullValue": "\\", \u2003", "x": "\u2003"}'.encode())
    assert beside.value == {"NullValue": '", \u2003', "x": "\u2003"}


def test_it_is_read_beside_the_other_slips_and_all_are_named() -> None:
    text = '{\u2003"EscapeCharacter": "\\", "NullValue": "a\u2003b",\u2003"x": Word\u2003,}'
    found = parse_json(text.encode())
    assert found.value == {"EscapeCharacter": "\\", "NullValue": "a\u2003b", "x": "Word"}
    assert found.repairs[0] == (
        "the invisible character U+2003 EM SPACE at line 1, column 2, and 2 more, was read as a "
        "space"
    )
    assert len(found.repairs) == 4


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a": tr\u200bue}', "U+200B ZERO WIDTH SPACE at line 1, column 9"),
        ('{\n "a"\u00a0 1}', "U+00A0 NO-BREAK SPACE at line 2, column 5"),
        ('{"a":\x00 1}', "U+0000 at line 1, column 6"),
        ('{"a": 1}\x1a', "U+001A at line 1, column 9"),
    ],
)
def test_where_it_could_be_more_than_a_space_it_is_refused_by_name_and_place(
    text: str, named: str
) -> None:
    with pytest.raises(JsonError) as refused:
        parse_json(text.encode())
    assert str(refused.value).endswith(f"; there is the invisible character {named}")


def test_a_line_is_what_ends_in_a_line_feed_whatever_else_is_in_it() -> None:
    with pytest.raises(JsonError, match=r"line 2, column 6: .*, in `\"b\" \"\u2028\" 2}`"):
        parse_json('{"a": "\u2028\u0085",\n "b" "\u2028" 2}'.encode())
