"""Which way rows are cut is decided by dialect and text: shape in, way out."""

from __future__ import annotations

import pytest

from openmirror.formats.text.cutting import cut_at_once
from openmirror.formats.text.dialect import Dialect
from openmirror.formats.text.ways import CuttingWay, last_row_end, way_to_cut
from openmirror.protocol.text_format import TextFormat

CSV = TextFormat()
DOUBLED = TextFormat(escape='"')
UNQUOTED = TextFormat(quote="")
SINGLE = TextFormat(quote="'", separator=";", escape="/")

PLAIN, ESCAPED, OWN = CuttingWay


@pytest.mark.parametrize(
    ("text", "rows", "way"),
    [
        (CSV, "1,2\n", PLAIN),
        (CSV, "1,2\r3,4\r\n\n", PLAIN),
        (CSV, "C:\\temp\\,\\\\\n", PLAIN),  # without quotes there is nothing to escape
        (CSV, '"a","b"\r\n"","a ""b"""\r\n', PLAIN),
        (CSV, '"a\r\nb",","\n', PLAIN),
        (CSV, '5" disk,"a"\n', PLAIN),
        (CSV, "é,\u2028\x0b\0\n", PLAIN),
        (CSV, 'a,\ufeffb"\n', PLAIN),
        (CSV, '"C:\\temp",1\n', PLAIN),
        (CSV, '1\n1,2,3\n"a"\n', PLAIN),  # rows of other lengths, which pyarrow refuses
        (CSV, '"a\\"b",1\n', ESCAPED),
        (CSV, '"a\\\\","b"\n', ESCAPED),
        (CSV, '"a\\"","a\\n"\n', OWN),  # an escape before another character is none
        (CSV, '"a\\"",b\\n\n', OWN),
        (CSV, '"a\\"",\\\\\n', OWN),
        (CSV, '"a"b,1\n', OWN),
        (CSV, '"a" ,1\n', OWN),
        (CSV, '"a,1\n', OWN),
        (CSV, '"a\\",1\n', OWN),  # an open quote
        (CSV, '"a""\n', OWN),
        (CSV, "\ufeffa,1\n", OWN),  # pyarrow takes it for a byte order mark
        (DOUBLED, '"a\\","b"\n', PLAIN),
        (DOUBLED, '"a\\"b"\n', OWN),
        (UNQUOTED, '"a"b,"\n', PLAIN),
        (UNQUOTED, "\\,\n", PLAIN),
        (SINGLE, "'a'';';\"b\n", PLAIN),
        (SINGLE, "'a/';'b'\n", OWN),
        (SINGLE, "'a/'';\n", ESCAPED),
        (SINGLE, "a/b;'a//'\n", OWN),
        (TextFormat(separator="\t"), '"a\tb"\t1\n', PLAIN),
        (TextFormat(separator="^"), '"a"^1\n', PLAIN),
        (TextFormat(separator="¦"), "a¦1\n", OWN),
        (TextFormat(separator="\x01"), "a\x011\n", OWN),
    ],
)
def test_a_shape_of_rows_is_cut_in_one_way(text: TextFormat, rows: str, way: CuttingWay) -> None:
    assert way_to_cut(Dialect(text), rows) is way


@pytest.mark.parametrize(
    ("rows", "way"),
    [
        ('"a"b,1\n', PLAIN),  # the caller says that it is well-formed
        ('"a\\"b",1\n', ESCAPED),
        ('"a\\"","a\\n"\n', OWN),
    ],
)
def test_rows_that_the_grammar_matched_need_no_other_proof_of_their_quotes(
    rows: str, way: CuttingWay
) -> None:
    assert way_to_cut(Dialect(CSV), rows, are_matched=True) is way


@pytest.mark.parametrize(
    ("text", "content", "tail"),
    [
        (CSV, "1,2\n3,4", "3,4"),
        (CSV, "1,2\r\n3,4\r", "3,4\r"),  # a line end that may be cut in two
        (CSV, "1,2\r3,4\r\r\n", ""),
        (CSV, "1,2", "1,2"),
        (CSV, "", ""),
        (CSV, '1,2\n3,"a\nb\r\nc', '3,"a\nb\r\nc'),
        (CSV, '1,2\n"\n\n","x","\n', '"\n\n","x","\n'),
        (CSV, '1,"a\\"\nb"\n"\n', '"\n'),
        (CSV, '1,"a\\\\"\n"\n', '"\n'),
        (CSV, '"a\nb', '"a\nb'),
        (UNQUOTED, '1,"\n2,', "2,"),
    ],
)
def test_the_last_row_ends_before_what_may_go_on(text: TextFormat, content: str, tail: str) -> None:
    assert content[last_row_end(content, Dialect(text)) :] == tail


@pytest.mark.parametrize(
    "content",
    ["1\n", "1,2,3\n", "1,2\n1\n", '1,2\n"a"b,1\n', '"1,2\n', "1,2", '1,2\n"\n\n3,4\n', "\n\n1\n"],
)
def test_what_is_no_row_of_so_many_values_is_left_to_the_grammar(content: str) -> None:
    cut = cut_at_once(content, Dialect(CSV), 2)
    assert cut is None or content[cut.end :] not in ("", content)
