"""One change of names at a time, so that conditions hold at the moment of the change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openmirror.adapters.local.mutex import locked
from openmirror.adapters.local.paths import OURS
from openmirror.layout import LAKE


class Gate:
    """Keeps out the endpoint's own threads, and who mirrors the same root in another process."""

    def __init__(self, root: Path) -> None:
        self._thread = threading.RLock()
        self._inside = False
        self._lake = root / LAKE

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Be the only one; may be nested."""
        with self._thread:
            if self._inside or not self._lake.is_dir():
                yield
                return
            # The lock that the local store's conditional writes take as well.
            with locked(self._lake / f"{OURS}lock"):
                self._inside = True
                try:
                    yield
                finally:
                    self._inside = False
