"""Applied files that were written over while they still lie in their folder (PROTOCOL §8.3).

The same bytes again, or a mere touch, is what publishers do that deliver at least once: the new
ETag is taken for the one that was read. Other bytes pause the table, unless its policy ignores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from openmirror.plan.facts import LandedFile
from openmirror.plan.holding import held
from openmirror.plan.observed import ObservedState, OverwrittenFiles, TablePolicy
from openmirror.protocol.rules import Code
from openmirror.table.control import ManifestEntry

MOST_COMPARED = 256 << 20
"""Bytes: a larger file that was written over is not read to see whether it is the same."""


@dataclass(frozen=True)
class Overwrite:
    """A file that was applied, and what lies there under its name now."""

    manifest: ManifestEntry
    file: LandedFile

    @property
    def is_same(self) -> bool:
        """Whether its bytes are known to be those that were applied."""
        known, file = self.manifest.checksum, self.file
        return known is not None and (known, self.manifest.name) == (file.checksum, file.name)


def overwrites(observed: ObservedState) -> Iterator[Overwrite]:
    """Every applied file of the folder that has another ETag than it was read with, in order."""
    record = observed.record
    for manifest in record.applied_files(observed.applied) if record else ():
        file = observed.files.get(manifest.sequence)
        if file is None or file.archived or is_gone(observed, file):
            continue
        if file.etag != manifest.etag:
            yield Overwrite(manifest, file)


def ignores(observed: ObservedState) -> bool:
    """Whether the table goes on without the new content of a file that was written over."""
    policy = observed.policy
    return isinstance(policy, TablePolicy) and policy.overwritten is OverwrittenFiles.IGNORE


def accepted(observed: ObservedState) -> Iterator[Overwrite]:
    """Overwrites that stop nothing: their new ETag is to be written down."""
    ignored = ignores(observed)
    return (one for one in overwrites(observed) if one.is_same or ignored)


def to_compare(observed: ObservedState) -> Iterator[Overwrite]:
    """Overwrites whose file may have the bytes that were applied: reading it would show that.

    Not the one that is known to differ, nor those behind it while the table is paused over it.
    """
    if held(observed):
        return
    for one in overwrites(observed):
        if _is_recorded(observed, one.file):
            if not ignores(observed):
                return
        elif _may_be_same(one):
            yield one


def is_gone(observed: ObservedState, file: LandedFile) -> bool:
    """Whether the file that had this number was moved away already: then this is another one."""
    if observed.record is None or observed.naming.has_ledger:
        return False  # a ledger knows files by name
    return file.sequence <= observed.record.archived_through


def _is_recorded(observed: ObservedState, file: LandedFile) -> bool:
    """Whether the control document has it that this very content is not what was applied."""
    recorded = observed.control.problem
    if recorded is None or recorded.code is not Code.APPLIED_FILE_CHANGED:
        return False
    return (recorded.file, recorded.etag) == (file.name, file.etag)


def _may_be_same(one: Overwrite) -> bool:
    is_fit = not one.file.is_folder and one.file.size <= MOST_COMPARED
    return is_fit and one.manifest.checksum is not None
