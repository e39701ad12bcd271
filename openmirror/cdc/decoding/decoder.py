"""The decoder: a batch of change records to typed rows, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from openmirror.cdc.decoded import Decoded, DecodedRows, UndecodableRecord
from openmirror.cdc.decoding.control import pairs
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, WithoutRows, announced, no_envelope
from openmirror.cdc.decoding.keys import Key, key_from
from openmirror.cdc.decoding.parsing import VersionQuery, parse, session_for_parsing
from openmirror.cdc.decoding.payloads import Payload, table_in
from openmirror.cdc.decoding.placeholders import unavailable
from openmirror.cdc.decoding.rows import Payloads, rows_of
from openmirror.cdc.decoding.spans import Spans, split
from openmirror.cdc.stops import StopReason

_TRUNCATE = '"op":"t"'


@dataclass(frozen=True)
class _Version:
    """An envelope with a key: what a group of records is decoded by."""

    envelope: ChangeEnvelope
    value: Payload
    key: Key | None
    key_value: Payload | None
    query: VersionQuery


@dataclass(frozen=True)
class _Batch:
    """Records taken apart."""

    offsets: pa.Array
    topics: pa.Array
    values: Spans
    keys: Spans
    pairs: pa.Array


class Decoder:
    """Decodes batches, one at a time, and remembers the schemas that it saw."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = session_for_parsing(spark)
        self._announced: dict[str, ChangeEnvelope | WithoutRows | StopReason] = {}
        self._versions: dict[tuple[str, str | None], _Version | StopReason] = {}
        # A truncate has no key, but belongs to the table that other records give one.
        self._keys: dict[str, str] = {}

    def decode(self, records: pa.Table) -> Decoded:
        """What records (`RECORDS`) say. One that cannot be understood keeps no other from it."""
        batch = _taken_apart(records)
        stops = {row: no_envelope(why) for row, why in batch.values.faults.items()}
        others = batch.values.payloads.null_count - len(stops)
        groups: list[tuple[_Version, pa.Array]] = []
        for text, rows in _by_schema(batch.values.schemas, pa.array(range(len(records)))):
            what = self._what(text)
            if isinstance(what, WithoutRows):
                others += len(rows)
            elif isinstance(what, StopReason):
                stops.update(dict.fromkeys(rows.to_pylist(), what))
            else:
                groups += self._by_key(batch, text, what, rows, stops)
        decoded = self._decode_groups(batch, groups, stops)
        return Decoded(tuple(decoded), _undecodable(batch, stops), others)

    def _what(self, text: str) -> ChangeEnvelope | WithoutRows | StopReason:
        if text not in self._announced:
            self._announced[text] = announced(text)
        return self._announced[text]

    def _by_key(
        self,
        batch: _Batch,
        text: str,
        envelope: ChangeEnvelope,
        rows: pa.Array,
        stops: dict[int, StopReason],
    ) -> Iterator[tuple[_Version, pa.Array]]:
        """Records of one envelope by the schemas of their keys, without those that are no such."""
        schemas = batch.keys.schemas.take(rows)
        by_key: dict[str | None, pa.Array] = dict(_by_schema(schemas, rows))
        for key_text in by_key:
            self._keys[text] = str(key_text)
        by_key[None] = rows.filter(pc.is_null(schemas))
        if text in self._keys:
            _join_truncates(batch, by_key, self._keys[text])
        for key_text, members in by_key.items():
            version = self._version(text, key_text, envelope)
            if isinstance(version, StopReason):
                stops.update(dict.fromkeys(members.to_pylist(), version))
            elif len(sound := _sound(batch, version, members, stops)):
                yield version, sound

    def _version(
        self, text: str, key_text: str | None, envelope: ChangeEnvelope
    ) -> _Version | StopReason:
        known = self._versions.get((text, key_text))
        if known is None:
            key = None if key_text is None else key_from(key_text, envelope)
            known = key if isinstance(key, StopReason) else self._new_version(envelope, key)
            self._versions[text, key_text] = known
        return known

    def _new_version(self, envelope: ChangeEnvelope, key: Key | None) -> _Version:
        return _Version(
            envelope,
            Payload(envelope.schema),
            key,
            None if key is None else Payload(key.schema),
            VersionQuery(len(self._versions), envelope, key),
        )

    def _decode_groups(
        self, batch: _Batch, groups: list[tuple[_Version, pa.Array]], stops: dict[int, StopReason]
    ) -> list[DecodedRows]:
        if not groups:
            return []
        rows = pa.concat_arrays([members for _, members in groups])
        numbers = pa.concat_arrays(
            [pa.repeat(pa.scalar(v.query.number, pa.int32()), len(m)) for v, m in groups]
        )
        values = batch.values.payloads.take(rows)
        keys = batch.keys.payloads.take(rows)
        parsed = parse(self._spark, [version.query for version, _ in groups], numbers, values, keys)
        decoded: list[DecodedRows] = []
        begin = 0
        for version, members in groups:
            part = parsed.slice(begin, len(members))
            begin += len(members)
            payloads = Payloads(
                rows=members,
                offsets=batch.offsets.take(members),
                values=part.column(version.query.value_name).combine_chunks(),
                keys=part.column(version.query.key_name).combine_chunks() if version.key else None,
                key_texts=batch.keys.payloads.take(members),
                pairs=batch.pairs.take(members),
            )
            tables, wrong = rows_of(version.envelope, version.key, payloads)
            decoded += [table for table in tables if len(table.rows)]
            stops.update(wrong)
        return decoded


def _taken_apart(records: pa.Table) -> _Batch:
    columns = {name: records.column(name).combine_chunks() for name in records.column_names}
    return _Batch(
        columns["offset"],
        columns["topic"],
        split(columns["value"]),
        split(columns["key"]),
        pairs(columns["headers"]),
    )


def _by_schema(schemas: pa.DictionaryArray, rows: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Each distinct schema with its rows, in the order of the first."""
    for index in pc.unique(pc.drop_null(schemas.indices)).to_pylist():
        yield schemas.dictionary[index].as_py(), rows.filter(pc.equal(schemas.indices, index))


def _join_truncates(batch: _Batch, by_key: dict[str | None, pa.Array], key_text: str) -> None:
    """Truncates of a table that has a key go with its other records, in their order."""
    without = by_key[None]
    truncates = pc.match_substring(batch.values.payloads.take(without), pattern=_TRUNCATE)
    joined = [*(by_key[key] for key in [key_text] if key in by_key), without.filter(truncates)]
    members = pa.concat_arrays(joined)
    by_key[key_text] = members.take(pc.array_sort_indices(members))
    by_key[None] = without.filter(pc.invert(truncates))


def _sound(
    batch: _Batch, version: _Version, members: pa.Array, stops: dict[int, StopReason]
) -> pa.Array:
    """The members whose payload and key are what their schemas say, with nothing left out."""
    rows = members.to_pylist()
    wrong = {row: f"its key: {batch.keys.faults[row]}" for row in rows if row in batch.keys.faults}
    payloads = batch.values.payloads.take(members)
    found = version.value.faults(payloads, "its payload")
    if version.key_value is not None:
        found |= version.key_value.faults(batch.keys.payloads.take(members), "its key")
    wrong |= {rows[place]: why for place, why in found.items()}
    stops.update({row: no_envelope(why) for row, why in wrong.items()})
    sound = _without(members, wrong)
    missing = unavailable(batch.values.payloads.take(sound))
    rows = sound.to_pylist()
    stops.update({rows[place]: stop for place, stop in missing.items()})
    return _without(sound, [rows[place] for place in missing])


def _without(members: pa.Array, rows: Iterable[int]) -> pa.Array:
    return members.filter(pc.invert(pc.is_in(members, pa.array(rows, members.type))))


def _undecodable(batch: _Batch, stops: dict[int, StopReason]) -> tuple[UndecodableRecord, ...]:
    return tuple(
        UndecodableRecord(
            batch.offsets[row].as_py(),
            batch.topics[row].as_py(),
            table_in(batch.values.payloads[row].as_py()),
            stops[row],
        )
        for row in sorted(stops)
    )
