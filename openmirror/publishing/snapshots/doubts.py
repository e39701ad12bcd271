"""Whether a snapshot may not be the whole table: then a person is asked."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.publishing.snapshots.comparing import Differences

MOST_DELETED = 0.5
"""The share of a table's rows that a snapshot may delete without asking."""
_FEW = 100
"""So many rows may always go."""


@dataclass(frozen=True)
class Doubt:
    """Why a snapshot is not published without a person's word."""

    why: str


def doubt(
    differences: Differences, rows: int, before: int | None, most_deleted: float = MOST_DELETED
) -> Doubt | None:
    """The doubt that a snapshot of so many rows raises, where there were `before`.

    An empty one always does, unless the table was empty already. So does one that deletes more
    than 100 rows and more than the share `most_deleted` of the table.
    """
    if rows == 0 and before != 0:
        if before is None:
            return Doubt("the snapshot has no rows, and the table would begin empty")
        return Doubt(f"the snapshot has no rows, and all {before:,} rows of the table would go")
    if before and differences.deleted > max(_FEW, most_deleted * before):
        share = differences.deleted / before
        return Doubt(
            f"{differences.deleted:,} of the table's {before:,} rows ({share:.0%}) would be "
            f"deleted, since the snapshot has {rows:,}"
        )
    return None
