"""Text that pyarrow cuts and converts means what it means by the own grammar alone.

Rows, messages, lines, batches and parts are compared: over text that wants to be read in another
way, and over the generated files of every dialect.
"""

from __future__ import annotations

import io
from collections import Counter
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.formats.broken_rows import RowsBroken
from openmirror.formats.conversion import FileConverter
from openmirror.formats.text import cutting, pieces
from openmirror.formats.text.dialect import Dialect
from openmirror.formats.text.rows import read_text
from openmirror.formats.text.ways import CuttingWay, way_to_cut
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.plan.read_rules import BinaryText, Fractions, ReadRules
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence
from openmirror.protocol.text_format import TextColumn, TextFormat, TextType
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath, conversion
from tests.text.alone import by_grammar_alone
from tests.text.dialects import PRODUCT
from tests.text.files import generated
from tests.text.reading import inspected, text_format
from tests.text.test_generated_files import check, seed

_SPELLED = {
    TextType.INT16: ("1", "-7", "+7", "007", "7.0", "7.", " 7", "32768", "1e3", "-0"),
    TextType.INT32: ("0", "2147483648", "-2147483648", "99999999999999999999", "0x10", "1_0"),
    TextType.INT64: ("9223372036854775807", "-9223372036854775809", "000000000000000000000001"),
    TextType.DOUBLE: ("-0.0", "1.", ".5", "+.5", "1e400", "-1e-400", "NaN", "-nan", "INF", "1e"),
    TextType.SINGLE: ("1e39", "0.1", "-Infinity", "nan", "-0", "+1", "16777217", "1e-46", "."),
    TextType.BOOLEAN: ("true", "F", "1", "0", "Yes", "oN", " off ", "2", "ja"),
    TextType.DATE: (
        *("2025-06-17", "2025-02-29", "0001-01-01", "2025-06-17T00:00", "2025-06-17 00:00:00.0Z"),
        *("2025-06-17 00:00:01", "2025-06-17T00:00+00:00", "2025-06-17T00:00-02:00", "9999-12-31"),
    ),
    TextType.DATE_TIME: (
        *("2025-06-17", "2025-06-17 14:30", "2025-06-17T14:30:00", "2025-06-17 14:30:00.5"),
        *("2025-06-17 14:30:00.123456", "2025-06-17 14:30:00.1234567", "2025-06-17T14:30Z"),
        *("2025-06-17 14:30:00.123456789 +02:00", "2025-06-17 14:30:00.1230000"),
        *("2025-06-17 14:30:00-0530", "2025-06-17 24:00:00", "0001-01-01 00:00:00+01:00"),
        *("2025-06-17 14:30:00.1234567891", "2025-06-17 14:30:60", "1969-12-31 23:59:59.999999"),
    ),
    TextType.TIME: (
        *("14:30", "14:30:00", "14:30:00.5", "14:30:00.500000", "14:30:00.000000", "24:00"),
        *("14:30:00.1234567", "14:30:00.1230000", "2025-06-17 14:30", "14:30:00.", "1:30"),
    ),
    TextType.STRING: ("", " ", "é", "\u2028", "日本", "\0", "\ufeff", "\x0b", "a b", "NULL"),
    TextType.BYTES: ("", "AAAA", "AAA=", "AA==", "AP8", "0x00FF", "0xABCDEF", " AAAA", "\\xff"),
}
_PATH = StorePath("landing/m/Files/LandingZone/T/00000000000000000001.txt")


@st.composite
def dialects(draw: st.DrawFn) -> TextFormat:
    quote = draw(st.sampled_from(['"', '"', '"', "'", ""]))
    return TextFormat(
        extension="txt",
        separator=draw(st.sampled_from([",", ",", ";", "|", "\t", " ", "¦", "\x01"])),
        quote=quote,
        escape=draw(st.sampled_from(["\\", "\\", "/", "", quote])),
        null=draw(st.sampled_from(["", "", "NULL", "\\N", "0", "é", "  "])),
        encoding=draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "ascii", "utf-16-le"])),
        columns=tuple(
            TextColumn(f"c{kind}", kind, draw(st.booleans()))
            for kind in draw(st.permutations(tuple(TextType)))
        ),
    )


@st.composite
def texts(draw: st.DrawFn, of: TextFormat) -> bytes:
    """Mostly rows, some of which something is wrong with."""
    marks = [of.separator, of.quote, of.escape, of.escape + of.quote, 2 * of.quote, 2 * of.escape]
    nasty = st.sampled_from([*marks, "\r", "\n", "\r\n", "\n\n", "\ufeff", "\0", "x", " ", of.null])
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\r\n", "\n", "\r", "\n\n", "\r\n\r"]]))

    def cell(kind: TextType) -> str:
        text = draw(st.one_of(st.sampled_from(_SPELLED[kind][:3]), st.sampled_from(_SPELLED[kind])))
        if kind is TextType.STRING and draw(st.booleans()):
            text = "".join(draw(st.lists(nasty, max_size=5)))
        is_bare = not any(mark in text for mark in (of.separator, "\r", "\n")) and (
            not of.quote or not text.startswith(of.quote)
        )
        if not of.quote or (is_bare and draw(st.booleans())):
            return text if is_bare else "x"
        escape = of.escape if of.escape and draw(st.booleans()) else of.quote
        if of.escape not in ("", of.quote) and draw(st.booleans()):
            text = text.replace(of.escape, 2 * of.escape)
        return of.quote + text.replace(of.quote, escape + of.quote) + of.quote

    undeclared = draw(st.integers(0, 2))
    least = 0 if undeclared else 1
    typed = draw(
        st.lists(st.sampled_from(tuple(TextType)), min_size=least, max_size=3, unique=True)
    )
    kinds = [TextType.STRING] * undeclared + typed
    behind = draw(st.sampled_from(["", "", "", of.separator]))
    names = [f"s{number}" for number in range(undeclared)] + [f"c{kind}" for kind in typed]
    names += draw(st.sampled_from([[], ["__rowMarker__"]]))
    lines = [of.separator.join(names) + behind]
    for _ in range(draw(st.integers(0, 8))):
        cells = [cell(kind) for kind in kinds] + ["4"] * (len(names) - len(kinds))
        lines.append(of.separator.join(cells) + behind)
    lines = [line + draw(st.sampled_from(ends)) for line in lines]
    if draw(st.booleans()):
        lines[-1] = lines[-1].rstrip("\r\n")
    text = "".join(lines)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(len(lines[0]), max(len(lines[0]), len(text))))
        text = text[:at] + draw(nasty) + text[at:]
    data = text.encode(of.encoding, errors="replace")
    if draw(st.integers(0, 9)) == 0:
        data = data[: len(data) * 2 // 3] + b"\xff\xd8" + data[len(data) * 2 // 3 :]
    return data


def _outcome(data: bytes, rules: ReadRules, facts: FileFacts) -> list[Any]:
    """Every batch in its bytes, what was lost, and what ended it."""
    found: list[Any] = []
    try:
        for one in read_text(io.BytesIO(data), rules, facts.schema, facts.marker):
            found.append((one.batch.serialize().to_pybytes(), one.batch.schema, one.truncated))
    except RowsBroken as error:
        found.append(error.broken)
    return found


def _compare(examples: int, *, same_each_time: bool = False) -> Counter[object]:
    """Read so many drawn texts in both ways; how often they went which."""
    went: Counter[object] = Counter()

    def watched(dialect: Dialect, text: str, *, are_matched: bool = False) -> CuttingWay:
        way = way_to_cut(dialect, text, are_matched=are_matched)
        went[way, are_matched] += 1
        return way

    @settings(max_examples=examples, derandomize=same_each_time, deadline=None, database=None)
    @given(st.data())
    def check_one(data: st.DataObject) -> None:
        of = data.draw(dialects())
        content = data.draw(texts(of))
        facts = inspected(content, of)
        if facts.completeness is not Completeness.COMPLETE or facts.broken:
            return
        rules = ReadRules(
            text=of,
            binary=data.draw(st.sampled_from([None, *BinaryText])),
            fractions=data.draw(st.sampled_from([None, *Fractions])),
        )
        with patch.object(pieces, "_PIECE", data.draw(st.sampled_from([1, 9, 40, 1 << 22]))):
            with by_grammar_alone():
                alone = _outcome(content, rules, facts)
            with patch.object(cutting, "way_to_cut", watched):
                assert _outcome(content, rules, facts) == alone
        went["broken" if alone and isinstance(alone[-1], Broken) else "read"] += 1

    check_one()
    return went


def test_any_text_is_read_as_by_the_grammar_alone() -> None:
    went = _compare(400, same_each_time=True)
    for what in (
        *((way, False) for way in CuttingWay),
        (CuttingWay.PLAIN, True),
        (CuttingWay.OWN, True),
    ):
        assert went[what] > 0, went
    assert went["read"] > 60 < went["broken"], went


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_texts_are_read_as_by_the_grammar_alone() -> None:
    _compare(30_000)


def _parts(content: bytes, text: TextFormat) -> Any:
    """What a conversion leaves in the store, and what it says."""
    store = MemoryStore(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    etag = store.write(_PATH, content)
    file = LandedFile(
        sequence=Sequence(1),
        name=_PATH.rpartition("/")[2],
        path=_PATH,
        etag=etag,
        size=len(content),
        modified=datetime(2026, 1, 1, tzinfo=UTC),
        facts=inspected(content, text),
    )
    done = FileConverter(store, most_rows=5, most_bytes=400).convert(
        file, ReadRules(text=text), conversion("m", "r")
    )
    if isinstance(done, Broken):
        return done
    return done, [store.read(part.path).data for part in done.parts]


def test_parts_are_the_same_bytes_as_by_the_grammar_alone() -> None:
    chosen = seed()
    several = 0
    for number in range(0, PRODUCT, 5):
        file = generated(chosen, number)
        text = text_format(file)
        with patch.object(pieces, "_PIECE", 50 + number):
            with by_grammar_alone():
                alone = _parts(file.content, text)
            assert _parts(file.content, text) == alone, file.name
        several += len(alone[1]) > 1
    assert several > 50


def test_the_grammar_alone_reads_files_as_they_were_drawn() -> None:
    chosen = seed()
    with by_grammar_alone():
        check(generated(chosen, number) for number in range(3, PRODUCT, 7))
