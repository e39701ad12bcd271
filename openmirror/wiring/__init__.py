"""The one place where things are built from settings; a file for each form of the product."""

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

__all__ = [
    "history_reader",
    "local_engine",
    "local_parts",
    "local_root",
    "locked",
    "up",
    "utc_now",
    "validate_on_disk",
]
