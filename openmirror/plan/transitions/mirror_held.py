"""An operator held or resumed a whole mirror: what it does to the mirror's document."""

from __future__ import annotations

from dataclasses import replace

from openmirror.plan.transitions.history import MOST_ACTS
from openmirror.table.control import Act, Hold, MirrorDocument


def mirror_held(document: MirrorDocument, act: Act) -> MirrorDocument:
    """Nothing happens to any table of the mirror until it is resumed."""
    return _acted(replace(document, hold=Hold(act.at, act.by, act.why)), act)


def mirror_resumed(document: MirrorDocument, act: Act) -> MirrorDocument:
    """The mirror goes on, but for tables that are held by themselves."""
    return _acted(replace(document, hold=None), act)


def _acted(document: MirrorDocument, act: Act) -> MirrorDocument:
    whole = replace(act, what=f"{act.what} of the whole mirror")
    return replace(document, acts=(*document.acts, whole)[-MOST_ACTS:])
