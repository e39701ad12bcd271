"""A landing zone that streams are landed in."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.ports import FileStore
from openmirror.protocol.rows import Marker
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class StreamZone:
    """A landing zone that streams are landed in."""

    store: FileStore
    path: StorePath
    takes: frozenset[Marker]
    """What the zone's mirror takes beyond the published markers (PROTOCOL §5.7)."""
    lineage: bool
    """Whether the zone's mirror asks for columns of lineage."""
