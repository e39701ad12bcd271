"""The ports that reconciliation and everything around it works with, made by wiring."""

from __future__ import annotations

import time
from collections.abc import Callable
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
from openmirror.reconcile.mirror_reads import RecentMirrors


@dataclass(frozen=True, kw_only=True)
class RootPorts:
    """The ports and limits of one root."""

    store: FileStore
    inspector: Inspector
    logs: LogReader
    clock: Clock
    seconds: Callable[[], float] = time.monotonic
    """Counts seconds for what is measured; never turned back, and the time of no day."""
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
    mirrors: RecentMirrors = field(default_factory=RecentMirrors, compare=False, repr=False)
    """What was read of mirrors a moment ago."""
