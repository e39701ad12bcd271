"""One landing zone, wherever it lies, as a root of its own that can only be read.

Rules about zones are written for the storage layout of a root. A publisher's zone may lie in any
folder, or in an account of which nothing else may be seen: so it is shown as the zone of a root
that holds nothing else.
"""

from __future__ import annotations

from datetime import UTC, datetime

from openmirror.errors import NotThere, WrongRequest
from openmirror.ports import Absent, Content, Entry, FileStore, Listing, StreamedFile
from openmirror.protocol.names import ETag, Incarnation
from openmirror.table import layout
from openmirror.table.layout import StorePath


class ZoneView:
    """The FileStore port over one zone; everything that would change something is refused."""

    def __init__(self, store: FileStore, zone: StorePath, mirror: str) -> None:
        self._store = store
        self._zone = zone
        self._shown = layout.landing_zone(mirror)

    def list_folder(self, folder: StorePath) -> Listing:
        """All direct children; above the zone, the one folder that leads to it."""
        if f"{self._shown}/".startswith(f"{folder}/") and folder != self._shown:
            name = self._shown.removeprefix(f"{folder}/").partition("/")[0]
            at = datetime.now(UTC)
            return Listing(at, (Entry(name, True, 0, at, ETag("")),))
        return self._store.list_folder(self._real(folder))

    def list_from(self, folder: StorePath, start: str) -> tuple[Entry, ...]:
        """All direct children from the name `start` on."""
        entries = self.list_folder(folder).entries
        return tuple(entry for entry in entries if entry.name >= start)

    def incarnation(self, folder: StorePath) -> Incarnation | None:
        """The identity of a folder of the zone; None for what lies elsewhere."""
        try:
            return self._store.incarnation(self._real(folder))
        except NotThere:
            return None

    def read(self, path: StorePath, offset: int = 0, length: int | None = None) -> Content:
        """A range of a file's bytes."""
        return self._store.read(self._real(path), offset, length)

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        """Refused."""
        raise _changes_nothing(path, data, only_if)

    def stream(self, path: StorePath) -> StreamedFile:
        """Refused."""
        raise _changes_nothing(path)

    def move_file(self, source: StorePath, destination: StorePath, etag: ETag) -> None:
        """Refused."""
        raise _changes_nothing(source, destination, etag)

    def move_folder(self, source: StorePath, destination: StorePath) -> None:
        """Refused."""
        raise _changes_nothing(source, destination)

    def delete_file(self, path: StorePath) -> None:
        """Refused."""
        raise _changes_nothing(path)

    def delete_folder(self, folder: StorePath) -> None:
        """Refused."""
        raise _changes_nothing(folder)

    def _real(self, path: StorePath) -> StorePath:
        if path != self._shown and not path.startswith(f"{self._shown}/"):
            raise NotThere(f"{path} lies outside of the landing zone")
        return StorePath(self._zone + path.removeprefix(self._shown))


def _changes_nothing(path: StorePath, *_: object) -> WrongRequest:
    return WrongRequest(f"a check changes nothing, so not {path}")
