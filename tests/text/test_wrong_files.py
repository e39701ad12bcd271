"""A wrong file of any dialect is refused, with a detail that names its line, column and value.

On which line a row begins is known from the writer, which puts newlines into quoted values before.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from openmirror.plan.facts import Completeness
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.text_format import TextColumn, TextType
from tests.text.dialects import ENCODINGS, PRODUCT, Compression, Dialect, dialect
from tests.text.files import Cell, FileColumn, TextFile, made, written
from tests.text.packing import packed
from tests.text.reading import Read, inspected, read, text_format

# None of these fits, though some of them do for a lenient parser: Python's own takes underscores,
# other scripts' digits, weeks and dates without dashes.
UNFIT: dict[TextType, tuple[str, ...]] = {
    TextType.INT16: (
        "32768",
        "-32769",
        "abc",
        "1.5",
        "1_0",
        "\uff11\uff12",
        "0x10",
        "1e3",
        "--1",
        "-",
    ),
    TextType.INT32: ("2147483648", "-2147483649", "1,5", "\u0663", "1 2", "true", "2.5"),
    TextType.INT64: ("9223372036854775808", "-9223372036854775809", "1_000", "1e3", "one"),
    TextType.DOUBLE: ("abc", "1,5", "1_0.5", "0x1p3", "1.2.3", "e5", "\u0967.\u096b", "1 000.5"),
    TextType.SINGLE: ("abc", "1,5", "1_0", "--1.5", "1.5f"),
    TextType.DATE_TIME: (
        "2025-02-30 00:00:00",
        "2025-06-17 25:00:00",
        "17.06.2025 14:30:00",
        "2025-W25-2T10:00:00",
        "0000-01-01 00:00:00",
        "10000-01-01 00:00:00",
        "now",
    ),
    TextType.DATE: (
        "2025-02-29",
        "17/06/2025",
        "2025-W25-2",
        "2025-13-01",
        "2025-06",
        "0000-01-01",
        "today",
    ),
    TextType.TIME: (
        *("25:00:00", "12:60:00", "noon", "12:30:61", "-1:00:00"),
        *("2025-02-30 12:00", "2025-06-17", "2025-06-17 12:00Z"),
    ),
    TextType.BOOLEAN: ("yes please", "2", "tru", "-1", "yy", "onn", "ja"),
    TextType.BYTES: ("abc", "a*b=", "é===", "AAAA=AAA"),
}
_AMONG = 60
"""Dialects that each kind of wrong file is tried in."""
_BAD = "bad one"


def _dialects(draw: random.Random) -> list[Dialect]:
    numbers = draw.sample(range(3 * PRODUCT), _AMONG)
    return [replace(dialect(number, draw), null="NULL") for number in numbers]


def _cell(text: str, of: Dialect, draw: random.Random) -> Cell:
    found = written(text, of, draw)
    assert found is not None
    return Cell(found, text, text)


def _can_write(text: str, of: Dialect, draw: random.Random) -> bool:
    try:
        text.encode(of.encoding.codec)
    except UnicodeEncodeError:
        return False
    return written(text, of, draw) is not None


def _good_row(of: Dialect, draw: random.Random) -> tuple[Cell, Cell, Cell]:
    """A row that takes several lines where this dialect has quotes."""
    text = f"a{of.line_end}{of.line_end}b{of.separator}" if of.quote else "ab"
    return _cell(text, of, draw), Cell(of.null, None, of.null), _cell(text, of, draw)


def _with(
    bad_row: Sequence[Cell],
    of: Dialect,
    draw: random.Random,
    column: TextColumn | None = None,
) -> tuple[TextFile, int]:
    """A file with one bad row among good ones, and the line on which that row begins."""
    middle = column or TextColumn(_BAD, TextType.STRING)
    declared = [TextColumn("first", TextType.STRING), middle, TextColumn("last", TextType.STRING)]
    columns = [FileColumn(c.name, c.type, c) for c in declared]
    before, after = draw.randint(0, 9), draw.randint(0, 3)
    rows = [_good_row(of, draw) for _ in range(before + after)]
    rows.insert(before, tuple(bad_row))  # type: ignore[arg-type]
    file = made("a wrong file", of, declared, columns, rows, draw)
    return file, file.first_lines[before]


def _refused(file: TextFile, code: Code, line: int | None, *words: str) -> None:
    found = read(file)
    shown = f"{found}\n{file.dialect}\n{file.decoded!r}"
    assert isinstance(found, Broken), f"it was read: {shown}"
    assert found.code is code, shown
    for word in words:
        assert word in found.detail, f"no {word!r} in {shown}"
    if line is not None:
        named = re.search(r"\bline (\d+)\b", found.detail)
        assert named, f"no line in {shown}"
        assert int(named[1]) == line, f"it is line {line}: {shown}"


@pytest.mark.parametrize("kind", list(UNFIT))
def test_a_value_that_does_not_fit_is_named_with_its_line_and_column(kind: TextType) -> None:
    draw = random.Random(kind.value)
    tried: list[str] = []
    for of in _dialects(draw):
        for text in draw.sample(UNFIT[kind], 3):
            if _can_write(text, of, draw):
                tried.append(text)
                row = (_cell("x", of, draw), _cell(text, of, draw), _cell("y", of, draw))
                file, line = _with(row, of, draw, TextColumn(_BAD, kind))
                _refused(file, Code.VALUE_INVALID, line, f"'{_BAD}'", repr(text))
    assert set(tried) == set(UNFIT[kind])
    assert len(tried) > 2 * _AMONG


@pytest.mark.parametrize("fields", [1, 2, 4, 9])
def test_a_row_with_too_few_or_too_many_fields_is_named_with_its_line(fields: int) -> None:
    draw = random.Random(fields)
    for of in _dialects(draw):
        row = [_cell("x", of, draw) for _ in range(fields)]
        file, line = _with(row, of, draw)
        _refused(file, Code.FILE_UNREADABLE, line, str(fields), "3")


def test_a_quote_that_is_never_closed_is_named_with_the_line_where_it_opens() -> None:
    draw = random.Random(3)
    for of in _dialects(draw):
        if of.quote:
            open_quote = Cell(of.quote + "never closed", None, "never closed")
            row = (_cell("x", of, draw), _cell("y", of, draw), open_quote)
            file, line = _with(row, of, draw)
            if of.quote in file.decoded.rpartition("never closed")[2]:
                continue  # the next quote would close it
            _refused(file, Code.FILE_UNREADABLE, line, "quote")


_UNDECODABLE = {
    "utf-8": b"\xff\xfe\xfa",
    "utf-16-le": b"\x00\xd8\x41\x00",
    "utf-16-be": b"\xd8\x00\x00\x41",
    "ascii": b"\xe9",
    "cp1252": b"\x81",
    "shift_jis": b"\x81\x20",
    "utf-32-le": b"\xff\xff\xff\x7f",
    "gbk": b"\xff\xff",
    "euc-kr": b"\xff\xff",
}


@pytest.mark.parametrize("codec", list(_UNDECODABLE))
def test_bytes_that_are_no_text_are_named_with_their_line(codec: str) -> None:
    draw = random.Random(codec)
    encodings = [e for e in ENCODINGS if e.codec == codec]
    for drawn in _dialects(draw)[:20]:
        of = replace(drawn, encoding=draw.choice(encodings))
        row = (_cell("x", of, draw), _cell("@here@", of, draw), _cell("y", of, draw))
        file, line = _with(row, of, draw)
        text = file.decoded.encode(codec)
        data = text.replace("@here@".encode(codec), _UNDECODABLE[codec])
        assert data != text
        content = packed(of.encoding.mark + data, of.compression, draw)
        _refused(replace(file, content=content), Code.FILE_UNREADABLE, line)


_PACKED = [c for c in Compression if c is not Compression.NONE]


def _long_file(compression: Compression, draw: random.Random) -> TextFile:
    of = replace(_dialects(draw)[0], compression=compression, encoding=ENCODINGS[0], quote='"')
    return _with(_good_row(of, draw), of, draw)[0]


@pytest.mark.parametrize("compression", _PACKED)
def test_packed_files_that_were_cut_anywhere_are_never_read_as_whole(
    compression: Compression,
) -> None:
    draw = random.Random(compression.value)
    whole = _long_file(compression, draw)
    total = read(whole)
    assert isinstance(total, Read)
    complete = 0
    for end in range(1, len(whole.content)):
        cut = replace(whole, content=whole.content[:end])
        found = read(cut)
        # A part of a file that is a whole file by itself cannot be recognised.
        complete += isinstance(found, Read)
    assert complete <= 8


@pytest.mark.parametrize("compression", _PACKED)
def test_packed_files_with_a_flipped_bit_are_refused_or_read_as_they_were(
    compression: Compression,
) -> None:
    draw = random.Random(f"bits of {compression.value}")
    whole = _long_file(compression, draw)
    total = read(whole)
    assert isinstance(total, Read)
    refused = 0
    for _ in range(200):
        data = bytearray(whole.content)
        # Behind the first bytes, which say what a file is.
        data[draw.randrange(10, len(data))] ^= 1 << draw.randrange(8)
        found = read(replace(whole, content=bytes(data)))
        refused += isinstance(found, Broken)
        if isinstance(found, Read) and compression is not Compression.ZSTD:
            # These have checksums; zstd has them where its writer wants it so.
            lost = len(total.rows) - len(found.rows)
            assert found.rows == total.rows or (lost and compression is Compression.SNAPPY)
    assert refused > 50


def test_text_behind_a_closing_quote_is_named_with_its_line() -> None:
    draw = random.Random(4)
    for of in _dialects(draw):
        if of.quote:
            behind = Cell(f"{of.quote}closed{of.quote}text", None, "")
            row = (_cell("x", of, draw), behind, _cell("y", of, draw))
            file, line = _with(row, of, draw)
            _refused(file, Code.FILE_UNREADABLE, line, "text")


@pytest.mark.timeout(60)
def test_a_row_of_a_million_values_is_refused_without_taking_time_by_its_square() -> None:
    draw = random.Random(5)
    of = replace(_dialects(draw)[0], compression=Compression.NONE)
    file, line = _with([Cell("", None, "")] * 1_000_000, of, draw)
    _refused(file, Code.FILE_UNREADABLE, line, "1000000 values")


@pytest.mark.timeout(60)
def test_millions_of_empty_lines_are_passed_over() -> None:
    draw = random.Random(6)
    of = replace(_dialects(draw)[0], compression=Compression.GZIP)
    file, _ = _with(_good_row(of, draw), of, draw)
    lines = (3_000_000 * of.line_end).encode(of.encoding.codec)
    text = of.encoding.mark + (file.decoded + of.line_end).encode(of.encoding.codec)
    found = read(replace(file, content=packed(text + lines, of.compression, draw)))
    assert isinstance(found, Read)
    assert len(found.rows) == len(file.rows)


def _headed(names: Sequence[str], of: Dialect, draw: random.Random) -> TextFile:
    """A file of text columns of these names, and one row."""
    columns = [FileColumn(name, TextType.STRING, None) for name in names]
    row = [_cell("x", of, draw) for _ in names]
    return made("a wrong header", of, (), columns, [row], draw)


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        (("id", "b", "ID"), Code.COLUMNS_DUPLICATE, ("'id'", "'ID'")),
        (("id", "b", "b"), Code.COLUMNS_DUPLICATE, ("'b'",)),
        (("__rowMarker__", "id", "__ROWMARKER__"), Code.COLUMNS_DUPLICATE, ("__ROWMARKER__",)),
        (("id", "", "b"), Code.FILE_UNREADABLE, ("column 2",)),
        (("id", "\x01", "b"), Code.FILE_UNREADABLE, ("header",)),
    ],
)
def test_a_header_that_names_no_columns_is_refused(
    names: tuple[str, ...], code: Code, words: tuple[str, ...]
) -> None:
    draw = random.Random(7)
    for of in _dialects(draw):
        _refused(_headed(names, of, draw), code, None, *words)


@pytest.mark.parametrize("number", range(len(ENCODINGS)))
def test_a_file_without_a_header_is_still_being_written(number: int) -> None:
    draw = random.Random(number)
    of = replace(_dialects(draw)[0], encoding=ENCODINGS[number], quote='"', escape='"')
    text = text_format(_headed(("id", "b"), of, draw))
    open_quote = of.encoding.mark + '"id'.encode(of.encoding.codec)
    for content in (b"", of.encoding.mark, open_quote):
        facts = inspected(content, text)
        assert facts.completeness is Completeness.INCOMPLETE, (content, facts)
