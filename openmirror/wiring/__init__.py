"""The one place where things are built from settings; a file for each form of the product."""

from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.checking import (
    observed_account,
    observed_onelake,
    zone_at,
    zone_in_folder,
    zones_of,
)
from openmirror.wiring.local import (
    history_reader,
    local_ports,
    local_root,
    locked,
    past_reader,
    up,
    utc_now,
)
from openmirror.wiring.onelake import onelake_served
from openmirror.wiring.page import page_served
from openmirror.wiring.reading_ahead import reading_ahead
from openmirror.wiring.root import root_ports
from openmirror.wiring.runner import runner
from openmirror.wiring.serving import served, waking
from openmirror.wiring.spark import engine_over, local_engine, local_spark, root_engine
from openmirror.wiring.validating import validate_on_disk

__all__ = [
    "engine_over",
    "history_reader",
    "leases",
    "local_engine",
    "local_ports",
    "local_root",
    "local_spark",
    "locked",
    "observed_account",
    "observed_onelake",
    "onelake_served",
    "page_served",
    "past_reader",
    "reading_ahead",
    "root_engine",
    "root_ports",
    "runner",
    "served",
    "up",
    "utc_now",
    "validate_on_disk",
    "waking",
    "work_queue",
    "zone_at",
    "zone_in_folder",
    "zones_of",
]
