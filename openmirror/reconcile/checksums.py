"""Checksums of change files: taken when they are applied, compared when they were written over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from openmirror.errors import ConditionFailed
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import ObservedState
from openmirror.plan.overwrites import Overwrite, ignores, to_compare
from openmirror.protocol.checksums import Checksum, RunningChecksum
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.concurrently import side_by_side
from openmirror.reconcile.root_ports import RootPorts

MOST_READ_FOR_IT = 16 << 20
"""Bytes: a larger file is not read once more, only to take its checksum."""
_AT_ONCE = 4 << 20


def checksums_of(
    ports: RootPorts, batch: Batch, known: Mapping[Sequence, Checksum]
) -> dict[Sequence, Checksum]:
    """Checksums of a batch's files: those `known` from reading them, and of small ones besides.

    Raises ConditionFailed when a file no longer has the ETag that it was planned with.
    """
    wanted = [f for f in batch.files if f.sequence not in known and f.size <= MOST_READ_FOR_IT]
    taken = side_by_side(ports, wanted, lambda file: checksum_of(ports, file))
    return {**known, **{file.sequence: one for file, one in zip(wanted, taken, strict=True)}}


def compared(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The observed state with checksums of files that were written over after they were applied.

    It ends at the first that differs, which pauses the table. Raises ConditionFailed when a file
    changes meanwhile.
    """
    known: dict[Sequence, LandedFile] = {}
    for one in to_compare(observed):
        file = replace(one.file, checksum=checksum_of(ports, one.file))
        known[file.sequence] = file
        if not Overwrite(one.manifest, file).is_same and not ignores(observed):
            break
    return replace(observed, files={**observed.files, **known}) if known else observed


def checksum_of(ports: RootPorts, file: LandedFile) -> Checksum:
    """The checksum of the content that has this file's ETag."""
    running = RunningChecksum()
    while True:
        content = ports.store.read(file.path, running.size, _AT_ONCE)
        if content.etag != file.etag:
            raise ConditionFailed(f"{file.path} was replaced while it was read")
        running.update(content.data)
        if running.size >= content.size:
            return running.checksum
        if not content.data:
            raise ConditionFailed(f"{file.path} ended before its {content.size} bytes were read")
