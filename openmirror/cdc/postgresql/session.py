"""One database's stream, put together: connections, document, tables, loads and log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from openmirror.cdc.postgresql.asking import ask_synchronous_names
from openmirror.cdc.postgresql.batches import MARK_PREFIX, Assembler, ResolvedRelation
from openmirror.cdc.postgresql.catalogue import Snapshot, definition_of, snapshot_now, types_of
from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened, replication_connection
from openmirror.cdc.postgresql.definitions import Oid, TableDefinition, TypeFacts
from openmirror.cdc.postgresql.load_events import LoaderSettings
from openmirror.cdc.postgresql.loading import Loader
from openmirror.cdc.postgresql.loads import StreamLoads
from openmirror.cdc.postgresql.opening import StreamStart, UnsendableTransaction
from openmirror.cdc.postgresql.pgoutput import Relation
from openmirror.cdc.postgresql.placed_rows import lineage_refused
from openmirror.cdc.postgresql.places import Lsn
from openmirror.cdc.postgresql.publication import publication_oid, sends_generated
from openmirror.cdc.postgresql.replication import ReplicationReader
from openmirror.cdc.postgresql.requirements import synchronous_finding
from openmirror.cdc.postgresql.settings import StreamSettings, columns_of
from openmirror.cdc.postgresql.shapes import TableShape, shape_of, shape_of_definition
from openmirror.cdc.postgresql.slots import must_reconnect
from openmirror.cdc.postgresql.staging import StreamStaging
from openmirror.cdc.postgresql.standbys import is_synchronous_standby
from openmirror.cdc.postgresql.stream import BatchLanding, LogStream, StreamLimits, TextChanges
from openmirror.cdc.postgresql.table_files import StreamFolders
from openmirror.cdc.postgresql.tables import Mode, ReadOptions, TableChanges, TableState
from openmirror.cdc.postgresql.text_facts import ask_text_facts, changed_types
from openmirror.cdc.postgresql.type_uses import TypeUses, type_uses
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import CannotStart, Unavailable
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import LogSource, StopCode, StoppedTable, StopReason

_TRANSACTIONS = "transactions"
"""Where parts of transactions larger than memory are staged."""
_WATCH_EVERY = 2.0
"""Seconds between two checks of what would harm the source, or the stream."""


class PublicationReplaced(Unavailable):
    """The publication was dropped, so that changes may be missing in the stream."""


class DatabaseStream:
    """Opens the stream of one database, at the start and again after each failure."""

    def __init__(
        self,
        settings: StreamSettings,
        zone: StreamZone,
        limits: StreamLimits,
        say: Callable[[str], None],
    ) -> None:
        self._zone = zone
        self._limits = limits
        self._say = say
        self._stopping = threading.Event()
        self._start = StreamStart(settings, zone.store, zone.path, say, self._stopping.is_set)
        self._document: SharedDocument | None = None
        self._stream: LogStream | None = None
        self._noted: tuple[str, ...] = ()

    @property
    def stopped(self) -> Mapping[TablePath, StoppedTable]:
        """Tables that have stopped, as far as is known now."""
        return {} if self._document is None else self._document.now.stopped

    def bytes_behind(self) -> int:
        """Return how many bytes of the log have been received and have not landed."""
        return 0 if self._stream is None else self._stream.bytes_behind

    def stop(self) -> None:
        """Wait no longer for the database, where opening does."""
        self._stopping.set()

    def open(self, unsendable: UnsendableTransaction | None) -> LogStream:
        """Open the stream from its document, or anew. The caller closes it.

        Raises:
            CannotStart: The database cannot be mirrored, or not now.
            StreamReplaced: The database is another one than before.
        """
        with ExitStack() as parts:
            stream = self._opened(parts, unsendable)
            # From here on the stream itself closes what it was made of.
            stream.keep(parts.pop_all())
        self._stream = stream
        return stream

    def _opened(self, parts: ExitStack, unsendable: UnsendableTransaction | None) -> LogStream:
        settings = self._start.settings
        connection = opened(settings.url, settings.slot)
        parts.callback(connection.close)
        document, settings, prepared = self._start.document(connection, unsendable)
        self._document = document
        log = document.now.log
        assert log is not None
        self._note(prepared.notes)
        server = prepared.facts.server
        zone = self._zone
        files = StreamFolders(zone.store, zone.path, settings.stream, document.now.identity)
        staging = StreamStaging(zone.store, zone.path, settings.stream)
        self._tidy(staging, document)
        uses = type_uses(connection, log)
        catalogue = _Catalogue(connection, log, uses, lineage=zone.lineage)
        loader = Loader(
            settings.url,
            LoaderSettings(
                application=settings.slot,
                mark_prefix=MARK_PREFIX,
                range_seconds=settings.range_seconds,
                asks_before_mark=must_reconnect(server.version),
            ),
        )
        loads = StreamLoads(
            loader,
            staging,
            files,
            catalogue.describe,
            zone.takes,
            self._say,
            lineage=zone.lineage,
        )
        parts.callback(loads.close)
        options = ReadOptions(encoding=server.encoding, takes=zone.takes, lineage=zone.lineage)
        changes = TableChanges(files, loads, staging.pieces(_TRANSACTIONS), options)
        watch = _Watch(connection, settings, document, uses)
        landing = BatchLanding(
            document,
            _states(document, loads),
            changes,
            loads,
            watch,
            self._acknowledge,
            self._limits,
        )
        parts.callback(landing.close)
        assembler = Assembler(
            server.encoding, catalogue.resolve, loads.first_of, Lsn(document.now.complete_to)
        )
        loader.start()

        def connect(start: Lsn) -> ReplicationReader:
            reader = ReplicationReader(
                lambda: replication_connection(settings.url, settings.slot),
                settings.slot,
                settings.slot,
                start,
            )
            reader.start()
            return reader

        return LogStream(connect, assembler, landing, loads, self._limits)

    def _acknowledge(self, lsn: Lsn) -> None:
        if self._stream is not None:
            self._stream.acknowledge(lsn)

    def _note(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            if note not in self._noted:
                self._say(note)
        self._noted = notes

    def _tidy(self, staging: StreamStaging, document: SharedDocument) -> None:
        """Remove what no load of the document has any more."""
        staging.remove(_TRANSACTIONS)
        owned = [one.number for one in document.now.resnapshots.values()]
        for folder in staging.remove_abandoned(owned):
            self._say(f"removed {folder}: it was staged for a load that has ended")


def _states(document: SharedDocument, loads: StreamLoads) -> dict[TablePath, TableState]:
    """Return each table as the document has it, and go on with the loads that had begun."""
    now = document.now
    assert now.log is not None
    states = {}
    for path in now.log.tables.values():
        asked = now.resnapshots.get(path)
        is_sound = path in now.tables and path not in now.stopped
        state = TableState(path=path, mode=Mode.LANDING if is_sound else Mode.WAITING)
        if asked is not None and asked.since is not None:
            state.mode, state.load = Mode.LOADING, asked.number
            if not loads.resume(path, asked.number):
                loads.lost(path)
        states[path] = state
    return states


class _Catalogue:
    """Asks the catalogue what tables and their types are."""

    def __init__(
        self, connection: DatabaseConnection, log: LogSource, uses: TypeUses, *, lineage: bool
    ) -> None:
        self._lineage = lineage
        self._connection = connection
        self._log = log
        self._uses = uses
        self._oids = {path: oid for oid, path in log.tables.items()}
        self._types: dict[Oid, TypeFacts] = {}

    def describe(self, path: TablePath) -> tuple[TableDefinition, TableShape] | StopReason:
        """Return a table as it is now, and how its rows are read, or why they cannot be."""
        definition = definition_of(self._connection, self._oids[path])
        if definition is None or (definition.schema, definition.name) != (path.schema, path.table):
            detail = f"{path} was dropped or renamed"
            remedy = "`openmirror cdc run` takes the table in under its new name when it begins."
            return StopReason(StopCode.RESNAPSHOT_NEEDED, detail, remedy)
        title = definition.title
        shape = shape_of_definition(
            definition,
            self._known({column.type for column in definition.columns}),
            as_text=columns_of(self._log.as_text, title),
            without=columns_of(self._log.without, title),
            sends_generated=sends_generated(self._connection.info.server_version),
        )
        shape = self._with_lineage(shape)
        return shape if isinstance(shape, StopReason) else (definition, shape)

    def resolve(self, relation: Relation) -> ResolvedRelation | None:
        """Return what a Relation message means; None for a table that is not mirrored."""
        path = self._log.tables.get(relation.oid)
        if path is None:
            return None
        definition = definition_of(self._connection, relation.oid)
        title = f"{path.schema}.{path.table}"
        shape = shape_of(
            relation,
            definition,
            self._known({column.type for column in relation.columns}),
            as_text=columns_of(self._log.as_text, title),
            without=columns_of(self._log.without, title),
        )
        columns = [column.type for column in relation.columns]
        is_new = self._uses.add(path, columns, self._types)
        filled = _filled(relation, definition)
        return ResolvedRelation(path, self._with_lineage(shape), filled, is_new)

    def _with_lineage(self, shape: TableShape | StopReason) -> TableShape | StopReason:
        """Return the shape, or why the table cannot have the columns of lineage."""
        if isinstance(shape, StopReason) or not self._lineage:
            return shape
        return lineage_refused(shape) or shape

    def _known(self, oids: set[Oid]) -> Mapping[Oid, TypeFacts]:
        missing = oids - self._types.keys()
        if missing:
            self._types |= types_of(self._connection, missing)
        return self._types


def _filled(relation: Relation, definition: TableDefinition | None) -> frozenset[str]:
    """Return the columns that may have another value than NULL in rows from before them.

    A column that the catalogue does not have any more, or has in another form, may have had one.
    """
    known = {} if definition is None else {column.name: column for column in definition.columns}
    found = set()
    for column in relation.columns:
        now = known.get(column.name)
        if now is None or now.type != column.type or now.fills_old_rows or not now.nullable:
            found.add(column.name)
    return frozenset(found)


class _Watch:
    """Checks now and then for what would harm the source, or changes rows without an event."""

    def __init__(
        self,
        connection: DatabaseConnection,
        settings: StreamSettings,
        document: SharedDocument,
        uses: TypeUses,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._document = document
        self._uses = uses
        self._checked_at = time.monotonic() - _WATCH_EVERY

    def snapshot(self) -> Snapshot:
        """Return which transactions are visible now."""
        return snapshot_now(self._connection)

    def changes(self) -> TextChanges | None:
        """Return which tables' rows have other texts now; None where it is not time to ask.

        Raises:
            CannotStart: Commits of the source would wait for the stream.
            PublicationReplaced: Changes may be missing.
        """
        now = time.monotonic()
        if now - self._checked_at < _WATCH_EVERY:
            return None
        self._checked_at = now
        settings, log = self._settings, self._document.now.log
        assert log is not None
        names = ask_synchronous_names(self._connection)
        if is_synchronous_standby(names, settings.slot):
            raise CannotStart(str(synchronous_finding(settings, names)))
        if publication_oid(self._connection, settings.slot) != log.publication:
            raise PublicationReplaced(f"the publication {settings.slot} was dropped")
        facts = ask_text_facts(self._connection, self._uses.all_types)
        changed = changed_types(log.texts, facts)
        return TextChanges(facts, tuple(self._uses.tables_of(changed)))
