"""The source's own order of changes, by which repeated ones are recognised.

A connector that starts again sends the end of what it had sent once more, in the same order. Its
records get new offsets, so only the place in the source's own log shows that they were there.

The rule: of the changes of one table, one below the highest place that was seen is a repeated one,
and so is one at that place if the same key had the same operation there. Only the changes at the
highest place have to be remembered for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

_HASH = 8
"""Bytes of a remembered change: a few are remembered at a time, and only of one place."""


@dataclass(frozen=True)
class SourcePlace:
    """Where in its source's log a change was."""

    transaction: str | None
    """Its transaction; None where the source names none."""
    position: tuple[int, ...]

    def is_before(self, other: SourcePlace) -> bool:
        """Whether the source wrote this one earlier.

        Within one transaction only the last number counts: those before it say what was committed
        when the change was sent, which is another thing when it is sent again.
        """
        if self.transaction is not None and self.transaction == other.transaction:
            return self.position[-1:] < other.position[-1:]
        return self.position < other.position

    def is_at(self, other: SourcePlace) -> bool:
        """Whether it is the same place."""
        return not self.is_before(other) and not other.is_before(self)


@dataclass(frozen=True)
class SeenChanges:
    """The highest place of a table's changes, and the changes there."""

    highest: SourcePlace | None = None
    there: frozenset[str] = field(default_factory=frozenset)
    """Hashes of key and operation."""

    def as_json(self) -> dict[str, object] | None:
        """As a footer has it."""
        if self.highest is None:
            return None
        return {
            "transaction": self.highest.transaction,
            "position": list(self.highest.position),
            "there": sorted(self.there),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Self:
        """The same read; raises KeyError or TypeError for anything else."""
        if document is None:
            return cls()
        place = SourcePlace(document["transaction"], tuple(document["position"]))
        return cls(place, frozenset(document["there"]))


@dataclass(frozen=True)
class SourceChange:
    """What makes one change of a table differ from another one."""

    op: str
    key: str | None
    place: SourcePlace | None
    """None for the row of a snapshot."""


def new_changes(
    seen: SeenChanges, changes: Sequence[SourceChange]
) -> tuple[list[bool], SeenChanges]:
    """Which of these changes, in the stream's order, are not repeated ones; and what is seen then.

    Rows of a snapshot are never repeated ones, and do not count: a transaction that ended after a
    snapshot may have written its rows before it.
    """
    highest, there = seen.highest, set(seen.there)
    new = []
    for change in changes:
        if change.place is None:
            new.append(True)
            continue
        if highest is None or highest.is_before(change.place):
            highest, there = change.place, set()
        it = _hash(change)
        is_new = not change.place.is_before(highest) and it not in there
        if is_new:
            there.add(it)
        new.append(is_new)
    return new, SeenChanges(highest, frozenset(there))


def _hash(change: SourceChange) -> str:
    text = f"{change.op}\0{change.key}".encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=_HASH).hexdigest()
