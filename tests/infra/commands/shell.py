"""Reads shell text as far as needed to say which programs it runs, with which words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_ENDS = ";&|\n()"
_BLANK = " \t"


@dataclass(frozen=True)
class Simple:
    """A command as one reads it: quotes taken off, expansions left as they are written."""

    line: int
    words: tuple[str, ...]


@dataclass
class _Reader:
    text: str
    line: int
    at: int = 0
    found: list[Simple] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)

    def peek(self, width: int = 1) -> str:
        return self.text[self.at : self.at + width]

    def take(self, width: int = 1) -> str:
        taken = self.peek(width)
        self.at += width
        self.line += taken.count("\n")
        return taken

    def commands(self, *, nested: bool) -> None:
        """Read commands to the end of the text, or to the parenthesis that closes them."""
        words: list[str] = []
        began = self.line
        while self.at < len(self.text):
            if self.peek() in _BLANK:
                self.take()
            elif self.peek(2) == "\\\n":
                self.take(2)
            elif self.peek() == "#":
                self.take(len(self.text[self.at :].partition("\n")[0]))
            elif self.peek() in "<>":
                self.redirection()
            elif self.peek() in _ENDS:
                end = self.take()
                self._keep(began, words)
                words = []
                if end == "\n":
                    self._skip_heredocs()
                if end == ")" and nested:
                    return
            else:
                if not words:
                    began = self.line
                word = self.word()
                # `2>file` is no word of the command, but the number of the stream.
                if not (word.isdigit() and self.peek() in ("<", ">")):
                    words.append(word)
        self._keep(began, words)

    def _keep(self, line: int, words: list[str]) -> None:
        if words:
            self.found.append(Simple(line, tuple(words)))

    def redirection(self) -> None:
        operator = ""
        while self.peek() and self.peek() in "<>&-":
            operator += self.take()
        while self.peek() and self.peek() in _BLANK:
            self.take()
        if self.peek() and self.peek() not in _ENDS + "<>":
            target = self.word()
            if operator in ("<<", "<<-"):
                self.heredocs.append(target)

    def _skip_heredocs(self) -> None:
        for end in self.heredocs:
            while self.at < len(self.text):
                line = self.text[self.at :].partition("\n")[0]
                self.take(len(line) + 1)
                if line.strip() == end:
                    break
        self.heredocs = []

    def word(self) -> str:
        content = ""
        while self.peek() and self.peek() not in _BLANK + _ENDS + "<>":
            content += self.piece(quoted=False)
        return content

    def piece(self, *, quoted: bool) -> str:
        """One character, quotation or expansion."""
        if self.peek(2) == "\\\n":
            self.take(2)
            return ""
        first = self.take()
        if first == "\\":
            return self.take()
        if first == "'" and not quoted:
            return self._until("'")
        if first == '"':
            content = ""
            while self.peek() and self.peek() != '"':
                content += self.piece(quoted=True)
            self.take()
            return content
        if first == "$" and self.peek() == "{":
            self.take()
            return "${" + self._until("}") + "}"
        if first == "$" and self.peek() == "(":
            self.take()
            self.commands(nested=True)
            return "$(…)"
        return first

    def _until(self, end: str) -> str:
        content = ""
        while self.peek() and self.peek() != end:
            content += self.take()
        self.take()
        return content


def simple_commands(text: str, line: int = 1) -> Iterator[Simple]:
    """Every simple command of a text, also those in `$( )`, in the order in which they end."""
    reader = _Reader(text, line)
    reader.commands(nested=False)
    yield from reader.found
