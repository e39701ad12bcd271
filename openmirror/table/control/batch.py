"""A decided batch: what must be applied exactly as it is before any other of its epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import ETag
from openmirror.protocol.sequence import Position, Sequence
from openmirror.table.log import AppId, Epoch


class BatchKind(StrEnum):
    """How a batch enters the log."""

    EXTEND = "extend"
    """Adds to the live epoch."""
    REPLACE = "replace"
    """Opens an epoch: the table becomes this batch and nothing else."""
    CONTINUE = "continue"
    """Opens an epoch at the position that the one before had; the rows stay."""


@dataclass(frozen=True)
class ManifestEntry:
    """One file of a batch as it was read."""

    name: str
    sequence: Sequence
    etag: ETag
    checksum: Checksum | None = field(default=None, compare=False)
    """Of the bytes that were read, where it was taken. It says nothing that the ETag does not, so
    that two manifests are the same with it and without."""


@dataclass(frozen=True, kw_only=True)
class DecidedBatch:
    """A batch that must be applied exactly as it is before any other of its epoch."""

    kind: BatchKind
    app_id: AppId
    first: Sequence
    last: Position
    """For a continue the position is read from the log when the old epochs are fenced."""
    files: tuple[ManifestEntry, ...] = ()
    continues: AppId | None = None
    """For a continue: the epoch whose position it takes over."""
    at: datetime | None = field(default=None, compare=False)
    """When it was decided: what its rows say of their deletion. None in those of versions before,
    and of what has no rows."""

    def with_checksums(self, checksums: Mapping[Sequence, Checksum]) -> DecidedBatch:
        """The same batch with what is known of its files' bytes."""
        files = (replace(file, checksum=checksums.get(file.sequence)) for file in self.files)
        return replace(self, files=tuple(files))

    @property
    def epoch(self) -> Epoch:
        """The epoch it belongs to."""
        epoch = Epoch.parse(self.app_id)
        if epoch is None:
            raise ValueError(f"{self.app_id!r} does not name an epoch")
        return epoch
