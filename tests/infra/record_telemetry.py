"""Records what a deployment sends: `python -m tests.infra.record_telemetry`, with Spark.

Every part is the real one or its stand-in. Nothing that is kept was made up: two mirrors with
tables that run, wait, pause, are held and are dropped; a stream's relay that waits and goes on; a
dead letter; a run of the job that failed.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from openmirror.cdc.relay.document import document_path
from openmirror.cdc.relay.reporting import RelayReports, WaitingBytes
from openmirror.ports.work_items import EVENTS_QUEUE
from openmirror.progress.runner import SweepFoundWork, WorkItemTaken
from openmirror.progress.tables import BatchCommitted, BatchStarted
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.relay_reports import RelayState
from openmirror.protocol.streams import Offset, StreamDocument, StreamIdentity
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.telemetry.figures import METRICS
from openmirror.telemetry.repeating import FIGURES_SECONDS
from standins.functions_host import Result
from tests.chain.mangling import Mangled
from tests.chain.publishing import Publisher
from tests.chain.whole import Chain, chain

SAMPLE = Path(__file__).with_name("sample_telemetry.json")
MIRRORS = ("sales", "people")
PATIENCE = 400.0


def folder(text: str) -> TableFolder:
    mirror, _, path = text.partition("/")
    return TableFolder(mirror, TablePath.parse(path))


ORDERS, ITEMS = folder("sales/orders"), folder("sales/Shop.schema/Items")
CUSTOMERS, RETURNS = folder("sales/customers"), folder("sales/returns")
INVOICES, PAYMENTS = folder("sales/invoices"), folder("sales/payments")
STAFF, BADGES = folder("people/staff"), folder("people/badges")
RUNNING = (ORDERS, ITEMS, PAYMENTS, STAFF)
ALL = (*RUNNING, CUSTOMERS, RETURNS, INVOICES, BADGES)

ENV = {
    "OPENMIRROR_DROP_GRACE": "3s",
    "OPENMIRROR_METADATA_GRACE": "1s",
    "OPENMIRROR_RUNNER_STATUS": "10s",
    "OPENMIRROR_RESTART_DELAY": "2m",
    # OpenTelemetry's own: a minute of telemetry has more than one point of each gauge then.
    "OTEL_METRIC_EXPORT_INTERVAL": "40000",
}


class Story:
    """What happens to the tables, one thing after the other."""

    def __init__(self, parts: Chain, draw: random.Random) -> None:
        self._ports = parts
        self._draw = draw
        self._publisher = Publisher(parts.server, draw)
        self._next = dict.fromkeys(ALL, 1)
        self._zone = layout.landing_zone(MIRRORS[1])
        self._store = LocalStore(parts.server.root)
        waiting = WaitingBytes(bytes_behind=30_000, source_keeps=48 << 20, source_limit=1 << 30)
        self._relay = RelayReports(self._store, self._zone, "crm", waiting=lambda _: waiting)

    def begin(self) -> None:
        """Every table has its first file, and somebody starts the runner."""
        source = {"sourceType": "SQL", "sourceVersion": "2022"}
        about: dict[str, object] = {"partnerName": "Contoso", "sourceInfo": source}
        self._publisher.introduce(MIRRORS[0], about)
        for table in ALL:
            self._publisher.begin(table, {"keyColumns": ["id"]})
            self.publish(table, rows=self._draw.randrange(50, 400))
        self._relay.troubled(RelayState.WAITING, "broker:9092 does not answer")
        self._ports.events.flush()
        self._ports.pump.turn()
        self.timer("start_runner")
        self.until(lambda: all(self.applied(table) == 1 for table in ALL))

    def go_wrong(self) -> None:
        """A gap, a file that is none, a hold, a deleted folder, and messages that are none."""
        self._next[CUSTOMERS] += 1
        for _ in range(3):
            self.publish(CUSTOMERS, rows=20)
        self._publisher.write(RETURNS, 2, b"id;name\n1;not what was promised\n")
        self.operate("pause", {"table": "people/dbo.badges", "why": "moving to another office"})
        self._publisher.delete(INVOICES)
        for body in ("no event", '{"neither": "is this"}'):
            self._ports.queues.get_queue_client(EVENTS_QUEUE).send_message(body)
        self._ports.azure.jobs.end("RUN_EXECUTION_ERROR", "the driver ran out of memory", ago=0)

    def go_on(self, seconds: float) -> None:
        """The tables that run do so, while runs of the job end and begin."""
        document = StreamDocument(identity=StreamIdentity("0" * 32), complete_to=Offset(60))
        self._store.write(document_path(self._zone, "crm"), document.as_json())
        now_us = time.time_ns() // 1000
        self._relay.landing(Offset(70), lambda: (Offset(5), Offset(100)), now_us)
        jobs = self._ports.azure.jobs
        ends, times = time.monotonic() + seconds, 0
        while time.monotonic() < ends:
            times += 1
            for table in RUNNING:
                self.publish(table, rows=self._draw.randrange(5, 200))
            self._ports.events.flush()
            self._ports.pump.turn()
            if times == 2:
                jobs.refusals.append((403, "PERMISSION_DENIED", "no right to manage runs"))
            if times == 3:
                jobs.runs[-1].ended -= 3600
            self.timer("start_runner")
            self.wait(8)

    def come_to_rest(self) -> None:
        """All is applied that can be, and that is reported."""
        self.until(lambda: all(self.applied(table) == self._next[table] - 1 for table in RUNNING))
        for function in ("dead_letters", "cleanup"):
            self.timer(function)
        self.wait(FIGURES_SECONDS + 5)

    def publish(self, table: TableFolder, rows: int) -> None:
        number = self._next[table]
        self._next[table] += 1
        known = 1000
        start = self._draw.randrange(known)
        markers = self._draw.choices((4, 1, 2), (8, 3, 1), k=rows) if number > 1 else [0] * rows
        content = {
            "id": list(range(start, start + rows)),
            "name": [f"{table.path} {n}" for n in range(rows)],
            "__rowMarker__": markers,
        }
        self._publisher.publish(table, number, pa.table(content))

    def operate(self, verb: str, ask: Mapping[str, str]) -> None:
        done = self._ports.app.http("operate", "POST", route={"verb": verb}, body=json.dumps(ask))
        good(done)

    def timer(self, function: str) -> None:
        good(self._ports.app.timer(function))

    def applied(self, table: TableFolder) -> int:
        events = (e for e in self._ports.emitted if isinstance(e, BatchCommitted))
        return max((e.last for e in events if e.folder == table), default=0)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self.until(lambda: time.monotonic() > until)

    def until(self, is_over: Callable[[], bool]) -> None:
        late = time.monotonic() + PATIENCE
        while not is_over():
            if time.monotonic() > late:
                raise TimeoutError(f"applied: { {str(t): self.applied(t) for t in ALL} }")
            self._ports.turn()


def good(result: Result) -> None:
    if result.error is not None:
        raise RuntimeError(f"{result.error}\n{result.trace}")


def is_kept(item: Mapping[str, Any]) -> bool:
    """Whether queries or people search for it; what libraries emit of themselves is left out."""
    data = item["data"]["baseData"]
    match item["data"]["baseType"]:
        case "MetricData":
            return data["metrics"][0]["name"] in METRICS
        case "RemoteDependencyData":
            return data.get("type") == "InProc" and "Epoch" in data["properties"]
        case "MessageData":
            reported = data["properties"]
            return (
                reported["logger_name"].startswith("openmirror")
                and reported.get("event") not in _MANY
            )
    return True


def kept(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is kept, in the order of time, under one instance name for each role."""
    found = []
    for item in items:
        if not is_kept(item):
            continue
        tags = {name: value for name, value in item["tags"].items() if name in _TAGS}
        role = tags["ai.cloud.role"]
        tags["ai.cloud.roleInstance"] = f"{role}-1"
        found.append({**item, "iKey": "recorded", "tags": tags})
    return sorted(found, key=lambda item: str(item["time"]))


_TAGS = frozenset(
    {
        "ai.application.ver",
        "ai.cloud.role",
        "ai.cloud.roleInstance",
        "ai.operation.id",
        "ai.operation.name",
    }
)
_MANY = frozenset(
    {kind.name for kind in (WorkItemTaken, SweepFoundWork, BatchStarted, BatchCommitted)}
)
"""Lines of the runner's log for each batch; its events and spans hold the same."""


def record(seconds: float) -> list[dict[str, Any]]:
    draw = random.Random(7)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        place = Path(made)
        (place / "standins").mkdir()
        mangling = partial(Mangled, draw=draw, lost=0.0)
        with chain(place / "root", place / "standins", mangling, MIRRORS, ENV) as parts:
            story = Story(parts, draw)
            story.begin()
            story.go_wrong()
            story.go_on(seconds)
            story.come_to_rest()
        return kept(parts.azure.sent.items)


def main() -> None:
    items = record(45)
    lines = ",\n".join(
        json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items
    )
    SAMPLE.write_text(f"[\n{lines}\n]\n")
    sys.stdout.write(f"{SAMPLE}: {len(items)} items, {SAMPLE.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
