"""A real PostgreSQL that is captured and landed, by parts that die now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from uuid import uuid4

from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

from openmirror.cdc.capture.asked_snapshots import AskedSnapshot
from openmirror.cdc.capture.kept import KeptCapture
from openmirror.cdc.capture.process import CaptureProcess
from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.document import SharedDocument
from openmirror.cdc.spool.reader import SpoolReader
from standins.postgres import connected
from tests.cdc.landing import PATIENCE, ZONE, Landing
from tests.zone import Mirror


class Site(Landing):
    """A captured database, landed."""

    def __init__(self, settings: CaptureSettings, mirror: Mirror, random: Random):
        super().__init__(mirror, random, "shop", self.source, "public")
        self._settings = settings
        self._capture: CaptureProcess | None = None

    def source(self) -> RecordSource:
        """The stream, as each relay gets it."""
        return SpoolReader(self._settings.spool)

    def capture(self, snapshot: AskedSnapshot | None = None) -> CaptureProcess:
        """The capturing process, begun again if it has been ended."""
        if self._capture is None:
            self._capture = CaptureProcess(replace(self._settings, snapshot=snapshot))
            self._capture.wait_ready(PATIENCE, lambda line: None)
        return self._capture

    def end_capture(self, how: Callable[[CaptureProcess], None]) -> None:
        """Kill it, or stop it."""
        if self._capture is not None:
            how(self._capture)
            self._capture = None

    def land(self) -> int:
        """One batch; the capture has not failed before."""
        self.capture().check()
        return super().land()

    def anew(self, *tables: str) -> None:
        """New snapshots of tables, asked for as `cdc run` does, until they have landed."""
        shared = SharedDocument.of_any(self.store, ZONE, self.stream)
        for path in map(self.path, tables):
            shared.change(lambda there, path=path: there.wanting(path, uuid4().hex))
        kept = KeptCapture(self._begun, lambda: True, lambda line: None)
        ends = time.monotonic() + PATIENCE
        while wanted := self.document().resnapshots:
            assert time.monotonic() < ends, self.document()
            kept.check(wanted)
            if not super().land():
                time.sleep(0.05)

    def _begun(self, asked: AskedSnapshot | None) -> CaptureProcess:
        """The capture that runs, or another one in its place."""
        if asked is not None or self.capture().returncode is not None:
            self.end_capture(CaptureProcess.stop)
        return self.capture(asked)


@contextmanager
def site(settings: CaptureSettings, mirror: Mirror, random: Random) -> Iterator[Site]:
    made = Site(settings, mirror, random)
    try:
        yield made
    finally:
        made.end_capture(CaptureProcess.kill)


def rows_of(url: DatabaseUrl, table: str) -> list[dict[str, object]]:
    """A table's rows; documents as the texts that they are in a mirror."""
    with connected(url) as connection:
        set_json_loads(bytes.decode, connection)
        return connection.cursor(row_factory=dict_row).execute(f"SELECT * FROM {table}").fetchall()  # type: ignore[call-overload,no-any-return]
