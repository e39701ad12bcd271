"""Making sure that a database can be captured, before anything is begun."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from openmirror.cdc.capture.asking import DatabaseFacts, TableFacts, ask, ask_slot, connected
from openmirror.cdc.capture.requirements import (
    FindingLevel,
    SourceFinding,
    choice,
    findings,
    may_publish,
)
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.spool.folder import write_whole
from openmirror.errors import CannotStart

_CAPTURED = "tables.json"
_SECONDS_FOR_A_READER_TO_END = 10.0
"""A process that was killed reads its slot until the server notices."""


@dataclass(frozen=True)
class CapturedTables:
    """What is captured of a database that can be."""

    tables: tuple[str, ...]
    """As schema.table."""
    notes: tuple[str, ...]
    """Tables that are left out, and why; and what else there is to know."""
    may_publish: bool = True
    """Whether the user may make and change the publication; else it is there as it has to be."""


def prepare(settings: CaptureSettings, *, is_begun: bool) -> CapturedTables:
    """Make sure that the database can be captured.

    `is_begun`: whether the spool has a stream that goes on. One that begins takes no slot over: one
    that is left under its name is dropped. Raises CannotStart.
    """
    with connected(settings.url) as connection:
        facts = _once_unread(connection, settings)
        chosen = choice(settings, facts, _before(settings) if is_begun else None)
        found = findings(settings, facts, chosen, is_begun=is_begun)
        errors = [one for one in found if one.level is FindingLevel.ERROR]
        warnings = [one for one in found if one.level is FindingLevel.WARNING]
        if errors:
            # Where there is no table to capture, why each is left out is what helps.
            shown = errors if chosen.tables else [*errors, *warnings]
            raise CannotStart("\n".join(map(str, shown)))
        if facts.slot is not None and not is_begun:
            connection.execute("SELECT pg_drop_replication_slot(%s)", (settings.slot,))
    _keep(settings, chosen.tables)
    titles = tuple(table.title for table in chosen.tables)
    return CapturedTables(titles, tuple(map(str, warnings)), may_publish(facts, chosen.tables))


def check(settings: CaptureSettings) -> tuple[SourceFinding, ...]:
    """All that there is to say of a database, which is only asked.

    Raises CannotStart where it cannot even be asked.
    """
    with connected(settings.url) as connection:
        facts = ask(connection, settings.slot)
    if facts.slot is not None and facts.slot.is_own:
        # Whoever reads it is the stream that is asked about.
        facts = replace(facts, slot=replace(facts.slot, is_used=False))
    return findings(settings, facts, choice(settings, facts, None), is_begun=False)


def _once_unread(
    connection: psycopg.Connection[dict[str, Any]], settings: CaptureSettings
) -> DatabaseFacts:
    """The facts, once a reader of the slot that was killed has ended."""
    until = time.monotonic() + _SECONDS_FOR_A_READER_TO_END
    facts = ask(connection, settings.slot)
    slot = facts.slot
    while slot is not None and slot.is_own and slot.is_used and time.monotonic() < until:
        time.sleep(0.1)
        slot = ask_slot(connection, settings.slot)
    return replace(facts, slot=slot)


def _before(settings: CaptureSettings) -> dict[str, int] | None:
    path = settings.spool / _CAPTURED
    if not path.exists():
        return None
    found: dict[str, int] = json.loads(path.read_bytes())
    return found


def _keep(settings: CaptureSettings, chosen: Sequence[TableFacts]) -> None:
    oids = {table.title: table.oid for table in chosen}
    write_whole(settings.spool, _CAPTURED, json.dumps(oids).encode())
