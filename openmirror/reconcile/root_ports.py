"""The ports that reconciliation and everything around it works with, made by wiring."""

from __future__ import annotations

from dataclasses import dataclass, field

from openmirror.plan import Limits
from openmirror.ports import (
    Clock,
    DataFilesReader,
    FileStore,
    Inspector,
    LogReader,
    NoDataFiles,
    NoTelemetry,
    Steps,
    Telemetry,
    no_steps,
)
from openmirror.progress.union import EventSink, discard
from openmirror.reconcile.known_tables import KnownTables


@dataclass(frozen=True, kw_only=True)
class RootPorts:
    """The ports and limits of one root."""

    store: FileStore
    inspector: Inspector
    logs: LogReader
    clock: Clock
    data_files: DataFilesReader = NoDataFiles()
    limits: Limits = Limits()
    steps: Steps = no_steps
    emit: EventSink = discard
    """Where progress events go."""
    telemetry: Telemetry = NoTelemetry()
    concurrent_observations: int = 1
    """How many tables one pass observes at the same time: more than one where an observation waits
    for a network."""
    recorded: KnownTables = field(default_factory=KnownTables, compare=False, repr=False)
    """Which folders have a table, as far as it was read before."""
