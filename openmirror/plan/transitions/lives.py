"""The lives of a landing folder: the present one, and those that may come back."""

from __future__ import annotations

from dataclasses import replace

from openmirror.control import ControlDocument, Life

MOST_FORMER_LIVES = 5


def with_life(control: ControlDocument, life: Life) -> ControlDocument:
    """The document with this life as its present one; another one becomes a former life."""
    others = (control.life, *control.former)
    former = tuple(o for o in others if o is not None and o.incarnation != life.incarnation)
    return replace(control, life=life, former=former[:MOST_FORMER_LIVES])
