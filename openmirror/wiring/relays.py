"""The records of a topic, relayed into a landing zone by the Spark that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from openmirror.cdc.decoding.batches import ReadOtherwise, all_json
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.choosing import with_choice
from openmirror.cdc.relay.lineage import with_lineage
from openmirror.cdc.relay.relay import BatchReport, Relay, RelayOptions
from openmirror.cdc.relay.reporting import RelayReports
from openmirror.cdc.relay.running import RunningRelay
from openmirror.cdc.stream_zone import StreamZone
from openmirror.mirroring import TableChoice
from openmirror.protocol.names import TablePath
from openmirror.wiring.local import Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS_TO_STOP = 10.0


@dataclass(frozen=True)
class RelayWishes:
    """How a stream is to be landed."""

    every: timedelta
    anew: bool = False
    """Whether another stream of its name is given up."""
    retry: tuple[TablePath, ...] = ()
    """Tables that have stopped, and go on first."""
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
) -> Iterator[RunningRelay]:
    """A relay of a stream into a zone, stopped at the end.

    `otherwise` reads what is not in JSON. Raises what `Relay.open` and `Relay.retry` do.
    """
    options = RelayOptions(takes=zone.takes)
    plain = Decoder(spark, otherwise).decode
    decode = with_choice(with_lineage(plain) if zone.lineage else plain, wishes.choice)
    relay = Relay(zone.store, zone.path, stream, source, decode, options)
    reports = RelayReports(zone.store, zone.path, stream)
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
