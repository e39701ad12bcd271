"""Text read by the own grammar and the own values alone: the definition, without any short cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from openmirror.formats.text import columns, cutting, pieces
from openmirror.formats.text.ways import CuttingWay


@contextmanager
def by_grammar_alone() -> Iterator[None]:
    """Whatever is read in here, pyarrow neither cuts it nor converts it."""
    with ExitStack() as patches:
        patches.enter_context(patch.object(pieces, "cut_at_once", lambda *_: None))
        patches.enter_context(patch.object(cutting, "way_to_cut", lambda *_, **__: CuttingWay.OWN))
        patches.enter_context(patch.object(columns, "at_once", lambda *_: None))
        yield
