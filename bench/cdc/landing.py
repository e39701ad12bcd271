"""How fast the relay lands what lies in a spool: decoded, chosen, written, in order."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from bench.decoding import minted
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.streams import Offset, StreamIdentity
from openmirror.spark.jars import class_path
from openmirror.spark.session import start_spark
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone

_RECORDS, _TABLES, _TURNS = 50_000, 5, 5


class _Minted:
    """One batch of records that comes again and again, each time further on."""

    def __init__(self, columns: int) -> None:
        self._records = minted(_RECORDS, _TABLES, columns, "true")
        self.identity = StreamIdentity("0" * 32)

    @property
    def forgets_by_itself(self) -> bool:
        """Never."""
        return False

    def ends(self) -> tuple[Offset, Offset]:
        return Offset(0), Offset(1 << 60)

    def read(self, start: Offset, most_records: int, most_bytes: int):  # type: ignore[no-untyped-def]
        del most_records, most_bytes
        offsets = range(start, start + _RECORDS)
        return self._records.set_column(0, self._records.schema.field(0), [list(offsets)])

    def forget(self, before: Offset) -> None:
        """It holds nothing."""


def landed_per_second(columns: int) -> float:
    """Records a second, the median of some batches; the first ones, which compile, do not count."""
    spark = start_spark(master="local[2]", driver_memory="4g", class_path=class_path())
    try:
        with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
            root, zone = Path(folder), landing_zone("shop")
            (root / zone).mkdir(parents=True)
            source: RecordSource = _Minted(columns)
            options = RelayOptions(takes=EXTENSIONS)
            decode = Decoder(spark).decode
            relay = Relay(LocalStore(root), zone, "shop", source, decode, options)
            relay.open()
            seconds = []
            for _ in range(2 + _TURNS):
                began = time.perf_counter()
                report = relay.step()
                seconds.append(time.perf_counter() - began)
                if sum(report.rows.values()) != _RECORDS or report.stopped:
                    raise RuntimeError(f"landed {report}")
            return _RECORDS / median(seconds[2:])
    finally:
        spark.stop()
