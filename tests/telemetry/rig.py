"""A mirror in memory that emits, and who hears it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.telemetry.stream_status_event import StreamStatusEvent
from openmirror.ports.telemetry.table_operation import TableOperation
from openmirror.ports.telemetry.table_status_event import TableStatusEvent
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import publish_all
from tests.harness.clock import Clock
from tests.harness.publishing import table
from tests.harness.world import NO_GRACE, World

ORDERS = table("m", "Sales.schema/Orders")
ITEMS = table("m", "items")


@dataclass
class Heard:
    """Telemetry that keeps everything that is reported, repeats as well."""

    operations: list[TableOperation] = field(default_factory=list)
    standings: dict[str, Sequence[TableStatusEvent]] = field(default_factory=dict)
    streams: dict[str, Sequence[StreamStatusEvent]] = field(default_factory=dict)
    starts: list[tuple[str, StartOutcome]] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    waiting: list[Mapping[str, int]] = field(default_factory=list)

    def happened(self, operation: TableOperation) -> None:
        self.operations.append(operation)

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        self.standings[mirror] = tables

    def report_streams(self, mirror: str, streams: Sequence[StreamStatusEvent]) -> None:
        self.streams[mirror] = streams

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        self.starts.append((job, outcome))

    def dead_letter_kept(self, dead_letter: DeadLetter) -> None:
        self.dead_letters.append(dead_letter)

    def dead_letters_waiting(self, counts: Mapping[str, int]) -> None:
        self.waiting.append(counts)

    @property
    def names(self) -> list[str]:
        """The operations in order, each identity once."""
        return [o.name.value for o in {o.identity: o for o in self.operations}.values()]


class Emitter(World):
    """One mirror; each `process` is a runner of its own over it, which may emit."""

    def __init__(self) -> None:
        super().__init__(NO_GRACE, Clock(datetime.now(UTC).replace(microsecond=0)))

    def run(self, ports: RootPorts, *folders: TableFolder, engine: Any = None) -> None:
        """Reconcile tables until nothing is left to do, then a status pass."""
        for folder in folders or (ORDERS,):
            reconcile_until_idle(ports, engine or self.engine, folder)
        publish_all(ports, ["m"])
