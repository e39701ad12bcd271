"""A file store that a test watches: each call is counted, and may fail, stall or be overtaken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from openmirror.ports import Absent, Content, Entry, FileStore, Listing, StreamedFile
from openmirror.protocol.names import ETag, Incarnation
from openmirror.table.layout import StorePath

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Call:
    """One call of a store."""

    method: str
    path: StorePath
    to: StorePath | None = None
    """Where a file or folder is moved."""
    data: bytes = b""
    """What is written."""
    length: int | None = None
    """How many bytes are read at most, None for all; or how many are sent of a streamed file."""


class WatchedStore:
    """A FileStore over another one; `before` each call and `after` it, a test may act.

    What `before` raises is raised in place of the call, which then has no effect.
    """

    def __init__(
        self,
        inner: FileStore,
        before: Callable[[Call], object] = lambda call: None,
        after: Callable[[Call], object] = lambda call: None,
    ) -> None:
        self._inner = inner
        self.before = before
        self.after = after
        self.calls: list[Call] = []

    def asked(self, *methods: str) -> list[StorePath]:
        """The paths of the calls of some methods, in order."""
        return [call.path for call in self.calls if call.method in methods]

    def _watched(self, call: Call, act: Callable[[], Answer]) -> Answer:
        self.calls.append(call)
        self.before(call)
        answer = act()
        self.after(call)
        return answer

    def list_folder(self, folder: StorePath) -> Listing:
        return self._watched(Call("list_folder", folder), lambda: self._inner.list_folder(folder))

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        call = Call("list_from", folder)
        return self._watched(call, lambda: self._inner.list_from(folder, start))

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        return self._watched(Call("incarnation", folder), lambda: self._inner.incarnation(folder))

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        call = Call("read", path, length=length)
        return self._watched(call, lambda: self._inner.read(path, offset, length))

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        call = Call("write", path, data=data)
        return self._watched(call, lambda: self._inner.write(path, data, only_if))

    def stream(self, path: StorePath) -> StreamedFile:
        file = self._watched(Call("stream", path), lambda: self._inner.stream(path))
        return _WatchedStream(file, path, self._watched)

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        call = Call("move_file", source, destination)
        self._watched(call, lambda: self._inner.move_file(source, destination, etag))

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        call = Call("move_folder", source, destination)
        self._watched(call, lambda: self._inner.move_folder(source, destination))

    def delete_file(self, path: StorePath) -> None:
        self._watched(Call("delete_file", path), lambda: self._inner.delete_file(path))

    def delete_folder(self, folder: StorePath) -> None:
        self._watched(Call("delete_folder", folder), lambda: self._inner.delete_folder(folder))


class _Watched(Protocol):
    def __call__(self, call: Call, act: Callable[[], Answer]) -> Answer: ...


class _WatchedStream:
    def __init__(self, inner: StreamedFile, path: StorePath, watched: _Watched) -> None:
        self._inner = inner
        self._path = path
        self._watched = watched

    def append(self, data: bytes | memoryview) -> None:
        call = Call("append", self._path, length=len(data))
        self._watched(call, lambda: self._inner.append(data))

    def finish(self, tail: bytes) -> ETag:
        call = Call("finish", self._path, data=tail, length=len(tail))
        return self._watched(call, lambda: self._inner.finish(tail))

    def discard(self) -> None:
        self._watched(Call("discard", self._path), self._inner.discard)
