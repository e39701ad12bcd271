"""What a running process needs besides data: doorbell, clock and named steps."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

from openmirror.protocol.names import TableFolder


class Waker(Protocol):
    """Tells a runner that something may be new in a folder; loses nothing by losing a ring."""

    def wake(self, folder: TableFolder) -> None:
        """Ask for a look at this folder; rings before the look starts are one ring."""
        ...


class WakerQueue(Waker, Protocol):
    """A doorbell whose rings are answered in the same process."""

    def take(self, seconds: float) -> TableFolder | None:
        """The next folder to look at, waiting at most this long; None when none rang."""
        ...


class Step(StrEnum):
    """Named places between two effects, where a process may die and everything must hold."""

    FILTERED = "filtered"
    """An event was judged at the door, and nobody has rung yet."""
    OBSERVED = "observed"
    FOLDED = "folded"
    CHECKED = "checked"
    DECIDED = "decided"
    WRITTEN_DOWN = "written-down"
    """The decided batch stands in the table's ledger, where it has one."""
    FENCED = "fenced"
    BEFORE_COMMIT = "before-commit"
    COMMITTED = "committed"
    DROP_FENCED = "drop-fenced"
    DROPPED = "dropped"
    MOVED = "moved"
    LINKED = "linked"
    TAKEN = "taken"
    """A message was taken, and no visit for it has begun."""
    IDLE = "idle"
    """A table has nothing to do now, and its messages are still there."""


class Steps(Protocol):
    """Is told of each step; does nothing in production, and stops or kills in tests."""

    def __call__(self, step: Step) -> None:
        """Called when the step has been reached."""
        ...


def no_steps(step: Step) -> None:
    """The Steps of production."""


class Clock(Protocol):
    """The time that waits and retention are counted by."""

    def __call__(self) -> datetime:
        """Now, in UTC."""
        ...
