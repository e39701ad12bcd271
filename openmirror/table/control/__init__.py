"""The control document: what was decided about one landing folder, and nothing that can be seen
elsewhere. Values only: `plan/transitions/` says how they change, services write them under an ETag.
"""

from openmirror.table.control.batch import BatchKind, DecidedBatch, ManifestEntry
from openmirror.table.control.document import (
    VERSION,
    Act,
    Applied,
    BeginReason,
    Begun,
    ControlDocument,
    Dropped,
    Ended,
    Failures,
    FirstSeen,
    Hold,
    Request,
    RequestKind,
    Unregistered,
)
from openmirror.table.control.incarnation_record import (
    Archived,
    FrozenOptions,
    IncarnationRecord,
    Overwrites,
    Skip,
    StopAfter,
    Truncated,
)
from openmirror.table.control.maintenance import (
    FORGOTTEN_STEP,
    FilesFound,
    Maintenance,
    MaintenanceAsked,
    StepBegun,
    StepDone,
    StepFailed,
    StepKind,
)
from openmirror.table.control.mirror import MirrorDocument

__all__ = [
    "FORGOTTEN_STEP",
    "VERSION",
    "Act",
    "Applied",
    "Archived",
    "BatchKind",
    "BeginReason",
    "Begun",
    "ControlDocument",
    "DecidedBatch",
    "Dropped",
    "Ended",
    "Failures",
    "FilesFound",
    "FirstSeen",
    "FrozenOptions",
    "Hold",
    "IncarnationRecord",
    "Maintenance",
    "MaintenanceAsked",
    "ManifestEntry",
    "MirrorDocument",
    "Overwrites",
    "Request",
    "RequestKind",
    "Skip",
    "StepBegun",
    "StepDone",
    "StepFailed",
    "StepKind",
    "StopAfter",
    "Truncated",
    "Unregistered",
]
