"""One text has one meaning, whether it is read alone or in a column of thousands."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from openmirror.formats.text.columns import Misfit, converted
from openmirror.formats.text.values import BLANKS, read_value
from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.text_format import TextColumn, TextType
from tests.text.reading import exact
from tests.text.test_generated_files import seed
from tests.text.values import spelled

_DEAD_LETTERS = "0123456789+-.:,/= TZeEinfatrus_"
_TYPED = [kind for kind in TextType if kind is not TextType.STRING]


def _almost(text: str, draw: random.Random) -> str:
    """The text with a character or two put in, left out or changed."""
    characters = list(text)
    for _ in range(draw.choice((0, 1, 1, 2))):
        place = draw.randrange(len(characters) + 1)
        characters[place : place + draw.randint(0, 1)] = draw.choice(
            ("", draw.choice(_DEAD_LETTERS))
        )
    return "".join(characters)


def _alone(kind: TextType, text: str) -> str | None:
    """What the definition says of a text; None when it says that it does not fit."""
    plain = text.strip(BLANKS)
    if not plain and kind is not TextType.BYTES:
        return exact(None)
    try:
        return exact(read_value(kind, plain))
    except ValueError:
        return None


def _in_a_column(kind: TextType, texts: list[str]) -> list[str] | int:
    """The values of a column, or the place of the first that does not fit."""
    try:
        return [
            exact(v) for v in converted(pa.array(texts), TextColumn("c", kind), "N").to_pylist()
        ]
    except Misfit as misfit:
        return misfit.row


@pytest.mark.parametrize("kind", _TYPED)
def test_a_value_means_the_same_alone_and_in_a_column(kind: TextType) -> None:
    draw = random.Random(f"{seed()} {kind}")
    texts = [_almost(spelled(kind, draw, "")[1], draw) for _ in range(500)]
    alone = [_alone(kind, text) for text in texts]
    for text, meaning in zip(texts, alone, strict=True):
        assert _in_a_column(kind, [text]) == (0 if meaning is None else [meaning]), repr(text)
    fitting = [(t, m) for t, m in zip(texts, alone, strict=True) if m is not None]
    assert 30 < len(fitting) < len(texts) - 30
    assert _in_a_column(kind, [text for text, _ in fitting]) == [m for _, m in fitting]
    assert _in_a_column(kind, texts) == alone.index(None)


@pytest.mark.parametrize("text", ["0x", "0x00FF", "0XdeadBEEF", " 0x4f6D "])
def test_bytes_that_may_be_hexadecimal_or_base64_are_refused_until_somebody_says_which(
    text: str,
) -> None:
    column, texts = TextColumn("c", TextType.BYTES), pa.array([text])
    with pytest.raises(Misfit, match="binaryText"):
        converted(texts, column, "N")
    assert converted(texts, column, "N", BinaryText.HEX).to_pylist() == [
        bytes.fromhex(text.strip()[2:])
    ]


def test_a_declared_encoding_of_bytes_reads_every_value_by_itself_alone() -> None:
    column = TextColumn("c", TextType.BYTES)
    texts = pa.array(["0x1234", "0x12"])  # the second is four characters of base64
    with pytest.raises(Misfit) as misfit:
        converted(texts, column, "N", BinaryText.BASE64)
    assert misfit.value.row == 0
    assert converted(texts[1:], column, "N", BinaryText.BASE64).to_pylist() == [b"\xd3\x1d\x76"]
    spelled_in_hex = pa.array(["0x00fF", "\\xDEAD", "beef", "", None])
    assert converted(spelled_in_hex, column, "N", BinaryText.HEX).to_pylist() == [
        b"\x00\xff",
        b"\xde\xad",
        b"\xbe\xef",
        b"",
        None,
    ]
    for wrong in ("0x1", "AP8=", "xx", "0x 12", "0x\uff11\uff12"):
        with pytest.raises(Misfit, match="hexadecimal"):
            converted(pa.array([wrong]), column, "N", BinaryText.HEX)


@pytest.mark.parametrize("kind", list(TextType))
def test_every_spelling_means_the_value_that_it_was_drawn_for(kind: TextType) -> None:
    draw = random.Random(f"{seed()} {kind}")
    drawn = [spelled(kind, draw, "é") for _ in range(500)]
    assert _in_a_column(kind, [text for _, text in drawn]) == [exact(value) for value, _ in drawn]
