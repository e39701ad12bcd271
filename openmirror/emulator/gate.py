"""One change of names at a time, so that conditions hold at the moment of the change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from openmirror.stores.local.mutex import locked
from openmirror.stores.local.paths import OURS
from openmirror.table.layout import LAKE


class Gate:
    """Keeps out the endpoint's own threads, and who mirrors the same root in another process."""

    def __init__(self, root: Path) -> None:
        self._thread = threading.RLock()
        self._depth = 0
        self._lake = root / LAKE
        self._left: list[Callable[[], None]] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Be the only one; may be nested."""
        left: list[Callable[[], None]] = []
        try:
            with self._thread:
                if self._depth or not self._lake.is_dir():
                    with self._counted(left):
                        yield
                    return
                # The lock that the local store's conditional writes take as well.
                with locked(self._lake / f"{OURS}lock"), self._counted(left):
                    yield
        finally:
            for act in left:
                act()

    def when_left(self, act: Callable[[], None]) -> None:
        """Do this in the same thread once others may enter; to be called within."""
        self._left.append(act)

    @contextmanager
    def _counted(self, left: list[Callable[[], None]]) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                left += self._left
                self._left.clear()
