"""What the converter for Avro writes is what the one for JSON does, for every type of a source."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fastavro import parse_schema, schemaless_writer

from openmirror.cdc.avro.records import AvroRecords
from openmirror.cdc.avro.registry import SchemaId, WrongAvroSchema
from openmirror.cdc.decoding.batches import all_json, taken_apart
from openmirror.cdc.decoding.connect import schema_from
from openmirror.cdc.decoding.spans import Spans
from openmirror.errors import Unavailable
from tests.cdc.decoding.minted import batch
from tests.cdc.decoding.recorded import FOLDER, recorded
from tests.cdc.decoding.recorded.avro_names import RECORDED, with_names_of_avro

MINTED: dict[str, Any] = json.loads((FOLDER / "in_avro.json").read_text())
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "pg.public.t",
    "connect.name": "pg.public.t.Envelope",
    "fields": [{"name": "value", "type": ["null", "double"], "default": None}],
}


@dataclass
class Registry:
    """Schemas by their ids; how often each was asked for is counted."""

    schemas: Mapping[str, str]
    asked: list[str] = field(default_factory=list)

    def schema(self, id_: SchemaId) -> str | None:
        self.asked.append(id_)
        return self.schemas.get(id_)


def in_avro(name: str) -> pa.Table:
    """Recorded records, whose keys and values are in Avro."""
    rows = [
        {**row, "key": key and b64decode(key), "value": value and b64decode(value)}
        for row, (key, value) in zip(
            recorded(name).to_pylist(), MINTED["records"][name], strict=True
        )
    ]
    return pa.Table.from_pylist(rows, schema=recorded(name).schema)


def in_json(name: str) -> pa.Table:
    rows = [
        {**row, **{part: with_names_of_avro(row[part]) for part in ("key", "value")}}
        for row in recorded(name).to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=recorded(name).schema)


def named_in_headers(records: pa.Table) -> pa.Table:
    """The same records as Azure's converter writes them."""
    rows = records.to_pylist()
    for row in rows:
        for part in ("key", "value"):
            if row[part] is not None:
                id_ = str(int.from_bytes(row[part][1:5], "big")).encode()
                header = {"name": "content-type", "value": b"avro/binary+" + id_}
                row["headers"] = [*(row["headers"] or []), header]
                row[part] = row[part][5:]
    return pa.Table.from_pylist(rows, schema=records.schema)


def whole_batch(records: pa.Table) -> pa.Table:
    return records


@pytest.mark.parametrize("written", [whole_batch, named_in_headers])
@pytest.mark.parametrize("name", RECORDED)
def test_every_type_of_a_source_is_what_its_json_says(
    name: str, written: Callable[[pa.Table], pa.Table]
) -> None:
    registry = Registry(MINTED["schemas"])
    by_json = taken_apart(in_json(name), all_json)
    by_avro = taken_apart(written(in_avro(name)), AvroRecords(registry, registry))
    for json_side, avro_side in ((by_json.keys, by_avro.keys), (by_json.values, by_avro.values)):
        assert json_side.faults == avro_side.faults == {}
        assert payloads(avro_side) == [as_minted(value) for value in payloads(json_side)]
        schemas = zip(json_side.schemas.to_pylist(), avro_side.schemas.to_pylist(), strict=True)
        for of_json, of_avro in set(schemas):
            assert (of_json is None) is (of_avro is None)
            if of_json is not None:
                assert schema_from(json.loads(of_avro)) == schema_from(json.loads(of_json))
    assert len(registry.asked) == len(set(registry.asked))


def payloads(side: Spans) -> list[Any]:
    return [text and json.loads(text) for text in side.payloads.to_pylist()]


def as_minted(value: Any, name: str = "") -> Any:
    """What the converter for JSON reads of its own, before the one for Avro writes it."""
    if isinstance(value, dict):
        return {member: as_minted(one, member) for member, one in value.items()}
    if value in ("NaN", "Infinity", "-Infinity"):
        return 0.0
    if name == "snapshot" and value is None:
        return "false"  # its default
    if name.lower() == "one_float" and value is not None:
        return pc.cast(pa.scalar(value, pa.float32()), pa.float64()).as_py()
    return value


def test_json_and_avro_may_stand_in_one_topic() -> None:
    first, second = in_json("oracle_types").slice(0, 1), in_avro("oracle_types").slice(1, 1)
    registry = Registry(MINTED["schemas"])
    read = taken_apart(pa.concat_tables([first, second]), AvroRecords(registry, registry))
    wanted = payloads(taken_apart(in_json("oracle_types").slice(0, 2), all_json).values)
    assert payloads(read.values) == [wanted[0], as_minted(wanted[1])]
    assert read.values.faults == read.keys.faults == {}


def framed(value: bytes, id_: int = 1) -> bytes:
    return b"\0" + id_.to_bytes(4, "big") + value


def fault_of(value: bytes, schema: Any = ENVELOPE) -> str:
    registry = Registry({"1": schema if isinstance(schema, str) else json.dumps(schema)})
    good = framed(written(ENVELOPE, {"value": None}))
    records = batch([("t", None, value, {}), ("t", None, good, {})])
    spans = taken_apart(records, AvroRecords(registry, registry)).values
    assert spans.payloads[0].as_py() is None
    if schema is ENVELOPE:
        assert spans.payloads[1].as_py() == '{"value":null}', "another record is kept from"
    return spans.faults[0]


def written(schema: Any, value: Any) -> bytes:
    stream = pa.BufferOutputStream()
    schemaless_writer(stream, parse_schema(schema), value)
    return bytes(stream.getvalue())


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (framed(b""), "EOFError"),
        (framed(b"\x02\0\0"), "EOFError"),
        (framed(written(ENVELOPE, {"value": 1.5}) + b"\0"), "something follows after its value"),
        (framed(b"\x04"), "by schema 1 of Avro, it is not what its schema says"),
        (framed(b"\x02" + b"\xff" * 20), "something follows"),
        (framed(b"\0", id_=7), "schema 7, which the schema registry does not have"),
        (b"\0\0\0", "it is no JSON object"),
    ],
    ids=["empty", "cut short", "longer", "no branch", "hostile", "unknown schema", "no frame"],
)
def test_bytes_that_are_not_what_their_schema_says_are_a_fault_of_one_record(
    value: bytes, why: str
) -> None:
    assert why in fault_of(value)


def envelope_with(kind: Any) -> dict[str, Any]:
    return {**ENVELOPE, "fields": [{"name": "value", "type": kind}]}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", b"\xd0\x0f" + b"a" * 10),
        ("bytes", b"\xd0\x0f" + b"a" * 10),
        ("string", b"\x01"),
        ("string", b"\x04\xff\xfe"),
        ({"type": "array", "items": "int"}, b"\x06\x02"),
        ({"type": "map", "values": "string"}, b"\x02\x02a"),
        ({"type": "fixed", "name": "f", "size": 4}, b"\0\0"),
        ({"type": "enum", "name": "e", "symbols": ["a"]}, b"\x04"),
        ("boolean", b""),
        ("float", b"\0\0"),
        ("long", b"\xff" * 11),
        ("string", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    ],
)
def test_no_type_takes_bytes_that_are_cut_short_or_malformed(kind: Any, value: bytes) -> None:
    assert "by schema 1 of Avro" in fault_of(framed(value), envelope_with(kind))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "its schema is no JSON"),
        ("[]", "its schema is no record of Avro"),
        ('"string"', "its schema is no record of Avro"),
        ({k: v for k, v in ENVELOPE.items() if k != "connect.name"}, "connect.meta.data=false"),
        ({**ENVELOPE, "fields": 1}, "without a list of fields"),
        (envelope_with(["int", "string"]), "a union of several types"),
        (envelope_with(["null", "int", "string"]), "a union of several types"),
        (envelope_with("Envelope"), "no type 'Envelope'"),
        (envelope_with("null"), "no type 'null'"),
        (envelope_with(7), "7 for a type"),
        ({**ENVELOPE, "fields": [{"type": "int"}]}, "none of Avro"),
    ],
)
def test_a_schema_that_no_converter_writes_is_refused(schema: Any, why: str) -> None:
    assert why in fault_of(framed(b"\0"), schema)


def test_numbers_that_json_has_no_form_for_are_text() -> None:
    schema = envelope_with({"type": "array", "items": ["null", "double"]})
    values = [float("nan"), float("inf"), float("-inf"), None, -0.0, 5e-324]
    registry = Registry({"1": json.dumps(schema)})
    records = batch([("t", None, framed(written(schema, {"value": values})), {})])
    spans = taken_apart(records, AvroRecords(registry, registry)).values
    assert spans.payloads.to_pylist() == [
        '{"value":["NaN","Infinity","-Infinity",null,-0.0,5e-324]}'
    ]


def test_a_schema_that_was_unknown_is_asked_for_again() -> None:
    registry = Registry({})
    read = AvroRecords(registry, registry)
    records = batch([("t", None, framed(written(ENVELOPE, {"value": None})), {})])
    assert taken_apart(records, read).values.faults
    registry.schemas = {"1": json.dumps(ENVELOPE)}
    assert not taken_apart(records, read).values.faults


def test_a_registry_that_is_away_stops_nothing_for_good() -> None:
    class Away:
        def schema(self, id_: SchemaId) -> str | None:
            raise Unavailable("away")

    records = batch([("t", None, framed(b"\0"), {})])
    with pytest.raises(Unavailable):
        taken_apart(records, AvroRecords(Away(), Away()))


def test_a_schema_that_its_registry_has_in_another_format_is_a_fault() -> None:
    class Protobuf:
        def schema(self, id_: SchemaId) -> str | None:
            raise WrongAvroSchema("its schema is of type PROTOBUF, not of Avro")

    records = batch([("t", None, framed(b"\0"), {})])
    spans = taken_apart(records, AvroRecords(Protobuf(), Protobuf())).values
    assert "of type PROTOBUF" in spans.faults[0]
