"""Remembering what was emitted, so that nothing is emitted twice."""

from __future__ import annotations

import threading
from collections import OrderedDict

MOST_REMEMBERED = 20_000
"""A repeat comes soon after what it repeats, or not at all."""


class Once:
    """A bounded memory; safe to share between threads."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, None] = OrderedDict()

    def is_new(self, identity: str) -> bool:
        """Whether this was never asked for before; from now on it was."""
        with self._lock:
            if identity in self._known:
                self._known.move_to_end(identity)
                return False
            self._known[identity] = None
            if len(self._known) > self._most:
                self._known.popitem(last=False)
            return True
