"""What there is to know of the databases' streams that land in a mirror."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from openmirror.errors import SOLUTIONS, NotThere
from openmirror.mirroring import DeclaredTopic, Mirroring
from openmirror.operate.listed import listed
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.relay_reports import RELAYS_FOLDER, RelayReport
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.streams import STREAMS_FOLDER, StreamDocument
from openmirror.status import StreamNote, Warn
from openmirror.table import layout
from openmirror.table.layout import StorePath

_END = ".json"


@dataclass(frozen=True)
class MirrorStreams:
    """The streams of one mirror, and what is wrong with some."""

    notes: tuple[StreamNote, ...]
    unread: tuple[Warn, ...]
    """Documents that nobody can read."""

    def stopped(self, mirror: str) -> Iterator[tuple[TablePath, Warn]]:
        """Tables that are landed no further, and why.

        Their mirror has applied all that landed, so nothing else shows that rows are missing.
        """
        for note in self.notes:
            yield from _stopped_tables(mirror, note)


def streams_of(
    store: FileStore, mirror: str, declared: Iterable[DeclaredTopic] = ()
) -> MirrorStreams:
    """Those that have landed, that a relay has reported on, or that are declared."""
    folder = layout.join(layout.landing_zone(mirror), STREAMS_FOLDER)
    entries = listed(store, folder)
    found: dict[str, StreamNote] = {}
    unread = []
    for name, entry, content in _documents(store, folder, entries):
        try:
            document = StreamDocument.from_json(content)
        except ValueError as error:
            unread.append(_unreadable(str(error), layout.join(folder, entry.name)))
            continue
        found[name] = StreamNote(name=name, document=document, written_at=entry.modified)
    if RELAYS_FOLDER in (entry.name for entry in entries):
        relays = layout.join(folder, RELAYS_FOLDER)
        for name, _, content in _documents(store, relays, listed(store, relays)):
            try:
                relay = RelayReport.from_json(content)
            except ValueError:
                continue  # nothing depends on it, and the next one replaces it
            found[name] = replace(found.get(name, StreamNote(name=name)), relay=relay)
    notes = _with_declared(found.values(), declared)
    return MirrorStreams(tuple(sorted(notes, key=lambda note: note.name)), tuple(unread))


def declared_in(settings: Mirroring | Broken) -> tuple[DeclaredTopic, ...]:
    """The streams that a mirror's settings declare; none where they are refused."""
    return () if isinstance(settings, Broken) else settings.streams


def _with_declared(
    notes: Iterable[StreamNote], declared: Iterable[DeclaredTopic]
) -> Iterator[StreamNote]:
    """The same, with what `mirroring.json` says; also streams that nobody knows anything of yet."""
    left = {one.address.pattern: one.address for one in declared}
    known = dict(left)
    for note in notes:
        patterns = [pattern for pattern, address in known.items() if address.has(note.name)]
        for pattern in patterns:
            left.pop(pattern, None)
        yield replace(note, is_declared=bool(patterns))
    for pattern in left:
        yield StreamNote(name=pattern, is_declared=True)


def _stopped_tables(mirror: str, note: StreamNote) -> Iterator[tuple[TablePath, Warn]]:
    if note.document is None:
        return
    code = Code.STREAM_TABLE_STOPPED
    path = layout.join(layout.landing_zone(mirror), STREAMS_FOLDER, f"{note.name}{_END}")
    for table, stopped in sorted(note.document.stopped.items()):
        stop = stopped.stop
        why = f"{table} is landed no further ({stop.code}): {stop.detail}. {stop.remedy}"
        if table in note.document.resnapshots:
            why = f"{why} A new snapshot was asked for."
        yield table, Warn(code, why, SOLUTIONS[code], path)


def _unreadable(why: str, path: StorePath) -> Warn:
    return Warn(Code.STREAM_TABLE_STOPPED, why, SOLUTIONS[Code.STREAM_TABLE_STOPPED], path)


def _documents(
    store: FileStore, folder: StorePath, entries: Iterable[Entry]
) -> Iterator[tuple[str, Entry, bytes]]:
    """Those of streams, each with the stream's name."""
    for entry in entries:
        if entry.is_folder or not entry.name.endswith(_END):
            continue
        try:
            content = store.read(layout.join(folder, entry.name)).data
        except NotThere:
            continue
        yield entry.name.removesuffix(_END), entry, content
