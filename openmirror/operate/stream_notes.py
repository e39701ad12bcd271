"""What there is to know of the databases' streams that land in a mirror."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from openmirror.errors import SOLUTIONS, NotThere, is_of_one_place
from openmirror.mirroring import DeclaredTopic
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.relay_reports import RELAYS_FOLDER, RelayReport
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.streams import STREAMS_FOLDER, StreamDocument
from openmirror.reconcile.mirrors import read_settings
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


def streams_of(store: FileStore, mirror: str) -> MirrorStreams:
    """Those that have landed, that a relay is at work on, or that `mirroring.json` declares."""
    folder = _folder(mirror, STREAMS_FOLDER)
    found: dict[str, StreamNote] = {}
    unread = []
    for entry, content in _files(store, folder):
        name = entry.name.removesuffix(_END)
        try:
            document = StreamDocument.from_json(content)
        except ValueError as error:
            unread.append(_warn(Code.STREAM_TABLE_STOPPED, str(error), entry.name, mirror))
            continue
        found[name] = StreamNote(name=name, document=document, written_at=entry.modified)
    for entry, content in _files(store, _folder(mirror, RELAYS_FOLDER)):
        name = entry.name.removesuffix(_END)
        try:
            relay = RelayReport.from_json(content)
        except ValueError:
            continue  # nothing depends on it, and the next one replaces it
        found[name] = replace(found.get(name, StreamNote(name=name)), relay=relay)
    notes = _with_declared(found.values(), _declared(store, mirror))
    return MirrorStreams(tuple(sorted(notes, key=lambda note: note.name)), tuple(unread))


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


def _declared(store: FileStore, mirror: str) -> tuple[DeclaredTopic, ...]:
    wanted, _ = read_settings(store, mirror)
    return () if isinstance(wanted, Broken) else wanted.streams


def _stopped_tables(mirror: str, note: StreamNote) -> Iterator[tuple[TablePath, Warn]]:
    if note.document is None:
        return
    for table, stopped in sorted(note.document.stopped.items()):
        stop = stopped.stop
        why = f"{table} is landed no further ({stop.code}): {stop.detail}. {stop.remedy}"
        if table in note.document.resnapshots:
            why = f"{why} A new snapshot was asked for."
        yield table, _warn(Code.STREAM_TABLE_STOPPED, why, f"{note.name}{_END}", mirror)


def _warn(code: Code, detail: str, name: str, mirror: str) -> Warn:
    return Warn(code, detail, SOLUTIONS[code], layout.join(_folder(mirror, STREAMS_FOLDER), name))


def _folder(mirror: str, name: str) -> StorePath:
    return layout.join(layout.landing_zone(mirror), *name.split("/"))


def _files(store: FileStore, folder: StorePath) -> Iterator[tuple[Entry, bytes]]:
    try:
        entries = tuple(store.list_folder(folder).entries)
    except Exception as error:
        if not is_of_one_place(error):
            raise
        return  # the landing zone shows it
    for entry in entries:
        if entry.is_folder or not entry.name.endswith(_END):
            continue
        try:
            yield entry, store.read(layout.join(folder, entry.name)).data
        except NotThere:
            continue
