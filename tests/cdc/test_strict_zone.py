"""From a real database into a zone that takes the published protocol and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random

import pyarrow as pa
from deltalake import DeltaTable

from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.decoded import DecodedRows
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RecordSource
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.streams import Offset
from standins.postgres import connected
from tests.cdc.site import Site, rows_of
from tests.cdc.workload import TABLES, Workload
from tests.zone import Mirror, bag

_CONTROL = "__"


class ReadRecords(SpoolReader):
    """Keeps what was read of a spool, each record once."""

    records: dict[int, pa.Table]

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        found = super().read(start, most_records, most_bytes)
        for row, offset in enumerate(found.column("offset").to_pylist()):
            self.records[offset] = found.slice(row, 1)
        return found


class StrictSite(Site):
    """A zone whose mirror says of no extension that it takes it."""

    def __init__(self, settings: CaptureSettings, mirror: Mirror, random: Random):
        super().__init__(settings, mirror, random)
        self.takes = frozenset()
        self.records: dict[int, pa.Table] = {}

    def source(self) -> RecordSource:
        made = ReadRecords(self._settings.spool)
        made.records = self.records
        return made


def test_each_version_of_each_table_is_a_prefix_of_the_stream(
    settings: CaptureSettings, mirror: Mirror
) -> None:
    random = Random(21)
    with connected(settings.url) as connection:
        workload = Workload(random, connection)
        workload.begin()
        # What such a zone asks of its source: whole rows in its log.
        connection.execute("ALTER TABLE pages REPLICA IDENTITY FULL")
        here = StrictSite(settings, mirror, random)
        try:
            here.capture()
            here.land_until(workload.mark())
            for _ in range(2):
                workload.transactions(5)
                here.land_until(workload.mark())
                mirror.reconcile_all()
        finally:
            here.end_capture(lambda capture: capture.kill())
    assert here.document().stopped == {}
    decoded = Decoder(mirror.spark).decode(
        pa.concat_tables([here.records[at] for at in sorted(here.records)])
    )
    changed = 0
    for table, keys in {**TABLES, "marks": ("id",)}.items():
        path = str(TablePath("public", table))
        assert not here.markers(table) & EXTENSIONS
        pieces = [piece for piece in decoded.tables if piece.table.table == table]
        prefixes = set(states(pieces, keys))
        versions = list(versions_of(mirror, path))
        assert set(versions) <= prefixes
        assert versions[-1] == fingerprint(rows_of(settings.url, table))
        changed += len(versions) - 1
    # How many commits a table takes is a matter of time.
    assert changed, "no table was changed behind its first commit"


def states(pieces: list[DecodedRows], keys: tuple[str, ...]) -> Iterator[int]:
    """What a table holds after each record, but for those between the halves of a changed key."""
    records = [row for piece in pieces for row in piece.rows.to_pylist()]
    rows: dict[tuple[object, ...], int] = {}
    held = 0
    yield held
    for record in sorted(records, key=lambda one: one["__offset"]):
        own = {name: value for name, value in record.items() if not name.startswith(_CONTROL)}
        key = tuple(own[name] for name in keys)
        held -= rows.pop(key, 0)
        if record["__op"] != "d":
            rows[key] = fingerprint([own])
            held += rows[key]
        if record["__pair"] != "newkey":
            yield held


def versions_of(mirror: Mirror, path: str) -> Iterator[int]:
    for version in range(mirror.versions(path)):
        table = DeltaTable(mirror.delta_path(path), version=version)
        yield fingerprint(table.to_pyarrow_table().to_pylist())


def fingerprint(rows: Iterable[Mapping[str, object]]) -> int:
    """The same for the same rows, in any order."""
    return sum(hash(str(bag([row]))) for row in rows)
