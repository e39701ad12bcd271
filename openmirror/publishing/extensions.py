"""What a landing zone's mirror takes beyond the published markers (PROTOCOL §5.7)."""

from __future__ import annotations

import json

from openmirror.errors import NotThere
from openmirror.ports import FileStore
from openmirror.protocol.rows import EXTENSION_NAMES, Marker
from openmirror.table.layout import StorePath, folder_of, join

_MARKERS = {name: marker for marker, name in EXTENSION_NAMES.items()}


def taken_by(store: FileStore, zone: StorePath) -> frozenset[Marker]:
    """What the mirror says of itself beside its zone, in `Monitoring/replicator.json`.

    Nothing where it does not say it, as Fabric's own, or cannot be understood: any other engine
    refuses such a marker. Raises what the store does.
    """
    try:
        content = store.read(join(folder_of(zone), "Monitoring", "replicator.json")).data
        names = json.loads(content)["extensions"]
        return frozenset(marker for name, marker in _MARKERS.items() if name in names)
    except (NotThere, ValueError, LookupError, TypeError):
        return frozenset()
