"""Leaving a database for good: nothing of a stream stays in it."""

from __future__ import annotations

from openmirror.cdc.postgresql.asking import ask_server
from openmirror.cdc.postgresql.connecting import DatabaseConnection, connected
from openmirror.cdc.postgresql.publication import ask_publication, drop_publication
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.slots import ask_slot, drop_slot
from openmirror.errors import CannotStart


def left_behind(settings: StreamSettings) -> tuple[str, ...]:
    """Return what of a stream is in its database. Raises CannotStart where it cannot be dropped."""
    with connected(settings.url, settings.slot) as connection:
        return _found(settings, connection)


def leave(settings: StreamSettings) -> None:
    """Drop a stream's slot and publication. Raises CannotStart where that cannot be."""
    with connected(settings.url, settings.slot) as connection:
        there = _found(settings, connection)
        if "replication slot" in there:
            drop_slot(connection, settings.slot)
        if "publication" in there:
            drop_publication(connection, settings.slot)


def _found(settings: StreamSettings, connection: DatabaseConnection) -> tuple[str, ...]:
    name = settings.slot
    slot, publication = ask_slot(connection, name), ask_publication(connection, name)
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
            f"{settings.url}: {ask_server(connection).user} does not own the publication {name}. "
            f"Let its owner do it: DROP PUBLICATION {name}"
        )
    there = (("replication slot", slot), ("publication", publication))
    return tuple(what for what, found in there if found is not None)
