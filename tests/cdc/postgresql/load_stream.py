"""A loader with a plain main thread: it reads the slot by SQL, stages changes, and feeds marks."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg
import pyarrow as pa
from psycopg import sql

from openmirror.cdc.postgresql.catalogue import definitions_of, types_of
from openmirror.cdc.postgresql.changes import change_rows
from openmirror.cdc.postgresql.connecting import opened
from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.load_events import (
    LoaderSettings,
    LoadEvent,
    LoadGivenUp,
    LoadReady,
    WantedLoad,
)
from openmirror.cdc.postgresql.load_file import LoadFile
from openmirror.cdc.postgresql.load_state import ChangePart, LoadState, definition_facts
from openmirror.cdc.postgresql.loading import Loader
from openmirror.cdc.postgresql.pgoutput import BeginMessage, LogicalMessage, parse_message
from openmirror.cdc.postgresql.placed_rows import COMMIT_COLUMN, NUMBER_COLUMN
from openmirror.cdc.postgresql.places import LogPlace
from openmirror.cdc.postgresql.settings import DatabaseUrl
from openmirror.cdc.postgresql.shapes import TableShape, shape_of_definition
from openmirror.cdc.postgresql.staging import StreamStaging
from openmirror.ports import FileStore
from openmirror.protocol.names import ROW_MARKER_COLUMN, TablePath
from openmirror.protocol.partial_updates import PARTIAL_UPDATE, absent_columns
from openmirror.protocol.rows import Change, ChangeFile, Marker, interpret
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from standins.postgres import connected
from tests.harness.clock import Clock

PREFIX = "openmirror"
UNKNOWN = object()
"""A value that the log left out behind a load."""
Row = dict[str, Any]


@dataclass
class TestTable:
    """A table as the main thread keeps it."""

    __test__ = False

    path: TablePath
    shape: TableShape
    load: WantedLoad
    is_loading: bool = False
    waiting: list[tuple[bytes, LogPlace]] = field(default_factory=list)
    """Messages that are not staged yet."""
    behind: list[tuple[LogPlace, Change]] = field(default_factory=list)
    """Every change since the first mark."""
    ready: LoadReady | None = None
    given_up: LoadGivenUp | None = None


class LoadStream:
    """One database, its slot, and a loader."""

    def __init__(self, url: DatabaseUrl, settings: LoaderSettings | None = None) -> None:
        self.url = url
        self.name = f"loads_{uuid4().hex[:8]}"
        self.owner = connected(url)
        self.settings = settings or LoaderSettings(application="loads", mark_prefix=PREFIX)
        self.loader = Loader(url, self.settings)
        self.store: FileStore = MemoryStore(Clock())
        self.staging = StreamStaging(self.store, StorePath("zone"), "shop")
        self.tables: dict[int, TestTable] = {}
        self.events: list[LoadEvent] = []
        self.passes_marks = True
        """Whether marks are fed to the loader; otherwise they wait."""
        self.held: list[tuple[str, LogPlace]] = []
        self._transaction: BeginMessage | None = None
        self._number = 0
        self.owner.execute(f"CREATE PUBLICATION {self.name}")

    def reconnect(self) -> None:
        """Connect the owner again, once the server answers."""
        self.owner.close()
        with suppress(psycopg.OperationalError):
            self.owner = connected(self.url)

    def publish(self, *names: str) -> None:
        for name in names:
            self.owner.execute(f"ALTER PUBLICATION {self.name} ADD TABLE ONLY {name}")

    def make_slot(self) -> None:
        self.owner.execute(
            "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self.name,)
        )

    def begin(self, *names: str) -> None:
        """Publish tables, make the slot, and want loads of all."""
        self.publish(*names)
        self.make_slot()
        self.loader.start()
        self.want(*names)

    def want(self, *names: str) -> None:
        for name in names:
            load, shape = self._wanted(name)
            path = TablePath("public", name)
            self.tables[shape.relation] = TestTable(path, shape, load)
            self.loader.want(load)

    def _wanted(self, name: str) -> tuple[WantedLoad, TableShape]:
        with opened(self.url) as reader:
            row = reader.execute("SELECT to_regclass(%s)::oid::bigint AS oid", (f"public.{name}",))
            oid = row.fetchone()["oid"]
            definition = definitions_of(reader, [oid])[oid]
            types = types_of(reader, [column.type for column in definition.columns])
        shape = shape_of_definition(definition, types, as_text=frozenset(), without=frozenset())
        assert isinstance(shape, TableShape), shape
        state = LoadState(
            number=uuid4().hex,
            definition=definition_facts(definition),
            fingerprint=Fingerprint("{}"),
        )
        load = WantedLoad(
            path=TablePath("public", name),
            definition=definition,
            shape=shape,
            staged=self.staging.begin(state),
        )
        return load, shape

    def table(self, name: str) -> TestTable:
        return next(t for t in self.tables.values() if t.path.table == name)

    def until(self, done: Callable[[], bool], seconds: float = 30.0) -> None:
        """Read the log until something holds."""
        limit = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < limit, self.events
            self.loader.check()
            self.turn()
            time.sleep(0.01)

    def until_ready(self, *names: str) -> None:
        tables = [self.table(name) for name in names]
        self.until(lambda: all(t.ready or t.given_up for t in tables))
        assert not [t.given_up for t in tables if t.given_up]

    def turn(self) -> None:
        """Read what there is of the log."""
        rows = self.owner.execute(
            "SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, 'proto_version',"
            " '1', 'publication_names', %s, 'messages', 'true')",
            (self.name, self.name),
        )
        for (data,) in rows:
            self._take(bytes(data))
        for event in self.loader.events():
            self.events.append(event)
            for table in self.tables.values():
                if isinstance(event, LoadReady) and event.number == table.load.number:
                    table.ready = event
                if isinstance(event, LoadGivenUp) and event.number == table.load.number:
                    table.given_up = event

    def feed_held(self) -> None:
        self.passes_marks = True
        for held in self.held:
            self.loader.mark_came(*held)
        self.held = []

    def mirror(self, name: str) -> list[Row]:
        """The mirror's rows: the load's file, and every change behind it."""
        table = self.table(name)
        assert table.ready is not None
        file = LoadFile(
            pieces=table.load.staged.pieces,
            state=table.ready.state,
            resolution=table.ready.resolution,
            columns=table.shape.table_schema,
            begins_empty=False,
        )
        changes = [change for piece in file.tables() for change in _changes(piece)]
        columns, keys = table.shape.table_schema.names, table.shape.keys
        made = interpret([ChangeFile(columns, changes)], keys)
        rows = {tuple(row[key] for key in keys): row for row in made.rows}
        later = [change for place, change in table.behind if place > table.ready.through]
        for change in later:
            _apply(rows, tuple(change.row[key] for key in keys), change)
        return sorted(rows.values(), key=lambda row: [str(row[key]) for key in keys])

    def source(self, name: str) -> list[Row]:
        table = self.table(name)
        cursor = self.owner.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)))
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return sorted(rows, key=lambda row: [str(row[k]) for k in table.shape.keys])

    def check(self, *names: str) -> None:
        """Read the log to its end, and compare mirror and database."""
        end = uuid4().hex
        self.owner.execute("SELECT pg_logical_emit_message(true, 'end', %s)", (end,))
        self.turn()
        for name in names:
            self._stage(self.table(name))
            rows, keys = self.mirror(name), self.table(name).shape.keys
            unknown = [[row[key] for key in keys] for row in rows if UNKNOWN in row.values()]
            found = [row for row in rows if UNKNOWN not in row.values()]
            there = [row for row in self.source(name) if [row[k] for k in keys] not in unknown]
            assert found == there

    def close(self) -> None:
        self.loader.stop(20)
        self.owner.close()

    def _take(self, data: bytes) -> None:
        kind = data[:1]
        if kind in b"IUD":
            self._put(int.from_bytes(data[1:5], "big"), data)
            return
        message = parse_message(data, "UTF8")
        if isinstance(message, BeginMessage):
            self._transaction, self._number = message, 0
        elif kind == b"T":
            for oid in message.relations:  # type: ignore[union-attr]
                self._put(oid, b"T")
        elif isinstance(message, LogicalMessage) and message.prefix == PREFIX:
            self._mark(message.content.decode())

    def _put(self, oid: int, data: bytes) -> None:
        self._number += 1
        table = self.tables.get(oid)
        if table is not None and table.is_loading:
            assert self._transaction is not None
            table.waiting.append((data, LogPlace(self._transaction.final, self._number)))

    def _mark(self, mark: str) -> None:
        assert self._transaction is not None
        place = LogPlace(self._transaction.final, self._number)
        for table in self.tables.values():
            self._stage(table)
            if table.load.definition.oid in self.loader.first_of(mark):
                table.is_loading = True
        came = mark, place
        if self.passes_marks:
            self.loader.mark_came(*came)
        else:
            self.held.append(came)

    def _stage(self, table: TestTable) -> None:
        if not table.waiting:
            return
        found = change_rows(
            [data for data, _ in table.waiting], table.shape, "UTF8", while_loading=True
        )
        assert found.stop is None, found.stop
        places = [table.waiting[at][1] for at in found.source_row.to_pylist()]
        rows = found.table.append_column(
            COMMIT_COLUMN, pa.array([p.commit for p in places], "int64")
        )
        rows = rows.append_column(NUMBER_COLUMN, pa.array([p.number for p in places], "int64"))
        table.behind += zip(places, _changes(found.table), strict=True)
        markers = found.table.column(ROW_MARKER_COLUMN).cast("string").to_pylist()
        part = ChangePart(
            file=table.load.staged.pieces.write("changes", rows),
            begins=places[0],
            through=places[-1],
            rows=rows.num_rows,
            has_partial=any(m.startswith(PARTIAL_UPDATE) for m in markers),
            has_truncate="100" in markers,
        )
        table.load.staged.change(lambda state: state.with_changes(part.through, part))
        table.waiting = []


def _apply(rows: dict[tuple[Any, ...], Row], key: tuple[Any, ...], change: Change) -> None:
    """Apply a change behind the load; a row that moved there has no value of what is left out."""
    if change.marker is Marker.DELETE:
        rows.pop(key, None)
        return
    before = rows.get(key, {})
    absent = {name: before.get(name, UNKNOWN) for name in change.absent}
    rows[key] = {**change.row, **absent}


def _changes(piece: pa.Table) -> list[Change]:
    found = []
    for row in piece.to_pylist():
        marker = str(row.pop(ROW_MARKER_COLUMN))
        absent = absent_columns(marker)
        if absent:
            found.append(Change(Marker.PARTIAL_UPDATE, row, frozenset(absent)))
        else:
            found.append(Change(Marker(int(marker)), row))
    return found
