"""A stream that a test drives turn by turn, and what it has landed."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import psycopg
import pyarrow.parquet as pq
from psycopg import sql

from openmirror.cdc.postgresql.session import DatabaseStream
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.stream import LogStream, StreamLimits
from openmirror.cdc.relay.document import document_path, read_document
from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import NotThere, WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.names import METADATA_FILE, TablePath
from openmirror.protocol.rows import EXTENSIONS, NoRowToUpdate
from openmirror.protocol.streams import StopCode, StreamDocument
from openmirror.publishing.read_footers import read_footer
from openmirror.table.layout import StorePath, join
from openmirror.wiring.cdc import want_load
from tests.cdc.postgresql.selected import Selected, canonical_rows, differences
from tests.publishing.zones import mirrored, numbers

PATIENCE = 60.0
MARKS = TablePath("public", "marks")
"""A table that a test writes into to see how far a stream is."""


@dataclass
class DrivenStream:
    """One stream into one zone."""

    store: FileStore
    zone: StorePath
    settings: StreamSettings
    wrapped: Callable[[FileStore], FileStore] = lambda store: store
    """What the stream gets as its store each time that it is opened."""
    stream: LogStream | None = None
    limits: StreamLimits = field(
        default_factory=lambda: StreamLimits(trigger_seconds=0.1, reading_seconds=0.2)
    )
    notes: list[str] = field(default_factory=list)
    """Messages of the stream, for people."""

    @contextmanager
    def open(self, settings: StreamSettings | None = None) -> Iterator[None]:
        """Open the stream for a block, from where it stands."""
        self.settings = settings or self.settings
        zone = self._zone(self.wrapped(self.store))
        self.stream = DatabaseStream(self.settings, zone, self.limits, self.notes.append).open(None)
        try:
            yield
        finally:
            self.stream.close()
            self.stream = None

    def turn(self) -> None:
        """Let it land one batch."""
        assert self.stream is not None
        self.stream.turn()
        # What is asked for afterwards is about the whole batch, its document included.
        self.stream.drain()

    def turn_until(self, wanted: Callable[[], bool]) -> None:
        """Turn until it is so. A turn that takes long is not the stream's fault."""
        ends = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < ends, self.document
            self.turn()

    def catch_up(self, connection: psycopg.Connection) -> None:
        """Turn until all that is committed has landed, and no load is wanted or underway."""
        row = connection.execute(
            "INSERT INTO public.marks SELECT coalesce(max(id), 0) + 1 FROM public.marks "
            "RETURNING id"
        ).fetchone()
        assert row is not None
        mark = row[0]
        self.turn_until(lambda: not self.document.resnapshots and mark in self._marks())

    def load_unavailable(self) -> bool:
        """Follow the remedy of tables whose log does not have a value: load them again."""
        paths = [
            path
            for path, one in self.document.stopped.items()
            if one.stop.code is StopCode.VALUE_UNAVAILABLE
        ]
        for path in paths:
            want_load(self._zone(self.store), self.settings.stream, path)
        return bool(paths)

    def want_load(self, path: TablePath) -> None:
        """Ask for a load of a table, as `cdc resnapshot` does."""
        want_load(self._zone(self.store), self.settings.stream, path)

    @property
    def document(self) -> StreamDocument:
        """The stream's document."""
        path = document_path(self.zone, self.settings.stream)
        return read_document(self.store.read(path).data, path)

    def reasons(self) -> Mapping[str, str]:
        """Return why tables stopped, or tables and columns are left out, by their full names."""
        there = self.document
        stopped = {
            f"{path.schema}.{path.table}": f"{one.stop.detail}. {one.stop.remedy}"
            for path, one in there.stopped.items()
        }
        return {**(there.log.left_out if there.log else {}), **stopped}

    def landed_files(self, path: TablePath) -> int:
        """Return how many change files a table has."""
        try:
            return len(numbers(self.store, self.folder(path)))
        except WrongRequest:  # no folder can have such a name
            return 0

    def newest_load(self, path: TablePath) -> str | None:
        """Return the number of the load that a table's newest file goes on from.

        None for a table that no load has landed in.
        """
        try:
            newest = max(numbers(self.store, self.folder(path)), default=None)
        except WrongRequest:  # no folder can have such a name
            return None
        if newest is None:
            return None
        footer = read_footer(self.store, join(self.folder(path), f"{newest:020d}.parquet"))
        assert footer is not None
        assert footer.published is not None
        return str(footer.published.streams[self.settings.stream]["load"])

    def problems(
        self, path: TablePath, selected: Selected, gone: Collection[str] = ()
    ) -> list[str]:
        """Compare what landed with a table's rows: keys, types, and each value.

        Columns that are `gone` from the table may stay in Delta.
        """
        folder = self.folder(path)
        try:
            metadata = json.loads(self.store.read(join(folder, METADATA_FILE)).data)
        except NotThere:
            return ["it has no folder"]
        found = []
        if set(metadata["keyColumns"]) != set(selected.keys):
            found.append(f"keys {metadata['keyColumns']}, not {selected.keys}")
        try:
            there = mirrored(self.store, selected.keys, folder).bag
        except NoRowToUpdate as error:
            return [*found, f"no mirror can read its files: {error}"]
        found += differences(selected.rows, canonical_rows(selected.columns, there))
        types = self._types(folder)
        empty = {
            column.name
            for at, column in enumerate(selected.columns)
            if all(row[at] is None for row in selected.rows)
        }
        for column in selected.columns:
            landed = types.get(column.name.lower())
            # A column that was added, and no row has a value of, has not landed yet.
            if landed != column.arrow and not (landed is None and column.name in empty):
                found.append(f"column {column.name} is {landed}, not {column.arrow}")
        known = {name.lower() for name in (*gone, *(c.name for c in selected.columns))}
        extra = types.keys() - known
        return found + [f"column {name} is too many" for name in sorted(extra - {_MARKER})]

    def folder(self, path: TablePath) -> StorePath:
        """Return where a table lands."""
        return join(self.zone, *str(path).split("/"))

    def _types(self, folder: StorePath) -> dict[str, str]:
        """Return the types of the newest file's columns, by case-folded name."""
        newest = max(numbers(self.store, folder), default=None)
        if newest is None:
            return {}
        data = self.store.read(join(folder, f"{newest:020d}.parquet")).data
        schema = pq.read_schema(io.BytesIO(data))
        return {field.name.lower(): str(field.type) for field in schema}

    def _marks(self) -> set[object]:
        return {row["id"] for row in mirrored(self.store, ("id",), self.folder(MARKS)).bag}

    def _zone(self, store: FileStore) -> StreamZone:
        return StreamZone(store, self.zone, EXTENSIONS, lineage=False)


_MARKER = "__rowmarker__"


def make_marks(connection: psycopg.Connection) -> None:
    """Make the table that says how far a stream is."""
    connection.execute(sql.SQL("CREATE TABLE public.marks (id int PRIMARY KEY)"))


def with_remedy(settings: StreamSettings, as_text: set[str], without: set[str]) -> StreamSettings:
    """Return settings with more columns as text, or left out."""
    return replace(
        settings,
        as_text=tuple(sorted({*settings.as_text, *as_text})),
        without_columns=tuple(sorted({*settings.without_columns, *without})),
    )
