"""Change records, as every source of them is read: one ordered run of bytes with their offsets."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.streams import Offset, StreamIdentity

SCHEMA_TEXT = pa.dictionary(pa.int32(), pa.string())
RECORDS = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("key_schema", SCHEMA_TEXT),
        pa.field("value_schema", SCHEMA_TEXT),
        pa.field(
            "headers",
            pa.list_(pa.struct([pa.field("name", pa.string()), pa.field("value", pa.binary())])),
        ),
    ]
)
"""Records in the order of their offsets.

Key and value are what Kafka Connect's JSON converter writes: without schemas where these stand in
columns of their own, and with them where those are NULL. A NULL key or value is a record without a
key, or a tombstone.
"""


class RecordSource(Protocol):
    """A stream that can be read from any offset that it still holds, as often as wanted."""

    @property
    def identity(self) -> StreamIdentity:
        """Which stream it is."""
        ...

    @property
    def forgets_by_itself(self) -> bool:
        """Whether old records go in time, whoever still needs them."""
        ...

    def ends(self) -> tuple[Offset, Offset]:
        """The first offset that can still be read, and the next one that will be written."""
        ...

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        """Records (`RECORDS`) from `start` on, none where nothing is there yet.

        At most so many records, and about so many bytes of keys and values, but at least one
        record. Raises EventsLost where `start` lies before the first that can still be read.
        """
        ...

    def forget(self, before: Offset) -> None:
        """Nobody will read what lies before this offset again: it may be deleted."""
        ...
