"""One envelope with one key: what records that share both are decoded by."""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import DecodedRows
from openmirror.cdc.decoding.batches import RecordsApart, without
from openmirror.cdc.decoding.checks import Payloads
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, no_envelope
from openmirror.cdc.decoding.keys import Key
from openmirror.cdc.decoding.parsing import VersionQuery
from openmirror.cdc.decoding.payloads import PayloadCheck
from openmirror.cdc.decoding.placeholders import absent_columns_of
from openmirror.cdc.decoding.rows import rows_of
from openmirror.cdc.decoding.unchanged import with_kept
from openmirror.protocol.streams import StopReason

_DELETE = r'"op"\s*:\s*"d"'


class SchemaVersion:
    """A table's columns as of some of its records."""

    def __init__(self, number: int, envelope: ChangeEnvelope, key: Key | None) -> None:
        self._envelope = envelope
        self._key = key
        self._value_check = PayloadCheck(envelope.schema)
        self._key_check = None if key is None else PayloadCheck(key.schema)
        self.query = VersionQuery(number, envelope, key)

    def sound(
        self, batch: RecordsApart, members: pa.Array, stops: dict[int, StopReason]
    ) -> pa.Array:
        """The members whose payload and key are what their schemas say, with nothing left out.

        Why the others are not is added to `stops`.
        """
        rows = members.to_pylist()
        faults = batch.keys.faults
        wrong = {row: f"its key: {faults[row]}" for row in rows if row in faults}
        found = self._value_check.faults(batch.values.payloads.take(members), "its payload")
        if self._key_check is not None:
            found |= self._key_check.faults(batch.keys.payloads.take(members), "its key")
        wrong |= {rows[place]: why for place, why in found.items()}
        stops.update({row: no_envelope(why) for row, why in wrong.items()})
        return without(members, wrong)

    def has_deletes(self, batch: RecordsApart, members: pa.Array) -> bool:
        """Whether keys are to be read as well, since a delete has its columns there alone."""
        if self._key is None:
            return False
        payloads = batch.values.payloads.take(members)
        return bool(pc.any(pc.match_substring_regex(payloads, _DELETE)).as_py())

    def decode(
        self, batch: RecordsApart, members: pa.Array, parsed: pa.Table
    ) -> tuple[list[DecodedRows], dict[int, StopReason]]:
        """Sound members as rows, from what Spark read of each."""
        keys = None
        if self.query.key_name in parsed.column_names:
            keys = parsed.column(self.query.key_name).combine_chunks()
        values = parsed.column(self.query.value_name).combine_chunks()
        absent = absent_columns_of(batch.values.payloads.take(members))
        payloads = Payloads(
            rows=members,
            offsets=batch.offsets.take(members),
            values=values,
            keys=keys,
            key_texts=batch.keys.payloads.take(members),
            pairs=batch.pairs.take(members),
            absent=with_kept(absent, values, self._envelope.left_out),
        )
        return rows_of(self._envelope, self._key, payloads)
