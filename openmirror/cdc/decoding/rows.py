"""What Spark read of one schema's payloads, as rows of its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.cdc.decoded import CONTROL, DecodedRows, SourceColumn, SourceTable
from openmirror.cdc.decoding.checks import DELETE, READ, Findings, Payloads, check
from openmirror.cdc.decoding.control import NO_SNAPSHOT, places
from openmirror.cdc.decoding.converting import convert
from openmirror.cdc.decoding.envelopes import ChangeEnvelope, no_envelope
from openmirror.cdc.decoding.keys import Key
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.streams import StopCode, StopReason

_NAMES = ("db", "schema", "table")


def rows_of(
    envelope: ChangeEnvelope, key: Key | None, payloads: Payloads
) -> tuple[list[DecodedRows], dict[int, StopReason]]:
    """The rows by table, and why records of the batch, by their row there, are none."""
    findings = Findings(payloads.rows)
    check(findings, envelope, key, payloads)
    control = _control(findings, payloads)
    columns = []
    for index, column in enumerate(envelope.columns):
        converted = convert(_raw(index, column, key, payloads), envelope.readings[index])
        if converted.invalid is not None:
            findings.add(converted.invalid, _invalid(column))
        if converted.cut is not None and key is not None and column.name in key.columns:
            findings.add(converted.cut, _cut_key(column))
        columns.append(converted.values)
    fields = [pa.field(column.name, arrow_type(column.type)) for column in envelope.columns]
    schema = pa.schema([*CONTROL, *fields])
    table = pa.Table.from_arrays([*control, *columns], schema=schema).filter(findings.sound)
    names = [payloads.of_source(name).filter(findings.sound) for name in _NAMES]
    keys = key.columns if key else ()
    return [
        DecodedRows(name, keys, envelope.columns, table if rows is None else table.filter(rows))
        for name, rows in _by_table(names)
    ], findings.stops


def _control(findings: Findings, payloads: Payloads) -> list[pa.Array]:
    place = places(payloads.of_source)
    findings.add(place.malformed, no_envelope("its source says no position in a log"))
    # A row that was read by an incremental snapshot has no place; a change without one could not be
    # known again when it is sent twice.
    changed = pc.not_equal(pc.struct_field(payloads.values, "op"), READ)
    nowhere = no_envelope("it does not say where it stands in the log of its source")
    findings.add(pc.and_(pc.is_null(place.position), changed), nowhere)
    milliseconds = payloads.of_source("ts_ms").cast(pa.int64())
    microseconds = payloads.of_source("ts_us").cast(pa.int64())
    return [
        payloads.offsets,
        pc.struct_field(payloads.values, "op"),
        pc.fill_null(payloads.of_source("snapshot"), NO_SNAPSHOT),
        payloads.of_source("txId").cast(pa.string()),
        place.position,
        place.within,
        payloads.key_texts,
        payloads.pairs,
        _absent(payloads, len(payloads.rows)),
        pc.coalesce(microseconds, pc.multiply(milliseconds, 1000)),
    ]


def _absent(payloads: Payloads, rows: int) -> pa.Array:
    """Few records lack a value, and mostly none does."""
    if not payloads.absent:
        return pa.nulls(rows, pa.string())
    names = {at: json.dumps(of, ensure_ascii=False) for at, of in payloads.absent.items()}
    return pa.array([names.get(at) for at in range(rows)], pa.string())


def _raw(index: int, column: SourceColumn, key: Key | None, payloads: Payloads) -> pa.Array:
    """A column as Spark read it; of a delete the key's, since a row before it may be made up."""
    raw = pc.struct_field(payloads.values, [0, index])
    absent = [at for at, names in payloads.absent.items() if column.name in names]
    if absent:
        is_absent = pc.is_in(pa.array(range(len(raw))), pa.array(absent))
        raw = pc.if_else(is_absent, pa.scalar(None, raw.type), raw)
    if key is None or payloads.keys is None or column.name not in key.columns:
        return raw
    of_key = pc.struct_field(payloads.keys, [key.columns.index(column.name)])
    return pc.if_else(pc.equal(pc.struct_field(payloads.values, "op"), DELETE), of_key, raw)


def _invalid(column: SourceColumn) -> StopReason:
    return StopReason(
        StopCode.SOURCE_VALUE_INVALID,
        f"a value of column {column.name!r} has no place in {column.type}",
        "Correct the value in the database, or leave the column out with column.exclude.list; "
        "then take a new snapshot of the table.",
    )


def _cut_key(column: SourceColumn) -> StopReason:
    return StopReason(
        StopCode.SOURCE_VALUE_INVALID,
        f"a value of key column {column.name!r} is finer than a microsecond, which {column.type} "
        "cuts off: two rows would have one key",
        "Use another key (message.key.columns), or one that has microseconds at most; then take a "
        "new snapshot of the table.",
    )


def _by_table(names: list[pa.Array]) -> Iterator[tuple[SourceTable, pa.Array | None]]:
    """Each table with where its rows are; None: everywhere, as it mostly is."""
    known = [pc.fill_null(column, "") for column in names]
    tables = pa.Table.from_arrays(known, list(_NAMES)).group_by(list(_NAMES)).aggregate([])
    for row in tables.to_pylist():
        table = SourceTable(row["db"], row["schema"], row["table"])
        if len(tables) == 1:
            yield table, None
            return
        same = [pc.equal(column, row[name]) for name, column in zip(_NAMES, known, strict=True)]
        yield table, pc.and_(pc.and_(same[0], same[1]), same[2])
