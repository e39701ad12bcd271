"""Files of rows published as changes, each once: one that was published as it is, is passed over.

Each file is a source of its own, called after it, whose position is the checksum of its bytes. So
the footers remember what of which file has landed, and a file that was half published when its
publisher died is gone on with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from openmirror.errors import WrongRequest
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.rows import Marker
from openmirror.publishing.positions import SourcePosition
from openmirror.publishing.snapshots.spooling import Spool
from openmirror.publishing.table import TableWriter

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Sent:
    """What became of one file."""

    name: str
    rows: int
    was_published: bool = False
    """Whether it had been, with these very bytes, so that nothing was sent."""


class PublishedBefore(WrongRequest):
    """A file was published under its name with other rows, and would be inserted once more."""


def source_of(name: str) -> str:
    """The source that a file is."""
    return f"file {name}"


def checksum(path: Path) -> str:
    """The position that a file's bytes are."""
    hashed = hashlib.sha256()
    with path.open("rb") as content:
        while block := content.read(_BLOCK):
            hashed.update(block)
    return f"sha256 {hashed.hexdigest()}"


def mode_of(spool: Spool, given: Marker | None, *, has_key: bool) -> Marker | None:
    """What the rows do; None where each says it itself. Raises WrongRequest for both at once.

    Without a word rows are upserts in a table with a key, and inserts in one without.
    """
    has_markers = spool.columns.find(ROW_MARKER_COLUMN) is not None
    if has_markers and given is not None:
        raise WrongRequest(
            f"the rows have a column {ROW_MARKER_COLUMN}, which says what each does: leave out "
            "--mode, or the column (PROTOCOL §5.1)"
        )
    if has_markers:
        return None
    if given is not None:
        return given
    return Marker.UPSERT if has_key else Marker.INSERT


def send(
    writer: TableWriter,
    spool: Spool,
    mode: Marker | None,
    position: SourcePosition | None,
    report: Callable[[int], None],
) -> None:
    """Publish all rows as one batch of the writer's source, and land them.

    `report` hears how many rows were handed on.
    """
    rows = 0
    with writer.batch(position) if position is not None else nullcontext():
        for batch in spool.batches():
            writer.publish(batch, marker=mode)
            rows += batch.num_rows
            report(rows)
    writer.flush()
