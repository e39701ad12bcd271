"""What the process of an alternative is asked to do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol

from bench.workload import Place

How = Literal["merge", "each", "append", "drain", "maintain"]
"""One MERGE of all files; a MERGE for each of them; no search for keys, as inserts need none; by as
many workers as a runner of openmirror has, which take a table and its history side by side; what
openmirror does of itself while a table has nothing to do."""
WORKERS = 2
"""Tables that are applied at once, by every alternative."""


@dataclass(frozen=True)
class Task:
    """Files that lie there, of tables of one mirror, to be applied."""

    root: str
    mirror: str
    tables: tuple[str, ...]
    first: int
    last: int
    how: How

    @property
    def place(self) -> Place:
        """Where they lie."""
        return Place(Path(self.root), self.mirror)

    def encode(self) -> str:
        """One line of text."""
        return json.dumps(asdict(self))


def decode(line: str) -> Task:
    """The task in a line of text."""
    values = json.loads(line)
    return Task(**{**values, "tables": tuple(values["tables"])})


class Applies(Protocol):
    """One way, at work in its process."""

    def apply(self, task: Task, /) -> None:
        """Return when the last file is committed, and whatever belongs to it done."""
        ...
