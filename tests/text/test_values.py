"""One text has one meaning, whether it is read alone or in a column of thousands."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.formats.text.columns import Misfit, converted, truncated
from openmirror.formats.text.values import BLANKS, read_value
from openmirror.plan.read_rules import BinaryText
from openmirror.protocol.text_format import TextColumn, TextType
from tests.harness.examples import examples
from tests.text.alone import by_grammar_alone
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


# Wider than what is read at once, so that every value near its border is drawn too.
_NEAR_CLOCK = r"[ T]?[012]?[0-9]:[0-6][0-9](:[0-6][0-9])?(\.[0-9]{1,10}|\.0{1,9})?"
_NEAR_ZONE = r" ?([Zz]|[+-]0[01]:?00|\+25:00)?"
_NEAR_DAY = r"(2025|1969|0000|0001|9999)-(01-01|12-31|02-29|[01][0-9]-[0-3][0-9])"
_NEAR = {
    TextType.INT16: r"[+-]{0,2}(0x)?[0-9]{1,6}(\.0*)?",
    TextType.INT32: r"[+-]?0{0,12}[0-9]{1,11}(\.0*|\.5)?",
    TextType.INT64: r"[+-]?0{0,30}[0-9]{1,20}(\.0*)?",
    TextType.DOUBLE: r"[+-]{0,2}([0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,3})?|NaN|INF|infinity)",
    TextType.SINGLE: r"[+-]?([0-9]{0,12}\.?[0-9]{0,12}([eE][+-]?[0-9]{1,2})?|nan|NaN|inf|InfiNity)",
    TextType.BOOLEAN: r"[TtFfYyNn01]|[Tt]rue|FALSE|[oO][nNfF]{1,2}|yes|no|ON[a-z]",
    TextType.DATE: rf"{_NEAR_DAY}|2025-01-01([ Tt]00:00(:0[01](\.[05]{{0,10}})?)?)?{_NEAR_ZONE}",
    TextType.DATE_TIME: rf"{_NEAR_DAY}({_NEAR_CLOCK})?{_NEAR_ZONE}",
    TextType.TIME: rf"({_NEAR_DAY}[ Tt])?{_NEAR_CLOCK}",
    TextType.BYTES: r"(0[xX]|\\[xX])?([A-Fa-f0-9]{2}){0,4}|[A-Za-z0-9+/]{0,8}={0,3}",
}
_BLANK = st.sampled_from(["", "", "", " ", "\t "])


@pytest.mark.parametrize("kind", _TYPED)
def test_a_value_near_the_border_of_what_is_read_at_once_means_what_it_means_alone(
    kind: TextType,
) -> None:
    near = st.tuples(_BLANK, st.from_regex(_NEAR[kind], fullmatch=True, alphabet=_ALPHABET), _BLANK)

    @settings(max_examples=examples(60), deadline=None, database=None)
    @given(
        st.lists(near.map("".join), min_size=1, max_size=3), st.sampled_from([None, *BinaryText])
    )
    def check_one(texts: list[str], binary: BinaryText | None) -> None:
        column = TextColumn("c", kind)
        with by_grammar_alone():
            alone = _converted(texts, column, binary)
        assert _converted(texts, column, binary) == alone

    check_one()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("14:30:00.123456", None),
        ("14:30:00.123456000", None),
        ("14:30:00.1234567", "14:30:00.123456"),
        ("2025-06-17 14:30:00.123456010 +02:00", "2025-06-17 14:30:00.123456 +02:00"),
        ("2025-06-17T14:30:00.123456001Z ", "2025-06-17T14:30:00.123456Z"),
        ("14:30:00.1234567891", None),  # no time at all
    ],
)
def test_what_a_time_loses_is_known_before_it_is_read(text: str, cut: str | None) -> None:
    column = TextColumn("c", TextType.TIME if text[2] == ":" else TextType.DATE_TIME)
    strings, row = truncated(pa.array(["14:30:00.1", None, text]), column)
    assert (row, strings[2].as_py()) == ((None, text) if cut is None else (2, cut))


_BINARY = [None, *BinaryText]
_ALPHABET = st.characters(codec="ascii")


def _converted(texts: list[str], column: TextColumn, binary: BinaryText | None) -> object:
    """The bytes of a column, or its misfit; times cut to microseconds before."""
    try:
        strings, lost = truncated(pa.array([*texts, None]), column)
        values = converted(strings, column, "N", binary)
    except Misfit as misfit:
        return misfit.row, misfit.why
    batch = pa.RecordBatch.from_arrays([values], ["c"])
    return batch.serialize().to_pybytes(), values.type, lost


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
