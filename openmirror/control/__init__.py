"""The control document: what was decided about one landing folder, and nothing that can be seen
elsewhere. Values only: `plan/transitions/` says how they change, services write them under an ETag.
"""

from openmirror.control.batch import (
    BatchKind,
    DecidedBatch,
    FileDigest,
)
from openmirror.control.document import (
    VERSION,
    Act,
    Applied,
    ControlDocument,
    Dropped,
    Ended,
    Failures,
    Hold,
    Request,
    RequestKind,
)
from openmirror.control.life import (
    Archived,
    Life,
    Pinned,
    Skip,
)
from openmirror.control.mirror import (
    MirrorDocument,
)

__all__ = [
    "VERSION",
    "Act",
    "Applied",
    "Archived",
    "BatchKind",
    "ControlDocument",
    "DecidedBatch",
    "Dropped",
    "Ended",
    "Failures",
    "FileDigest",
    "Hold",
    "Life",
    "MirrorDocument",
    "Pinned",
    "Request",
    "RequestKind",
    "Skip",
]
