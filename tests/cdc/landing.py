"""A stream's landing zone, and a relay that dies now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from random import Random

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RecordSource
from openmirror.cdc.relay.document import document_path, read_document
from openmirror.cdc.relay.relay import Relay, RelayOptions
from openmirror.ports import FileStore
from openmirror.protocol.names import TablePath
from openmirror.protocol.rows import EXTENSIONS, Marker
from openmirror.protocol.streams import StreamDocument
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath, join, landing_zone
from tests.harness.dying import Killed
from tests.harness.stores import Call, WatchedStore
from tests.publishing.zones import landed, mirrored
from tests.zone import MIRROR, Mirror

PATIENCE = 60.0
ZONE = landing_zone(MIRROR)


class Landing:
    """Relays of one stream, one after another."""

    def __init__(
        self,
        mirror: Mirror,
        random: Random,
        stream: str,
        source: Callable[[], RecordSource],
        schema: str,
    ) -> None:
        """`source` gives the stream to each relay; tables lie below `schema`."""
        self.random = random
        self.stream = stream
        self.store: FileStore = LocalStore(mirror.zone.root)
        self.takes = EXTENSIONS
        self.deaths = 0
        self._source = source
        self._schema = schema
        self._decoder = Decoder(mirror.spark)
        self._relay: Relay | None = None

    def land(self) -> int:
        """One batch, by a relay that may die anywhere in it; records that were read."""
        try:
            if self._relay is None:
                self._relay = self._opened()
            return self._relay.step().records
        except Killed:
            self._relay = None
            return 1

    def lose_relay(self) -> None:
        """The next batch is another relay's."""
        self._relay = None

    def land_while(self, wanted: Callable[[], bool]) -> None:
        """For as long as it is wanted; each batch may take its time."""
        ends = time.monotonic() + PATIENCE
        while wanted():
            assert time.monotonic() < ends, self.document()
            if self.land():
                ends = time.monotonic() + PATIENCE
            else:
                time.sleep(0.05)

    def land_until(self, mark: int) -> None:
        """Until a mark's row has landed, and all that was in the stream by then."""
        self.land_while(lambda: mark not in self.marks())
        self.lose_relay()
        _, end = self._source().ends()
        self.land_while(lambda: self.document().complete_to < end)

    def marks(self) -> set[object]:
        return {row["id"] for row in self.landed("marks", ("id",))}

    def landed(self, table: str, keys: tuple[str, ...]) -> list[Mapping[str, object]]:
        """What the landed files say, by the interpreter."""
        return list(mirrored(self.store, keys, self.folder(table)).rows)

    def markers(self, table: str) -> set[Marker]:
        """What the landed rows of a table do."""
        files = landed(self.store, self.folder(table))
        return {change.marker for file in files for change in file.changes}

    def document(self) -> StreamDocument:
        path = document_path(ZONE, self.stream)
        return read_document(self.store.read(path).data, path)

    def path(self, table: str) -> TablePath:
        return TablePath(self._schema, table)

    def folder(self, table: str) -> StorePath:
        return join(ZONE, *str(self.path(table)).split("/"))

    def _opened(self) -> Relay:
        store = WatchedStore(self.store, self._dies, self._dies)
        most = self.random.choice((100, 1_000, 10_000))
        options = RelayOptions(most_records=most, takes=self.takes)
        relay = Relay(store, ZONE, self.stream, self._source(), self._decoder.decode, options)
        relay.open()
        return relay

    def _dies(self, call: Call) -> None:
        if self.random.random() < 0.02:
            self.deaths += 1
            raise Killed(call)
