"""Files over the cross product of dialects are read as the rows that were drawn for them."""

from __future__ import annotations

import csv
import io
import itertools
import os
import random
import sys
from collections.abc import Iterable
from dataclasses import replace

import pytest

from openmirror.protocol.schema import Column
from tests.text.dialects import AXES, ENCODINGS, PRODUCT, dialect, met
from tests.text.files import TextFile, drawn_file, generated
from tests.text.reading import Read, exact, read

FILES = PRODUCT
"""As many as show each dialect once, and any two values of the other axes together."""
BLOCKS = 24


def seed() -> int:
    chosen = int(os.environ.get("OPENMIRROR_SEED", "1"))
    sys.stdout.write(f"OPENMIRROR_SEED={chosen}\n")
    return chosen


def wrong(file: TextFile, *, slowly: bool = False) -> str | None:
    """How the product's reading of a file differs from what was drawn; None when it does not."""
    found = read(file, slowly=slowly)
    if not isinstance(found, Read):
        return f"{found.code}: {found.detail}"
    columns = tuple(
        Column(column.name, column.column_type) for column in file.columns if not column.is_marker
    )
    marker = file.marker.name if file.marker else None
    for what, got, drawn in (
        ("header", found.names, [column.name for column in file.columns]),
        ("columns", found.facts.schema.columns, columns),
        ("marker column", found.facts.marker, marker),
        ("rows at all", found.facts.rows > 0, bool(file.rows)),
        ("number of rows", len(found.rows), len(file.rows)),
        ("markers", found.markers, file.markers),
    ):
        if got != drawn:
            return f"{what}: {got!r}, drawn {drawn!r}"
    for place, (got_row, row) in enumerate(zip(found.rows, file.values, strict=True), start=1):
        for name, value in row.items():
            if exact(got_row[name]) != exact(value):
                return f"row {place}, {name!r}: {got_row[name]!r}, drawn {value!r}"
    return None


def check(files: Iterable[TextFile], *, slowly: bool = False) -> None:
    found = [(file, difference) for file in files if (difference := wrong(file, slowly=slowly))]
    differences = "\n".join(
        f"{file.name}: {file.dialect}\n    {difference}\n"
        f"    python -m tests.text.show '{file.name}'"
        for file, difference in found[:5]
    )
    assert not found, f"{len(found)} files were read as something else\n{differences}"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_file_is_read_as_it_was_drawn(block: int) -> None:
    chosen = seed()
    check(generated(chosen, number) for number in range(block, FILES, BLOCKS))


@pytest.mark.parametrize("separator", ["^", "\x01", "\x1f", " ", "~", ":", "¦", "\u2063"])
def test_other_separators_and_escapes_that_are_allowed_are_read_too(separator: str) -> None:
    draw = random.Random(f"{seed()} {separator}")
    unicode = [encoding for encoding in ENCODINGS if "\u2028" in encoding.characters]
    files = []
    for number in draw.sample(range(PRODUCT), 40):
        of = dialect(number, draw)
        encoding = draw.choice(unicode)
        encoding = replace(encoding, characters=encoding.characters + 5 * separator)
        of = replace(of, separator=separator, encoding=encoding)
        if of.quote and draw.random() < 0.3:
            of = replace(of, escape=of.quote, doubles=True)
        files.append(drawn_file(f"{separator!r}, {number}", of, draw))
    check(files)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(10))
def test_ten_thousand_files_are_read_as_they_were_drawn(block: int) -> None:
    chosen = int(os.environ.get("OPENMIRROR_SEED", str(random.SystemRandom().randrange(10**9))))
    sys.stdout.write(f"OPENMIRROR_SEED={chosen}\n")
    check(generated(chosen, number) for number in range(block, 10_000, 10))


def test_the_files_are_the_cross_product_of_all_dialects() -> None:
    met_by = [met(dialect(number, random.Random(number))) for number in range(FILES)]
    assert len({axes[:5] for axes in met_by}) == PRODUCT
    for one, other in itertools.combinations(range(len(AXES)), 2):
        assert len({(axes[one], axes[other]) for axes in met_by}) == len(AXES[one]) * len(
            AXES[other]
        )


def test_what_was_drawn_shows_what_can_go_wrong() -> None:
    """A generator that draws only harmless files would let any reader pass."""
    files = [generated(1, number) for number in range(PRODUCT)]
    cells = [
        (file, column, cell)
        for file in files
        for row in file.rows
        for column, cell in zip(file.columns, row, strict=True)
    ]
    quoted = [
        (f, cell) for f, _, cell in cells if f.dialect.quote and cell.written[:1] == f.dialect.quote
    ]
    for trap in (
        [c for f, c in quoted if f.dialect.line_end in c.text],
        [c for f, c in quoted if f.dialect.separator in c.text],
        [c for f, c in quoted if f.dialect.quote in c.text],
        [c for f, c in quoted if c.text == f.dialect.null],
        [c for f, c in quoted if f.dialect.escape and c.text.endswith(f.dialect.escape)],
        [c for _, c in quoted if c.value == ""],
        [c for f, _, c in cells if c.written == c.value == "" and f.dialect.null],
        [c for _, _, c in cells if isinstance(c.value, str) and len(c.value) > 10_000],
    ):
        assert len(trap) >= 10
    nulls = {column.type for _, column, cell in cells if cell.value is None}
    assert len(nulls) == 11
    assert any(not file.rows for file in files)


# --- Python's csv module reads the same, wherever it can express the dialect ----------------------


def _csv_reads_it_as_we_do(file: TextFile) -> bool:
    """Whether the two mean the same by this file.

    Outside of quotes csv's escape escapes, while ours is a character like any other.
    """
    escape = file.dialect.escape
    if len(file.columns) == 1:
        return False  # what is a row of nothing there, is none here
    if file.dialect.spares:
        return False  # csv drops every escape
    if not file.dialect.quote or escape in ("", file.dialect.quote):
        return True
    names = [column.name for column in file.columns]
    cells = itertools.chain(names, (c.written for row in file.rows for c in row))
    return not any(escape in cell and cell[:1] != file.dialect.quote for cell in cells)


def _by_csv(file: TextFile) -> list[list[str]]:
    quote, escape = file.dialect.quote, file.dialect.escape
    reader = csv.reader(
        io.StringIO(file.decoded, newline=""),
        delimiter=file.dialect.separator,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        doublequote=True,
        escapechar=escape if quote and escape not in ("", quote) else None,
        strict=True,
    )
    return [row for row in reader if row]


def test_pythons_csv_reads_the_same_texts() -> None:
    chosen = seed()
    csv.field_size_limit(10**6)
    compared = 0
    for file in (generated(chosen, number) for number in range(FILES)):
        if _csv_reads_it_as_we_do(file):
            compared += 1
            assert _by_csv(file) == file.texts, file.name
    assert compared > FILES / 2
