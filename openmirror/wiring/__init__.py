"""The one place where things are built from settings; a file for each form of the product."""

from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.local import (
    history_reader,
    local_engine,
    local_parts,
    local_root,
    locked,
    up,
    utc_now,
    validate_on_disk,
)
from openmirror.wiring.root import root_parts

__all__ = [
    "history_reader",
    "leases",
    "local_engine",
    "local_parts",
    "local_root",
    "locked",
    "root_parts",
    "up",
    "utc_now",
    "validate_on_disk",
    "work_queue",
]
