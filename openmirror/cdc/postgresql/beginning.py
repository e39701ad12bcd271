"""Whether a stream goes on from its document, or begins anew with a load of every table. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.places import Lsn, lsn_text
from openmirror.cdc.postgresql.slots import SlotFacts
from openmirror.protocol.streams import LogSource, StreamDocument

ANEW = "--anew gives the stream up, and begins with a load of every table"


@dataclass(frozen=True, kw_only=True)
class FoundServer:
    """The server that a stream is about to read."""

    system: str
    """The system identifier."""
    database: Oid
    timeline: int
    slot: SlotFacts | None
    """The slot of the stream's name; None without one."""
    publication: Oid | None
    """The publication of the stream's name; None without one."""
    switched_at: Lsn | None = None
    """Where the document's timeline ended, if the server is on a later one and knows it."""


def other_database(log: LogSource, found: FoundServer) -> str | None:
    """Return why this is not the database that the stream's tables are of; None where it is."""
    if log.system != found.system:
        return f"its server's system identifier is {found.system}, and was {log.system}"
    if log.database != found.database:
        return f"the database's OID is {found.database}, and was {log.database}"
    return None


def must_begin_anew(there: StreamDocument, found: FoundServer) -> str | None:
    """Return why what changed since the stream was last read is not known; None where it is.

    Args:
        there: the stream's document; its `log` must be the database that was found.
        found: the server as it is now.
    """
    log, slot = there.log, found.slot
    assert log is not None
    if slot is None:
        return "its replication slot was dropped"
    if slot.plugin != "pgoutput" or not slot.is_own:
        return "its replication slot was made again by something else"
    if slot.is_lost:
        return f"the server has thrown away log that it needs ({slot.invalidation or slot.state})"
    if found.publication is None:
        return "its publication was dropped"
    if found.publication != log.publication:
        return "its publication was dropped and made again"
    if slot.confirmed is not None and slot.confirmed > there.complete_to:
        return (
            f"its replication slot stands at {lsn_text(slot.confirmed)}, and this stream has only "
            f"acknowledged {lsn_text(there.complete_to)}: something else has moved it"
        )
    if found.timeline != log.timeline:
        return _of_timeline(there, found, slot)
    return None


def _of_timeline(there: StreamDocument, found: FoundServer, slot: SlotFacts) -> str | None:
    """Return why the stream cannot go on after a failover."""
    if not slot.is_failover:
        return "the server failed over, and the slot is no failover slot (PostgreSQL 17)"
    if found.switched_at is None:
        return "the server is on another timeline, and its history does not say since when"
    if found.switched_at < there.complete_to:
        return f"the server failed over at {lsn_text(found.switched_at)}, behind what has landed"
    return None
