"""The ports that every service works with, handed over by wiring."""

from __future__ import annotations

from dataclasses import dataclass, field

from openmirror.plan import Limits
from openmirror.ports import (
    Clock,
    FileStore,
    Inspector,
    LogReader,
    NoTelemetry,
    Steps,
    Telemetry,
    no_steps,
)
from openmirror.progress import EventSink, discard
from openmirror.reconcile.known_tables import KnownTables


@dataclass(frozen=True, kw_only=True)
class RootPorts:
    """One root, seen through its ports."""

    store: FileStore
    inspector: Inspector
    logs: LogReader
    clock: Clock
    limits: Limits = Limits()
    steps: Steps = no_steps
    emit: EventSink = discard
    """Where events of progress go."""
    telemetry: Telemetry = NoTelemetry()
    concurrent_observations: int = 1
    """Tables that one pass looks at at the same time: more than one where a look waits for others,
    as over a network."""
    recorded: KnownTables = field(default_factory=KnownTables, compare=False, repr=False)
    """What is remembered of the tables that a mirror has."""
