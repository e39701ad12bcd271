"""A database's stream, relayed into a mirror of a local root by the Spark that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.relay.relay import BatchReport, Relay, RelayOptions
from openmirror.cdc.relay.running import RunningRelay
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.mirroring.document import DEFAULT_SCHEMA
from openmirror.settings import Settings
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import LAKE, landing_zone
from openmirror.wiring.local import local_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class RelayPlan:
    """What is relayed, and how."""

    mirror: str
    stream: str
    every: timedelta
    """How long a relay waits for more records."""
    anew: bool = False
    """Whether tables of another stream are begun anew."""


def spool_folder(settings: Settings, mirror: str, stream: str) -> Path:
    """Where a stream of a local root is kept until it has landed."""
    return local_root(settings) / LAKE / mirror / "_openmirror" / "streams" / stream


@contextmanager
def relaying(
    settings: Settings,
    spark: SparkSession,
    plan: RelayPlan,
    report: Callable[[BatchReport], None],
    trouble: Callable[[str], None],
) -> Iterator[RunningRelay]:
    """A relay of a stream that is captured on this machine, stopped at the end.

    Raises what `Relay.open` does.
    """
    options = RelayOptions(default_schema=DEFAULT_SCHEMA)
    relay = Relay(
        LocalStore(local_root(settings)),
        landing_zone(plan.mirror),
        plan.stream,
        SpoolReader(spool_folder(settings, plan.mirror, plan.stream)),
        Decoder(spark).decode,
        options,
    )
    relay.open(anew=plan.anew)
    running = RunningRelay(relay, plan.every, options.most_records, report, trouble)
    running.start()
    try:
        yield running
    finally:
        running.stop(10.0)
