"""One root in memory: what publishers, runners and operators do there, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.plan import Batch, Decision, Limits, ObservedState, plan
from openmirror.ports import NoTelemetry, Steps, Telemetry, no_steps
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import ETag, TableFolder, table_name
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reconciliation import reconcile, reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.control import ControlDocument
from openmirror.table.layout import join
from openmirror.table.log import TableLog
from tests.harness.clock import Clock
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land
from tests.harness.stores import WatchedStore

NO_GRACE = Limits(metadata_grace=timedelta(0), drop_grace=timedelta(0))


class World:
    """Mirrors with empty landing zones, and one process over them, which has `ports`."""

    def __init__(
        self,
        limits: Limits = Limits(),
        clock: Clock | None = None,
        mirrors: Sequence[str] = ("m",),
    ) -> None:
        self.limits = limits
        self.clock = clock or Clock()
        self.store = MemoryStore(self.clock)
        """As publishers see it, and tests."""
        self.watched = WatchedStore(self.store)
        """As the product sees it."""
        for mirror in mirrors:
            self.store.make_folder(layout.landing_zone(mirror))
        self.store.make_folder(layout.LAKE)
        self.reading: Callable[[Batch], object] = lambda batch: None
        """Called with each batch that the engine reads."""
        self.engine = PaperEngine(
            self.watched,
            lambda batch: self.reading(batch),
            now=lambda: self.clock().timestamp(),
        )
        self.reported: list[ProgressEvent] = []
        self.ports = self.process()

    def process(self, telemetry: Telemetry = NoTelemetry(), steps: Steps = no_steps) -> RootPorts:
        """The ports of a process that has read nothing yet."""
        return RootPorts(
            store=self.watched,
            inspector=ChangeFileInspector(self.watched),
            logs=LogReplay(self.watched),
            clock=self.clock,
            seconds=lambda: self.clock().timestamp(),
            limits=self.limits,
            steps=steps,
            emit=self.reported.append,
            telemetry=telemetry,
        )

    def put(self, folder: TableFolder, name: str, data: bytes) -> ETag:
        return self.store.put(join(layout.table_folder(folder), name), data)

    def land(
        self, folder: TableFolder, *numbers: int, keyed: bool = True, **columns: object
    ) -> None:
        land(self.store, folder, *numbers, keyed=keyed, **columns)

    def delete_folder(self, folder: TableFolder) -> None:
        self.store.delete_folder(layout.table_folder(folder))

    def reconcile(self, folder: TableFolder) -> Decision:
        return reconcile(self.ports, self.engine, folder).decision

    def reconcile_until_idle(self, folder: TableFolder) -> Decision:
        return reconcile_until_idle(self.ports, self.engine, folder).decision

    def observed(self, folder: TableFolder) -> ObservedState:
        return observe(self.ports, folder).observed

    def decision(self, folder: TableFolder) -> Decision:
        observed = self.observed(folder)
        return plan(observed, self.limits, observed.at)

    def control(self, folder: TableFolder) -> ControlDocument:
        return Documents(self.store).table(folder).value

    def change(
        self, folder: TableFolder, how: Callable[[ControlDocument], ControlDocument]
    ) -> None:
        """Change a table's control document, as another process would."""
        documents = Documents(self.store)
        stored = documents.table(folder)
        documents.save_table(folder, how(stored.value), stored.etag)

    def applied(self, folder: TableFolder) -> int:
        """The position in the table's log, of a mirror with the default schema dbo; else 0."""
        path = layout.delta_table(folder.mirror, table_name(folder.path, "dbo"))
        log = LogReplay(self.store).read(path)
        return log.live[1] if isinstance(log, TableLog) and log.live else 0
