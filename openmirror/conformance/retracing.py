"""From requests to the history of files: what each request did to what was there (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from openmirror.conformance.exchanges import Asked, Deed, Exchange
from openmirror.conformance.history import (
    Appearance,
    Declared,
    Landing,
    PublisherHistory,
    Touch,
    Touched,
)
from openmirror.plan.naming import naming_of
from openmirror.ports.landing_events import Inside, location_of
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import ARCHIVE_FOLDER, METADATA_FILE, TableFolder
from openmirror.protocol.naming_scheme import NamingScheme, ParsedName, read_name
from openmirror.protocol.sequence import PARQUET, Sequence
from openmirror.table import layout
from openmirror.table.layout import StorePath

_TEXT = "csv"
_KEPT = frozenset({ARCHIVE_FOLDER, "_FilesReadyToDelete", "_snapshot"})
"""Reserved folders whose files are meant to stay: archives, and the state of a publisher."""
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def read_history(
    exchanges: Iterable[Exchange], before: Iterable[StorePath] | None = None
) -> PublisherHistory:
    """The history of these exchanges; `before` is what lay in the zones when they began.

    Without it nothing is concluded about what was there before the first request.
    """
    reading = _Reading(None if before is None else frozenset(before))
    kept = tuple(exchanges)
    for exchange in kept:
        if exchange.done:
            reading.take(exchange)
    return PublisherHistory(
        exchanges=kept,
        landings=tuple(reading.landings),
        touched=tuple(reading.touched),
        declared=tuple(reading.declared),
        flushed=tuple(reading.flushed),
        left=tuple(reading.left()),
    )


@dataclass(kw_only=True)
class _File:
    made: Exchange
    size: int = 0
    content: bytes | None = None
    pending: dict[int, bytes | None] = field(default_factory=dict)
    landing: Landing | None = None
    flushed: bool = False


@dataclass(kw_only=True)
class _Table:
    incarnation: int = 0
    is_new: bool = False
    """Whether nothing was in it when this began."""
    metadata: bytes | None = None
    has_metadata: bool = False
    names: set[str] = field(default_factory=set)
    """Every change file's name that was ever there in this incarnation."""
    highest: dict[str, int] = field(default_factory=dict)


class _Reading:
    def __init__(self, before: frozenset[StorePath] | None) -> None:
        self._files: dict[StorePath, _File] = {}
        self._tables: dict[TableFolder, _Table] = {}
        self._before = before
        self._since = Exchange(
            number=0, at=_BEGINNING, asked=Asked(deed=Deed.OTHER, path=layout.LANDING)
        )
        self.landings: list[Landing] = []
        self.touched: list[Touched] = []
        self.declared: list[Declared] = []
        self.flushed: list[tuple[Landing, Exchange]] = []
        for path in sorted(before or ()):
            where = location_of(path)
            if isinstance(where, Inside):
                self._known_before(path, where)

    def take(self, exchange: Exchange) -> None:
        path = exchange.asked.path
        match exchange.asked.deed:
            case Deed.MAKE_FILE:
                self._write(path, exchange, _File(made=exchange, content=b""), Appearance.PIECEMEAL)
            case Deed.PUT:
                made = _File(made=exchange, size=exchange.size, content=exchange.body, flushed=True)
                self._write(path, exchange, made, Appearance.WHOLE)
            case Deed.APPEND:
                self._append(path, exchange)
            case Deed.FLUSH:
                self._flush(path, exchange, exchange.asked.position)
            case Deed.RENAME:
                self._rename(exchange)
            case Deed.DELETE:
                self._delete(path, exchange)
            case Deed.CHANGE:
                self._touch(path, Touch.CHANGED, exchange)

    def left(self) -> Iterator[Exchange]:
        """What made the staged files that are there now and were not there at first."""
        for path, file in self._files.items():
            if file.made.number and is_staged(path):
                yield file.made

    def _known_before(self, path: StorePath, where: Inside) -> None:
        table = self._table(where.folder)
        self._files[path] = _File(made=self._since, size=1, flushed=True)
        if where.name == METADATA_FILE:
            table.has_metadata = True
            return
        parsed, _ = self._named(table, where.name)
        if parsed is not None:
            table.names.add(where.name)
            _note(table, parsed)

    def _table(self, folder: TableFolder) -> _Table:
        if folder not in self._tables:
            place = layout.table_folder(folder)
            known = self._before is not None
            was_there = any(path.startswith(f"{place}/") for path in self._before or ())
            self._tables[folder] = _Table(is_new=known and not was_there)
        return self._tables[folder]

    def _named(self, table: _Table, name: str) -> tuple[ParsedName | None, bool]:
        """What a name means in this table, and whether such a file is delimited text."""
        for scheme in _schemes(table.metadata):
            parsed = read_name(scheme, name)
            if isinstance(parsed, ParsedName):
                return parsed, scheme.extension != PARQUET
        return None, False

    def _write(
        self, path: StorePath, exchange: Exchange, made: _File, appearance: Appearance
    ) -> None:
        old = self._files.get(path)
        self._files[path] = made
        where = location_of(path)
        if not isinstance(where, Inside):
            return
        if where.name == METADATA_FILE:
            self._declare(where.folder, made, exchange)
            return
        if old is not None and old.landing is not None and not old.flushed:
            made.landing = old.landing  # made once more before anything was in it
            return
        if old is not None and old.landing is not None and _same_bytes(old.made, exchange):
            made.landing = old.landing  # asked again, as SDKs do when an answer is lost
            return
        self._land(where, made, old, exchange, appearance)

    def _land(
        self,
        where: Inside,
        made: _File,
        old: _File | None,
        exchange: Exchange,
        appearance: Appearance,
    ) -> None:
        table = self._table(where.folder)
        parsed, is_text = self._named(table, where.name)
        if parsed is None:
            return
        if old is not None:
            self.touched.append(Touched(where.folder, where.name, Touch.OVERWRITTEN, exchange))
        highest = table.highest.get(parsed.partition)
        nothing_yet = not table.names and (table.is_new or table.incarnation > 0)
        landing = Landing(
            folder=where.folder,
            name=where.name,
            number=parsed.number,
            partition=parsed.partition,
            appearance=appearance,
            incarnation=table.incarnation,
            expected=None if highest is None else Sequence(highest + 1),
            is_first=nothing_yet,
            is_reused=old is None and where.name in table.names,
            is_text=is_text,
            has_metadata=table.has_metadata,
            exchange=exchange,
        )
        made.landing = landing
        table.names.add(where.name)
        _note(table, parsed)
        self.landings.append(landing)

    def _append(self, path: StorePath, exchange: Exchange) -> None:
        file = self._files.get(path)
        if file is None:
            return
        file.pending[exchange.asked.position] = exchange.body
        if exchange.asked.flushes:
            self._flush(path, exchange, exchange.asked.position + exchange.size)

    def _flush(self, path: StorePath, exchange: Exchange, size: int) -> None:
        file = self._files.get(path)
        if file is None:
            return
        if file.landing is not None:
            self.flushed.append((file.landing, exchange))
        if size > file.size and file.flushed and file.size:
            self._touch(path, Touch.GROWN, exchange)
        parts = [file.content, *(file.pending[at] for at in sorted(file.pending))]
        known = [part for part in parts if part is not None]
        file.content = b"".join(known) if len(known) == len(parts) else None
        file.pending.clear()
        file.flushed = file.flushed or size > 0
        file.size = size
        where = location_of(path)
        if isinstance(where, Inside) and where.name == METADATA_FILE:
            self._declare(where.folder, file, exchange)

    def _rename(self, exchange: Exchange) -> None:
        source, path = exchange.asked.source, exchange.asked.path
        if source is None:
            return
        moved = self._files.pop(source, None)
        below = [one for one in self._files if one.startswith(f"{source}/")]
        if moved is None and (below or isinstance(location_of(source), TableFolder)):
            self._rename_folder(source, path, below)
            return
        if moved is not None and moved.landing is not None:
            landing = moved.landing
            self.touched.append(Touched(landing.folder, landing.name, Touch.DELETED, exchange))
        made = _File(made=exchange, size=exchange.size, flushed=True)
        if moved is not None:
            made = replace(moved, made=exchange, landing=None, flushed=True)
        self._write(path, exchange, made, Appearance.RENAMED)

    def _rename_folder(self, source: StorePath, path: StorePath, below: list[StorePath]) -> None:
        for one in below:
            self._files[StorePath(f"{path}{one.removeprefix(source)}")] = self._files.pop(one)
        for folder in self._tables_in(source):
            self._begin_anew(folder)

    def _delete(self, path: StorePath, exchange: Exchange) -> None:
        tables = self._tables_in(path)
        if self._files.get(path) is not None:
            self._touch(path, Touch.DELETED, exchange)
            del self._files[path]
            where = location_of(path)
            if isinstance(where, Inside) and where.name == METADATA_FILE:
                self._table(where.folder).has_metadata = False
            return
        for one in [one for one in self._files if one.startswith(f"{path}/")]:
            del self._files[one]
        for folder in tables:
            self._begin_anew(folder)

    def _tables_in(self, path: StorePath) -> list[TableFolder]:
        """The table folder at a path, or all that lie below it."""
        here = location_of(path)
        if isinstance(here, TableFolder):
            self._table(here)
        return [
            folder
            for folder in self._tables
            if f"{layout.table_folder(folder)}/".startswith(f"{path}/")
        ]

    def _begin_anew(self, folder: TableFolder) -> None:
        self._tables[folder] = _Table(incarnation=self._tables[folder].incarnation + 1)

    def _touch(self, path: StorePath, touch: Touch, exchange: Exchange) -> None:
        where = location_of(path)
        if not isinstance(where, Inside) or where.name == METADATA_FILE:
            return
        if path in self._files and self._named(self._table(where.folder), where.name)[0]:
            self.touched.append(Touched(where.folder, where.name, touch, exchange))

    def _declare(self, folder: TableFolder, file: _File, exchange: Exchange) -> None:
        table = self._table(folder)
        content = file.content
        if content is not None and not content.strip():
            return  # many publishers make the file before they write it
        table.metadata, table.has_metadata = content, True
        self.declared.append(Declared(folder, content, len(table.names), exchange))


def is_staged(path: StorePath) -> bool:
    """Whether a path is that of data under a reserved name in a landing zone."""
    parts = path.split("/")
    if len(parts) < 5 or layout.join(layout.LANDING, *parts[1:4]) != layout.landing_zone(parts[1]):
        return False
    inside = parts[4:]
    name = inside[-1].lstrip("_")
    reserved = any(part.startswith("_") for part in inside)
    own = any(part in _KEPT for part in inside)
    ends = name.rpartition(".")[2].lower()
    return reserved and not own and ends in ("parquet", "csv", "tsv", "psv", "gz", "zst", "tmp")


def _schemes(metadata: bytes | None) -> tuple[NamingScheme, ...]:
    """How files may be called: as declared, or else in both formats (PROTOCOL §4.3)."""
    parsed = parse_metadata(metadata) if metadata and metadata.strip() else None
    if not isinstance(parsed, TableMetadata):
        return (NamingScheme(), NamingScheme(extension=_TEXT))
    declared = naming_of(parsed)
    if parsed.declares_format:
        return (declared,)
    return (declared, replace(declared, extension=_TEXT))


def _same_bytes(one: Exchange, other: Exchange) -> bool:
    """Whether both put the same content, as far as their bodies show."""
    return one.body_hash is not None and (one.asked.deed, one.body_hash) == (
        other.asked.deed,
        other.body_hash,
    )


def _note(table: _Table, parsed: ParsedName) -> None:
    if parsed.number is not None:
        before = table.highest.get(parsed.partition, 0)
        table.highest[parsed.partition] = max(before, parsed.number)
