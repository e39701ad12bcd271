"""The ports of dead letters within one process, for tests."""

from __future__ import annotations

from threading import Lock

from openmirror.errors import NotThere
from openmirror.ports.dead_letters import DeadLetter, UndeliveredEvent


class MemoryDeadLetters:
    """Dead letters of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._dead_letters: dict[str, DeadLetter] = {}

    def keep(self, dead_letter: DeadLetter) -> None:
        """Keep a dead letter; keeping it again changes nothing."""
        with self._lock:
            self._dead_letters[dead_letter.name] = dead_letter

    def names(self) -> list[str]:
        """The names of all dead letters, the newest first."""
        with self._lock:
            newest = sorted(
                self._dead_letters.values(), key=lambda dead_letter: dead_letter.at, reverse=True
            )
            return [dead_letter.name for dead_letter in newest]

    def read(self, name: str) -> DeadLetter:
        """One dead letter; raises NotThere without it."""
        with self._lock:
            if name not in self._dead_letters:
                raise NotThere(f"there is no dead letter {name}")
            return self._dead_letters[name]

    def delete(self, name: str) -> None:
        """Delete a dead letter; harmless when it is gone."""
        with self._lock:
            self._dead_letters.pop(name, None)


class MemoryUndeliveredEvents:
    """Events that Event Grid could not deliver, in one process."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def waiting(self, most: int) -> list[UndeliveredEvent]:
        """Some that nobody has collected yet."""
        return [UndeliveredEvent(path, body) for path, body in sorted(self.blobs.items())[:most]]

    def delete(self, path: str) -> None:
        """It was collected."""
        self.blobs.pop(path, None)


class MemoryRequeuer:
    """Remembers what was put back."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    def send(self, queue: str, body: bytes) -> None:
        """Remember it."""
        self.sent.append((queue, body))
