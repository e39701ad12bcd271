"""Who reads a table as it is."""

from __future__ import annotations

from openmirror.errors import WrongRequest
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status.readers import ReadersOf, readers_of
from openmirror.table.log import TableLog


def readers_of_table(ports: RootPorts, folder: TableFolder) -> ReadersOf:
    """Who reads the table of a folder, also one that was dropped and is retained.

    Raises WrongRequest where there is none, or none whose log can be read.
    """
    observed = observe(ports, folder).observed
    log = observed.log or observed.retained
    if not isinstance(log, TableLog):
        why = f": {log.reason}" if log else ": nothing of it was ever applied"
        raise WrongRequest(f"{observed.name} has no table that can be read{why}")
    return readers_of(log.protocol, log.properties)
