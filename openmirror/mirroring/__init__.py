"""mirroring.json: Fabric's item definition, with our `openmirror` section (docs/OPERATIONS.md)."""

from openmirror.mirroring.parsing import Mirroring, parse_mirroring

__all__ = ["Mirroring", "parse_mirroring"]
