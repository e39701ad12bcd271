"""What the requests of a publisher did to its landing zones, file by file, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openmirror.conformance.exchanges import Exchange
from openmirror.protocol.names import TableFolder
from openmirror.protocol.sequence import Sequence


class Appearance(StrEnum):
    """How a change file came by its name."""

    RENAMED = "renamed"
    WHOLE = "whole"
    """Written under it by one request."""
    PIECEMEAL = "piecemeal"
    """Made empty under it, and filled afterwards."""


class Touch(StrEnum):
    """What was done to a change file that was there."""

    GROWN = "grown"
    OVERWRITTEN = "overwritten"
    CHANGED = "changed"
    """Its properties or metadata: it has another ETag."""
    DELETED = "deleted"


@dataclass(frozen=True, kw_only=True)
class Landing:
    """A change file that came by its name."""

    folder: TableFolder
    name: str
    """From the table folder on."""
    number: Sequence | None
    """None where files are found by their time."""
    partition: str
    appearance: Appearance
    incarnation: int
    """How often the folder was deleted before, as far as requests show."""
    expected: Sequence | None
    """The number after the highest one that was seen there before; None when none was."""
    is_first: bool
    """Whether the folder is known to have had no change file before, in this incarnation."""
    is_reused: bool
    """Whether another file had this name before, in this incarnation, and is gone."""
    is_text: bool
    has_metadata: bool
    """Whether a `_metadata.json` with content was there before it."""
    exchange: Exchange


@dataclass(frozen=True)
class Touched:
    """A change file to which something was done after it had its name."""

    folder: TableFolder
    name: str
    touch: Touch
    exchange: Exchange


@dataclass(frozen=True)
class Declared:
    """What `_metadata.json` was written as; the change files that were there before it."""

    folder: TableFolder
    content: bytes | None
    """None where the requests do not show it."""
    landed: int
    exchange: Exchange


@dataclass(frozen=True, kw_only=True)
class PublisherHistory:
    """All that requests show, in the order in which they came."""

    exchanges: tuple[Exchange, ...] = ()
    landings: tuple[Landing, ...] = ()
    touched: tuple[Touched, ...] = ()
    declared: tuple[Declared, ...] = ()
    flushed: tuple[tuple[Landing, Exchange], ...] = ()
    """Flushes of files that already had their final name."""
    left: tuple[Exchange, ...] = ()
    """What made each staged file that is still there at the end."""
