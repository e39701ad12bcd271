"""A batch of records taken apart, and what became of it as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import SourceTable, UndecodableRecord
from openmirror.cdc.decoding.control import pairs
from openmirror.cdc.decoding.payloads import table_in
from openmirror.cdc.decoding.spans import Spans, apart, together
from openmirror.protocol.streams import StopReason


@dataclass(frozen=True)
class RecordsApart:
    """Records column by column; rows are counted from 0."""

    offsets: pa.Array
    topics: pa.Array
    values: Spans
    keys: Spans
    pairs: pa.Array
    """Which half of a changed key a record is."""


ReadOtherwise = Callable[[pa.Table], tuple[Spans | None, Spans | None]]
"""What becomes of those keys and of those values of records (`RECORDS`) that are in another format
than JSON: spans that have these alone, or None where there are none."""


def all_json(_: pa.Table) -> tuple[None, None]:
    """Records that are in no other format."""
    return None, None


def taken_apart(records: pa.Table, otherwise: ReadOtherwise) -> RecordsApart:
    """The columns of `RECORDS`."""
    columns = {name: records.column(name).combine_chunks() for name in records.column_names}
    keys, values = otherwise(records)
    return RecordsApart(
        columns["offset"],
        columns["topic"],
        _apart(columns["value"], columns["value_schema"], values),
        _apart(columns["key"], columns["key_schema"], keys),
        pairs(columns["headers"]),
    )


def _apart(records: pa.Array, schemas: pa.DictionaryArray, done: Spans | None) -> Spans:
    if done is None:
        return apart(records, schemas)
    known = pa.array([row in done.faults for row in range(len(records))], pa.bool_())
    known = pc.or_(known, pc.is_valid(done.payloads))
    if pc.all(pc.or_(known, pc.is_null(records))).as_py():
        return done
    return together(done, apart(pc.if_else(known, None, records), schemas))


def by_schema(schemas: pa.DictionaryArray, rows: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Each distinct schema with its rows, in the order of the first."""
    for index in pc.unique(pc.drop_null(schemas.indices)).to_pylist():
        yield schemas.dictionary[index].as_py(), rows.filter(pc.equal(schemas.indices, index))


def without(rows: pa.Array, some: Iterable[int]) -> pa.Array:
    """Rows but for some."""
    return rows.filter(pc.invert(pc.is_in(rows, pa.array(some, rows.type))))


def undecodable(
    batch: RecordsApart, stops: Mapping[int, StopReason], known: Mapping[str, SourceTable]
) -> tuple[UndecodableRecord, ...]:
    """The stops of a batch's rows; `known` has tables of topics, for rows that do not name one."""
    found = []
    for row in sorted(stops):
        topic = batch.topics[row].as_py()
        table = table_in(batch.values.payloads[row].as_py()) or known.get(topic)
        found.append(UndecodableRecord(batch.offsets[row].as_py(), topic, table, stops[row]))
    return tuple(found)
