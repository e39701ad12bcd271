"""What a running process needs besides data: wake-ups, clock and named steps."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

from openmirror.protocol.names import TableFolder


class Waker(Protocol):
    """Wakes a runner because something may be new in a folder; a lost wake-up loses nothing."""

    def wake(self, folder: TableFolder) -> None:
        """Ask for a reconciliation; several wake-ups before it begins count as one."""
        ...


class WakerQueue(Waker, Protocol):
    """A Waker whose wake-ups are taken in the same process."""

    def take(self, seconds: float) -> TableFolder | None:
        """The next folder to reconcile, waiting at most this long; None when there is none."""
        ...


class Step(StrEnum):
    """Named places between two effects, where a process may die and everything must hold."""

    FILTERED = "filtered"
    """An event passed the event filter, and no work item has been sent yet."""
    OBSERVED = "observed"
    FOLDED = "folded"
    CHECKED = "checked"
    DECIDED = "decided"
    WRITTEN_DOWN = "written-down"
    """The decided batch is in the table's ledger, where it has one."""
    FENCED = "fenced"
    BEFORE_COMMIT = "before-commit"
    COMMITTED = "committed"
    MAINTAINING = "maintaining"
    """A step of maintenance is written down, and has not begun."""
    MAINTAINED = "maintained"
    """It has ended, and that is not written down."""
    DROP_FENCED = "drop-fenced"
    DROPPED = "dropped"
    MOVED = "moved"
    LINKED = "linked"
    TAKEN = "taken"
    """A message was taken, and no reconciliation for it has begun."""
    IDLE = "idle"
    """A table has nothing to do now, and its messages are still there."""


class Steps(Protocol):
    """Called at each step; does nothing in production, and stops or kills in tests."""

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
