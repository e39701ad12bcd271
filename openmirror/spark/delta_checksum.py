"""What Delta keeps of each version of a table in a checksum file, besides its log.

It is computed from one commit to the next, so it is as right as the first one was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openmirror.spark.scala import each, given


@dataclass(frozen=True, kw_only=True)
class DeltaChecksum:
    """What a version's checksum says; None where it says nothing of it."""

    transaction_id: str | None
    """The commit that it was made by."""
    applied: Mapping[str, int] | None
    """The version of each application."""
    data_files: Any | None
    """As Delta's own values; it has none of many."""
    files: int
    bytes: int

    @classmethod
    def of(cls, snapshot: Any) -> DeltaChecksum | None:
        """That of one of Delta's snapshots; None where the version has none."""
        found = given(snapshot.checksumOpt())
        if found is None:
            return None
        applied, name = given(found.setTransactions()), given(found.txnId())
        return cls(
            transaction_id=None if name is None else str(name),
            applied=None if applied is None else versions(applied),
            data_files=given(found.allFiles()),
            files=int(found.numFiles()),
            bytes=int(found.tableSizeBytes()),
        )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Whether a checksum has the transactions, and the data files, that its log has."""

    transactions: bool
    files: bool

    @classmethod
    def of(cls, checksum: DeltaChecksum | None, snapshot: Any) -> Agreement:
        """Reads the log for it."""
        if checksum is None or checksum.applied != versions(snapshot.setTransactions()):
            return cls(transactions=False, files=False)
        has_files = checksum.data_files is not None
        same = has_files and _paths(checksum.data_files) == _paths(
            snapshot.allFiles().collectAsList()
        )
        return cls(transactions=True, files=same)


def versions(transactions: Any) -> dict[str, int]:
    """The version of each application, of Delta's own values."""
    return {str(one.appId()): int(one.version()) for one in each(transactions)}


def _paths(files: Any) -> list[str]:
    return sorted(str(file.path()) for file in each(files))
