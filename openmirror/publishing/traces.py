"""What became of a file whose rename was begun, by the traces that it left (PROTOCOL §13.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class ArchivedUnder(Enum):
    """What the archive has under the file's number."""

    NOTHING = auto()
    IT = auto()
    ANOTHER = auto()


class Behind(Enum):
    """What lies under the number behind the file's, in the folder or in the archive."""

    NOTHING = auto()
    NAMES_IT = auto()
    """One of ours, whose footer has the file as `previous`."""
    NAMES_ANOTHER = auto()
    """One of ours, which was made behind another file."""
    FOREIGN = auto()
    """A file of a program that names nobody."""


class Fate(Enum):
    """What became of a file."""

    LANDED = auto()
    """It is a change of its table, whoever has it now."""
    USED_BEFORE = auto()
    """It lies under a number that was applied before, and nobody reads it there."""
    LOST = auto()
    """It has no number, and never will."""


@dataclass(frozen=True)
class LandingTraces:
    """What the folder and its archive say of a file and its number."""

    is_held: bool
    """Whether the file lies under the number in the folder."""
    is_newest: bool = False
    """Whether no number is above."""
    archived: ArchivedUnder = ArchivedUnder.NOTHING
    behind: Behind = Behind.NOTHING
    is_carried: bool = False
    """Whether the newest footer has it as the newest file of its source."""


def fate(traces: LandingTraces) -> Fate:
    """What became of the file.

    A file that is nowhere has landed only if something says so that knows the file itself: that
    its number has successors says nothing, for others may have landed them, and whoever opens the
    table takes away what lies under a number that was used before.
    """
    is_known = (
        traces.archived is ArchivedUnder.IT or traces.behind is Behind.NAMES_IT or traces.is_carried
    )
    if is_known:
        return Fate.LANDED
    if not traces.is_held:
        return Fate.LOST
    if traces.is_newest:
        return Fate.LANDED
    # A foreign successor names nobody: the number was new unless the archive has it already.
    if traces.behind is Behind.FOREIGN and traces.archived is ArchivedUnder.NOTHING:
        return Fate.LANDED
    return Fate.USED_BEFORE
