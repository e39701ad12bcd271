"""The decoder: a batch of change records to typed rows, table by table."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from openmirror.cdc.decoded import Decoded, DecodedRows, SourceTable
from openmirror.cdc.decoding.batches import (
    ReadOtherwise,
    RecordsApart,
    all_json,
    by_schema,
    taken_apart,
    undecodable,
)
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, WithoutRows, announced, no_envelope
from openmirror.cdc.decoding.keys import key_from
from openmirror.cdc.decoding.parsing import parse, session_for_parsing
from openmirror.cdc.decoding.versions import SchemaVersion
from openmirror.protocol.streams import StopReason

_TRUNCATE = '"op":"t"'


class Decoder:
    """Decodes batches, one at a time, and remembers the schemas that it saw.

    Spark parses the payloads, in one query of a batch; all else is done in Arrow, column by column.
    Nothing is written.
    """

    def __init__(self, spark: SparkSession, otherwise: ReadOtherwise = all_json) -> None:
        """`otherwise` reads what is not in JSON."""
        self._otherwise = otherwise
        self._spark = session_for_parsing(spark)
        self._announced: dict[str, ChangeEnvelope | WithoutRows | StopReason] = {}
        self._versions: dict[tuple[str, str | None], SchemaVersion | StopReason] = {}
        # A truncate has no key, but belongs to the table that other records give one.
        self._keys: dict[str, str] = {}
        # A record that nobody can read names no table; its topic's others did.
        self._tables: dict[str, SourceTable] = {}

    def decode(self, records: pa.Table) -> Decoded:
        """What records (`RECORDS`) say. One that cannot be understood keeps no other from it."""
        batch = taken_apart(records, self._otherwise)
        stops = {row: no_envelope(why) for row, why in batch.values.faults.items()}
        others = batch.values.payloads.null_count - len(stops)
        groups: list[tuple[SchemaVersion, pa.Array]] = []
        for text, rows in by_schema(batch.values.schemas, pa.array(range(len(records)))):
            what = self._what(text)
            if isinstance(what, WithoutRows):
                others += len(rows)
            elif isinstance(what, StopReason):
                stops.update(dict.fromkeys(rows.to_pylist(), what))
            else:
                groups += self._by_key(batch, text, what, rows, stops)
        decoded = self._decode_groups(batch, groups, stops)
        return Decoded(tuple(decoded), undecodable(batch, stops, self._tables), others)

    def _what(self, text: str) -> ChangeEnvelope | WithoutRows | StopReason:
        if text not in self._announced:
            self._announced[text] = announced(text)
        return self._announced[text]

    def _by_key(
        self,
        batch: RecordsApart,
        text: str,
        envelope: ChangeEnvelope,
        rows: pa.Array,
        stops: dict[int, StopReason],
    ) -> Iterator[tuple[SchemaVersion, pa.Array]]:
        """Records of one envelope by the schemas of their keys, without those that are no such."""
        schemas = batch.keys.schemas.take(rows)
        by_key: dict[str | None, pa.Array] = dict(by_schema(schemas, rows))
        for key_text in by_key:
            self._keys[text] = str(key_text)
        by_key[None] = rows.filter(pc.is_null(schemas))
        if text in self._keys:
            _join_truncates(batch, by_key, self._keys[text])
        for key_text, members in by_key.items():
            version = self._version(text, key_text, envelope)
            if isinstance(version, StopReason):
                stops.update(dict.fromkeys(members.to_pylist(), version))
            elif len(sound := version.sound(batch, members, stops)):
                yield version, sound

    def _version(
        self, text: str, key_text: str | None, envelope: ChangeEnvelope
    ) -> SchemaVersion | StopReason:
        known = self._versions.get((text, key_text))
        if known is None:
            key = None if key_text is None else key_from(key_text, envelope)
            number = len(self._versions)
            known = key if isinstance(key, StopReason) else SchemaVersion(number, envelope, key)
            self._versions[text, key_text] = known
        return known

    def _decode_groups(
        self,
        batch: RecordsApart,
        groups: list[tuple[SchemaVersion, pa.Array]],
        stops: dict[int, StopReason],
    ) -> list[DecodedRows]:
        if not groups:
            return []
        columns = [
            column
            for version, members in groups
            for column in version.query.columns(with_key=version.has_deletes(batch, members))
        ]
        rows = pa.concat_arrays([members for _, members in groups])
        numbers = [pa.repeat(pa.scalar(v.query.number, pa.int32()), len(m)) for v, m in groups]
        values, keys = batch.values.payloads.take(rows), batch.keys.payloads.take(rows)
        parsed = parse(self._spark, columns, pa.concat_arrays(numbers), values, keys)
        decoded: list[DecodedRows] = []
        begin = 0
        for version, members in groups:
            part = parsed.slice(begin, len(members))
            begin += len(members)
            tables, wrong = version.decode(batch, members, part)
            stops.update(wrong)
            decoded += tables
            self._remember(batch.topics.take(members), tables)
        return decoded

    def _remember(self, topics: pa.Array, tables: list[DecodedRows]) -> None:
        """Which table a topic has, where its name says that it has no other."""
        for topic in pc.unique(topics).to_pylist():
            for rows in tables:
                table = rows.table
                if topic.endswith(f".{table.schema}.{table.table}"):
                    self._tables[topic] = table


def _join_truncates(batch: RecordsApart, by_key: dict[str | None, pa.Array], key_text: str) -> None:
    """Truncates of a table that has a key go with its other records, in their order."""
    keyless = by_key[None]
    truncates = pc.match_substring(batch.values.payloads.take(keyless), pattern=_TRUNCATE)
    joined = [*(by_key[key] for key in [key_text] if key in by_key), keyless.filter(truncates)]
    members = pa.concat_arrays(joined)
    by_key[key_text] = members.take(pc.array_sort_indices(members))
    by_key[None] = keyless.filter(pc.invert(truncates))
