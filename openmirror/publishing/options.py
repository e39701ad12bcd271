"""How a writer works, and what it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openmirror.publishing.buffer import BatchLimits


@dataclass(frozen=True)
class PublishedFile:
    """A change file that landed."""

    name: str
    """Such as `00000000000000000007.parquet`."""
    rows: int
    """Change rows in it."""
    size: int
    """Bytes."""


def never_wait(landed_rows: int) -> None:
    """The publisher of a mirror that may be behind as far as it likes."""
    del landed_rows


@dataclass(frozen=True)
class WriterOptions:
    """How one writer works."""

    source: str = "default"
    """The name of the source whose positions are counted."""
    limits: BatchLimits = field(default_factory=BatchLimits)
    before_landing: Callable[[int], None] = never_wait
    """Called before each file with the change rows of this incarnation that landed so far."""
    closed: Callable[[], None] = lambda: None
    """Called once when the writer lets go."""
    monotonic: Callable[[], float] = time.monotonic
