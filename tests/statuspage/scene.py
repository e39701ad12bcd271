"""Two mirrors in memory whose tables are in every state that the page can show."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.parquet as pq

from openmirror.operate.mirror_notes import mirror_notes
from openmirror.operate.overview import mirror_head, table_page
from openmirror.operate.requests import Operator, hold
from openmirror.ports import BadFile, Counts
from openmirror.protocol.names import ROW_MARKER_COLUMN, TableFolder
from openmirror.protocol.rows import PUBLISHED, Marker
from openmirror.protocol.rules import Broken, Code
from openmirror.runtime.sweeping import publish_all
from openmirror.statuspage import GivenUp, MirrorView, Undelivered, mirror_view
from tests.harness.clock import Clock
from tests.harness.paper import PaperEngine
from tests.harness.publishing import file_name, table
from tests.harness.world import NO_GRACE, World

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
WHERE = "https://contoso.dfs.core.windows.net"


class _Engine(PaperEngine):
    """Reports batches as large as a real mirror's, and refuses files with a wrong row marker."""

    def read(self, batch: Any) -> Any:
        prepared = super().read(batch)
        if isinstance(prepared, BadFile):
            return prepared
        for file in batch.files:
            if bad := _wrong_marker(file.name, self._store.read(file.path).data):
                return bad
        rows = 18_211 * (len(str(batch.folder)) % 7 + 1)

        class Large:
            counts = Counts(inserts=rows, updates=rows // 3, deletes=rows // 40)
            checksums = prepared.checksums
            phases = prepared.phases
            asks_table = prepared.asks_table

            def release(self) -> None:
                prepared.release()

        return Large()


def _wrong_marker(name: str, data: bytes) -> BadFile | None:
    """The file as bad if its first row has a marker that the protocol does not know."""
    columns = pq.read_table(io.BytesIO(data)).to_pydict()
    marker = columns.get(ROW_MARKER_COLUMN, [Marker.INSERT])[0]
    if marker in PUBLISHED:
        return None
    detail = f"row 1 has {ROW_MARKER_COLUMN} = {marker}; allowed are 0, 1, 2 and 4"
    return BadFile(name, Broken(Code.ROW_MARKER_INVALID, detail))


class Scene(World):
    """A root with the mirrors `sales` and `flights`."""

    def __init__(self) -> None:
        super().__init__(NO_GRACE, Clock(NOW - timedelta(hours=5)), ("sales", "flights"))
        self.engine = _Engine(self.store, now=lambda: self.clock().timestamp())

    def at(self, before: timedelta) -> None:
        """Let the clock stand so long before now."""
        self.clock.turn_to(NOW - before)

    def views(self) -> list[MirrorView]:
        shown = []
        for name in ("sales", "flights"):
            head, tables = mirror_head(self.ports, name), table_page(self.ports, name).tables
            notes = mirror_notes(self.ports.store, name, self.clock())
            heading = (name, head.state.value, head.heartbeat, head.trouble)
            shown.append(mirror_view(*heading, tables, notes=notes))
        return shown


def undelivered() -> Undelivered:
    """A message that was no event, and one whose table could not be reconciled."""
    newest = (
        GivenUp(
            "landing-events/2026-11-21/7d0c", NOW - timedelta(minutes=9), "it is not JSON text"
        ),
        GivenUp(
            "table-work/2026-11-21/41fe",
            NOW - timedelta(hours=4),
            "reconciling sales/rates failed again and again; see its status",
        ),
    )
    return Undelivered(2, newest)


def _sales(path: str) -> TableFolder:
    return table("sales", path)


def scene() -> Scene:
    """Everything that a day can bring."""
    made = Scene()
    orders, customers = _sales("Sales.schema/Orders"), _sales("Sales.schema/Customers")
    shipments, invoices = _sales("Sales.schema/Shipments"), _sales("Finance.schema/Invoices")
    ledger, prices = _sales("Finance.schema/Ledger"), _sales("legacy_prices")
    rates, absences = _sales("rates"), _sales("HR.schema/Absences")
    for folder in (orders, customers, shipments, invoices, ledger, prices, rates):
        made.land(folder, 1, 2, 3)
        made.reconcile_until_idle(folder)

    made.at(timedelta(hours=3))
    made.delete_folder(prices)
    made.reconcile_until_idle(prices)
    made.at(timedelta(hours=2, minutes=58))
    made.reconcile_until_idle(prices)

    made.at(timedelta(minutes=47))
    hold(made.ports, ledger, Operator("ann@contoso.com", "nightly load of the warehouse"))
    made.land(ledger, 4, 5)
    made.land(shipments, 5, 6, 7)
    made.reconcile_until_idle(shipments)

    made.at(timedelta(minutes=12))
    made.land(invoices, 4, id=[1], __rowMarker__=[3])
    made.land(invoices, 5, id=[2], __rowMarker__=[0])
    made.reconcile_until_idle(invoices)
    made.put(customers, "export-final(2).parquet", b"")

    made.at(timedelta(seconds=41))
    made.land(customers, 4)
    made.reconcile_until_idle(customers)
    made.put(rates, file_name(4), b"")
    made.reconcile_until_idle(rates)

    flights = [table("flights", name) for name in ("airlines", "flights", "planes", "weather")]
    for number, folder in enumerate(flights):
        made.at(timedelta(seconds=30 - number))
        made.land(folder, 1, 2)
        made.reconcile_until_idle(folder)

    made.at(timedelta(seconds=6))
    made.land(orders, 4, 5, 6)
    made.reconcile_until_idle(orders)
    made.land(absences, 1)
    publish_all(made.ports, ["sales", "flights"])
    made.at(timedelta())
    return made
