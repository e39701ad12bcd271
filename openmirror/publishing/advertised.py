"""What the mirror of a landing zone says of itself beside it, in `Monitoring/replicator.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from openmirror.errors import NotThere
from openmirror.ports import FileStore
from openmirror.protocol.rows import EXTENSION_NAMES, Marker
from openmirror.table.layout import StorePath, join, monitoring_of

_MARKERS = {name: marker for marker, name in EXTENSION_NAMES.items()}


@dataclass(frozen=True)
class Advertised:
    """What publishers may use, or are asked for (PROTOCOL §10)."""

    takes: frozenset[Marker] = frozenset()
    """Markers beyond the published ones; any other engine refuses them."""
    lineage: bool = False
    """Whether tables of databases shall have columns of their changes' origin."""


def advertised(store: FileStore, zone: StorePath) -> Advertised:
    """What stands there; nothing where nothing does, as by Fabric, or it cannot be understood.

    Raises what the store does, but for a file that is not there.
    """
    try:
        content = store.read(join(monitoring_of(zone), "replicator.json")).data
        document = json.loads(content)
    except (NotThere, ValueError):
        return Advertised()
    if not isinstance(document, dict):
        return Advertised()
    names = document.get("extensions")
    taken = [m for name, m in _MARKERS.items() if isinstance(names, list) and name in names]
    return Advertised(frozenset(taken), document.get("lineage") is True)
