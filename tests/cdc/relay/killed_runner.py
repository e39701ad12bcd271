"""A runner that lands a stream and applies it, and kills itself at a named point of either.

`python -m tests.cdc.relay.killed_runner ROOT POINT COUNT` is wired as `openmirror-runner
--continuous --relay`: what a mirror declares is found, landed, and applied when the relay wakes its
tables. In place of brokers stands a stream in memory, in Spark's an engine that keeps the books.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from openmirror import wiring
from openmirror.cdc.relay.document import document_path, read_document
from openmirror.errors import NotThere
from openmirror.ports import Step, TableEngine
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.streams import Offset
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.runner import Runner
from openmirror.settings import Settings
from openmirror.stores.memory.work import MemoryWorkQueue
from openmirror.table.layout import StorePath, join
from openmirror.wiring import root_ports
from openmirror.wiring.local import utc_now
from tests.cdc.relay.killed import BATCH, EVENTS, HISTORY, POINTS, STREAM, SURVIVED
from tests.cdc.relay.sources import Stream
from tests.harness.paper import PaperEngine
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import ZONE, numbers
from tests.spark_accounts import applied

PATIENCE = 30.0
MIRROR = "sales"


class Topic(Stream):
    """Read in small batches, each in its own file or files."""

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        return super().read(start, min(most_records, BATCH), most_bytes)

    def close(self) -> None:
        """Nothing is open."""


class Killer:
    """Kills the process when a point has been reached so often."""

    def __init__(self, point: str, count: int) -> None:
        self._point = point
        self._left = count

    def step(self, step: Step) -> None:
        self._reached(step == self._point)

    def call(self, call: Call) -> None:
        self._reached(self._point in POINTS and POINTS[self._point](call))

    def _reached(self, here: bool) -> None:
        self._left -= here
        if here and not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def runner(root: Path, killer: Killer) -> Iterator[Runner]:
    """As `wiring.runner`, but for what the module says."""
    topic = Topic(events=[*EVENTS])

    def ports(settings: Settings, *given: Any) -> RootPorts:
        made = root_ports(settings, *given)
        return replace(made, store=WatchedStore(made.store, after=killer.call))

    def engine(settings: Settings, *_: object) -> TableEngine:
        return PaperEngine(root_ports(settings).store)

    @contextmanager
    def topic_source(*_: object) -> Iterator[Topic]:
        yield topic

    cluster = SimpleNamespace(brokers=SimpleNamespace(topics=lambda: [STREAM]), avro=None)
    places: dict[str, Callable[..., Any]] = {
        "openmirror.wiring.runner.root_ports": ports,
        "openmirror.wiring.runner.root_spark": lambda *_: nullcontext(SimpleNamespace(session=0)),
        "openmirror.wiring.runner.engine_of_root": engine,
        "openmirror.wiring.runner.work_queue": lambda _: MemoryWorkQueue(utc_now),
        "openmirror.wiring.topics.cluster_of": lambda *_: cluster,
        "openmirror.wiring.topics.topic_source": topic_source,
        "openmirror.wiring.relays.Decoder": lambda *_: topic,
    }
    settings = Settings.load(
        {},
        {
            "root": str(root),
            "relay": True,
            "metadata_grace": timedelta(),
            "runner_poll": timedelta(milliseconds=20),
        },
    )
    with ExitStack() as parts:
        for place, instead in places.items():
            parts.enter_context(patch(place, instead))
        yield parts.enter_context(wiring.runner(settings, {}, steps=killer.step))


def is_done(root: Path) -> bool:
    """Whether all that was sent has landed, and all that landed is applied."""
    ports = root_ports(Settings.load({}, {"root": str(root)}))
    try:
        path = document_path(ZONE, STREAM)
        document = read_document(ports.store.read(path).data, path)
    except NotThere:
        return False
    return document.complete_to == len(EVENTS) and all(
        applied(ports, TableFolder(MIRROR, path)) == numbers(ports.store, folder)
        for path, folder in folders()
    )


def folders() -> Iterator[tuple[TablePath, StorePath]]:
    """Where the tables land."""
    for table in HISTORY:
        path = TablePath("app", table)
        yield path, join(ZONE, *str(path).split("/"))


def main(root: Path, point: str, count: int) -> int:
    """The exit code, where it ends by itself."""
    with runner(root, Killer(point, count)) as serving:
        try:
            while not is_done(root):
                serving.serve(0.02)
        finally:
            result = serving.stop()
    assert not result.failed
    return SURVIVED if point != "never" else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
