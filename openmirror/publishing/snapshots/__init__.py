"""Tables of which only whole copies are known: the differences to the last one are published.

`spool` brings a snapshot into one typed file, `compare` finds what changed since the last one, and
`SnapshotTable` keeps both in the table folder's `_snapshot`, so that a publisher that dies between
any two files is followed by one that goes on.
"""

from openmirror.publishing.snapshots.comparing import (
    Differences,
    DuplicateKeys,
    Resources,
    SnapshotComparison,
    compare,
)
from openmirror.publishing.snapshots.document import OpenPlan, SnapshotState
from openmirror.publishing.snapshots.doubts import Doubt, doubt
from openmirror.publishing.snapshots.publishing import (
    SnapshotOutcome,
    SnapshotRun,
    preview_snapshot,
    publish_snapshot,
)
from openmirror.publishing.snapshots.spooling import Spool, spool
from openmirror.publishing.snapshots.table import (
    LandedSnapshot,
    ObservedSnapshots,
    SnapshotLost,
    SnapshotTable,
)

__all__ = [
    "Differences",
    "Doubt",
    "DuplicateKeys",
    "LandedSnapshot",
    "ObservedSnapshots",
    "OpenPlan",
    "Resources",
    "SnapshotComparison",
    "SnapshotLost",
    "SnapshotOutcome",
    "SnapshotRun",
    "SnapshotState",
    "SnapshotTable",
    "Spool",
    "compare",
    "doubt",
    "preview_snapshot",
    "publish_snapshot",
    "spool",
]
