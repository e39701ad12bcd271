"""What tables of a stream cost that have rows, and nothing new."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, cast

import pyarrow as pa

from bench.decoding import minted
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.ports import FileStore
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.streams import Offset, StreamIdentity
from openmirror.spark.jars import class_path
from openmirror.spark.session import start_spark
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone

IDLE, BUSY = 200, 5
_RECORDS, _TURNS, _WARM = 300, 15, 6


@dataclass(frozen=True)
class IdleCost:
    """A batch of five tables' changes, without and with two hundred others beside them."""

    alone: float
    """Seconds, the median."""
    beside: float
    calls_alone: float
    """Calls of the store."""
    calls_beside: float


class _Busy:
    """First a row or more of every table, then changes of a few, again and again."""

    def __init__(self, tables: int) -> None:
        self._first = minted(tables, tables, 8, "true")
        self._then = minted(_RECORDS, BUSY, 8, "true")
        self.identity = StreamIdentity("0" * 32)

    @property
    def forgets_by_itself(self) -> bool:
        """Never."""
        return False

    def ends(self) -> tuple[Offset, Offset]:
        return Offset(0), Offset(1 << 60)

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        del most_records, most_bytes
        records = self._then if start else self._first
        offsets = list(range(start, start + len(records)))
        return records.set_column(0, records.schema.field(0), [offsets])

    def forget(self, before: Offset) -> None:
        """It holds nothing."""


class _Counted:
    """A store whose calls are counted."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._store, name)

        def call(*given: Any, **named: Any) -> Any:
            self.calls[name] += 1
            return method(*given, **named)

        return call


def idle_cost() -> IdleCost:
    """Both in turn, in one process."""
    spark = start_spark(master="local[2]", driver_memory="2g", class_path=class_path())
    try:
        decoder = Decoder(spark)
        (alone, calls_alone), (beside, calls_beside) = (
            _batches(decoder, tables) for tables in (BUSY, BUSY + IDLE)
        )
        return IdleCost(alone, beside, calls_alone, calls_beside)
    finally:
        spark.stop()


def _batches(decoder: Decoder, tables: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
        root, zone = Path(folder), landing_zone("shop")
        (root / zone).mkdir(parents=True)
        store = _Counted(LocalStore(root))
        options = RelayOptions(takes=EXTENSIONS)
        source = _Busy(tables)
        relay = Relay(cast("FileStore", store), zone, "shop", source, decoder.decode, options)
        relay.open()
        if len(relay.step().rows) != tables:
            raise RuntimeError("not every table has landed")
        seconds = []
        for turn in range(_WARM + _TURNS):
            if turn == _WARM:
                store.calls.clear()
            began = time.perf_counter()
            report = relay.step()
            seconds.append(time.perf_counter() - began)
            if sum(report.rows.values()) != _RECORDS or report.stopped:
                raise RuntimeError(f"landed {report}")
        return median(seconds[_WARM:]), store.calls.total() / _TURNS
