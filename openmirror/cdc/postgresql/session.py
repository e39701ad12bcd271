"""One database's stream, put together: connections, document, tables, loads and log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

from openmirror.cdc.postgresql.batches import MARK_PREFIX, Assembler, Changes
from openmirror.cdc.postgresql.catalogue import definition_of, types_of
from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened, replication_connection
from openmirror.cdc.postgresql.definitions import Oid, Types
from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.gate import CatalogueGate
from openmirror.cdc.postgresql.load_events import LoaderSettings
from openmirror.cdc.postgresql.loading import Loader
from openmirror.cdc.postgresql.loads import DescribedTable, StreamLoads
from openmirror.cdc.postgresql.opening import StreamStart, UnsendableTransaction
from openmirror.cdc.postgresql.pgoutput import Relation
from openmirror.cdc.postgresql.placed_rows import lineage_refused
from openmirror.cdc.postgresql.places import Lsn
from openmirror.cdc.postgresql.publication import sends_generated
from openmirror.cdc.postgresql.readings import read_arrangement, read_catalogue
from openmirror.cdc.postgresql.reloads import Reloads
from openmirror.cdc.postgresql.replication import LogEnded, ReplicationReader
from openmirror.cdc.postgresql.settings import StreamSettings, columns_of
from openmirror.cdc.postgresql.shapes import TableShape, shape_of, shape_of_definition
from openmirror.cdc.postgresql.slots import must_reconnect
from openmirror.cdc.postgresql.staging import StreamStaging
from openmirror.cdc.postgresql.stream import BatchLanding, LogStream, StreamLimits
from openmirror.cdc.postgresql.table_files import StreamFolders
from openmirror.cdc.postgresql.tables import Mode, ReadOptions, TableChanges, TableState
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.stream_zone import StreamZone
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import LogSource, StoppedTable, StopReason

_SECONDS_FOR_A_SENDER_TO_END = 10.0
"""A slot is in use until the server has noticed that the connection before was closed."""
_TRANSACTIONS = "transactions"
"""Where parts of transactions larger than memory are staged."""


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
        arrangement = read_arrangement(connection, settings.slot)
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
        reloads = Reloads(connection, settings.reloads, self._start.begun_again)

        def rearrange() -> bool:
            found = self._start.rearranged(connection, document, settings, reloads)
            self._note(found.notes)
            return found.is_complete

        catalogue = _Catalogue(connection, settings.slot, document, rearrange, lineage=zone.lineage)
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
            reloads,
            lineage=zone.lineage,
        )
        parts.callback(loads.close)
        options = ReadOptions(encoding=server.encoding, takes=zone.takes, lineage=zone.lineage)
        changes = TableChanges(files, loads, staging.pieces(_TRANSACTIONS), options)
        gate = CatalogueGate(
            connection,
            settings,
            log.publication,
            arrangement if self._start.is_complete else "",
            self._limits.reading_seconds,
            self._say,
            self._stopping.is_set,
        )
        landing = BatchLanding(
            document,
            _states(document, loads),
            changes,
            loads,
            gate,
            catalogue,
            reloads,
            self._acknowledge,
            self._limits,
        )
        parts.callback(landing.close)
        assembler = Assembler(
            server.encoding, catalogue.is_mirrored, loads.first_of, Lsn(document.now.complete_to)
        )
        loader.start()

        def connect(start: Lsn) -> ReplicationReader:
            until = time.monotonic() + _SECONDS_FOR_A_SENDER_TO_END
            while True:
                reader = ReplicationReader(
                    lambda: replication_connection(settings.url, settings.slot),
                    settings.slot,
                    settings.slot,
                    start,
                )
                try:
                    reader.start()
                except LogEnded as error:
                    # The server ends the sender of the connection before only once it can write.
                    if not error.is_in_use or time.monotonic() > until:
                        raise
                    time.sleep(0.1)
                else:
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
    for oid, path in now.log.tables.items():
        asked = now.resnapshots.get(path)
        is_sound = path in now.tables and path not in now.stopped
        state = TableState(path=path, oid=oid, mode=Mode.LANDING if is_sound else Mode.WAITING)
        if asked is not None and asked.since is not None:
            if not loads.resume(path, asked.number):
                loads.lost(path)
            fingerprint = loads.fingerprint(asked.number)
            if fingerprint is not None:
                state.mode, state.known = Mode.LOADING, (fingerprint,)
            state.load = asked.number
        states[path] = state
    return states


class _Catalogue:
    """Asks the catalogue what the tables of the stream and their types are."""

    def __init__(
        self,
        connection: DatabaseConnection,
        publication: str,
        document: SharedDocument,
        rearrange: Callable[[], bool],
        *,
        lineage: bool,
    ) -> None:
        self._lineage = lineage
        self._connection = connection
        self._publication = publication
        self._document = document
        self._rearrange = rearrange
        self._shapes: dict[Oid, tuple[Relation, Fingerprint | None, TableShape | StopReason]] = {}

    def is_mirrored(self, oid: Oid) -> bool:
        """Return whether changes of a table are wanted."""
        return oid in self._log.tables

    def rearrange(self) -> bool:
        """Bring publication and document to the tables that are there now (`StreamTables`)."""
        return self._rearrange()

    def describe(self, path: TablePath) -> DescribedTable | StopReason | None:
        """Return a table as it is now, and how its rows are read, or why they cannot be.

        None where no table has the name now.
        """
        log = self._log
        oid = next((oid for oid, one in log.tables.items() if one == path), 0)
        reading = read_catalogue(self._connection, self._publication, (oid,))
        definition = definition_of(self._connection, oid)
        names = None if definition is None else (definition.schema, definition.name)
        if definition is None or oid not in reading.tables or names != (path.schema, path.table):
            return None
        title = definition.title
        shape = shape_of_definition(
            definition,
            self._types(column.type for column in definition.columns),
            as_text=columns_of(log.as_text, title),
            without=columns_of(log.without, title),
            sends_generated=sends_generated(self._connection.info.server_version),
        )
        shape = self._with_lineage(shape)
        if isinstance(shape, StopReason):
            return shape
        return DescribedTable(reading.tables[oid], definition, shape)

    def resolve(self, changes: Changes, now: Fingerprint | None) -> TableShape | StopReason:
        """Return how changes are read, by the catalogue behind them (`StreamTables`)."""
        relation = changes.relation
        known = self._shapes.get(relation.oid)
        if known is not None and known[0] is relation and known[1] == now:
            return known[2]
        log = self._log
        path = log.tables[relation.oid]
        title = f"{path.schema}.{path.table}"
        shape = shape_of(
            relation,
            definition_of(self._connection, relation.oid),
            self._types(column.type for column in relation.columns),
            as_text=columns_of(log.as_text, title),
            without=columns_of(log.without, title),
        )
        shape = self._with_lineage(shape)
        self._shapes[relation.oid] = relation, now, shape
        return shape

    @property
    def _log(self) -> LogSource:
        log = self._document.now.log
        assert log is not None
        return log

    def _with_lineage(self, shape: TableShape | StopReason) -> TableShape | StopReason:
        """Return the shape, or why the table cannot have the columns of lineage."""
        if isinstance(shape, StopReason) or not self._lineage:
            return shape
        return lineage_refused(shape) or shape

    def _types(self, oids: Iterable[Oid]) -> Types:
        return types_of(self._connection, oids)
