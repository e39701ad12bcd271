"""Leaving a database for good: nothing of a stream stays in it."""

from __future__ import annotations

from psycopg import sql

from openmirror.cdc.capture.asking import DatabaseFacts, ask, connected
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.errors import CannotStart


def left_behind(settings: CaptureSettings) -> tuple[str, ...]:
    """What of a stream is in its database; raises CannotStart where it cannot be dropped."""
    with connected(settings.url) as connection:
        return _found(settings, ask(connection, settings.slot))


def leave(settings: CaptureSettings) -> None:
    """Drop it; raises CannotStart where that cannot be."""
    with connected(settings.url) as connection:
        there = _found(settings, ask(connection, settings.slot))
        if "replication slot" in there:
            connection.execute("SELECT pg_drop_replication_slot(%s)", (settings.slot,))
        if "publication" in there:
            name = sql.Identifier(settings.slot)
            connection.execute(sql.SQL("DROP PUBLICATION {}").format(name))


def _found(settings: CaptureSettings, facts: DatabaseFacts) -> tuple[str, ...]:
    slot, publication, name = facts.slot, facts.publication, settings.slot
    if slot is not None and not slot.is_own:
        raise CannotStart(
            f"the replication slot {name} is of database {slot.database or '(none)'}: it is "
            "dropped from there alone"
        )
    if slot is not None and slot.is_used:
        raise CannotStart(
            f"a process reads the replication slot {name} of {settings.url}: stop `cdc run` first"
        )
    if publication is not None and not publication.is_owned:
        raise CannotStart(
            f"{settings.url}: {facts.server.user} does not own the publication {name}. Let its "
            f"owner do it: DROP PUBLICATION {name}"
        )
    there = (("replication slot", slot), ("publication", publication))
    return tuple(what for what, found in there if found is not None)
