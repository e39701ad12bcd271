"""A database's log, read into a landing zone."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from openmirror.cdc.postgresql.running import RunningStream
from openmirror.cdc.postgresql.session import DatabaseStream
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.slot_size import SlotSize
from openmirror.cdc.postgresql.slots import slot_size
from openmirror.cdc.postgresql.stream import StreamLimits
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.relay.relay import BatchReport
from openmirror.cdc.relay.reporting import RelayReports, WaitingBytes
from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import UnknownName, WrongRequest
from openmirror.protocol.names import TableName, TablePath
from openmirror.protocol.streams import Offset
from openmirror.settings import Settings
from openmirror.table.layout import LAKE
from openmirror.wiring.local import Say, local_root

_SECONDS_TO_STOP = 10.0


def want_load(zone: StreamZone, stream: str, path: TablePath) -> bool:
    """Ask for a new load of one table; return whether nobody had before.

    Raises:
        UnknownName: There is no such stream, or it has no such table.
        WrongRequest: The stream is of a topic, whose connector has to be asked.
    """
    document = SharedDocument.of_any(zone.store, zone.path, stream)
    there = document.now
    if there.log is None:
        raise WrongRequest(
            f"stream {stream} comes through a topic: ask its connector for a snapshot of the "
            "table, by a signal of type BLOCKING (docs/SOURCES.md)"
        )
    if path not in there.log.tables.values():
        known = ", ".join(sorted(str(TableName(t.schema, t.table)) for t in there.tables))
        raise UnknownName(
            f"stream {stream} has no table {TableName(path.schema, path.table)}; it has "
            f"landed: {known or 'none'}"
        )
    document.change(lambda newest: newest.wanting(path, uuid4().hex))
    return path not in there.resnapshots


def remove_old_spool(settings: Settings, mirror: str, stream: str, say: Say) -> None:
    """Remove the folder in which versions before 0.2 kept what they had captured.

    A stream that such a version read begins anew, so that nothing of the folder is needed.
    """
    spool = local_root(settings) / LAKE / mirror / "_openmirror" / "streams" / stream
    if spool.is_dir():
        shutil.rmtree(spool)
        say(f"removed {spool}, which an older version kept changes in")


@contextmanager
def reading_database(
    wanted: StreamSettings,
    zone: StreamZone,
    limits: StreamLimits,
    slot_limit: int,
    report: Callable[[BatchReport], None],
    trouble: Say,
    say: Say,
) -> Iterator[RunningStream]:
    """Read a database into a zone for a block.

    Raises CannotStart where the database cannot be mirrored, StreamReplaced where it is another one
    than before, and what the store raises.
    """
    size = SlotSize(lambda: slot_size(wanted.url, wanted.slot))
    opener = DatabaseStream(wanted, zone, limits, say)

    def waiting(_: Offset) -> WaitingBytes:
        return WaitingBytes(opener.bytes_behind(), size.now(), slot_limit)

    reports = RelayReports(zone.store, zone.path, wanted.stream, waiting=waiting)
    running = RunningStream(opener, report, trouble, reports)
    running.start()
    size.start()
    try:
        yield running
    finally:
        size.stop()
        opener.stop()
        running.stop(_SECONDS_TO_STOP)
