"""Python imports this at its start where it lies on the path: it writes down which names are read.

A name counts when it is asked for by itself. Whoever goes through all of them reads none so.
"""

from __future__ import annotations

import os
from collections.abc import ItemsView

_FILE = "NAMES_READ"


class _Written(os._Environ):  # type: ignore[type-arg]
    def __getitem__(self, key: str) -> str:
        if key not in _seen:
            _seen.add(key)
            os.write(_to, f"{key}\n".encode())
        return str(super().__getitem__(key))

    def items(self) -> ItemsView[str, str]:
        return self.copy().items()

    def copy(self) -> dict[str, str]:
        return {os.fsdecode(key): os.fsdecode(value) for key, value in self._data.items()}


_seen: set[str] = set()
_to = os.open(os.environ[_FILE], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.environ.__class__ = _Written
