"""The FileStore port in plain dicts: for tests and simulations, which run it millions of times."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from openmirror.errors import AlreadyThere, ConditionFailed, NotThere, WrongRequest
from openmirror.ports import ABSENT, Absent, Clock, Content, Entry, Listing, StreamedFile
from openmirror.protocol.names import ETag, Incarnation
from openmirror.table.layout import StorePath


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    entry: Entry


@dataclass(slots=True)
class _Folder:
    identity: int
    modified: datetime
    files: dict[str, _File] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)
    listed: tuple[Entry, ...] | None = None
    """The listing's entries, until a child changes."""

    def holds(self, name: str) -> bool:
        return name in self.files or name in self.folders


class MemoryStore:
    """Files and folders of one process; times come from the clock, ETags from a counter.

    Every method raises WrongRequest for a path that is not one below the root.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._count = 0
        self._root = _Folder(0, clock())
        self._known: dict[str, _Folder] = {"": self._root}
        """Every folder by its whole path, so that no call walks down the tree."""

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children, by name; raises NotThere without such a folder."""
        at = self._clock()
        with self._lock:
            return Listing(at, _entries(self._folder(folder)))

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        """All direct children from the name `start` on; raises what `list_folder` does."""
        with self._lock:
            entries = _entries(self._folder(folder))
        return tuple(entry for entry in entries if entry.name >= start)

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The count at which the folder was made; None when there is no such folder."""
        with self._lock:
            _split(folder)
            found = self._known.get(folder)
            return Incarnation(str(found.identity)) if found is not None else None

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """A range of a file's bytes; raises NotThere without such a file."""
        if offset < 0 or (length is not None and length < 0):
            raise ValueError(f"no such range: offset {offset}, length {length}")
        with self._lock:
            file = self._file(path)
        end = None if length is None else offset + length
        return Content(file.data[offset:end], file.entry.etag, file.entry.size)

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """Replace a file's content, making folders as needed.

        Raises ConditionFailed unless `only_if` holds, AlreadyThere when a folder has this name,
        or a file the name of a folder above.
        """
        return self._write(path, data, only_if, self._clock())

    def _write(
        self, path: StorePath, data: bytes, only_if: ETag | Absent | None, now: datetime
    ) -> ETag:
        with self._lock:
            parent, name = _split(path)
            folder = self._known.get(parent)
            old = folder.files.get(name) if folder is not None else None
            if only_if is ABSENT:
                holds = old is None
            else:
                holds = only_if is None or (old is not None and old.entry.etag == only_if)
            if not holds:
                raise ConditionFailed(f"{path} has changed since it was read")
            if folder is None:
                folder = self._made(parent, now)
            if name in folder.folders:
                raise AlreadyThere(f"{path} is a folder")
            etag = ETag(str(self._next()))
            # A copy, lest a caller's bytearray change what was written.
            data = bytes(data)
            folder.files[name] = _File(data, Entry(name, False, len(data), now, etag))
            folder.listed = None
            return etag

    def put(self, path: StorePath, data: bytes, modified: datetime | None = None) -> ETag:
        """Write as a publisher does: without a condition, and with a time of its own if it likes.

        It is what `touch` or `rsync --times` would leave.
        """
        return self._write(path, data, None, modified or self._clock())

    def stream(self, path: StorePath) -> StreamedFile:
        """Begin a file that is sent in parts; nothing is there before it is finished."""
        with self._lock:
            _split(path)
        return _MemoryStream(self, path)

    def make_folder(self, path: StorePath) -> None:
        """Make a folder, and those above it, unless it is there; raises AlreadyThere on a file."""
        now = self._clock()
        with self._lock:
            _split(path)
            self._made(path, now)

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """Rename a file whose content is still the one of `etag`.

        Raises NotThere without such a file, ConditionFailed when it has another content,
        AlreadyThere when the destination exists.
        """
        now = self._clock()
        with self._lock:
            file = self._file(source)
            if file.entry.etag != etag:
                raise ConditionFailed(f"{source} no longer has the content that was to be moved")
            parent, name = _split(destination)
            there = self._made(parent, now)
            if there.holds(name):
                raise AlreadyThere(f"{destination} already exists")
            old_parent, old_name = _split(source)
            here = self._known[old_parent]
            del here.files[old_name]
            entry = Entry(name, False, file.entry.size, file.entry.modified, etag)
            there.files[name] = _File(file.data, entry)
            here.listed = there.listed = None

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """Rename a folder with all it holds; it stays the same incarnation.

        Raises NotThere without such a folder, AlreadyThere when the destination exists,
        WrongRequest when the destination lies inside the source.
        """
        now = self._clock()
        with self._lock:
            self._folder(source)
            parent, name = _split(destination)
            if destination.startswith(source + "/"):
                raise WrongRequest(f"{source} cannot be moved into itself, to {destination}")
            there = self._made(parent, now)
            if there.holds(name):
                raise AlreadyThere(f"{destination} already exists")
            moved = self._taken_out(source)
            there.folders[name] = moved
            there.listed = None
            self._learn(destination, moved)

    def delete_file(self, path: StorePath) -> None:
        """Remove one file; raises NotThere without such a file."""
        with self._lock:
            self._file(path)
            parent, name = _split(path)
            folder = self._known[parent]
            del folder.files[name]
            folder.listed = None

    def delete_folder(self, folder: StorePath) -> None:
        """Remove a folder with all it holds; raises NotThere without such a folder."""
        with self._lock:
            self._folder(folder)
            self._taken_out(folder)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _folder(self, path: str) -> _Folder:
        _split(path)
        found = self._known.get(path)
        if found is None:
            raise NotThere(f"there is no folder {path}")
        return found

    def _file(self, path: str) -> _File:
        parent, name = _split(path)
        folder = self._known.get(parent)
        file = folder.files.get(name) if folder is not None else None
        if file is None:
            raise NotThere(f"there is no file {path}")
        return file

    def _made(self, path: str, now: datetime) -> _Folder:
        found = self._known.get(path)
        if found is not None:
            return found
        parent, name = _split(path)
        above = self._made(parent, now)
        if name in above.files:
            raise AlreadyThere(f"{path} is not a folder, so nothing can be put there")
        made = above.folders[name] = self._known[path] = _Folder(self._next(), now)
        above.listed = None
        return made

    def _taken_out(self, path: str) -> _Folder:
        parent, name = _split(path)
        above = self._known[parent]
        above.listed = None
        taken = above.folders.pop(name)
        self._forget(path, taken)
        return taken

    def _forget(self, path: str, folder: _Folder) -> None:
        del self._known[path]
        for name, child in folder.folders.items():
            self._forget(f"{path}/{name}", child)

    def _learn(self, path: str, folder: _Folder) -> None:
        self._known[path] = folder
        for name, child in folder.folders.items():
            self._learn(f"{path}/{name}", child)


class _MemoryStream:
    """A StreamedFile of a MemoryStore."""

    def __init__(self, store: MemoryStore, path: StorePath) -> None:
        self._store = store
        self._path = path
        self._body = bytearray()
        self._etag: ETag | None = None

    def append(self, data: bytes | memoryview) -> None:
        """Keep the next part."""
        self._body += data

    def finish(self, tail: bytes) -> ETag:
        """Write all parts and `tail`; raises NotThere when what was finished before is gone."""
        try:
            self._etag = self._store.write(self._path, bytes(self._body) + tail, self._etag)
        except ConditionFailed as error:
            raise NotThere(f"{self._path} is no longer the file that was sent") from error
        return self._etag

    def discard(self) -> None:
        """Delete what was finished, unless it was moved or replaced."""
        with suppress(NotThere):
            if self._store.read(self._path, 0, 0).etag == self._etag:
                self._store.delete_file(self._path)


def _entries(folder: _Folder) -> tuple[Entry, ...]:
    if folder.listed is None:
        entries = [file.entry for file in folder.files.values()]
        entries += (
            Entry(name, True, 0, child.modified, ETag(f"folder-{child.identity}"))
            for name, child in folder.folders.items()
        )
        folder.listed = tuple(sorted(entries, key=lambda entry: entry.name))
    return folder.listed


_checked: dict[str, tuple[str, str]] = {}
_MOST_CHECKED = 100_000


def _split(path: str) -> tuple[str, str]:
    """A path's folder and name; a path is checked once, and remembered."""
    known = _checked.get(path)
    if known is None:
        if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
            raise WrongRequest(f"{path!r} is not a path below the root")
        parent, _, name = path.rpartition("/")
        if len(_checked) >= _MOST_CHECKED:
            _checked.clear()
        known = _checked[path] = (parent, name)
    return known
