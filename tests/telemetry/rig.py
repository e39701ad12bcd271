"""A mirror in memory that writes real logs, and a process that may die anywhere in it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Limits
from openmirror.ports import ABSENT, Absent, Step
from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.telemetry.table_operation import TableOperation
from openmirror.ports.telemetry.table_status_event import TableStatusEvent
from openmirror.protocol.names import ETag, TableFolder
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import publish_all
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from tests.unit.paper import PaperEngine, table

ORDERS = table("m", "Sales.schema/Orders")
ITEMS = table("m", "items")


class Killed(BaseException):
    """The process has died here."""


@dataclass
class Heard:
    """Telemetry that keeps everything that is reported, repeats as well."""

    operations: list[TableOperation] = field(default_factory=list)
    standings: dict[str, Sequence[TableStatusEvent]] = field(default_factory=dict)
    starts: list[tuple[str, StartOutcome]] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    waiting: list[Mapping[str, int]] = field(default_factory=list)

    def happened(self, operation: TableOperation) -> None:
        self.operations.append(operation)

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        self.standings[mirror] = tables

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


class Store(MemoryStore):
    """A store that announces each write before it is done."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(clock)
        self.writing: Callable[[StorePath, bytes], None] = lambda path, data: None

    def write(self, path: StorePath, data: bytes, only_if: ETag | Absent | None = None) -> ETag:
        self.writing(path, data)
        return super().write(path, data, only_if)


class World:
    """One mirror; each `process` is a runner of its own over it."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)
        self.store = Store(lambda: self.now)
        self.store.make_folder(layout.landing_zone("m"))
        self.store.make_folder(layout.LAKE)

    def ports(self, telemetry: Any = None) -> RootPorts:
        limits = Limits(metadata_grace=timedelta(0), drop_grace=timedelta(0))
        logs = LogReplay(self.store)
        found = RootPorts(
            store=self.store,
            inspector=ChangeFileInspector(self.store),
            logs=logs,
            clock=lambda: self.now,
            limits=limits,
        )
        return replace(found, telemetry=telemetry) if telemetry is not None else found

    def land(self, folder: TableFolder, number: int, **columns: list[Any]) -> None:
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns or {"id": [1, 2]}), buffer)
        place = layout.table_folder(folder)
        if self.store.incarnation(place) is None:
            self.store.write(join(place, "_metadata.json"), b'{"keyColumns": ["id"]}', ABSENT)
        self.store.write(join(place, f"{number:020d}.parquet"), buffer.getvalue())

    def run(self, ports: RootPorts, *folders: TableFolder, engine: Any = None) -> None:
        """Reconcile tables until nothing is left to do, then a status pass."""
        for folder in folders or (ORDERS,):
            reconcile_until_idle(ports, engine or PaperEngine(self.store), folder)
        publish_all(ports, ["m"])


def dies_at(place: Step) -> Callable[[Step], None]:
    """Steps of a process that dies when it gets there."""

    def steps(step: Step) -> None:
        if step is place:
            raise Killed(step)

    return steps
