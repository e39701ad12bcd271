"""What is read of a mirror for each of its tables: its settings and its document."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from openmirror.errors import AccessDenied, DocumentUnreadable, NotThere
from openmirror.mirroring import Mirroring, parse_mirroring
from openmirror.plan.history import is_wanted
from openmirror.ports import ABSENT, FileStore
from openmirror.protocol.names import ETag, TableFolder, name_of
from openmirror.protocol.rules import Broken
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.refusals import refused_place
from openmirror.table import layout
from openmirror.table.control import MirrorDocument

RECENT_SECONDS = 10.0
"""How old a recent read may be: so long a hold of a whole mirror may wake tables in vain."""


@dataclass(frozen=True)
class MirrorRead:
    """The settings and the document of one mirror."""

    settings: Mirroring | Broken
    settings_etag: ETag | None
    """Which problems are bound to; None without a file."""
    document: MirrorDocument
    is_opened: bool
    """Whether the document was there, so that its default schema is frozen."""

    @property
    def default_schema(self) -> str:
        """The frozen default schema, or the one that would be frozen now."""
        declared = None if isinstance(self.settings, Broken) else self.settings.default_schema
        frozen = self.document.default_schema
        return frozen if self.is_opened else declared or frozen


def read_mirror(store: FileStore, mirror: str) -> MirrorRead:
    """Read a mirror; raises DocumentUnreadable."""
    settings, etag = read_settings(store, mirror)
    stored = Documents(store).mirror(mirror)
    return MirrorRead(settings, etag, stored.value, stored.etag is not ABSENT)


def read_settings(store: FileStore, mirror: str) -> tuple[Mirroring | Broken, ETag | None]:
    """The parsed mirroring.json, an empty one where there is none, or the rule that it breaks.

    With the file's ETag, which problems are bound to; None without a file.
    """
    try:
        content = store.read(layout.mirror_settings(mirror))
    except NotThere:
        return parse_mirroring(b"{}"), None
    except AccessDenied as error:
        return refused_place(error), None
    return parse_mirroring(content.data), content.etag


def wanted_histories(
    store: FileStore, mirror: str, settings: Mirroring | Broken, landed: Iterable[TableFolder]
) -> Iterator[TableFolder]:
    """The histories that these settings of a mirror ask for, of these table folders.

    None where they are broken, or the mirror's document is, as each of its tables shows: then no
    history is begun.
    """
    if isinstance(settings, Broken) or not settings.keeps_histories:
        return
    try:
        schema = read_mirror(store, mirror).default_schema
    except DocumentUnreadable:
        return
    for folder in landed:
        if is_wanted(settings.policy_of(name_of(folder, schema))):
            yield folder.history


class RecentMirrors:
    """Mirrors as they were read some seconds ago at most; safe to share between threads.

    Only for what may be answered by an old copy: a wake-up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, tuple[float, MirrorRead]] = {}

    def recent(self, store: FileStore, mirror: str, now: float) -> MirrorRead:
        """The mirror, read now unless that was done within `RECENT_SECONDS`; `now` in seconds."""
        with self._lock:
            known = self._read.get(mirror)
        if known is not None and 0 <= now - known[0] < RECENT_SECONDS:
            return known[1]
        read = read_mirror(store, mirror)
        with self._lock:
            self._read = {
                name: one for name, one in self._read.items() if now - one[0] < RECENT_SECONDS
            }
            self._read[mirror] = (now, read)
        return read
