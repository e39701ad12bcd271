"""The Bicep files of one folder, and what was found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from tests.infra.bicep.reader import read
from tests.infra.bicep.syntax import Module, Template

ROOT = Path(__file__).parents[3]
BICEP = ROOT / "infra" / "bicep"


@dataclass(frozen=True, order=True)
class Finding:
    """One mistake: the file, the line, and what is wrong there."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Folder:
    """Templates by file name. `place` is where `loadTextContent` reads from."""

    templates: Mapping[str, Template]
    texts: Mapping[str, str]
    place: Path = BICEP

    @classmethod
    def of(cls, texts: Mapping[str, str], place: Path = BICEP) -> Folder:
        return cls({name: read(name, text) for name, text in texts.items()}, texts, place)

    @classmethod
    def at(cls, place: Path = BICEP) -> Folder:
        return cls.of(
            {each.name: each.read_text() for each in sorted(place.glob("*.bicep"))}, place
        )

    def only(self, *names: str) -> Folder:
        """Some of the files, as if there were no others."""
        return Folder.of({name: self.texts[name] for name in names}, self.place)

    def changed(self, name: str, old: str, new: str) -> Folder:
        """The same folder with one mistake planted where `old` stands first."""
        text = self.texts[name]
        if old not in text:
            raise ValueError(f"{name} does not hold {old!r}")
        return self.with_text(name, text.replace(old, new, 1))

    def line(self, name: str, text: str) -> int:
        """The line of a file that a text stands in first."""
        return self.texts[name][: self.texts[name].index(text)].count("\n") + 1

    def with_text(self, name: str, text: str) -> Folder:
        return replace(
            self,
            templates={**self.templates, name: read(name, text)},
            texts={**self.texts, name: text},
        )

    def called(self, module: Module) -> Template | None:
        """The template that a module names, or None where there is no such file."""
        return self.templates.get(str(PurePosixPath(module.path)))
