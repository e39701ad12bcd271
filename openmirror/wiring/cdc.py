"""A database's stream, relayed into a landing zone by the Spark that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from openmirror.cdc.capture.asked_snapshots import AskedSnapshot, is_begun, may_be_asked
from openmirror.cdc.capture.jars import capture_class_path
from openmirror.cdc.capture.kept import KeptCapture
from openmirror.cdc.capture.process import CaptureProcess
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.capture.slot_size import SlotSize, slot_size
from openmirror.cdc.decoding.batches import ReadOtherwise, all_json
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.choosing import with_choice
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.relay.lineage import with_lineage
from openmirror.cdc.relay.relay import BatchReport, Relay, RelayOptions
from openmirror.cdc.relay.reporting import RelayReports, WaitingBytes
from openmirror.cdc.relay.running import RunningRelay
from openmirror.cdc.spool.reader import SpoolReader, newest_source
from openmirror.errors import UnknownName, WrongRequest
from openmirror.mirroring import TableChoice
from openmirror.ports import FileStore
from openmirror.protocol.names import TableName, TablePath
from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.protocol.rules import Broken
from openmirror.protocol.streams import Offset
from openmirror.publishing.advertised import advertised
from openmirror.publishing.places import zone_place
from openmirror.reconcile.mirror_reads import read_settings
from openmirror.settings import Settings
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import LAKE, StorePath, landing_zone
from openmirror.wiring.java import need_java
from openmirror.wiring.local import Say, local_root
from openmirror.wiring.spark import jar_cache

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS_TO_BEGIN = 60.0
_SECONDS_TO_STOP = 10.0


@dataclass(frozen=True)
class StreamZone:
    """A landing zone that streams are landed in."""

    store: FileStore
    path: StorePath
    takes: frozenset[Marker]
    """What its mirror takes beyond the published markers."""
    lineage: bool
    """Whether its mirror asks for columns of lineage."""


def zone_of_mirror(store: FileStore, mirror: str) -> StreamZone:
    """The zone of a mirror that this version applies; raises WrongRequest for wrong settings."""
    wanted, _ = read_settings(store, mirror)
    if isinstance(wanted, Broken):
        raise WrongRequest(f"mirror {mirror}: {wanted.detail}")
    return StreamZone(store, landing_zone(mirror), EXTENSIONS, wanted.lineage)


def spool_of_mirror(settings: Settings, mirror: str, stream: str) -> Path:
    """Where a captured stream is kept until it has landed in a mirror of a local root."""
    return local_root(settings) / LAKE / mirror / "_openmirror" / "streams" / stream


@contextmanager
def stream_zone(
    settings: Settings, mirror: str, zone: str | None, key: str | None
) -> Iterator[StreamZone]:
    """The zone of a mirror of the local root, or one whose mirror runs elsewhere; for a block.

    `key`: the key of its account, where its store is no identity's. Raises what `zone_place` and
    the store do, and WrongRequest for a mirroring.json that is wrong.
    """
    if zone is None:
        yield zone_of_mirror(LocalStore(local_root(settings)), mirror)
        return
    place = zone_place(zone, key)
    try:
        wanted = advertised(place.store, place.path)
        yield StreamZone(place.store, place.path, wanted.takes, wanted.lineage)
    finally:
        place.close()


def want_snapshot(zone: StreamZone, stream: str, spool: Path, path: TablePath) -> bool:
    """Ask for a new snapshot of one table; whether nobody had before.

    Raises UnknownName for a stream, or a table of it, that has not landed, and WrongRequest for one
    whose connector is somebody else's (it has no spool), or would not know the table by its name.
    """
    document = SharedDocument.of_any(zone.store, zone.path, stream)
    there = document.now
    if not spool.is_dir():
        raise WrongRequest(
            f"stream {stream} is not captured here but comes through a topic: ask its "
            "connector for a snapshot of the table, by a signal of type BLOCKING (docs/SOURCES.md)"
        )
    if path not in there.tables:
        known = ", ".join(sorted(str(TableName(t.schema, t.table)) for t in there.tables))
        raise UnknownName(
            f"stream {stream} has no table {TableName(path.schema, path.table)}; it has "
            f"landed: {known or 'none'}"
        )
    if not may_be_asked(path):
        raise WrongRequest(
            f"{TableName(path.schema, path.table)} cannot begin anew alone: Debezium reads a name "
            "with a space, a point or a quote as another one. Begin the stream anew: "
            "`openmirror cdc run … --anew`"
        )
    document.change(lambda newest: newest.wanting(path, uuid4().hex))
    return path not in there.resnapshots


@contextmanager
def capturing(settings: Settings, wanted: CaptureSettings, say: Say) -> Iterator[KeptCapture]:
    """A process that captures a database, once it has begun; stopped at the end.

    Debezium's jars are found, or fetched. Raises CannotStart where it cannot begin, and
    CaptureInterrupted where the database does not answer.
    """
    need_java()
    how = replace(wanted, class_path=capture_class_path(jar_cache(settings), say))

    def begin(asked: AskedSnapshot | None) -> CaptureProcess:
        nonlocal how
        process = CaptureProcess(replace(how, snapshot=asked))
        try:
            process.wait_ready(_SECONDS_TO_BEGIN, say)
        except BaseException:
            process.kill()
            raise
        how = replace(how, anew=False)
        return process

    def may_take() -> bool:
        return is_begun(newest_source(how.spool))

    capture = KeptCapture(begin, may_take, say)
    try:
        yield capture
    finally:
        capture.stop()


@contextmanager
def measuring(
    settings: Settings, wanted: CaptureSettings, spool: SpoolReader
) -> Iterator[Callable[[Offset], WaitingBytes]]:
    """What waits in a spool from a record on, and in the log of the database, for a block."""
    slot = SlotSize(lambda: slot_size(wanted.url, wanted.slot))
    slot.start()
    try:
        yield lambda at: WaitingBytes(spool.bytes_from(at), slot.now(), settings.slot_limit)
    finally:
        slot.stop()


@dataclass(frozen=True)
class RelayWishes:
    """How a stream is to be landed."""

    every: timedelta
    anew: bool = False
    """Whether another stream of its name is given up."""
    retry: tuple[TablePath, ...] = ()
    """Tables that have stopped, and go on first."""
    own_snapshots: bool = True
    """As `RelayOptions` has it."""
    choice: TableChoice = field(default_factory=TableChoice)
    """Which of its tables land, and under which names."""


@contextmanager
def relaying(
    zone: StreamZone,
    stream: str,
    source: RecordSource,
    spark: SparkSession,
    wishes: RelayWishes,
    report: Callable[[BatchReport], None],
    trouble: Say,
    otherwise: ReadOtherwise = all_json,
    waiting: Callable[[Offset], WaitingBytes] = lambda _: WaitingBytes(),
) -> Iterator[RunningRelay]:
    """A relay of a stream into a zone, stopped at the end.

    `otherwise` reads what is not in JSON; `waiting` says what waits from a record on. Raises what
    `Relay.open` and `Relay.retry` do.
    """
    options = RelayOptions(takes=zone.takes, own_snapshots=wishes.own_snapshots)
    plain = Decoder(spark, otherwise).decode
    decode = with_choice(with_lineage(plain) if zone.lineage else plain, wishes.choice)
    relay = Relay(zone.store, zone.path, stream, source, decode, options)
    reports = RelayReports(zone.store, zone.path, stream, waiting=waiting)
    with reports.failing():
        relay.open(anew=wishes.anew)
        for path in wishes.retry:
            report(relay.retry(path))
    running = RunningRelay(relay, wishes.every, options.most_records, report, trouble, reports)
    running.start()
    try:
        yield running
    finally:
        running.stop(_SECONDS_TO_STOP)
