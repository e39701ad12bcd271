"""`python -m bench decoding`: change records of a database to typed rows, small batches and large.

Records are minted as Debezium's connector for PostgreSQL writes them, with their schemas.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

from bench.in_avro import Registry, in_avro
from bench.measuring import load, machine
from openmirror.cdc.avro.records import AvroRecords
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RECORDS
from openmirror.spark.jars import class_path
from openmirror.spark.session import start_spark

_DECIMAL = {
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "10"},
}
_CELLS: tuple[tuple[str, dict[str, Any], Any], ...] = (
    ("string", {}, "some words of a row"),
    ("bytes", _DECIMAL, "AJY="),
    ("int64", {"name": "io.debezium.time.MicroTimestamp"}, 1795136523456789),
    ("string", {"name": "io.debezium.time.ZonedTimestamp"}, "2026-11-19T23:02:03.456789Z"),
    ("boolean", {}, True),
    ("double", {}, 0.25),
    ("int32", {}, 7),
)
"""What a table's columns have, in turn: type, meaning and value."""
_SOURCE = {
    "version": "3.7.0.Final",
    "connector": "postgresql",
    "name": "pg",
    "ts_ms": 1795414440934,
    "snapshot": None,
    "db": "shop",
    "sequence": '["28053512","28058736"]',
    "ts_us": 1795414440934028,
    "ts_ns": 1795414440934028000,
    "schema": "public",
    "table": "",
    "txId": 773,
    "lsn": 28058736,
    "xmin": None,
    "origin": None,
    "origin_lsn": None,
}
_NUMBERS = ("txId", "xmin")
_TRANSACTION = {"id": "773:28058736", "total_order": 1, "data_collection_order": 1}


@dataclass(frozen=True)
class DecodedBatch:
    """What a batch of one shape costs when all is warm."""

    records: int
    tables: int
    columns: int
    form: str
    """json or avro"""
    bytes: int
    """Of a record, on average."""
    seconds: float
    """Median of the runs."""

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds


def decoding(
    runs: Annotated[int, typer.Option(min=1, help="How often each batch is decoded.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Decode batches of 300 records of five and of fifty tables, and of 15,000 records of five.

    Of each in JSON with schemas, and in Avro.
    """
    before = load()
    spark = start_spark(master="local[2]", driver_memory="2g", class_path=class_path())
    registry = Registry()
    decoder = Decoder(spark, AvroRecords(registry, registry))
    shapes = ((300, 5, 8), (300, 50, 8), (15_000, 5, 8), (15_000, 5, 24))
    batches = [minted(*shape) for shape in shapes]
    forms = [
        (*shape, form, batch)
        for shape, own in zip(shapes, batches, strict=True)
        for form, batch in (("json", own), ("avro", in_avro(own, registry)))
    ]
    for one in forms:  # the JVM compiles
        _measure(decoder, *one, runs=runs)
    found = [_measure(decoder, *one, runs=runs) for one in forms]
    spark.stop()
    loads = [before, load()]
    if as_json:
        rows = [asdict(one) for one in found]
        typer.echo(json.dumps({"batches": rows, "loads": loads, "machine": machine()}))
        return
    table = Table(box=None)
    for heading in ("records", "tables", "columns", "form", "bytes", "ms", "records/s"):
        table.add_column(heading, justify="right")
    for one in found:
        shape = (f"{cell:,}" for cell in (one.records, one.tables, one.columns))
        measured = (one.bytes, one.seconds * 1000, one.records_per_second)
        table.add_row(*shape, one.form, *(f"{cell:,.0f}" for cell in measured))
    Console().print(table)
    typer.echo(f"{machine()}; load average before and after: {loads}")


def _measure(
    decoder: Decoder,
    records: int,
    tables: int,
    columns: int,
    form: str,
    batch: pa.Table,
    *,
    runs: int,
) -> DecodedBatch:
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        decoded = decoder.decode(batch)
        seconds.append(time.perf_counter() - began)
        rows = sum(len(table.rows) for table in decoded.tables)
        if decoded.undecodable or rows != records:
            raise typer.Exit(1)
    size = batch.nbytes // records
    return DecodedBatch(records, tables, columns, form, size, median(seconds))


def minted(records: int, tables: int, columns: int, snapshot: str | None = None) -> pa.Table:
    """Creates, updates and deletes of every table in turn, of a snapshot where it is named."""
    key = {"type": "int64", "optional": False, "field": "id"}
    cells = [_CELLS[number % len(_CELLS)] for number in range(columns - 1)]
    fields = [
        {"type": kind, "optional": True, **meaning, "field": f"column_{number}"}
        for number, (kind, meaning, _) in enumerate(cells)
    ]
    row = {f"column_{number}": value for number, (_, _, value) in enumerate(cells)}
    minted = []
    for number in range(records):
        topic = f"pg.public.t{number % tables}"
        op = "d" if number % 10 == 9 else "u" if number % 2 else "c"
        value = _value(topic, [key, *fields], op, {"id": number, **row}, snapshot)
        key_schema = {"type": "struct", "fields": [key], "name": f"{topic}.Key"}
        minted.append(
            {
                "offset": number,
                "topic": topic,
                "key": _bytes(key_schema, {"id": number}),
                "value": value,
                "headers": [],
            }
        )
    return pa.Table.from_pylist(minted, schema=RECORDS)


def _value(
    topic: str, fields: list[dict[str, Any]], op: str, row: dict[str, Any], snapshot: str | None
) -> bytes:
    image = {"type": "struct", "fields": fields, "optional": True, "name": f"{topic}.Value"}
    source = {**_SOURCE, "table": topic.rpartition(".")[2], "snapshot": snapshot}
    payload = {
        "before": None,
        "after": None if op == "d" else row,
        "source": source,
        "transaction": _TRANSACTION,
        "op": op,
        "ts_ms": 1795414441215,
    }
    members = [
        {**image, "field": "before"},
        {**image, "field": "after"},
        _struct(source, "io.debezium.connector.postgresql.Source", "source"),
        _struct(_TRANSACTION, "event.block", "transaction"),
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
    ]
    return _bytes({"type": "struct", "fields": members, "name": f"{topic}.Envelope"}, payload)


def _struct(values: dict[str, Any], name: str, field: str) -> dict[str, Any]:
    fields = [
        {"type": "int64" if _is_number(member) else "string", "optional": True, "field": member}
        for member in values
    ]
    return {"type": "struct", "fields": fields, "name": name, "field": field}


def _is_number(member: str) -> bool:
    return member.startswith("ts_") or member.endswith(("lsn", "order")) or member in _NUMBERS


def _bytes(schema: dict[str, Any], payload: dict[str, Any]) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()
