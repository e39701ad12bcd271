"""Wherever a reader cuts a file, between two reads or two pieces, its rows and header are the same.

Files of tests are small, so the pieces in which they are read are made small here too.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from openmirror.formats.text import pieces
from openmirror.plan.facts import Completeness
from openmirror.protocol.rules import Broken
from openmirror.protocol.text_format import TextColumn, TextType
from tests.text.dialects import (
    ENCODINGS,
    LINE_ENDS,
    PRODUCT,
    Compression,
    Dialect,
    Encoding,
    dialect,
)
from tests.text.files import Cell, FileColumn, TextFile, drawn_cell, generated, made
from tests.text.reading import Read, inspected, read, text_format
from tests.text.test_generated_files import check, seed

FIRST_READ = 1 << 16
"""Bytes of a file that are inspected first."""


@pytest.mark.parametrize("piece", [1, 2, 13, 97])
def test_pieces_of_any_size_give_the_same_rows(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PIECE", piece)
    files = (generated(seed(), number) for number in range(piece, PRODUCT, 12))
    check(files, slowly=True)


@pytest.mark.parametrize("piece", [1, 13])
def test_a_mistake_is_on_the_same_line_however_a_file_is_cut(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_PIECE", piece)
    draw = random.Random(f"{seed()} lines")
    for number in draw.sample(range(PRODUCT), 60):
        of = dialect(number, draw)
        columns = [FileColumn(n, TextType.DATE, TextColumn(n, TextType.DATE)) for n in ("a", "b")]
        drawn = [[drawn_cell(column, of, draw) for column in columns] for _ in range(12)]
        drawn[draw.randrange(12)][1] = Cell("no day", None, "no day")
        declared = [column.declared for column in columns if column.declared]
        file = made(f"mistake {number}", of, declared, columns, drawn, draw)
        found = read(file, slowly=True)
        place = [row[1].written for row in file.rows].index("no day")
        assert isinstance(found, Broken)
        assert found.detail.startswith(f"line {file.first_lines[place]}, column 'b'"), found


@pytest.mark.parametrize("piece", [1, 13])
def test_a_line_end_that_is_cut_in_two_is_one_line_end(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_PIECE", piece)
    draw = random.Random(piece)
    plain = replace(dialect(0, draw), null="N", compression=Compression.NONE, line_end="\r\n")
    column = FileColumn("a", TextType.STRING, None)
    for length in range(60):
        texts = ("x" * length, "", "yy", "", "z")
        cells = [[Cell(text, text, text)] for text in texts]
        # In a file of one column, a second line end would be a row.
        file = made(f"cut {length}", plain, (), [column], cells, draw)
        found = read(file, slowly=True)
        assert isinstance(found, Read)
        assert [row["a"] for row in found.rows] == list(texts)


def _headed(name: str, of: Dialect, draw: random.Random) -> TextFile:
    """A file of two columns, the second of this name, and one row."""
    columns = [FileColumn(column, TextType.STRING, None) for column in ("b", name)]
    row = [Cell("x", "x", "x"), Cell("y", "y", "y")]
    return made("a long header", of, (), columns, [row], draw)


def _check(file: TextFile) -> None:
    found = read(file)
    assert isinstance(found, Read), f"{found}, {file.dialect}"
    assert found.names == [column.name for column in file.columns]
    assert found.facts.schema.names == tuple(found.names)
    assert found.facts.rows > 0
    assert found.rows == file.values


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.codec)
def test_a_header_may_end_anywhere_around_the_first_bytes_that_are_read(encoding: Encoding) -> None:
    draw = random.Random(encoding.declared)
    unit = len("a".encode(encoding.codec))
    characters = 40 * encoding.characters[0]
    taken = len(encoding.mark) + 2 * unit + len(characters.encode(encoding.codec))
    for size in range(FIRST_READ - 6, FIRST_READ + 4):
        of = replace(dialect(0, draw), encoding=encoding, line_end=draw.choice(LINE_ENDS))
        of = replace(of, compression=Compression.NONE)
        _check(_headed(characters + "a" * ((size - taken) // unit), of, draw))


@pytest.mark.parametrize("compression", list(Compression))
def test_a_header_may_be_longer_than_what_is_read_first(compression: Compression) -> None:
    draw = random.Random(compression.value)
    for encoding in draw.sample(ENCODINGS, 3):
        of = replace(dialect(0, draw), encoding=encoding, compression=compression)
        name = draw.randbytes(2 * FIRST_READ).hex()  # half of it is left when it is compressed
        file = _headed(name, of, draw)
        assert len(file.content) > FIRST_READ
        _check(file)


def test_no_beginning_of_a_file_is_taken_for_another_table() -> None:
    """What is still being written is incomplete, or a header whose names are all there."""
    draw = random.Random(seed())
    for number in draw.sample(range(PRODUCT), 25):
        file = generated(seed(), number)
        text = text_format(file)
        names = [column.name for column in file.columns]
        for end in range(min(len(file.content), 400)):
            facts = inspected(file.content[:end], text)
            found = [*facts.schema.names, *([facts.marker] if facts.marker else [])]
            if facts.completeness is Completeness.COMPLETE and facts.rows > 0:
                assert sorted(found) == sorted(names), (file.name, end, facts)
