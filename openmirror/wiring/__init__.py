"""The one place where things are built from settings; a file for each form of the product."""

from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.local import (
    history_reader,
    local_parts,
    local_root,
    locked,
    up,
    utc_now,
    validate_on_disk,
)
from openmirror.wiring.root import root_parts
from openmirror.wiring.runner import runner
from openmirror.wiring.serving import ringing, served
from openmirror.wiring.spark import local_engine, root_engine

__all__ = [
    "history_reader",
    "leases",
    "local_engine",
    "local_parts",
    "local_root",
    "locked",
    "ringing",
    "root_engine",
    "root_parts",
    "runner",
    "served",
    "up",
    "utc_now",
    "validate_on_disk",
    "work_queue",
]
