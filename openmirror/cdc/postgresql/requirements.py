"""Requirements of a database to be mirrored, each with the statement that meets it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from openmirror.cdc.postgresql.asking import DatabaseFacts, TableFacts
from openmirror.cdc.postgresql.definitions import Oid, ReplicaIdentity
from openmirror.cdc.postgresql.encodings import UnknownEncoding, codec_of
from openmirror.cdc.postgresql.publication import publish_options
from openmirror.cdc.postgresql.settings import StreamSettings, is_like
from openmirror.cdc.postgresql.standbys import is_synchronous_standby
from openmirror.errors import PublishRefused
from openmirror.protocol.names import TablePath, table_name
from openmirror.publishing.naming import need_possible

_OLDEST = 140000
_MOST_NAMES = 50
"""Partitions that a message names."""


class FindingLevel(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """The stream cannot start."""
    WARNING = "warning"
    """It can, and something is left out or may go wrong later."""
    NOTE = "note"


@dataclass(frozen=True)
class SourceFinding:
    """One thing that was found of a database."""

    level: FindingLevel
    what: str
    """A whole sentence without its full stop."""
    remedy: str
    """How to meet the requirement: a statement to run, where there is one."""

    def __str__(self) -> str:
        return f"{self.what}. {self.remedy}" if self.remedy else self.what


@dataclass(frozen=True)
class LeftOut:
    """A table that is wanted and cannot be mirrored."""

    table: str
    """As schema.table."""
    why: str
    remedy: str

    @property
    def finding(self) -> SourceFinding:
        """The same as a finding."""
        return _warning(f"{self.table} is left out: {self.why}", self.remedy)


@dataclass(frozen=True)
class Choice:
    """Which tables are mirrored."""

    tables: tuple[TableFacts, ...]
    left_out: tuple[LeftOut, ...]
    fit: tuple[TableFacts, ...]
    """The tables that can be mirrored once our user has every right."""


def choice(settings: StreamSettings, facts: DatabaseFacts, kept: Collection[Oid] = ()) -> Choice:
    """Choose the tables that are mirrored among those of the database.

    A table that cannot be mirrored must not be published either: the server would refuse the
    source's own UPDATE and DELETE of many of them. Of two tables that would be one table in a
    mirror, the one among `kept` is chosen, else one that lacks no right, else the first by name.
    """
    wanted = [one for one in facts.tables if settings.wants(one.title) and _is_meant(settings, one)]
    titles = {one.oid: one.title for one in facts.tables}
    partitions: dict[Oid, list[str]] = {}
    for one in wanted:
        if one.root is not None:
            partitions.setdefault(one.root, []).append(one.title)
    roots = {one.oid for one in wanted if one.root is None}
    sound: list[TableFacts] = []
    left: list[LeftOut] = []
    for one in wanted:
        if one.root in roots:
            continue  # named with the partitioned table
        found = _unfit(one, titles, partitions.get(one.oid, ()))
        if found is None:
            sound.append(one)
        else:
            left.append(LeftOut(one.title, *found))
    lacks = _lacking_rights(settings, facts, sound)
    fit, same = _distinct(sound, lambda table: (table.oid not in kept, table.oid in lacks))
    left += same
    left += [lacks[one.oid] for one in fit if one.oid in lacks]
    return Choice(
        tables=tuple(one for one in fit if one.oid not in lacks),
        left_out=tuple(sorted(left, key=lambda one: one.table)),
        fit=fit,
    )


def findings(
    settings: StreamSettings, facts: DatabaseFacts, chosen: Choice, *, is_running: bool = False
) -> tuple[SourceFinding, ...]:
    """Return everything that there is to say, what matters most first.

    While the stream is running, a process that reads its slot is no error.
    """
    found = [
        *_of_server(settings, facts),
        *_of_slot(settings, facts, is_running=is_running),
        *_of_tables(settings, facts, chosen),
        *_of_publication(settings, facts, chosen.fit),
        *(one.finding for one in chosen.left_out),
    ]
    return sorted_findings(found)


def sorted_findings(found: Iterable[SourceFinding]) -> tuple[SourceFinding, ...]:
    """Sort findings by their level, and keep their order within each."""
    return tuple(sorted(found, key=lambda one: list(FindingLevel).index(one.level)))


def may_publish(facts: DatabaseFacts, tables: Iterable[TableFacts]) -> bool:
    """Whether our user may make a publication of some of the tables, or change the one there."""
    if facts.publication is not None:
        return facts.publication.is_owned
    return facts.server.may_create and any(table.is_owned for table in tables)


def _is_meant(settings: StreamSettings, table: TableFacts) -> bool:
    """Whether a view was named, which nobody expects among tables otherwise."""
    return not table.is_view or table.title in settings.tables


def _unfit(
    table: TableFacts, titles: Mapping[Oid, str], partitions: Sequence[str]
) -> tuple[str, str] | None:
    """Return why a table cannot be mirrored, and what can be done about it."""
    return _unfit_kind(table, titles, partitions) or _unfit_key(table) or _unfit_name(table)


def _unfit_kind(
    table: TableFacts, titles: Mapping[Oid, str], partitions: Sequence[str]
) -> tuple[str, str] | None:
    if table.root is not None:
        return f"it is a partition of {titles.get(table.root, 'a partitioned table')}", ""
    if table.kind == "p":
        named = ", ".join(partitions[:_MOST_NAMES])
        more = len(partitions) - _MOST_NAMES
        these = f" ({named}{f' and {more} more' if more > 0 else ''})" if partitions else ""
        return f"it is partitioned; its partitions{these} are left out with it", ""
    if table.kind == "f":
        return "it is a foreign table: its rows and their changes are in another server", ""
    if table.is_view:
        return "it is a view, and has no changes of its own", "Name the tables it reads"
    if table.is_unlogged:
        alter = f"ALTER TABLE {table.quoted} SET LOGGED"
        return "it is unlogged: its changes are not in the log", alter
    return None


def _unfit_key(table: TableFacts) -> tuple[str, str] | None:
    refused = "the server would refuse its UPDATE and DELETE once it is published"
    identify = f"ALTER TABLE {table.quoted} REPLICA IDENTITY DEFAULT"
    if not table.is_keyed:
        add = f"ALTER TABLE {table.quoted} ADD PRIMARY KEY (…)"
        return "it has no primary key, so that its changes name no rows", add
    if table.is_deferrable:
        why = "its primary key is DEFERRABLE, so that rows of one transaction can have the same key"
        if table.identity is not ReplicaIdentity.FULL:
            why = f"its primary key is DEFERRABLE: {refused}"
        return why, "Make the key again, NOT DEFERRABLE"
    if table.generated_keys:
        why = f"the server does not send {table.generated_keys} of its primary key: it is generated"
        return why, "Make a primary key of columns that are not generated"
    if table.identity is ReplicaIdentity.NOTHING:
        return f"it has REPLICA IDENTITY NOTHING: {refused}", identify
    if not table.is_identified_by_key:
        why = "its REPLICA IDENTITY is an index of other columns than its primary key's"
        return f"{why}, so that its changes do not name rows by the key", identify
    if table.has_unsent_identity:
        return f"it has REPLICA IDENTITY FULL and virtual generated columns: {refused}", identify
    return None


def _unfit_name(table: TableFacts) -> tuple[str, str] | None:
    try:
        need_possible(TablePath(table.schema, table.name))
    except PublishRefused as error:
        return f"no table of a mirror can be called so: {error.detail}", _rename(table)
    return None


def _lacking_rights(
    settings: StreamSettings, facts: DatabaseFacts, tables: Sequence[TableFacts]
) -> Mapping[Oid, LeftOut]:
    """Return the tables that our user may not read, or not publish whole."""
    # A publication that our user may not make is a finding of its own, not one of each table.
    can_be_there = facts.publication is not None or may_publish(facts, tables)
    found: dict[Oid, LeftOut] = {}
    for one in tables:
        lacks = [*_unread(facts, one), *(_unsent(settings, facts, one) if can_be_there else ())]
        if lacks:
            whys, remedies = zip(*lacks, strict=True)
            found[one.oid] = LeftOut(one.title, ", and ".join(whys), ". ".join(remedies))
    return found


def _unread(facts: DatabaseFacts, table: TableFacts) -> Iterator[tuple[str, str]]:
    user = facts.server.user
    if not table.may_read:
        grant = f"GRANT SELECT ON TABLE {table.quoted} TO {user}"
        yield (
            f"{user} may not read it",
            f"{grant}; GRANT USAGE ON SCHEMA {table.quoted_schema} TO {user}",
        )


def _unsent(
    settings: StreamSettings, facts: DatabaseFacts, table: TableFacts
) -> Iterator[tuple[str, str]]:
    publication, name, user = facts.publication, settings.slot, facts.server.user
    if table.is_owned and (publication is None or publication.is_owned):
        return  # our user adds it, or makes it whole
    if publication is not None and table.oid in publication.whole:
        return
    statement = f"ALTER PUBLICATION {name} ADD TABLE ONLY {table.quoted}"
    if publication is not None and table.oid in publication.filtered:
        why = f"the publication {name} leaves out rows or columns of it"
        statement = f"ALTER PUBLICATION {name} DROP TABLE ONLY {table.quoted}; {statement}"
    else:
        why = f"the publication {name} lacks it, and {user} may not add it"
    yield why, f"Let a superuser, or an owner of table and publication, do it: {statement}"


def _distinct(
    tables: Sequence[TableFacts], order: Callable[[TableFacts], tuple[bool, ...]]
) -> tuple[tuple[TableFacts, ...], list[LeftOut]]:
    """Leave out tables whose names are those of others but for their case."""
    first: dict[object, TableFacts] = {}
    for one in sorted(tables, key=order):
        first.setdefault(_folded(one), one)
    chosen = tuple(one for one in tables if first[_folded(one)] is one)
    left = [
        LeftOut(
            one.title,
            f"its name differs from that of {first[_folded(one)].title} only by case, and both "
            "would be one table in a mirror",
            _rename(one),
        )
        for one in tables
        if first[_folded(one)] is not one
    ]
    return chosen, left


def _folded(table: TableFacts) -> object:
    return table_name(TablePath(table.schema, table.name), "").folded


def _rename(table: TableFacts) -> str:
    return f"ALTER TABLE {_shown(table.quoted)} RENAME TO …, or leave it out: --exclude"


def _shown(text: str) -> str:
    """Return a text that can be printed, whatever its bytes are."""
    return text.encode(errors="backslashreplace").decode()


def _of_server(settings: StreamSettings, facts: DatabaseFacts) -> Iterator[SourceFinding]:
    server, url = facts.server, settings.url
    if server.version < _OLDEST:
        yield _error(
            f"{url} is PostgreSQL {server.version // 10000}, and {_OLDEST // 10000} or later is "
            "needed",
            "Upgrade the server",
        )
    if server.is_standby:
        yield _error(
            f"{url} is a standby, and a load writes marks into the log of its server",
            "Give the primary's address",
        )
    try:
        codec_of(server.encoding)
    except UnknownEncoding:
        yield _error(
            f"{url} has the encoding {server.encoding}, which cannot be read",
            "Move the data to a database of the encoding UTF8",
        )
    if server.wal_level != "logical":
        yield _error(
            f"{url} writes its log with wal_level = {server.wal_level}, and changes of rows are "
            "read from wal_level = logical",
            "ALTER SYSTEM SET wal_level = logical, then restart the server (on Azure: the server "
            "parameter wal_level)",
        )
    if is_synchronous_standby(server.synchronous_names, settings.slot):
        yield synchronous_finding(settings, server.synchronous_names)
    yield from _of_limits(settings, facts)


def synchronous_finding(settings: StreamSettings, names: str) -> SourceFinding:
    """Return what to say where commits of the source would wait for the stream."""
    return _error(
        f"every commit of {settings.url} would wait until this stream has landed it: "
        f"synchronous_standby_names = '{names}' takes it for a standby",
        "ALTER SYSTEM SET synchronous_standby_names to the names of the standbys alone, then "
        "SELECT pg_reload_conf()",
    )


def _of_limits(settings: StreamSettings, facts: DatabaseFacts) -> Iterator[SourceFinding]:
    server, url = facts.server, settings.url
    if not server.may_replicate:
        user = server.user
        yield _error(f"{url}: {user} may not replicate", f"ALTER ROLE {user} REPLICATION")
    if facts.slot is None and server.slots >= server.most_slots:
        yield _error(
            f"{url} has no free replication slot ({server.most_slots} are used)",
            "Drop one that nobody reads (pg_drop_replication_slot), or raise max_replication_slots",
        )
    is_reading = facts.slot is not None and facts.slot.is_used
    if not is_reading and server.senders >= server.most_senders:
        yield _error(
            f"{url} has no free process to send its log ({server.most_senders} are used)",
            "Raise max_wal_senders, which needs a restart",
        )
    if server.kept_log == "-1":
        yield _note(
            f"{url} keeps its log for as long as nobody reads the slot, until its disk is full "
            "(max_slot_wal_keep_size = -1)",
            "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB', where a new load of every table is "
            "the smaller evil; then SELECT pg_reload_conf()",
        )


def _of_slot(
    settings: StreamSettings, facts: DatabaseFacts, *, is_running: bool
) -> Iterator[SourceFinding]:
    slot, name, url = facts.slot, settings.slot, settings.url
    if slot is None:
        return
    if not slot.is_own:
        yield _error(
            f"the replication slot {name} is of database {slot.database or '(none)'}, and not of "
            f"{url}",
            "Read under another name: --stream",
        )
        return
    if slot.plugin != "pgoutput":
        yield _error(
            f"the replication slot {name} of {url} writes by {slot.plugin}, and pgoutput is read",
            f"SELECT pg_drop_replication_slot('{name}'), or read under another name: --stream",
        )
    if slot.is_lost:
        why = slot.invalidation or "max_slot_wal_keep_size"
        yield _warning(
            f"{url} has thrown away log that the replication slot {name} still needed ({why}): "
            "every table is loaded anew",
            "Raise the limit, so that it does not happen again",
        )
    elif slot.state == "unreserved":
        yield _warning(
            f"{url} is about to throw away log that the replication slot {name} still needs",
            "Let the stream run, or raise max_slot_wal_keep_size",
        )
    if slot.is_used and not is_running:
        yield _error(
            f"another process reads the replication slot {name} of {url}",
            "Stop it, or read under another name: --stream",
        )


def _of_tables(
    settings: StreamSettings, facts: DatabaseFacts, chosen: Choice
) -> Iterator[SourceFinding]:
    url, user = settings.url, facts.server.user
    for pattern in settings.tables:
        if not any(is_like(table.title, pattern) for table in facts.tables):
            yield _error(f"no table of {url} is called {pattern}", "Correct --table")
    for pattern in settings.excluded:
        if not any(is_like(table.title, pattern) for table in facts.tables):
            yield _warning(f"no table of {url} is called {pattern}", "Correct --exclude")
    for column in (*settings.as_text, *settings.without_columns):
        if not any(column.startswith(f"{table.title}.") for table in chosen.fit):
            yield _warning(f"column {column} is of no table that is mirrored", "Correct its name")
    if not chosen.tables:
        yield _error(f"there is no table to mirror in {url}", "")
    filtered = [table.title for table in chosen.tables if table.hides_rows]
    if filtered:
        yield _warning(
            f"row-level security of {url} hides rows from {user}, so that these tables cannot be "
            f"loaded: {', '.join(filtered)}",
            f"ALTER ROLE {user} BYPASSRLS",
        )
    parents = [table.title for table in chosen.tables if table.has_children]
    if parents:
        yield _note(
            f"other tables inherit from {', '.join(parents)}: only the parents' own rows are "
            "mirrored there, and each child is a table of its own",
            "",
        )


def _of_publication(
    settings: StreamSettings, facts: DatabaseFacts, fit: Sequence[TableFacts]
) -> Iterator[SourceFinding]:
    publication, name, url = facts.publication, settings.slot, settings.url
    options = publish_options(facts.server.version)
    may_change = may_publish(facts, fit)
    if publication is None:
        if fit and not may_change:
            yield _error(
                f"{url}: {facts.server.user} may not publish these tables",
                f"Let their owner do it: CREATE PUBLICATION {name} FOR TABLE {_listed(fit)} WITH "
                f"{options}",
            )
        return
    if not publication.is_whole and not may_change:
        yield _error(
            f"the publication {name} of {url} does not send every change as it is",
            f"Let its owner do it: ALTER PUBLICATION {name} SET {options}",
        )
    # Our user takes out what does not belong there, where the publication names it.
    stays = publication.tables - publication.named if may_change else publication.tables
    harmed = [table for table in facts.tables if table.oid in stays and _is_refused(table)]
    if not harmed:
        return
    if all(table.oid in publication.named for table in harmed):
        named = ", ".join(f"ONLY {table.quoted}" for table in harmed)
        remedy = f"Let its owner do it: ALTER PUBLICATION {name} DROP TABLE {named}"
    else:  # of all tables, of a schema, or of a partitioned table
        remedy = f"DROP PUBLICATION {name}, and CREATE PUBLICATION {name} FOR TABLE {_listed(fit)}"
    yield _warning(
        f"the server refuses UPDATE and DELETE of tables that the publication {name} of {url} must "
        f"not have: {', '.join(table.title for table in harmed)}",
        remedy,
    )


def _is_refused(table: TableFacts) -> bool:
    """Whether the server refuses a table's UPDATE and DELETE while it is published."""
    if table.identity is ReplicaIdentity.DEFAULT:
        return not table.is_keyed or table.is_deferrable
    return table.identity is ReplicaIdentity.NOTHING or table.has_unsent_identity


def _listed(tables: Sequence[TableFacts]) -> str:
    return ", ".join(f"ONLY {t.quoted}" if t.has_children else t.quoted for t in tables)


def _error(what: str, remedy: str) -> SourceFinding:
    return SourceFinding(FindingLevel.ERROR, what, remedy)


def _warning(what: str, remedy: str = "") -> SourceFinding:
    return SourceFinding(FindingLevel.WARNING, what, remedy)


def _note(what: str, remedy: str) -> SourceFinding:
    return SourceFinding(FindingLevel.NOTE, what, remedy)
