"""The ports of letters within one process, for tests."""

from __future__ import annotations

from threading import Lock

from openmirror.errors import NotThere
from openmirror.ports.letters import DeadLetter, Letter


class MemoryLetters:
    """Letters of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._letters: dict[str, Letter] = {}

    def keep(self, letter: Letter) -> None:
        """Keep a letter; keeping it again changes nothing."""
        with self._lock:
            self._letters[letter.name] = letter

    def names(self) -> list[str]:
        """The names of all letters, the newest first."""
        with self._lock:
            newest = sorted(self._letters.values(), key=lambda letter: letter.at, reverse=True)
            return [letter.name for letter in newest]

    def read(self, name: str) -> Letter:
        """One letter; raises NotThere without it."""
        with self._lock:
            if name not in self._letters:
                raise NotThere(f"there is no letter {name}")
            return self._letters[name]

    def delete(self, name: str) -> None:
        """Forget a letter; harmless when it is gone."""
        with self._lock:
            self._letters.pop(name, None)


class MemoryDeadLetters:
    """Event Grid's dead letters in one process."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def waiting(self, most: int) -> list[DeadLetter]:
        """Some that nobody has collected yet."""
        return [DeadLetter(path, body) for path, body in sorted(self.blobs.items())[:most]]

    def delete(self, path: str) -> None:
        """It was collected."""
        self.blobs.pop(path, None)


class MemoryPost:
    """Remembers what was put back."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    def send(self, queue: str, body: bytes) -> None:
        """Remember it."""
        self.sent.append((queue, body))
