"""What Spark read of one schema's payloads, as rows of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import CONTROL, DecodedRows, SourceColumn, SourceTable
from openmirror.cdc.decoding.control import positions
from openmirror.cdc.decoding.converting import convert
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, no_envelope
from openmirror.cdc.decoding.keys import Key
from openmirror.cdc.decoding.parsing import UNREAD
from openmirror.cdc.stops import StopCode, StopReason
from openmirror.formats.arrow_types import arrow_type

_WITH_ROW = ("c", "r", "u")
_DELETE = "d"
_TRUNCATE = "t"
_CONNECTOR = "postgresql"
_NAMES = ("db", "schema", "table")


@dataclass(frozen=True)
class Payloads:
    """Records of one envelope and one key; all columns are equally long."""

    rows: pa.Array
    """Where in the batch each stands."""
    offsets: pa.Array
    values: pa.Array
    """Structs, as Spark read them."""
    keys: pa.Array | None
    """Likewise, at least of the deletes."""
    key_texts: pa.Array
    pairs: pa.Array


def rows_of(
    envelope: ChangeEnvelope, key: Key | None, payloads: Payloads
) -> tuple[list[DecodedRows], dict[int, StopReason]]:
    """The rows by table, and why records of the batch, by their row there, are none."""
    found = _Found(payloads.rows)
    operations = pc.struct_field(payloads.values, "op")
    source = pc.struct_field(payloads.values, "source")
    _check(found, key, payloads, operations, source)
    place, misplaced = positions(_member(source, "sequence"), _member(source, "lsn"))
    found.add(misplaced, no_envelope("its source's sequence is not two log positions"))
    columns = [
        _column(found, index, column, envelope, key, payloads, operations)
        for index, column in enumerate(envelope.columns)
    ]
    control = [
        payloads.offsets,
        operations,
        # Its default, which a converter may leave out.
        pc.fill_null(_member(source, "snapshot"), "false"),
        _member(source, "txId").cast(pa.string()),
        place,
        payloads.key_texts,
        payloads.pairs,
        _microseconds(source),
    ]
    fields = [pa.field(column.name, arrow_type(column.type)) for column in envelope.columns]
    table = pa.Table.from_arrays(
        [*control, *columns], schema=pa.schema([*CONTROL, *fields])
    ).filter(found.sound)
    names = key.columns if key else ()
    parts = _by_table(source.filter(found.sound))
    return [
        DecodedRows(name, names, envelope.columns, table if rows is None else table.filter(rows))
        for name, rows in parts
    ], found.stops


class _Found:
    """What was found wrong so far, each record for its first reason."""

    def __init__(self, rows: pa.Array) -> None:
        self._rows = rows
        self.stops: dict[int, StopReason] = {}
        self.sound = pa.repeat(pa.scalar(True), len(rows))

    def add(self, wrong: pa.Array, stop: StopReason) -> None:
        """Records for which `wrong` is true; NULL is not."""
        wrong = pc.fill_null(wrong, False)
        if not pc.any(wrong).as_py():
            return
        for row in self._rows.filter(wrong).to_pylist():
            self.stops.setdefault(row, stop)
        self.sound = pc.and_(self.sound, pc.invert(wrong))


def _check(
    found: _Found, key: Key | None, payloads: Payloads, operations: pa.Array, source: pa.Array
) -> None:
    unread = pc.is_valid(pc.struct_field(payloads.values, UNREAD))
    found.add(unread, no_envelope("its payload is not what its schema says"))
    connector = _member(source, "connector")
    found.add(
        pc.fill_null(pc.not_equal(connector, _CONNECTOR), True),
        no_envelope(f"it comes from another connector than that for {_CONNECTOR}"),
    )
    known = pa.array([*_WITH_ROW, _DELETE, _TRUNCATE])
    found.add(pc.invert(pc.is_in(operations, known)), no_envelope("its op is none that is known"))
    changed = pc.is_in(operations, pa.array(_WITH_ROW))
    without = pc.is_null(pc.struct_field(payloads.values, "after"))
    found.add(pc.and_(changed, without), no_envelope("it has no row after its change"))
    if key is not None:
        keyless = pc.and_(pc.is_null(payloads.key_texts), pc.not_equal(operations, _TRUNCATE))
        found.add(keyless, no_envelope("it has no key, which other records of its table have"))
    if payloads.keys is not None:
        unread = pc.is_valid(pc.struct_field(payloads.keys, UNREAD))
        found.add(unread, no_envelope("its key is not what its schema says"))


def _column(
    found: _Found,
    index: int,
    column: SourceColumn,
    envelope: ChangeEnvelope,
    key: Key | None,
    payloads: Payloads,
    operations: pa.Array,
) -> pa.Array:
    raw = pc.struct_field(payloads.values, [0, index])
    if key is not None and payloads.keys is not None and column.name in key.columns:
        of_key = pc.struct_field(payloads.keys, [key.columns.index(column.name)])
        raw = pc.if_else(pc.equal(operations, _DELETE), of_key, raw)
    converted = convert(raw, envelope.readings[index])
    if converted.invalid is not None:
        found.add(converted.invalid, _invalid(column))
    return converted.values


def _invalid(column: SourceColumn) -> StopReason:
    return StopReason(
        StopCode.SOURCE_VALUE_INVALID,
        f"a value of column {column.name!r} has no place in {column.type}",
        "Correct the value in the database, or leave the column out with column.exclude.list; "
        "then take a new snapshot of the table.",
    )


def _member(source: pa.Array, name: str) -> pa.Array:
    if source.type.get_field_index(name) < 0:
        return pa.nulls(len(source), pa.string())
    return pc.struct_field(source, name)


def _microseconds(source: pa.Array) -> pa.Array:
    milliseconds = _member(source, "ts_ms").cast(pa.int64())
    return pc.coalesce(_member(source, "ts_us").cast(pa.int64()), pc.multiply(milliseconds, 1000))


def _by_table(source: pa.Array) -> Iterator[tuple[SourceTable, pa.Array | None]]:
    """Each table with where its rows are; None: everywhere, as it mostly is."""
    names = [pc.fill_null(_member(source, name), "") for name in _NAMES]
    tables = pa.Table.from_arrays(names, list(_NAMES)).group_by(list(_NAMES)).aggregate([])
    for row in tables.to_pylist():
        table = SourceTable(row["db"], row["schema"], row["table"])
        if len(tables) == 1:
            yield table, None
            return
        same = [pc.equal(column, row[name]) for name, column in zip(_NAMES, names, strict=True)]
        yield table, pc.and_(pc.and_(same[0], same[1]), same[2])
