"""An operator confirmed drops that the bulk-drop guard held back: in the mirror's document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from openmirror.protocol.names import Incarnation, TableFolder
from openmirror.table.control import MirrorDocument


def confirmed(
    document: MirrorDocument, folders: Iterable[TableFolder], zone: Incarnation | None
) -> MirrorDocument:
    """These tables may be dropped, and `zone` is from now on the mirror's landing zone."""
    names = (*document.confirmed_drops, *(str(folder.path) for folder in folders))
    return replace(document, confirmed_drops=tuple(dict.fromkeys(names)), zone=zone)


def used_up(document: MirrorDocument, folder: TableFolder) -> MirrorDocument:
    """A drop was done: the yes to it is gone, so that it drops no table that comes back later."""
    left = tuple(name for name in document.confirmed_drops if name != str(folder.path))
    return replace(document, confirmed_drops=left)
