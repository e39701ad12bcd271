"""Where the repository has people, or a script, run az, azd or databricks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.infra.commands.shell import Simple, simple_commands

ROOT = Path(__file__).parents[3]
PROGRAMS = ("az", "azd", "databricks")

_NAMED = re.compile(rf"\b(?:{'|'.join(PROGRAMS)})\b")
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`((?:az|azd|databricks) [^`\n]+)`(?!`)")
_SHELLS = ("sh", "bash", "shell", "console")
_BEFORE = {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "exec", "time"}
_ASSIGNMENT = re.compile(r"^\w+=")
# What reads or shows a name, and runs nothing.
_NAMES_ONLY = {"command", "for", "echo", "printf", "say", "fail", "need", "export", "set", "in"}


@dataclass(frozen=True)
class CommandLine:
    """One command line, and where it stands."""

    place: str
    program: str
    words: tuple[str, ...]
    whole: bool = True
    """False for a mention inside a sentence, which may leave out what the command needs."""

    def __str__(self) -> str:
        return f"{self.place}: {self.program} {' '.join(self.words)}"


@cache
def shown_anywhere(root: Path = ROOT) -> tuple[CommandLine, ...]:
    """All of them: documents, scripts, hooks and messages. Read once, since two modules ask."""
    found: list[CommandLine] = []
    for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        found += shown_in_document(path.read_text(), path.relative_to(root).as_posix())
    for path in sorted((root / "scripts").glob("*.sh")):
        found += shown_in_script(path.read_text(), path.relative_to(root).as_posix())
    for path in sorted((root / "openmirror").rglob("*.py")):
        source = path.read_text()
        # Parsing every module takes seconds, and few of them name one of the programs.
        if _NAMED.search(source):
            found += shown_in_messages(source, path.relative_to(root).as_posix())
    return tuple(found)


def shown_in_document(text: str, place: str) -> Iterator[CommandLine]:
    """From the shell blocks of a document, whole; and from its sentences, as mentions."""
    yield from _run_by(shell_blocks(text), place)
    # Blocks are blanked and not taken out, so that lines keep their numbers.
    sentences = _BLOCK.sub(lambda block: re.sub(r"[^\n]", "", block[0]), text)
    for span in _SPAN.finditer(sentences):
        line = sentences.count("\n", 0, span.start()) + 1
        yield from _mentioned(span[1], f"{place}:{line}")


def shell_blocks(text: str) -> Iterator[Simple]:
    """Every command in the shell blocks of a document."""
    for block in _BLOCK.finditer(text):
        if block[2] in _SHELLS:
            line = text.count("\n", 0, block.start()) + 2
            body = _typed(block[3]) if block[2] == "console" else block[3]
            yield from simple_commands(body, line)


def _typed(session: str) -> str:
    """What a person typed in a session; what came back is blanked."""
    return "\n".join(
        line[2:] if line.startswith(("$ ", "> ")) else "" for line in session.splitlines()
    )


def shown_in_script(text: str, place: str) -> Iterator[CommandLine]:
    """What a script runs, and what it asks people to run."""
    every = list(simple_commands(text))
    yield from _run_by(iter(every), place)
    for simple in every:
        if simple.words[0] in _NAMES_ONLY:
            for word in simple.words[1:]:
                yield from _in_message(word, f"{place}:{simple.line}")


def _run_by(commands: Iterator[Simple], place: str) -> Iterator[CommandLine]:
    for simple in commands:
        words = simple.words
        while words and (words[0] in _BEFORE or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if not words or words[0] in _NAMES_ONLY:
            continue
        # Not only the first word: a function of the script may run what follows it.
        at = next((n for n, word in enumerate(words) if word in PROGRAMS), None)
        if at is not None:
            yield CommandLine(f"{place}:{simple.line}", words[at], words[at + 1 :])


def shown_in_messages(source: str, place: str) -> Iterator[CommandLine]:
    """What messages of a module ask people to run; its docstrings ask nobody."""
    tree = ast.parse(source)
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            passed.update(map(id, parts))
            message = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            message = node.value
        else:
            continue
        yield from _in_message(message, f"{place}:{node.lineno}")


_RUN_ME = re.compile(r"(?:^|[\s`'\"(])((?:az|azd|databricks) [a-z][a-z-]*(?: [^`'\n]*)?)")
_SENTENCE_ENDS = re.compile(r"[`'\"]|[.;:,)](?:\s|$)|\s(?:and|or|if|to|in|at|with)\s| \(")


def _in_message(text: str, place: str) -> Iterator[CommandLine]:
    for match in _RUN_ME.finditer(text):
        yield from _mentioned(_SENTENCE_ENDS.split(match[1])[0], place)


def _mentioned(text: str, place: str) -> Iterator[CommandLine]:
    for command_line in _run_by(simple_commands(text), place):
        yield CommandLine(place, command_line.program, command_line.words, whole=False)
