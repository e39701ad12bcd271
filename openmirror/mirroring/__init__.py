"""mirroring.json: Fabric's item definition, with our `openmirror` section (docs/OPERATIONS.md)."""

from openmirror.mirroring.choice import TableChoice
from openmirror.mirroring.parsing import DeclaredTopic, Mirroring, parse_mirroring

__all__ = ["DeclaredTopic", "Mirroring", "TableChoice", "parse_mirroring"]
