"""What a database must have before it is captured: each requirement with what meets it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from openmirror.cdc.capture.asking import DatabaseFacts, TableFacts
from openmirror.cdc.capture.settings import CaptureSettings

ANEW = "Begin the stream anew, from a new snapshot: --anew"
_OLDEST = 130000
_STANDBYS_FROM = 160000


class FindingLevel(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """The database cannot be captured."""
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
    """What meets the requirement: a statement to run, where there is one."""

    def __str__(self) -> str:
        return f"{self.what}. {self.remedy}" if self.remedy else self.what


@dataclass(frozen=True)
class Choice:
    """Which tables are captured."""

    tables: tuple[TableFacts, ...]
    findings: tuple[SourceFinding, ...]
    """Those that are left out, and why."""


def choice(
    settings: CaptureSettings, facts: DatabaseFacts, before: Mapping[str, int] | None
) -> Choice:
    """The tables that are captured: those of the snapshot, for as long as the stream goes on.

    `before` are the tables of the snapshot with their oids; None for a stream that begins. A table
    without a key must not even be published: PostgreSQL would refuse its own updates. One that was
    left out for a while has missed changes, and stays out.
    """
    wanted = [table for table in facts.tables if _is_wanted(table.title, settings.tables)]
    notes = [_left_out(t, t.unfit, "") for t in wanted if t.unfit]
    chosen = [table for table in wanted if not table.unfit]
    if before is not None:
        later = [table for table in chosen if before.get(table.title) != table.oid]
        chosen = [table for table in chosen if table not in later]
        why = "it was not there when the snapshot was taken, or was not captured for a while"
        notes += [_left_out(table, why, ANEW) for table in later]
        named = {table.title for table in (*chosen, *later)}
        notes += [
            _warning(
                f"{name} is captured no longer: what changes from now on is missing in its table"
            )
            for name in sorted(before.keys() - named)
        ]
    return Choice(tuple(chosen), tuple(notes))


def findings(
    settings: CaptureSettings, facts: DatabaseFacts, chosen: Choice, *, is_begun: bool
) -> tuple[SourceFinding, ...]:
    """Everything that there is to say, what matters most first within each level."""
    found = [
        *_of_server(settings, facts),
        *_of_slot(settings, facts, is_begun=is_begun),
        *_of_tables(settings, facts, chosen),
        *_of_publication(settings, facts, chosen.tables),
        *chosen.findings,
    ]
    return tuple(sorted(found, key=lambda one: list(FindingLevel).index(one.level)))


def may_publish(facts: DatabaseFacts, chosen: Sequence[TableFacts]) -> bool:
    """Whether the connector makes and changes the publication itself."""
    publication = facts.publication
    owns = all(table.is_owned for table in chosen)
    return owns and (facts.server.may_create if publication is None else publication.is_owned)


def _of_server(settings: CaptureSettings, facts: DatabaseFacts) -> Iterator[SourceFinding]:
    server, url = facts.server, settings.url
    if server.version < _OLDEST:
        yield _error(
            f"{url} is PostgreSQL {server.version // 10000}, and 13 or later is needed",
            "Upgrade the server",
        )
    if server.is_standby and server.version < _STANDBYS_FROM:
        yield _error(
            f"{url} is a standby, whose log can be read from PostgreSQL 16 on alone",
            "Capture the primary",
        )
    if server.wal_level != "logical":
        yield _error(
            f"{url} writes its log with wal_level = {server.wal_level}, and changes of rows are "
            "read from wal_level = logical",
            "ALTER SYSTEM SET wal_level = logical, then restart the server (on Azure: the server "
            "parameter wal_level)",
        )
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
            "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB', where a new snapshot is the smaller "
            "evil; then SELECT pg_reload_conf()",
        )


def _of_slot(
    settings: CaptureSettings, facts: DatabaseFacts, *, is_begun: bool
) -> Iterator[SourceFinding]:
    slot, name, url = facts.slot, settings.slot, settings.url
    if slot is None:
        if is_begun:
            yield _error(
                f"the replication slot {name} of {url} is gone, and what was changed since it was "
                "dropped with it",
                ANEW,
            )
        return
    if not slot.is_own:
        yield _error(
            f"the replication slot {name} is of database {slot.database or '(none)'}, and not of "
            f"{url}",
            "Capture under another name: --stream",
        )
        return
    if slot.plugin != "pgoutput":
        yield _error(
            f"the replication slot {name} of {url} writes by {slot.plugin}, and pgoutput is read",
            f"SELECT pg_drop_replication_slot('{name}'), or capture under another name: --stream",
        )
    if slot.state == "lost" and not settings.anew:
        yield _error(
            f"{url} has thrown away log that the replication slot {name} still needed, since "
            "nobody read it for too long (max_slot_wal_keep_size)",
            ANEW,
        )
    if slot.state == "unreserved":
        yield _warning(
            f"{url} is about to throw away log that the replication slot {name} still needs",
            "Let the stream run, or raise max_slot_wal_keep_size",
        )
    if slot.is_used:
        yield _error(
            f"another process reads the replication slot {name} of {url}",
            "Stop it, or capture under another name: --stream",
        )


def _of_tables(
    settings: CaptureSettings, facts: DatabaseFacts, chosen: Choice
) -> Iterator[SourceFinding]:
    url, user = settings.url, facts.server.user
    for pattern in settings.tables:
        if not any(_is_wanted(table.title, (pattern,)) for table in facts.tables):
            yield _error(f"no table of {url} is called {pattern}", "Correct --table")
    if not chosen.tables:
        yield _error(f"there is no table to capture in {url}", "")
    hidden = [table.quoted for table in chosen.tables if not table.may_read]
    if hidden:
        yield _error(
            f"{url}: {user} may not read every table",
            f"GRANT SELECT ON TABLE {', '.join(hidden)} TO {user}, and GRANT USAGE on their "
            "schemas; or capture others: --table",
        )


def _of_publication(
    settings: CaptureSettings, facts: DatabaseFacts, chosen: Sequence[TableFacts]
) -> Iterator[SourceFinding]:
    publication, name, url = facts.publication, settings.slot, settings.url
    user, tables = facts.server.user, ", ".join(table.quoted for table in chosen)
    if not chosen:
        return
    if publication is None:
        if not may_publish(facts, chosen):
            yield _error(
                f"{url}: {user} may not publish these tables",
                f"Let their owner do it: CREATE PUBLICATION {name} FOR TABLE {tables}",
            )
        return
    if not publication.has_every_change:
        yield _error(
            f"the publication {name} of {url} leaves out kinds of changes",
            f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate')",
        )
    if publication.filtered:
        left = ", ".join(publication.filtered)
        yield _error(
            f"the publication {name} of {url} leaves out rows or columns of {left}",
            f"ALTER PUBLICATION {name} SET TABLE {tables}",
        )
    if publication.has_all:
        keyless = [table.title for table in facts.tables if not table.is_keyed]
        if keyless:
            yield _warning(
                f"the publication {name} of {url} is of all tables, so that PostgreSQL refuses "
                f"updates of those without a key: {', '.join(keyless)}",
                f"DROP PUBLICATION {name}, and CREATE PUBLICATION {name} FOR TABLE {tables}",
            )
    elif not may_publish(facts, chosen) and any(
        table.title not in publication.tables for table in chosen
    ):
        yield _error(
            f"{url}: the publication {name} lacks tables that are captured, and {user} may not add "
            "them",
            f"Let its owner do it: ALTER PUBLICATION {name} SET TABLE {tables}",
        )


def _is_wanted(name: str, patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    wanted = (".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return any(re.fullmatch(pattern, name) for pattern in wanted)


def _left_out(table: TableFacts, why: str | None, remedy: str) -> SourceFinding:
    return _warning(f"{table.title} is left out: {why}", remedy)


def _error(what: str, remedy: str) -> SourceFinding:
    return SourceFinding(FindingLevel.ERROR, what, remedy)


def _warning(what: str, remedy: str = "") -> SourceFinding:
    return SourceFinding(FindingLevel.WARNING, what, remedy)


def _note(what: str, remedy: str) -> SourceFinding:
    return SourceFinding(FindingLevel.NOTE, what, remedy)
