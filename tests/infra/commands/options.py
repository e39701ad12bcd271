"""What a program takes, as written down in a table; and what is wrong with a command line by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.infra.commands.finding import ROOT, CommandLine

TABLES = ROOT / "tests" / "infra"


@dataclass(frozen=True)
class Option:
    """One option of a command."""

    names: tuple[str, ...]
    needed: bool = False
    values: str = "1"
    """How many words follow it: `0`, `1`, `?` for at most one, `*` and `+` for several."""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """One command of a program."""

    options: tuple[Option, ...]
    words: str = "0"
    """How many words it takes that belong to no option: a number, `?` or `*`."""

    def takes(self, words: int) -> bool:
        return self.words == "*" or words == int(self.words.replace("?", "1" if words else "0"))

    def option(self, name: str) -> Option | None:
        return next((one for one in self.options if name in one.names), None)


@dataclass(frozen=True)
class Table:
    """The commands of one program, as far as they are used here."""

    source: str
    commands: dict[str, Command]

    @classmethod
    def read(cls, program: str) -> Table:
        content = json.loads((TABLES / f"{program}_options.json").read_text())
        everywhere = _options(content["everywhere"])
        return cls(
            content["source"],
            {
                name: Command((*_options(one["options"]), *everywhere), one.get("words", "0"))
                for name, one in content["commands"].items()
            },
        )

    def command_of(self, words: Sequence[str]) -> str | None:
        """The longest run of words that is a command."""
        for count in range(len(words), 0, -1):
            if " ".join(words[:count]) in self.commands:
                return " ".join(words[:count])
        return None


def _options(content: dict[str, dict[str, Any]]) -> tuple[Option, ...]:
    return tuple(
        Option(
            tuple(names.split(" ")),
            one.get("needed", False),
            one.get("values", "1"),
            tuple(one.get("choices", ())),
        )
        for names, one in content.items()
    )


_UNKNOWN = re.compile(r"[$<…]|\b[A-Z]{2,}\b")
"""What stands for a value that is not written down, so that it cannot be checked."""


_WRITING_DOWN = {"az": "./dev check-infra --record"}
_BY_HAND = "add it to the table in tests/infra, from the program's own documents"


def mistakes(shown: CommandLine, table: Table) -> Iterator[str]:
    """What the program would refuse."""
    name = table.command_of(shown.words)
    if name is None:
        group = " ".join(shown.words[:2])
        if shown.whole or not any(f"{one} ".startswith(f"{group} ") for one in table.commands):
            yield (
                f"{shown}\n  no command of {shown.program} that is written down in its "
                "table. If it "
                f"is one: {_WRITING_DOWN.get(shown.program, _BY_HAND)}"
            )
        return
    command = table.commands[name]
    given: set[Option] = set()
    loose: list[str] = []
    words = list(shown.words[len(name.split()) :])
    while words:
        word = words.pop(0)
        if not _is_option(word):
            loose.append(word)
            continue
        spelled, equals, joined = word.partition("=")
        option = command.option(spelled)
        if option is None:
            yield f"{shown}\n  '{name}' has no option {spelled}"
            if not equals:
                _values_of(Option(()), words)  # probably its value, which is no mistake of its own
            continue
        given.add(option)
        values = [joined] if equals else _values_of(option, words)
        if not values and option.values in ("1", "+") and shown.whole:
            yield f"{shown}\n  {spelled} needs a value"
        for value in values:
            known = [one.lower() for one in option.choices]
            if known and not _UNKNOWN.search(value) and value.lower() not in known:
                yield f"{shown}\n  {spelled} takes {', '.join(option.choices)}; not {value}"
    # What "$@" stands for is given to the script, and known to nobody here.
    if "$@" in shown.words or (not shown.whole and not loose):
        return
    if not command.takes(len(loose)) and not any("--json" in option.names for option in given):
        yield f"{shown}\n  '{name}' does not take these {len(loose)} words: {' '.join(loose)}"
    if shown.whole and not any("--ids" in option.names for option in given):
        # az asks for no name where it is given the id of the whole resource.
        for option in command.options:
            if option.needed and option not in given:
                yield f"{shown}\n  '{name}' needs {' or '.join(option.names)}"


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _values_of(option: Option, words: list[str]) -> list[str]:
    """Take from the words those that belong to an option."""
    most = {"0": 0, "1": 1, "?": 1}.get(option.values, len(words))
    taken: list[str] = []
    while words and len(taken) < most and not _is_option(words[0]):
        taken.append(words.pop(0))
    return taken
