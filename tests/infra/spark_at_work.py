"""What a runner with Spark asks of the lake account: by Python, and by Spark's own driver."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.settings import Settings
from openmirror.stores.memory.work import MemoryLeases, MemoryWorkQueue
from openmirror.table import layout
from openmirror.wiring import root_engine, root_ports
from openmirror.wiring.runner import working
from tests.emulator_server import account_of_its_own, endpoint_server
from tests.infra.recording import Recorded, recording
from tests.spark_accounts import applied, table

_PATIENCE = 240.0
_QUICK = {
    "runner_idle": timedelta(milliseconds=50),
    "runner_poll": timedelta(milliseconds=100),
    # Spark itself is to ask for change files.
    "small_batch": 0,
    "copy_files": False,
}


@dataclass(frozen=True)
class Applied:
    """A batch that was applied by a real engine."""

    asked: Recorded
    sequences: list[int]


@contextmanager
def a_batch_by_spark(root: Path) -> Iterator[Applied]:
    """One table of two files: one that Spark reads itself, and one that is converted first."""
    with (
        # Hadoop keeps a client for each account's name.
        endpoint_server(root, account=account_of_its_own()) as server,
        recording(f"{server.url}/{server.account}") as asked,
    ):
        orders = table("sales", "Orders")
        place = root / layout.table_folder(orders)
        place.mkdir(parents=True)
        (place / "_metadata.json").write_text('{"keyColumns": ["id"]}')
        for number, unit in ((1, "us"), (2, "ns")):
            at = pa.array([1000], pa.timestamp(unit))
            pq.write_table(pa.table({"id": [number], "at": at}), place / f"{number:020d}.parquet")
        env = {"OPENMIRROR_ROOT": asked.url, "OPENMIRROR_ACCOUNT_KEY": server.key}
        settings = Settings.load(env).model_copy(update=_QUICK)
        ports = root_ports(settings)
        queue = MemoryWorkQueue(lambda: datetime.now(UTC))
        with root_engine(settings, env) as engine:
            runner = working(settings, ports, engine, queue, MemoryLeases(ports.clock))
            until = time.monotonic() + _PATIENCE
            while not runner.is_idle():
                assert time.monotonic() < until, "the runner never came to rest"
                runner.serve(0.02)
            assert runner.stop().failed == {}
        yield Applied(asked, applied(ports, orders))
