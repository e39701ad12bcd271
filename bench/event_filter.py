"""`python -m bench event-filter`: the cost of one landing event, with 10 to 10,000 files."""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from bench.measuring import load, machine
from openmirror.deltalog import LogReplay
from openmirror.emulator.access import DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY
from openmirror.emulator.server import Options, Server
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.ingress.receiving import receive
from openmirror.ingress.start_runner import Starter
from openmirror.ports import FileStore
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.sequence import file_stem
from openmirror.reconcile.root_ports import RootPorts
from openmirror.stores.azure.event_grid import read_events
from openmirror.stores.azure.store import AzureStore
from openmirror.stores.local.store import LocalStore
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.wiring.local import utc_now

FILES = (10, 100, 1_000, 10_000)
THREADS = 8
"""As many messages as host.json has the host hand over at once."""


@dataclass(frozen=True)
class Cost:
    """What one event costs in a folder of so many files."""

    files: int
    requests: int
    milliseconds: float
    """Median of single events, one after another."""
    events_per_second: float
    """With as many at once as the host hands over."""


def event_filter(
    events: Annotated[int, typer.Option(min=10, help="Events measured at each size.")] = 200,
    over: Annotated[
        str, typer.Option(help="`endpoint`: real SDK, over HTTP on loopback; `folder`: no SDK.")
    ] = "endpoint",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Measure what the landing handler does with one event, from message to work item.

    Each event announces the newest file of a folder in which nothing is applied yet: name, control
    document, settings, metadata, log, neighbour and the footer of the next file are read. The
    queue of work items is in memory. What counts is that the cost does not grow with the folder.
    """
    found = []
    loads = [load()]
    for files in FILES:
        with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
            root = Path(folder)
            message = _land(root, files)
            with _store(root, over) as store:
                found.append(_measure(store, files, message, events))
        loads.append(load())
    result: dict[str, Any] = {
        "machine": machine(),
        "load": [round(value, 1) for value in loads],
        "over": over,
        "costs": [asdict(cost) for cost in found],
    }
    if as_json:
        print(json.dumps(result, indent=2))
        return
    _show(found, result)


def _land(root: Path, files: int) -> bytes:
    """A table folder with so many files; answers the event of the newest."""
    table = "m/Files/LandingZone/Orders"
    place = root / "landing" / table
    place.mkdir(parents=True)
    (root / "lake").mkdir()
    (place / "_metadata.json").write_text('{"keyColumns": ["id"]}')
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": range(1000), "__rowMarker__": [4] * 1000}), buffer)
    for number in range(1, files + 1):
        (place / f"{file_stem(number)}.parquet").write_bytes(buffer.getvalue())
    newest = f"{table}/{file_stem(files)}.parquet"
    event = {
        "source": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
        "subject": f"/blobServices/default/containers/landing/blobs/{newest}",
        "type": "Microsoft.Storage.BlobCreated",
        "id": "e",
        "time": "2026-11-21T09:30:00.1234567Z",
        "data": {"api": "FlushWithClose", "contentLength": len(buffer.getvalue()), "eTag": "0x1"},
        "specversion": "1.0",
    }
    return json.dumps(event).encode()


@contextmanager
def _store(root: Path, over: str) -> Iterator[FileStore]:
    if over == "folder":
        yield LocalStore(root)
        return
    served = Options(
        root=root,
        host="127.0.0.1",
        port=0,
        account=DEVELOPMENT_ACCOUNT,
        key=DEVELOPMENT_KEY,
        most_bytes=1 << 20,
    )
    with Server(served) as server:
        account = AccountUrl.parse(f"{server.url}/{DEVELOPMENT_ACCOUNT}")
        store = AzureStore.connect(account, DEVELOPMENT_KEY)
        try:
            yield store
        finally:
            store.close()


class Counting:
    """A store that counts what is asked of it."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self.requests = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        asked: Callable[..., Any] = getattr(self._store, name)

        def counted(*args: Any, **more: Any) -> Any:
            self.requests += 1
            return asked(*args, **more)

        return counted


def _measure(store: FileStore, files: int, message: bytes, events: int) -> Cost:
    counting = Counting(store)
    handle = _handler(counting)  # type: ignore[arg-type]
    for _ in range(3):
        handle(message)
    counting.requests = 0
    handle(message)
    requests = counting.requests
    took = []
    for _ in range(events):
        started = time.perf_counter()
        handle(message)
        took.append(time.perf_counter() - started)
    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(handle, [message] * events))
    rate = events / (time.perf_counter() - started)
    return Cost(files, requests, median(took) * 1000, rate)


def _handler(store: FileStore) -> Callable[[bytes], None]:
    ports = RootPorts(
        store=store, inspector=ChangeFileInspector(store), logs=LogReplay(store), clock=utc_now
    )
    work = MemoryWorkQueue(utc_now)
    starter = Starter(work, None, utc_now)

    def handle(message: bytes) -> None:
        received = receive(ports, work, starter, read_events(message))
        assert received.started is not None, received.answers

    return handle


def _show(costs: list[Cost], result: dict[str, Any]) -> None:
    table = Table(title=f"one landing event, over the {result['over']}")
    for name in ("files in the folder", "requests", "ms", "ratio", "events/s, 8 at once", "ratio"):
        table.add_column(name, justify="right")
    first = costs[0]
    for cost in costs:
        table.add_row(
            f"{cost.files:,}",
            str(cost.requests),
            f"{cost.milliseconds:.1f}",
            f"{cost.milliseconds / first.milliseconds:.2f} x",
            f"{cost.events_per_second:,.0f}",
            f"{cost.events_per_second / first.events_per_second:.2f} x",
        )
    console = Console(highlight=False)
    console.print(table)
    for name, value in result["machine"].items():
        console.print(f"{name}: {value}", soft_wrap=True)
    console.print(f"load average: {', '.join(map(str, result['load']))}")
