"""From a real database into a zone that takes the published protocol and nothing else."""

from __future__ import annotations

from random import Random

from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cdc.records import RecordSource
from openmirror.cdc.spool.reader import SpoolReader
from openmirror.protocol.rows import EXTENSIONS
from standins.postgres import connected
from tests.cdc.prefixes import ReadRecords, fingerprint, keeping, versions_behind_the_first
from tests.cdc.site import Site, rows_of
from tests.cdc.workload import TABLES, Workload
from tests.zone import Mirror


class StrictSite(Site):
    """A zone whose mirror says of no extension that it takes it."""

    def __init__(self, settings: CaptureSettings, mirror: Mirror, random: Random):
        super().__init__(settings, mirror, random)
        self.takes = frozenset()
        self.records = ReadRecords()

    def source(self) -> RecordSource:
        return keeping(SpoolReader, self.records)(self._settings.spool)


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
    pieces = here.records.of_tables(mirror)
    changed = 0
    for table, keys in {**TABLES, "marks": ("id",)}.items():
        path = here.path(table)
        assert not here.markers(table) & EXTENSIONS
        changed += versions_behind_the_first(mirror, str(path), pieces[table], keys)
        assert fingerprint(mirror.rows(str(path))) == fingerprint(rows_of(settings.url, table))
    # How many commits a table takes is a matter of time.
    assert changed, "no table was changed behind its first commit"
