"""Raw Snappy has no first bytes of its own: its form shows it, and no text is taken for it."""

from __future__ import annotations

import codecs
import io
import random

import cramjam
import pytest

from openmirror.formats.text import raw_snappy
from openmirror.formats.text.packing import HEAD, CutOff, Unpackable, packing_of, unpacked
from openmirror.formats.text.raw_snappy import is_raw_snappy, text_of_raw_snappy
from openmirror.formats.text.rows import read_text
from openmirror.plan.facts import Completeness
from openmirror.plan.read_rules import ReadRules
from openmirror.protocol.text_format import TextFormat
from tests.text.dialects import ENCODINGS
from tests.text.reading import inspected
from tests.text.test_generated_files import seed

_TEXT = TextFormat()


def _lines(count: int) -> bytes:
    return b"id,name\r\n" + b"".join(b"%d,name %d\r\n" % (n, n * n) for n in range(count))


def _raw(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


@pytest.mark.parametrize("count", [12, 500, 60_000])
def test_a_file_of_raw_snappy_is_read_like_the_text_in_it(count: int) -> None:
    lines = _lines(count)
    packed = _raw(lines)
    facts = inspected(packed, _TEXT)
    assert (facts.completeness, facts.schema.names) == (Completeness.COMPLETE, ("id", "name"))
    rows = 0
    for read in read_text(io.BytesIO(packed), ReadRules(text=_TEXT), facts.schema, None):
        batch = read.batch
        rows += batch.num_rows
        last = batch.slice(batch.num_rows - 1).to_pylist()
    assert (rows, last) == (count, [{"id": str(count - 1), "name": f"name {(count - 1) ** 2}"}])


@pytest.mark.parametrize(("size", "files"), [(128, 20), (1000, 20), (70_000, 5), (200_000, 2)])
def test_elements_are_taken_as_snappy_itself_takes_them(size: int, files: int) -> None:
    draw = random.Random(f"{seed()} {size}")
    for _ in range(files):
        pieces = [draw.randbytes(draw.randint(1, 90)).hex().encode() for _ in range(40)]
        data = b"".join(draw.choices(pieces, k=size // 20)) + b"\n" * 128
        packed = _raw(data)
        assert text_of_raw_snappy(packed) == data
        assert is_raw_snappy(packed, is_all=True)
        cut = draw.randrange(len(packed))
        assert data.startswith(text_of_raw_snappy(packed[:cut]))
        assert not is_raw_snappy(packed[:cut], is_all=True)


def test_no_text_is_taken_for_it() -> None:
    draw = random.Random(f"{seed()} plain")
    for encoding in ENCODINGS:
        characters = "id,name;|\t\r\n 0123456789abcxyz" + encoding.characters
        for _ in range(40):
            text = "".join(draw.choices(characters, k=draw.choice((1, 5, 20, 60, 120, 300))))
            data = encoding.mark + text.encode(encoding.codec)
            assert not is_raw_snappy(data, is_all=True), data
            long = (data + text.encode(encoding.codec) * (HEAD // len(data) + 1))[:HEAD]
            assert not is_raw_snappy(long, is_all=False), data


def test_text_that_is_by_chance_in_its_form_is_text() -> None:
    by_chance = b"(Liiiiiiiiiiiiiiiiiiii" + b"Liiiiiiiiiiiiiiiiiiii"
    assert cramjam.snappy.decompress_raw(by_chance)
    assert not is_raw_snappy(by_chance, is_all=True)


def test_a_file_larger_than_what_is_asked_for_its_form_is_known_as_well() -> None:
    packed = _raw(_lines(60_000))
    assert len(packed) > HEAD
    assert packing_of(packed, is_all=True) == packing_of(packed[:HEAD], is_all=False)
    assert packing_of(packed, is_all=True) == "raw Snappy"


def test_of_data_that_follows_the_text_no_more_is_read_than_the_text_could_take() -> None:
    rest = io.BytesIO(_raw(_lines(60_000)) + bytes(50 << 20))
    blocks = unpacked(rest)
    assert next(blocks) == _lines(60_000)
    with pytest.raises(CutOff):
        next(blocks)
    assert len(rest.read()) > 45 << 20


def test_data_that_ends_early_or_is_too_large_is_refused() -> None:
    packed = _raw(_lines(60_000))
    assert len(packed) > HEAD
    blocks = unpacked(io.BytesIO(packed[:-50]))
    read = next(blocks)
    assert _lines(60_000).startswith(read)
    assert len(read) > 500_000
    with pytest.raises(CutOff):
        next(blocks)
    too_large = b"\x80\x80\x80\x80\x02" + packed[3:]
    with pytest.raises(Unpackable, match="536870912 bytes of text, and at most 268435456"):
        list(unpacked(io.BytesIO(too_large)))


def test_long_text_of_utf_16_is_known_for_what_it_is_by_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = []
    take = raw_snappy._Elements.take
    monkeypatch.setattr(
        raw_snappy._Elements, "take", lambda self: taken.append(self.at) or take(self)
    )
    text = codecs.BOM_UTF16_LE + _lines(5_000).decode().encode("utf-16-le")
    assert not is_raw_snappy(text[:HEAD], is_all=False)
    assert 1 < len(taken) < 200
