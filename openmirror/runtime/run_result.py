"""What failed at a runner's last try, and with that how its run ended."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from openmirror.protocol.names import TableFolder


@dataclass(frozen=True)
class RunResult:
    """How a runner ended."""

    failed: Mapping[str, str]
    """Tables, and parts of the surroundings, whose last try failed, and why."""
    abandoned: frozenset[TableFolder]
    """Tables whose reconciliation was still underway; the next runner goes on there."""


class Troubles:
    """What failed at its last try; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._unobserved: dict[str, str] = {}

    def add(self, what: object, reason: str) -> int:
        """It failed again; answers how often in a row."""
        with self._lock:
            self._failed[str(what)] = reason
            count = self._counts[str(what)] = self._counts.get(str(what), 0) + 1
        return count

    def unobserved(self, found: Mapping[str, str]) -> None:
        """What a pass over all tables could not observe, and why; in place of the last one's."""
        with self._lock:
            self._unobserved = dict(found)

    def end(self, what: object) -> None:
        """It went well, or is no longer ours to try."""
        with self._lock:
            self._unobserved.pop(str(what), None)
            self._failed.pop(str(what), None)
            self._counts.pop(str(what), None)

    def count_anew(self, what: object) -> None:
        """It failed, and is left for now: its next failure is a first one."""
        with self._lock:
            self._counts.pop(str(what), None)

    def all(self) -> dict[str, str]:
        """Everything whose last try failed, and why."""
        with self._lock:
            return {**self._unobserved, **self._failed}
