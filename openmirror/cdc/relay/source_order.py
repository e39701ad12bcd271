"""The source's own order of changes, by which repeated ones are recognised.

A connector that starts again sends the end of what it had sent once more, in the same order. Its
records get new offsets, so only the place in the source's own log shows that they were there.

The rule: of the changes of one table, one below the highest place that was seen is a repeated one,
and so is one at that place if the same key had the same operation there. Only the changes at the
highest place have to be remembered for it.

A change that was seen is not younger than all that were seen. One below the highest place that is,
has never been sent before: the places are those of another log, as after a failover or a restore.
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
    newest_ts_us: int | None = None
    """The source's time of the youngest change: microseconds since 1970."""

    def as_json(self) -> dict[str, object] | None:
        """As a footer has it."""
        if self.highest is None:
            return None
        return {
            "transaction": self.highest.transaction,
            "position": list(self.highest.position),
            "there": sorted(self.there),
            "newest": self.newest_ts_us,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | None) -> Self:
        """The same read; raises KeyError or TypeError for anything else."""
        if document is None:
            return cls()
        place = SourcePlace(document["transaction"], tuple(document["position"]))
        return cls(place, frozenset(document["there"]), document.get("newest"))


@dataclass(frozen=True)
class SourceChange:
    """What makes one change of a table differ from another one."""

    op: str
    key: str | None
    place: SourcePlace | None
    """None for the row of a snapshot."""
    ts_us: int | None = None
    """The source's time of it, where it says that."""


@dataclass(frozen=True)
class NewChanges:
    """What is left of some changes without the repeated ones."""

    is_new: list[bool]
    """Of each change, up to that of another log."""
    seen: SeenChanges
    """Behind them."""
    other_log_at: int | None = None
    """Which change is the first one of another log."""


def new_changes(
    seen: SeenChanges, changes: Sequence[SourceChange], *, through_logs: bool = False
) -> NewChanges:
    """Which of these changes, in the stream's order, are not repeated ones.

    Rows of a snapshot are never repeated ones, and do not count: a transaction that ended after a
    snapshot may have written its rows before it. `through_logs`: whether to go on in another log,
    whose changes are compared among themselves.
    """
    highest, there, newest = seen.highest, set(seen.there), seen.newest_ts_us
    new: list[bool] = []
    for at, change in enumerate(changes):
        if change.place is None:
            new.append(True)
            continue
        if highest is None or highest.is_before(change.place):
            highest, there = change.place, set()
        it = _hash(change)
        is_new = not change.place.is_before(highest) and it not in there
        if not is_new and _is_younger(change.ts_us, newest):
            if not through_logs:
                return NewChanges(new, SeenChanges(highest, frozenset(there), newest), at)
            highest, there, is_new = change.place, set(), True
        if is_new:
            there.add(it)
        newest = max(newest or 0, change.ts_us or 0) or None
        new.append(is_new)
    return NewChanges(new, SeenChanges(highest, frozenset(there), newest))


def _is_younger(ts_us: int | None, newest: int | None) -> bool:
    return ts_us is not None and newest is not None and ts_us > newest


def _hash(change: SourceChange) -> str:
    text = f"{change.op}\0{change.key}".encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=_HASH).hexdigest()
