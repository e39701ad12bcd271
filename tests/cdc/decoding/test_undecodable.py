"""Records that nobody can understand: each is named, and keeps no other from being decoded."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from openmirror.cdc.decoded import Decoded, SourceTable, UndecodableRecord
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.streams import StopCode
from tests.cdc.decoding.minted import (
    MintedTable,
    Record,
    Tree,
    batch,
    column,
    compact,
    struct,
    with_schema,
)

TABLE = MintedTable(
    [
        column("id", "int64", optional=False),
        column("small", "int16"),
        column("words", "string"),
        column("must", "boolean", optional=False),
        column("day", "int32", "io.debezium.time.Date"),
        column("data", "bytes"),
        column("real", "double"),
        column("single", "float"),
        column("list", "array", items={"type": "string", "optional": True}),
    ],
    name="strict",
)
GOOD = {"id": 1, "must": True}


def with_value(edit: Callable[[str], str | bytes], op: str = "c") -> Record:
    topic, key, value, headers = TABLE.change(op, GOOD)
    assert value is not None
    edited = edit(value.decode())
    assert edited != value.decode(), "the edit must change something"
    return topic, key, edited.encode() if isinstance(edited, str) else edited, headers


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def with_key(key: bytes | None) -> Record:
    topic, _, value, headers = TABLE.change("c", GOOD)
    return topic, key, value, headers


def without_schema() -> Record:
    return TABLE.topic, None, compact(TABLE.payload("c", GOOD)).encode(), {}


def flattened() -> Record:
    schema = struct(TABLE.columns, "pg.public.strict.Value")
    return TABLE.topic, None, compact({"schema": schema, "payload": GOOD}).encode(), {}


def decode_among_good_ones(decoder: Decoder, bad: Record) -> UndecodableRecord:
    """What is found of a record that stands between two good ones, which must be decoded."""
    decoded = decoder.decode(batch([TABLE.change("c", GOOD), bad, TABLE.change("u", GOOD)], 40))
    assert offsets(decoded) == [40, 42]
    (found,) = decoded.undecodable
    assert (found.offset, found.topic) == (41, TABLE.topic)
    return found


def offsets(decoded: Decoded) -> list[int]:
    return sorted(n for table in decoded.tables for n in table.rows["__offset"].to_pylist())


def keyed(schema: Tree, payload: Any) -> Record:
    return with_key(with_schema(schema, payload))


def written(old: str, new: str) -> Record:
    """A create that is written otherwise in one place."""
    return with_value(replaced(old, new))


NULL_PAYLOAD = (TABLE.topic, None, with_schema(TABLE.envelope(), None), {})
UPDATE_WITHOUT_ROW = with_value(replaced('"op":"d"', '"op":"u"'), "d")
OTHER_KEY = struct([column("x", "int64")], "pg.public.strict.Key")
MALFORMED = {
    "no UTF-8": (with_value(lambda text: text.encode() + b"\xff"), "UTF-8"),
    "no JSON at all": ((TABLE.topic, None, b"hello", {}), "JSON"),
    "an empty value": ((TABLE.topic, None, b"", {}), "JSON"),
    "a record that was cut": (with_value(lambda text: text[:-30]), ""),
    "a payload that was cut": (with_value(lambda text: text[:-30] + "}}"), "JSON"),
    "something after its end": (with_value(lambda text: text + " {}"), ""),
    "a field beside its payload": (with_value(lambda text: text[:-1] + ',"more":1}'), ""),
    "its payload twice": (with_value(lambda text: text[:-1] + ',"payload":{}}'), ""),
    "no schema": (without_schema(), "schema"),
    "a flattened row": (flattened(), "no envelope"),
    "a schema that is none": (written('"type":"int16"', '"type":"int17"'), "int17"),
    "a payload that is NULL": (NULL_PAYLOAD, "NULL"),
    "a text for a number": (written('"small":null', '"small":"5"'), "'small'"),
    "a number for a text": (written('"words":null', '"words":5'), "'words'"),
    "an object for a text": (written('"words":null', '"words":{}'), "'words'"),
    "a number for a boolean": (written('"must":true', '"must":1'), "'must'"),
    "a fraction for a whole number": (written('"id":1', '"id":1.0'), "'id'"),
    "a number that is too large": (written('"small":null', '"small":32768'), ""),
    "one that 64 bits do not hold": (written('"id":1', '"id":9223372036854775808'), ""),
    "one that a double does not hold": (written('"real":null', '"real":1e400'), "'real'"),
    "one that a float does not hold": (written('"single":null', '"single":4E38'), "'single'"),
    "a long one that a float does not hold": (
        written('"single":null', f'"single":{10**39}'),
        "'single'",
    ),
    "a payload that is nested too deeply": (
        written('"words":null', f'"words":{"[" * 200_000}'),
        "deeply",
    ),
    "a schema of too many levels": (
        written('"type":"int16"', '"type":"array","items":{' * 400 + '"type":"int16"' + "}" * 400),
        "deeply",
    ),
    "a schema that is nested too deeply": (written('"schema":{', f'"schema":{"[" * 200_000}'), ""),
    "no base64": (written('"data":null', '"data":"a*b="'), "'data'"),
    "half of a surrogate pair": (written('"words":null', '"words":"\\ud83d"'), "'words'"),
    "a list of another type": (written('"list":null', '"list":["a",1]'), "'list'"),
    "a field that is missing": (written('"small":null,', ""), "'small'"),
    "a field that stands twice": (written('"small":null', '"small":null,"small":1'), "'small'"),
    "a field of no schema": (written('"small":null', '"small":null,"x":1'), "'x'"),
    "NULL where none may be": (written('"must":true', '"must":null'), "'must'"),
    "an op that nobody knows": (written('"op":"c"', '"op":"q"'), "op"),
    "a change without its row": (UPDATE_WITHOUT_ROW, "no row"),
    "another connector": (
        written('"connector":"postgresql"', '"connector":"informix"'),
        "connector",
    ),
    "a position that is none": (written('[\\"100\\",', '[\\"1x0\\",'), "position"),
    "a change without a position": (TABLE.change("u", GOOD, lsn=None, sequence=None), "stands"),
    "a key that is NULL": (keyed(TABLE.key_schema(), None), "key"),
    "a key without its column": (keyed(TABLE.key_schema(), {}), "'id'"),
    "a key of other columns": (keyed(OTHER_KEY, {"x": 1}), "'x'"),
    "a key that is no JSON": (with_key(b"1"), "key"),
}


@pytest.mark.parametrize(("bad", "named"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_record_is_named_and_the_others_are_decoded(
    decoder: Decoder, bad: Record, named: str
) -> None:
    found = decode_among_good_ones(decoder, bad)
    assert found.stop.code is StopCode.RECORD_UNDECODABLE
    assert found.table == SourceTable("shop", "public", "strict")
    assert named in found.stop.detail
    assert found.stop.remedy


def test_a_record_of_an_unknown_topic_that_nobody_can_read_names_no_table(
    decoder: Decoder,
) -> None:
    (found,) = decoder.decode(batch([("pg.public.unheard", None, b"hello", {})])).undecodable
    assert found.table is None


def test_the_table_of_a_topic_is_not_guessed_where_several_may_share_it(decoder: Decoder) -> None:
    _, key, value, _ = TABLE.change("c", GOOD)
    decoded = decoder.decode(batch([("routed", key, value, {}), ("routed", None, b"hello", {})]))
    (found,) = decoded.undecodable
    assert found.table is None


VALUES = {
    "a date beyond the years": {"day": 2932897},
    "an infinite date": {"day": 2146033979},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_without_a_place_stops_its_record_alone(
    decoder: Decoder, value: dict[str, Any]
) -> None:
    found = decode_among_good_ones(decoder, TABLE.change("u", {**GOOD, **value}))
    assert found.stop.code is StopCode.SOURCE_VALUE_INVALID
    assert "'day'" in found.stop.detail
    assert found.table == SourceTable("shop", "public", "strict")


PLACEHOLDER = "__debezium_unavailable_value"
LARGE = MintedTable(
    [
        column("id", "int64", optional=False),
        column("words", "string"),
        column("store", "string", "io.debezium.data.Json"),
        column("data", "bytes"),
        column("names", "array", items={"type": "string", "optional": True}),
        column("numbers", "array", items={"type": "int32", "optional": True}),
        column("ids", "array", items={"type": "string", "name": "io.debezium.data.Uuid"}),
    ],
    name="large",
)
PLACEHOLDERS = {
    "words": PLACEHOLDER,
    "store": compact({PLACEHOLDER: PLACEHOLDER}),
    "data": base64.b64encode(PLACEHOLDER.encode()).decode(),
    "names": [PLACEHOLDER],
    "numbers": list(PLACEHOLDER.encode()),
    "ids": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],
}


def test_a_value_that_the_log_does_not_have_is_never_taken_for_one(decoder: Decoder) -> None:
    records = [
        LARGE.change("u", {"id": 1, "words": f"no {PLACEHOLDER}"}),
        *(LARGE.change("u", {"id": 1, name: value}) for name, value in PLACEHOLDERS.items()),
        LARGE.change("u", {"id": 1, **PLACEHOLDERS}),
    ]
    (table,) = decoder.decode(batch(records)).tables
    absent = [json.loads(names) if names else [] for names in table.rows["__absent"].to_pylist()]
    assert absent == [[], *([name] for name in PLACEHOLDERS), list(PLACEHOLDERS)]
    for row, names in zip(table.rows.to_pylist(), absent, strict=True):
        assert [row[name] for name in names] == [None] * len(names)
    assert table.rows["words"][0].as_py() == f"no {PLACEHOLDER}"


def test_a_column_of_a_type_without_a_meaning_stops_its_table_alone(decoder: Decoder) -> None:
    interval = column("lasts", "int64", "io.debezium.time.MicroDuration")
    other = MintedTable([column("id", "int64", optional=False), interval], name="lasting")
    decoded = decoder.decode(batch([TABLE.change("c", GOOD), other.change("c", {"id": 1})]))
    assert offsets(decoded) == [0]
    (found,) = decoded.undecodable
    assert found.stop.code is StopCode.SOURCE_TYPE_UNSUPPORTED
    assert found.table == SourceTable("shop", "public", "lasting")


@pytest.mark.parametrize("name", ["ID", "__offset"])
def test_a_column_that_the_landing_zone_cannot_have_stops_its_table(
    decoder: Decoder, name: str
) -> None:
    columns = [column("id", "int64", optional=False), column(name, "int64")]
    refused = MintedTable(columns, name="refused")
    (found,) = decoder.decode(batch([refused.change("c", {"id": 1})])).undecodable
    assert found.stop.code is StopCode.CHANGE_REFUSED
    assert f"'{name}'" in found.stop.detail


def test_a_converter_that_writes_defaults_for_null_is_found_out(decoder: Decoder) -> None:
    columns = [column("id", "int64", optional=False), column("a", "int32", default=7)]
    table = MintedTable(columns, name="defaulted")
    decoded = decoder.decode(
        batch(
            [
                table.change("r", {"id": 1}),
                table.change("c", {"id": 2, "a": 7}, snapshot="false"),
                table.change("c", {"id": 3, "a": 7}),
            ]
        )
    )
    assert offsets(decoded) == [0, 2]
    (found,) = decoded.undecodable
    assert found.stop.code is StopCode.SOURCE_TYPE_UNSUPPORTED
    assert "replace.null.with.default=false" in found.stop.remedy


OTHERWISE_WRITTEN: dict[str, Callable[[str], str]] = {
    "with spaces": lambda text: json.dumps(json.loads(text), indent=1),
    "with the payload first": lambda text: compact(dict(reversed(json.loads(text).items()))),
    "with escapes": lambda text: text.replace("é", "\\u00e9").replace('"op":', '"\\u006fp":'),
    "with its fields in another order": lambda text: text.replace(
        '"small":null,"words":"é 😀"', '"words":"é 😀","small":null'
    ),
}


@pytest.mark.parametrize("edit", OTHERWISE_WRITTEN.values(), ids=OTHERWISE_WRITTEN)
def test_json_may_be_written_otherwise_than_the_converter_does(
    decoder: Decoder, edit: Callable[[str], str]
) -> None:
    topic, key, value, headers = TABLE.change("c", {**GOOD, "words": "é 😀"})
    assert value is not None
    edited = edit(value.decode())
    assert edited != value.decode()
    decoded = decoder.decode(
        batch([TABLE.change("c", GOOD), (topic, key, edited.encode(), headers)])
    )
    assert decoded.undecodable == ()
    found = [row for table in decoded.tables for row in table.rows.to_pylist()]
    assert [(row["__offset"], row["id"], row["words"]) for row in found] == [
        (0, 1, None),
        (1, 1, "é 😀"),
    ]


def test_a_delete_may_be_written_otherwise_as_well(decoder: Decoder) -> None:
    topic, key, value, headers = TABLE.change("d", {"id": 9})
    assert value is not None
    spaced = json.dumps(json.loads(value), indent=1).encode()
    decoded = decoder.decode(batch([(topic, key, spaced, headers)]))
    assert decoded.undecodable == ()
    assert [row["id"] for table in decoded.tables for row in table.rows.to_pylist()] == [9]
