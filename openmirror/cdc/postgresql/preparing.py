"""Making sure that a database can be mirrored, before a stream begins or goes on."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from openmirror.cdc.postgresql.asking import DatabaseFacts, TableFacts, ask
from openmirror.cdc.postgresql.catalogue import definitions_of, types_of
from openmirror.cdc.postgresql.connecting import DatabaseConnection, connected
from openmirror.cdc.postgresql.definitions import Oid, TableDefinition, Types
from openmirror.cdc.postgresql.publication import (
    make_publication,
    publish,
    publish_every_change,
    sends_generated,
    unpublish,
)
from openmirror.cdc.postgresql.requirements import (
    Choice,
    FindingLevel,
    SourceFinding,
    choice,
    findings,
    may_publish,
    sorted_findings,
)
from openmirror.cdc.postgresql.settings import StreamSettings, columns_of
from openmirror.cdc.postgresql.shapes import shape_of_definition
from openmirror.cdc.postgresql.slots import ask_slot
from openmirror.errors import CannotStart
from openmirror.protocol.streams import StopReason

_SECONDS_FOR_A_READER_TO_END = 10.0
"""A process that was killed reads its slot until the server notices."""


@dataclass(frozen=True)
class PreparedDatabase:
    """A database that can be mirrored."""

    facts: DatabaseFacts
    tables: tuple[TableFacts, ...]
    """The tables that are mirrored."""
    left_out: Mapping[str, str]
    """Tables and columns that are not mirrored, by `schema.table` or `schema.table.column`, each
    with the reason."""
    notes: tuple[str, ...]
    """Everything that a user should know."""
    may_publish: bool
    """Whether our user may make or change the publication. Otherwise it is as it has to be."""


@dataclass(frozen=True)
class PublishedTables:
    """The tables that a publication sends once it has been brought up to date."""

    publication: Oid
    tables: frozenset[Oid]
    refused: Mapping[Oid, str]
    """Why a table could not be added now."""


def prepare(settings: StreamSettings, kept: Collection[Oid] = ()) -> PreparedDatabase:
    """Make sure that a database can be mirrored; nothing is changed in it.

    A slot of the stream's name may be there or not. A reader of it that was killed is waited for.

    Args:
        kept: Tables that the stream has already.

    Raises:
        CannotStart: The database cannot be mirrored; the message has every reason and its remedy.
    """
    with connected(settings.url, settings.slot) as connection:
        facts = _once_unread(connection, settings)
        chosen = choice(settings, facts.tables, kept)
        found = findings(settings, facts, chosen)
        errors = [one for one in found if one.level is FindingLevel.ERROR]
        warnings = [one for one in found if one.level is FindingLevel.WARNING]
        if errors:
            # Where there is no table to mirror, why each is left out is what helps.
            shown = errors if chosen.tables else [*errors, *warnings]
            raise CannotStart("\n".join(map(str, shown)))
        columns = dict(_columns(connection, settings, chosen))
    left_out = {one.table: one.why for one in chosen.left_out}
    left_out |= {title: one.what for title, one in columns.items()}
    notes = (*map(str, warnings), *map(str, columns.values()))
    publishes = may_publish(facts, chosen.tables)
    return PreparedDatabase(facts, chosen.tables, left_out, notes, publishes)


def check(settings: StreamSettings) -> tuple[SourceFinding, ...]:
    """Return everything that there is to say of a database; nothing is changed in it.

    Raises:
        CannotStart: The database cannot even be asked.
    """
    with connected(settings.url, settings.slot) as connection:
        facts = ask(connection, settings.slot)
        if facts.slot is not None and facts.slot.is_own:
            # Its reader is the stream itself, which may be checked while it runs.
            facts = replace(facts, slot=replace(facts.slot, is_used=False))
        chosen = choice(settings, facts.tables)
        columns = [one for _, one in _columns(connection, settings, chosen)]
    return sorted_findings((*findings(settings, facts, chosen), *columns))


def bring_publication(
    connection: DatabaseConnection, settings: StreamSettings, prepared: PreparedDatabase
) -> PublishedTables:
    """Make the stream's publication, or let it have every table that is mirrored, and no other.

    A table that somebody else's lock keeps out is named in the result; try again later.
    Every change is committed when this returns.
    """
    name, publication = settings.slot, prepared.facts.publication
    wanted = frozenset(table.oid for table in prepared.tables)
    if publication is None:
        oid, there, named = make_publication(connection, name), frozenset[Oid](), frozenset[Oid]()
    else:
        oid, there, named = publication.oid, publication.tables, publication.named
        if not prepared.may_publish:
            return PublishedTables(oid, there & wanted, {})
        if not publication.is_whole:
            publish_every_change(connection, name)
    unpublish(connection, name, named - wanted)
    refused = publish(connection, name, wanted - there)
    return PublishedTables(oid, wanted - refused.keys(), refused)


def _once_unread(connection: DatabaseConnection, settings: StreamSettings) -> DatabaseFacts:
    """Return the facts once a reader of the slot that was killed has ended."""
    until = time.monotonic() + _SECONDS_FOR_A_READER_TO_END
    facts = ask(connection, settings.slot)
    slot = facts.slot
    while slot is not None and slot.is_own and slot.is_used and time.monotonic() < until:
        time.sleep(0.1)
        slot = ask_slot(connection, settings.slot)
    return replace(facts, slot=slot)


def _columns(
    connection: DatabaseConnection, settings: StreamSettings, chosen: Choice
) -> Iterator[tuple[str, SourceFinding]]:
    """Give findings of columns that are left out, or that keep their table from being mirrored."""
    definitions = definitions_of(connection, [table.oid for table in chosen.tables])
    types = types_of(connection, {c.type for one in definitions.values() for c in one.columns})
    sends = sends_generated(connection.info.server_version)
    for table in chosen.tables:
        definition = definitions.get(table.oid)
        if definition is not None:
            yield from _generated(definition, settings.without_columns, sends=sends)
            stop = _stop(settings, definition, types, sends=sends)
            if stop is not None:
                words = f"{definition.title} cannot be mirrored: {stop.detail}"
                yield definition.title, SourceFinding(FindingLevel.WARNING, words, stop.remedy)


def _generated(
    definition: TableDefinition, without: Sequence[str], *, sends: bool
) -> Iterator[tuple[str, SourceFinding]]:
    for column in definition.columns:
        title = f"{definition.title}.{column.name}"
        is_sent = sends and not column.is_virtual
        if column.is_generated and not is_sent and title not in without:
            what = f"column {title} is left out: the server does not send its generated values"
            yield title, SourceFinding(FindingLevel.WARNING, what, "")


def _stop(
    settings: StreamSettings, definition: TableDefinition, types: Types, *, sends: bool
) -> StopReason | None:
    found = shape_of_definition(
        definition,
        types,
        as_text=columns_of(settings.as_text, definition.title),
        without=columns_of(settings.without_columns, definition.title),
        sends_generated=sends,
    )
    return found if isinstance(found, StopReason) else None
