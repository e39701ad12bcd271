"""One word, one meaning: words that the field has a better name for stand nowhere."""

from __future__ import annotations

import pytest

from tests.house.words import ROOT, avoided, files


def test_no_file_uses_a_word_that_the_field_has_another_name_for() -> None:
    found = []
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        found += [f"{name}: its name has {word!r}" for _, word in avoided(name)]
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name}:{line}: {word}" for line, word in avoided(text)]
    assert not found, "\n".join(found[:50])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the door admits it", ["door", "admits"]),
        ("def look_at(parts): ...", ["look"]),
        ("class StandingLook: ...", ["Standing", "Look"]),
        ("a dead letter, a bulk-drop guard, its lifecycle", []),
        ("a letter was buried", ["letter", "buried"]),
        ('"kind": "settle"', []),
        ("files settle", ["settle"]),
    ],
)
def test_words_are_found_in_prose_and_in_names(text: str, words: list[str]) -> None:
    assert [word for _, word in avoided(text)] == words
