"""Opening a stream: from its document, or anew, at the start and after each failure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import uuid4

from openmirror.cdc.postgresql.beginning import (
    ANEW,
    FoundServer,
    must_begin_anew,
    other_database,
)
from openmirror.cdc.postgresql.catalogue import OpenWriter
from openmirror.cdc.postgresql.connecting import DatabaseConnection, replication_connection
from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.places import Lsn, lsn_text
from openmirror.cdc.postgresql.preparing import (
    PreparedDatabase,
    PublishedTables,
    bring_publication,
    prepare,
)
from openmirror.cdc.postgresql.reloads import Reloads
from openmirror.cdc.postgresql.settings import StreamSettings, columns_of
from openmirror.cdc.postgresql.slots import (
    SystemFacts,
    drop_slot,
    identify_system,
    make_slot,
    timeline_history,
)
from openmirror.cdc.postgresql.table_files import StreamFolders
from openmirror.cdc.postgresql.tables import stopped_anew
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.stops import StreamReplaced
from openmirror.errors import CannotStart, FolderReplaced, OtherPublisher, PublishRefused
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import (
    LogSource,
    Offset,
    Resnapshot,
    StopCode,
    StoppedTable,
    StopReason,
    StreamDocument,
    StreamIdentity,
)
from openmirror.table.layout import StorePath


@dataclass(frozen=True)
class RearrangedTables:
    """What came of bringing the stream to the tables that are there now."""

    notes: tuple[str, ...]
    """Everything that a user should know."""
    is_complete: bool
    """Whether every table could be put into the publication, or taken out."""


@dataclass(frozen=True)
class UnsendableTransaction:
    """A transaction that the server fails to send each time."""

    commit: Lsn
    """Where its commit record begins."""
    table: str
    """The table that the server described last; empty where it described none."""
    error: str


class StreamStart:
    """Brings a stream's document, slot and publication to where the stream can be read."""

    def __init__(
        self,
        settings: StreamSettings,
        store: FileStore,
        zone: StorePath,
        say: Callable[[str], None],
        should_stop: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._store = store
        self._zone = zone
        self._say = say
        self._should_stop = should_stop
        self._is_anew = settings.anew
        self.begun_again: dict[TablePath, list[float]] = {}
        """When loads of each table were begun by themselves (`reloads`)."""
        self._has_retried = False
        self._is_complete = False
        self._waited_for: set[str] = set()
        """Transactions that the making of the slot has waited for, as people read them."""

    @property
    def settings(self) -> StreamSettings:
        """The stream's settings as they were given."""
        return self._settings

    @property
    def is_complete(self) -> bool:
        """Whether the publication was brought up to date last, so that nothing is tried again."""
        return self._is_complete

    def document(
        self, connection: DatabaseConnection, unsendable: UnsendableTransaction | None
    ) -> tuple[SharedDocument, StreamSettings, PreparedDatabase]:
        """Return the document to go on from; everything that it needs is in the database.

        Args:
            connection: asks and changes the database.
            unsendable: a transaction to go on behind; every table is loaded again then.

        Raises:
            CannotStart: The database cannot be mirrored, or not now.
            StreamReplaced: The database is another one than before.
        """
        name = self._settings.stream
        document = SharedDocument(self._store, self._zone, name, StreamIdentity(uuid4().hex))
        there = document.read()
        settings = self._settings if there is None else _with_kept(self._settings, there.log)
        log = None if there is None else there.log
        prepared = prepare(settings, () if log is None else tuple(log.tables))
        system = self._system()
        found = FoundServer(
            system=system.system,
            database=prepared.facts.server.database,
            timeline=system.timeline,
            slot=prepared.facts.slot,
            publication=_publication_oid(prepared),
            switched_at=self._switched_at(log, system),
        )
        why: str | None
        if there is None or self._is_anew or log is None:
            why = self._first_words(there)
        else:
            why = self._goes_on(there, log, found)
        if there is not None and log is None and found.slot is None and not self._is_anew:
            raise CannotStart(
                f"stream {name} of this landing zone is of a topic, or its replication slot is "
                "gone. Give this stream another name with --stream, or take the name with --anew"
            )
        if why is None:
            assert there is not None
            document = SharedDocument(self._store, self._zone, name, there.identity)
            document.adopt(there)
            assert log is not None
            anew = self._asked_anew(document, settings, found)
            base = replace(log, timeline=found.timeline)
            reloads = Reloads(connection, settings.reloads, self.begun_again)
            self._go_on(connection, document, settings, prepared, base, reloads, anew, unsendable)
        else:
            self._begin(connection, document, there, settings, prepared, found, why)
        self._is_anew = False
        return document, settings, prepared

    def rearranged(
        self,
        connection: DatabaseConnection,
        document: SharedDocument,
        settings: StreamSettings,
        reloads: Reloads,
    ) -> RearrangedTables:
        """Bring publication and document to the tables that are there now, while the log is read.

        Raises:
            CannotStart: The database cannot be mirrored any longer.
        """
        base = document.now.log
        assert base is not None
        prepared = prepare(settings, tuple(base.tables), is_running=True)
        published = self._go_on(connection, document, settings, prepared, base, reloads, {}, None)
        return RearrangedTables(prepared.notes, published.is_complete)

    def _asked_anew(
        self, document: SharedDocument, settings: StreamSettings, found: FoundServer
    ) -> dict[TablePath, str]:
        """Return the tables that must be loaded again whatever their definitions are."""
        anew: dict[TablePath, str] = {}
        if found.switched_at is not None:
            anew |= self._landed_behind(document, found.switched_at)
        if not self._has_retried:
            anew |= dict.fromkeys(settings.again, "--retry asks for it")
        self._has_retried = True
        return anew

    def _first_words(self, there: StreamDocument | None) -> str:
        if there is None:
            return ""
        if there.log is None:
            return "it was read by an older version"
        return "--anew"

    def _goes_on(self, there: StreamDocument, log: LogSource, found: FoundServer) -> str | None:
        other = other_database(log, found)
        if other is not None:
            raise StreamReplaced(
                f"{self._settings.url} is another database than the one that stream "
                f"{self._settings.stream} was read from: {other}. {ANEW}"
            )
        return must_begin_anew(there, found)

    def _system(self) -> SystemFacts:
        connection = replication_connection(self._settings.url, self._settings.slot)
        try:
            return identify_system(self._settings.url, connection)
        finally:
            connection.finish()

    def _switched_at(self, log: LogSource | None, system: SystemFacts) -> Lsn | None:
        """Return where the document's timeline ended; None where it has not, or nobody knows."""
        if log is None or log.timeline == system.timeline:
            return None
        connection = replication_connection(self._settings.url, self._settings.slot)
        try:
            ends = timeline_history(self._settings.url, connection, system.timeline)
        finally:
            connection.finish()
        return ends.get(log.timeline)

    def _begin(
        self,
        connection: DatabaseConnection,
        document: SharedDocument,
        there: StreamDocument | None,
        settings: StreamSettings,
        prepared: PreparedDatabase,
        found: FoundServer,
        why: str,
    ) -> None:
        """Make publication and slot, and a document that wants every table."""
        if why:
            self._say(f"stream {settings.stream} begins anew, with a load of every table: {why}")
        published = self._publish(connection, settings, prepared)
        drop_slot(connection, settings.slot)
        start = make_slot(
            settings.url, settings.slot, on_wait=self._waits, should_stop=self._should_stop
        )
        if start is None:
            raise CannotStart("stopped while the replication slot was made; nothing was begun")
        base = LogSource(
            system=found.system,
            database=found.database,
            timeline=found.timeline,
            publication=published.publication,
            tables={},
        )
        log = _with_tables(base, settings, prepared, published)
        if there is not None:
            document.delete()

        wanted = {path: Resnapshot(uuid4().hex) for path in log.tables.values()}

        def begun(blank: StreamDocument) -> StreamDocument:
            return replace(
                blank,
                log=log,
                begins_at=Offset(start),
                complete_to=Offset(start),
                resnapshots=wanted,
                stopped=_refused(prepared, published, start),
            )

        document.change(begun)

    def _go_on(
        self,
        connection: DatabaseConnection,
        document: SharedDocument,
        settings: StreamSettings,
        prepared: PreparedDatabase,
        base: LogSource,
        reloads: Reloads,
        asked: Mapping[TablePath, str],
        unsendable: UnsendableTransaction | None,
    ) -> PublishedTables:
        """Bring the publication and the document to the tables that are there now.

        Args:
            connection: asks and changes the database.
            document: the stream's document.
            settings: the stream's settings.
            prepared: the database as it is now.
            base: the source as the document has it; its tables are replaced.
            reloads: decides which tables are loaded again by themselves.
            asked: tables that are loaded again for other reasons, each with the reason.
            unsendable: a transaction to go on behind; every table is loaded again then.
        """
        before = document.now.log
        assert before is not None
        publication = prepared.facts.publication
        whole = frozenset[Oid]() if publication is None else publication.whole
        sent = {oid: path for oid, path in before.tables.items() if oid in whole}
        if sent.keys() != before.tables.keys():
            # If the process dies behind the publication's change, the next one finds the other
            # tables published, and must still know that they have to be loaded.
            document.change(lambda now: replace(now, log=replace(before, tables=sent)))
        published = self._publish(connection, settings, prepared)
        log = _with_tables(base, settings, prepared, published)
        anew = {
            **_readable_again(document.now, log, prepared.left_out),
            **_loads_needed(before, log, whole, published.made_whole),
            **asked,
        }
        refused = self._refused_reloads(document, log, reloads, anew.keys() - asked.keys(), anew)
        code = StopCode.RESNAPSHOT_NEEDED
        if unsendable is not None:
            code = StopCode.EVENTS_LOST
            anew = dict.fromkeys(log.tables.values(), _unsendable_words(unsendable))
        for path, why in sorted(anew.items()):
            self._say(f"{path} is loaded: {why}")
        gone = set(before.tables.values()) - set(log.tables.values())
        for path in sorted(gone):
            self._say(f"{path} is mirrored no longer: what changes from now on is missing there")

        numbers = {path: uuid4().hex for path in log.tables.values()}

        def gone_on(now: StreamDocument) -> StreamDocument:
            complete = now.complete_to
            if unsendable is not None:
                complete = max(complete, Offset(unsendable.commit + 1))
            stops = {
                path: StoppedTable(
                    complete, refused.get(path) or replace(stopped_anew(path, why), code=code)
                )
                for path, why in anew.items()
                if path in now.tables
            }
            old = [path for path in anew if not _is_wanted(now, path, numbers[path])]
            kept = now.resumed(*anew).without_resnapshots(*old)
            # Also tables that a former process had taken out before it died.
            absent = (gone | now.stopped.keys() | now.resnapshots.keys()) - set(log.tables.values())
            kept = kept.resumed(*absent).without_resnapshots(*absent)
            stops |= _refused(prepared, published, Lsn(complete))
            kept = replace(kept.advanced(complete, (), stops), log=log)
            return kept.wanting_all(
                {
                    path: numbers[path]
                    for path in log.tables.values()
                    if path not in refused
                    and (path in anew or (path not in kept.tables and path not in kept.stopped))
                }
            )

        document.change(gone_on)
        return published

    def _refused_reloads(
        self,
        document: SharedDocument,
        log: LogSource,
        reloads: Reloads,
        paths: Collection[TablePath],
        anew: Mapping[TablePath, str],
    ) -> dict[TablePath, StopReason]:
        """Return the tables that have rows and are not loaded again by themselves, with why."""
        oids = {path: oid for oid, path in log.tables.items()}
        found = {}
        for path in sorted(paths):
            if path in document.now.tables:
                refusal = reloads.refusal(path, oids[path], anew[path])
                if refusal is not None:
                    found[path] = refusal
        return found

    def _publish(
        self,
        connection: DatabaseConnection,
        settings: StreamSettings,
        prepared: PreparedDatabase,
    ) -> PublishedTables:
        """Bring the publication up to date, and say what could not be taken out of it."""
        published = bring_publication(connection, settings, prepared)
        self._is_complete = published.is_complete
        titles = {table.oid: table.title for table in prepared.facts.tables}
        for oid, why in published.still_there.items():
            self._say(
                f"{titles.get(oid, oid)} could not be taken out of the publication "
                f"{settings.slot}: {why}. Until it is, the server may refuse its UPDATE and "
                "DELETE; it is tried again by itself"
            )
        return published

    def _landed_behind(self, document: SharedDocument, switch: Lsn) -> dict[TablePath, str]:
        """Return the tables that have changes which the server lost when it failed over."""
        identity = document.now.identity
        files = StreamFolders(self._store, self._zone, self._settings.stream, identity)
        why = f"the server failed over at {lsn_text(switch)}, and it has changes from behind that"
        found = {}
        for path in sorted(document.now.tables - document.now.stopped.keys()):
            with suppress(FolderReplaced, OtherPublisher, PublishRefused):
                landed = files.progress(path)
                if landed is not None and landed[0].place.commit >= switch:
                    found[path] = why
        return found

    def _waits(self, writers: Sequence[OpenWriter]) -> None:
        """Say what the slot waits for, once for each transaction. It asks every second."""
        new = [str(one) for one in writers if str(one) not in self._waited_for]
        self._waited_for.update(new)
        if new:
            named = ", ".join(new)
            self._say(f"the replication slot is made once these transactions have ended: {named}")


def _is_wanted(document: StreamDocument, path: TablePath, number: str) -> bool:
    """Return whether the document wants this very load."""
    asked = document.resnapshots.get(path)
    return asked is not None and asked.number == number


def _with_tables(
    base: LogSource,
    settings: StreamSettings,
    prepared: PreparedDatabase,
    published: PublishedTables,
) -> LogSource:
    return replace(
        base,
        tables={
            table.oid: TablePath(table.schema, table.name)
            for table in prepared.tables
            if table.oid in published.tables
        },
        as_text=frozenset(settings.as_text),
        without=frozenset(settings.without_columns),
        left_out=dict(prepared.left_out),
    )


def _loads_needed(
    before: LogSource, now: LogSource, whole: frozenset[Oid], made_whole: frozenset[Oid]
) -> Mapping[TablePath, str]:
    """Return the tables whose rows must be read again, each with the reason.

    Args:
        before: The source as the document has it.
        now: The source from now on.
        whole: Tables of which the publication sent every row and column before it was changed.
        made_whole: Tables of which it sent only a part.
    """
    found: dict[TablePath, str] = {}
    for oid, path in now.tables.items():
        title = f"{path.schema}.{path.table}"
        if oid not in before.tables:
            if path in before.tables.values():
                found[path] = f"{title} was dropped and made again"
            else:
                found[path] = f"{title} is new in the stream"
        elif before.tables[oid] != path:
            found[path] = f"{title} had another name before"
        elif oid in made_whole:
            found[path] = "the publication left out rows or columns of it"
        elif oid not in whole:
            found[path] = f"{title} was taken out of the publication"
        elif _choice(before, title) != _choice(now, title):
            found[path] = f"other columns of {title} are mirrored as text, or left out"
    return found


def _readable_again(
    document: StreamDocument, log: LogSource, left_out: Mapping[str, str]
) -> Mapping[TablePath, str]:
    """Return the tables that stopped for a column of theirs, and whose columns can be read now."""
    return {
        path: "its columns can be read now"
        for path in log.tables.values()
        if path in document.stopped
        and path not in document.resnapshots
        and document.stopped[path].stop.code is StopCode.SOURCE_TYPE_UNSUPPORTED
        and f"{path.schema}.{path.table}" not in left_out
    }


def _choice(log: LogSource, title: str) -> tuple[frozenset[str], frozenset[str]]:
    return columns_of(log.as_text, title), columns_of(log.without, title)


def _refused(
    prepared: PreparedDatabase, published: PublishedTables, at: Lsn
) -> dict[TablePath, StoppedTable]:
    """Return the tables that could not be published, as stopped ones."""
    found = {}
    for table in prepared.tables:
        why = published.refused.get(table.oid)
        if why is not None:
            path = TablePath(table.schema, table.name)
            detail = f"{path} could not be published: {why}"
            remedy = "It is tried again by itself."
            reason = StopReason(StopCode.RESNAPSHOT_NEEDED, detail, remedy)
            found[path] = StoppedTable(Offset(at), reason)
    return found


def _publication_oid(prepared: PreparedDatabase) -> Oid | None:
    publication = prepared.facts.publication
    return None if publication is None else publication.oid


def _with_kept(settings: StreamSettings, log: LogSource | None) -> StreamSettings:
    """Return the settings with the columns that were chosen before and not otherwise now."""
    if log is None or settings.anew:
        return settings
    as_text, without = set(settings.as_text), set(settings.without_columns)
    return replace(
        settings,
        as_text=tuple(sorted(as_text | (log.as_text - without))),
        without_columns=tuple(sorted(without | (log.without - as_text))),
    )


def _unsendable_words(one: UnsendableTransaction) -> str:
    described = f", of which the last that it described was {one.table}" if one.table else ""
    return (
        f"the server cannot send the transaction at {lsn_text(one.commit)} ({one.error}), which "
        f"may have changed any table{described}"
    )
