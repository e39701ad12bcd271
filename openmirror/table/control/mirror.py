"""The document of a whole mirror: what it has decided for all of its tables."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.protocol.names import Incarnation
from openmirror.table.control.document import VERSION, Act, Hold


@dataclass(frozen=True, kw_only=True)
class MirrorDocument:
    """What one mirror has decided for all of its tables."""

    version: int = VERSION
    default_schema: str = "dbo"
    zone: Incarnation | None = None
    """The landing zone folder that the mirror knows; another one means an unmounted root."""
    confirmed_drops: tuple[str, ...] = ()
    """Folders that an operator allowed to drop although the bulk-drop guard held them back."""
    hold: Hold | None = None
    """An operator's hold of every table of the mirror."""
    acts: tuple[Act, ...] = ()
    """What operators did to the mirror as a whole, oldest first; each table's history has it."""
