"""Requests to the loader, and its reports, as values."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.cdc.postgresql.definitions import TableDefinition
from openmirror.cdc.postgresql.load_state import LoadState
from openmirror.cdc.postgresql.partial_rows import Resolution
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.cdc.postgresql.staging import StagedLoad
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import StopReason


@dataclass(frozen=True, kw_only=True)
class WantedLoad:
    """A load of one table, which the publication has already."""

    path: TablePath
    definition: TableDefinition
    shape: TableShape
    staged: StagedLoad
    """The load's document. A load goes on from the ranges that the document names."""

    @property
    def number(self) -> str:
        """The load's number."""
        return self.staged.state.number


@dataclass(frozen=True, kw_only=True)
class LoaderSettings:
    """How rows are read."""

    application: str
    mark_prefix: str
    range_seconds: float = 10.0
    """The longest transaction that touches a user's table."""
    asks_before_mark: bool = False
    """Whether `WritersEnded` is answered by `begin` before the first mark is emitted: a server
    that does not notice a changed publication by itself needs a new connection of the log."""
    name_keys: bool = True
    """Whether a stopped table's message names the row's key."""
    most_rows: int | None = None
    """The most rows of a range; None for as many as fit. For tests."""


@dataclass(frozen=True)
class LoadWaits:
    """A load waits for something that others do."""

    number: str
    why: str


@dataclass(frozen=True)
class WritersEnded:
    """Every transaction has ended that may have written before the publication had the table."""

    number: str


@dataclass(frozen=True)
class LoadReady:
    """All rows and changes of a load are staged, and its file can land."""

    number: str
    state: LoadState
    resolution: Resolution
    through: LogPlace
    """Every change up to here is in the file."""


@dataclass(frozen=True)
class LoadGivenUp:
    """A load has ended without a file."""

    number: str
    why: str
    stop: StopReason | None = None
    """Why the table stops; None where the load has to begin again by another number."""


@dataclass(frozen=True)
class LoaderWaits:
    """The database or the store fails, and is asked again later."""

    why: str


LoadEvent = LoadWaits | WritersEnded | LoadReady | LoadGivenUp | LoaderWaits
