"""A store that is asked again while its service is away (503, a lost answer, no connection)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from openmirror.errors import Unavailable
from openmirror.ports import Absent, Content, Entry, FileStore, Listing, StreamedFile
from openmirror.protocol.names import ETag, Incarnation
from openmirror.table.layout import StorePath

_Answer = TypeVar("_Answer")
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Patience:
    """How long a service that is away is asked again."""

    seconds: float = 600.0
    """From the first refusal of one request on; 0 asks once."""
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic


class PatientStore:
    """A FileStore that asks again while it is Unavailable, and raises that in the end.

    A request that did its work although its answer was lost is refused the second time, as a
    condition that fails, a source that is missing or a destination that exists: callers look up
    what became of it.
    """

    def __init__(self, inner: FileStore, patience: Patience) -> None:
        self._inner = inner
        self._patience = patience

    def list_folder(self, folder: StorePath) -> Listing:
        """As the store does."""
        return self._asked(lambda: self._inner.list_folder(folder))

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        """As the store does."""
        return self._asked(lambda: self._inner.list_from(folder, start))

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """As the store does."""
        return self._asked(lambda: self._inner.incarnation(folder))

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """As the store does."""
        return self._asked(lambda: self._inner.read(path, offset, length))

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """As the store does."""
        return self._asked(lambda: self._inner.write(path, data, only_if))

    def stream(self, path: StorePath) -> StreamedFile:
        """As the store does; each part is asked for again by itself."""
        return _PatientStream(self._asked(lambda: self._inner.stream(path)), self._asked)

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """As the store does."""
        self._asked(lambda: self._inner.move_file(source, destination, etag))

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """As the store does."""
        self._asked(lambda: self._inner.move_folder(source, destination))

    def delete_file(self, path: StorePath) -> None:
        """As the store does."""
        self._asked(lambda: self._inner.delete_file(path))

    def delete_folder(self, folder: StorePath) -> None:
        """As the store does."""
        self._asked(lambda: self._inner.delete_folder(folder))

    def _asked(self, ask: Callable[[], _Answer]) -> _Answer:
        until = self._patience.monotonic() + self._patience.seconds
        pause = _FIRST_PAUSE
        while True:
            try:
                return ask()
            except Unavailable:
                left = until - self._patience.monotonic()
                if left <= 0:
                    raise
                # Spread, so that many publishers do not come back at one moment.
                self._patience.sleep(min(left, pause * random.uniform(0.5, 1.0)))
                pause = min(_LONGEST_PAUSE, pause * 2)


class _Asked(Protocol):
    """Asks until there is an answer."""

    def __call__(self, ask: Callable[[], _Answer]) -> _Answer: ...


class _PatientStream:
    """A StreamedFile of a PatientStore."""

    def __init__(self, inner: StreamedFile, asked: _Asked) -> None:
        self._inner = inner
        self._asked = asked

    def append(self, data: bytes | memoryview) -> None:
        """As the store does."""
        self._asked(lambda: self._inner.append(data))

    def finish(self, tail: bytes) -> ETag:
        """As the store does."""
        return self._asked(lambda: self._inner.finish(tail))

    def discard(self) -> None:
        """As the store does."""
        self._asked(self._inner.discard)
