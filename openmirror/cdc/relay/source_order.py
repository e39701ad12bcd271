"""The source's own order of changes, by which repeated ones are recognised.

A connector that starts again sends the end of what it had sent once more, in the same order. Its
records get new offsets, so only the place in the source's own log shows that they were there.

The rule: of the changes of one table, one below the highest place that was seen is a repeated one,
and so is one at that place if the same key had the same operation there. Only the changes at the
highest place have to be remembered for it.

Where the place is that of a whole transaction (SQL Server), its changes need not come in the order
of their numbers there, so all of them are remembered, up to a bound. Beyond it, one whose number is
below another's that was seen may be either: the table stops.

A change that was seen is not younger than all that were seen. One below the highest place that is,
has never been sent before: the places are those of another log, as after a failover or a restore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import blake2b
from typing import Any, Self

_HASH = 8
"""Bytes of a remembered change: a few are remembered at a time, and only of one place."""
MOST_REMEMBERED = 4096
"""Changes of one transaction whose own numbers say no order."""


@dataclass(frozen=True)
class SourcePlace:
    """Where in its source's log a change was."""

    transaction: str | None
    """Its transaction; None where the source names none."""
    position: tuple[int, ...]
    within: tuple[int, ...] = ()
    """Which change of its transaction, where the position is that of its commit."""

    def is_before(self, other: SourcePlace) -> bool:
        """Whether the source wrote this one earlier.

        Within one transaction only the number within counts, or else the last one: those before it
        say what was committed when the change was sent, which is another thing when it is sent
        again.
        """
        if self.transaction is not None and self.transaction == other.transaction:
            if self.within:
                return self.within < other.within
            return self.position[-1:] < other.position[-1:]
        return self.position < other.position

    @property
    def has_no_order(self) -> bool:
        """Whether changes at this place come in an order that nothing of them says."""
        return self.transaction is None and bool(self.within)


@dataclass(frozen=True)
class SeenChanges:
    """The highest place of a table's changes, and the changes there."""

    highest: SourcePlace | None = None
    there: frozenset[str] = field(default_factory=frozenset)
    """Hashes of key and operation."""
    newest_ts_us: int | None = None
    """The source's time of the youngest change: microseconds since 1970."""
    furthest: tuple[int, ...] | None = None
    """The highest number within, where more changes were there than are remembered."""

    def as_json(self) -> dict[str, object] | None:
        """As a footer has it."""
        if self.highest is None:
            return None
        return {
            "transaction": self.highest.transaction,
            "position": list(self.highest.position),
            **({"within": list(self.highest.within)} if self.highest.within else {}),
            "there": sorted(self.there),
            "newest": self.newest_ts_us,
            **({"furthest": list(self.furthest)} if self.furthest else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Self:
        """The same read; raises KeyError or TypeError for anything else."""
        if document is None:
            return cls()
        place = SourcePlace(
            document["transaction"],
            tuple(document["position"]),
            tuple(document.get("within", ())),
        )
        furthest = document.get("furthest")
        return cls(
            place,
            frozenset(document["there"]),
            document.get("newest"),
            None if furthest is None else tuple(furthest),
        )


@dataclass(frozen=True)
class SourceChange:
    """What makes one change of a table differ from another one."""

    op: str
    key: str | None
    place: SourcePlace | None
    """None for the row of a snapshot."""
    ts_us: int | None = None
    """The source's time of it, where it says that."""


class ReplayDoubt(Enum):
    """Why nobody can know whether a change is a repeated one."""

    OTHER_LOG = auto()
    """It is of another log of the source's."""
    NO_ORDER = auto()
    """It is of a transaction of more changes than are remembered, and not the last of them."""


@dataclass(frozen=True)
class NewChanges:
    """What is left of some changes without the repeated ones."""

    is_new: list[bool]
    """Of each change, up to the first that is in doubt."""
    seen: SeenChanges
    """Behind them."""
    doubt: ReplayDoubt | None = None
    """Why the next one is in doubt; None where none is."""


def new_changes(seen: SeenChanges, changes: Sequence[SourceChange]) -> NewChanges:
    """Which of these changes, in the stream's order, are not repeated ones.

    Rows of a snapshot are never repeated ones, and do not count: a transaction that ended after a
    snapshot may have written its rows before it.
    """
    memory = _Memory(seen)
    new: list[bool] = []
    for change in changes:
        is_new = memory.is_new(change)
        if isinstance(is_new, ReplayDoubt):
            return NewChanges(new, memory.seen(), is_new)
        memory.add(change)
        new.append(is_new)
    return NewChanges(new, memory.seen())


class _Memory:
    """What was seen, while more comes."""

    def __init__(self, seen: SeenChanges) -> None:
        self._highest = seen.highest
        self._there = set(seen.there)
        self._newest = seen.newest_ts_us
        self._furthest = seen.furthest

    def seen(self) -> SeenChanges:
        there = frozenset(self._there)
        return SeenChanges(self._highest, there, self._newest, self._furthest)

    def is_new(self, change: SourceChange) -> bool | ReplayDoubt:
        """Whether it is no repeated one."""
        place, highest = change.place, self._highest
        if place is None or highest is None or highest.is_before(place):
            return True
        if not place.is_before(highest) and _hash(change) not in self._there:
            if self._furthest is None or place.within > self._furthest:
                return True
            return ReplayDoubt.NO_ORDER
        if change.ts_us is None or self._newest is None or change.ts_us <= self._newest:
            return False
        return ReplayDoubt.OTHER_LOG

    def _begin_anew(self, change: SourceChange) -> None:
        """Nothing before it has to be remembered."""
        self._highest, self._furthest = change.place, None
        self._there.clear()

    def add(self, change: SourceChange) -> None:
        """It was seen."""
        place = change.place
        if place is None:
            return
        self._newest = max(self._newest or 0, change.ts_us or 0) or None
        highest = self._highest
        if highest is None or highest.is_before(place):
            self._begin_anew(change)
            highest = place
        if place.is_before(highest):
            return
        if place.has_no_order and len(self._there) >= MOST_REMEMBERED:
            self._furthest = max(self._furthest or highest.within, place.within)
            return
        self._there.add(_hash(change))
        if place.has_no_order and place.within > highest.within:
            # Of changes without an order, the highest of all that are remembered.
            self._highest = place


def _hash(change: SourceChange) -> str:
    text = f"{change.op}\0{change.key}"
    if change.place is not None and change.place.within:
        text += f"\0{change.place.transaction}\0{change.place.within}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH).hexdigest()
