"""Making sure that a database can be mirrored, before a stream begins or goes on."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from openmirror.cdc.postgresql.slots import SlotFacts, ask_slot
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


@dataclass(frozen=True, kw_only=True)
class PublishedTables:
    """The tables that a publication sends once it has been brought up to date."""

    publication: Oid
    tables: frozenset[Oid]
    """Mirrored tables of which every row and column is sent."""
    refused: Mapping[Oid, str] = field(default_factory=dict)
    """Why a mirrored table could not be added now."""
    made_whole: frozenset[Oid] = frozenset()
    """Tables of which rows or columns were not sent until now. They must be loaded again."""
    still_there: Mapping[Oid, str] = field(default_factory=dict)
    """Why a table could not be taken out now. The server may refuse the source's own UPDATE and
    DELETE of a table for as long as the publication has it."""
    sends_every_change: bool = True
    """Whether the publication sends all kinds of changes; if not, another session alters it now."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing has to be tried again."""
        return self.sends_every_change and not self.refused and not self.still_there


def prepare(
    settings: StreamSettings, kept: Collection[Oid] = (), *, is_running: bool = False
) -> PreparedDatabase:
    """Make sure that a database can be mirrored; nothing is changed in it.

    A slot of the stream's name may be there or not. A reader of it that was killed is waited for.

    Args:
        kept: Tables that the stream has already.
        is_running: Whether the stream itself reads the slot now. No reader is waited for then.

    Raises:
        CannotStart: The database cannot be mirrored; the message has every reason and its remedy.
    """
    with connected(settings.url, settings.slot) as connection:
        facts = ask(connection, settings.slot)
        if not is_running:
            facts = replace(facts, slot=_once_unread(connection, settings, facts.slot))
        chosen = choice(settings, facts, kept)
        found = findings(settings, facts, chosen, is_running=is_running)
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
        chosen = choice(settings, facts)
        columns = [one for _, one in _columns(connection, settings, chosen)]
    # A stream may be checked while it runs.
    return sorted_findings((*findings(settings, facts, chosen, is_running=True), *columns))


def bring_publication(
    connection: DatabaseConnection, settings: StreamSettings, prepared: PreparedDatabase
) -> PublishedTables:
    """Make the stream's publication, or let it have every table that is mirrored, and no other.

    A table of which the publication leaves out rows or columns is taken out and added again. The
    result names the tables that somebody else's lock keeps out, or in; try again later.
    Every change is committed when this returns.
    """
    name, publication = settings.slot, prepared.facts.publication
    wanted = frozenset(table.oid for table in prepared.tables)
    if publication is None:
        oid = make_publication(connection, name)
        refused = publish(connection, name, wanted)
        tables = wanted - refused.keys()
        return PublishedTables(publication=oid, tables=tables, refused=refused)
    if not prepared.may_publish:
        tables = publication.whole & wanted
        return PublishedTables(publication=publication.oid, tables=tables)
    sends_every_change = publication.is_whole or publish_every_change(connection, name)
    partial = publication.filtered & wanted
    still = unpublish(connection, name, (publication.named - wanted) | partial)
    refused = {oid: why for oid, why in still.items() if oid in wanted}
    refused |= publish(connection, name, wanted - publication.whole - still.keys())
    return PublishedTables(
        publication=publication.oid,
        tables=wanted - refused.keys(),
        refused=refused,
        made_whole=partial - refused.keys(),
        still_there=still,
        sends_every_change=sends_every_change,
    )


def _once_unread(
    connection: DatabaseConnection, settings: StreamSettings, slot: SlotFacts | None
) -> SlotFacts | None:
    """Return the slot's facts once a reader that was killed has ended."""
    until = time.monotonic() + _SECONDS_FOR_A_READER_TO_END
    while slot is not None and slot.is_own and slot.is_used and time.monotonic() < until:
        time.sleep(0.1)
        slot = ask_slot(connection, settings.slot)
    return slot


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
