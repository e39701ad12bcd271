"""Files of rows published as changes, each once: one that was published as it is, is passed over.

Each file is a source of its own, called after it, whose position is the checksum of its bytes. So
the footers remember what of which file has landed, and a file that was half published when its
publisher died is gone on with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import WrongRequest
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.publishing.positions import SourcePosition
from openmirror.publishing.snapshots.spooling import Spool
from openmirror.publishing.table import TableWriter

_BLOCK = 1 << 20


class Mode(StrEnum):
    """What every row of a file does (PROTOCOL §5.1)."""

    INSERT = "insert"
    UPSERT = "upsert"
    UPDATE = "update"
    DELETE = "delete"


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


def mode_of(spool: Spool, given: Mode | None, *, has_key: bool) -> Mode | None:
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
    return given or (Mode.UPSERT if has_key else Mode.INSERT)


def send(
    writer: TableWriter,
    spool: Spool,
    mode: Mode | None,
    position: SourcePosition | None,
    report: Callable[[int], None],
) -> None:
    """Publish all rows as one batch of the writer's source, and land them.

    `report` hears how many rows were handed on.
    """
    publish = {
        None: writer.publish,
        Mode.INSERT: writer.insert,
        Mode.UPSERT: writer.upsert,
        Mode.UPDATE: writer.update,
        Mode.DELETE: writer.delete,
    }[mode]
    if position is None:
        _publish(publish, spool, report)
    else:
        with writer.batch(position):
            _publish(publish, spool, report)
    writer.flush()


def _publish(publish: Callable[..., None], spool: Spool, report: Callable[[int], None]) -> None:
    rows = 0
    for batch in spool.batches():
        publish(pa.Table.from_batches([batch]))
        rows += batch.num_rows
        report(rows)
