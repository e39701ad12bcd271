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
from tests.cdc.decoding.malformed import GOOD, MALFORMED, TABLE
from tests.cdc.decoding.minted import (
    MintedTable,
    Record,
    batch,
    column,
    compact,
)


def decode_among_good_ones(decoder: Decoder, bad: Record) -> UndecodableRecord:
    """What is found of a record that stands between two good ones, which must be decoded."""
    decoded = decoder.decode(batch([TABLE.change("c", GOOD), bad, TABLE.change("u", GOOD)], 40))
    assert offsets(decoded) == [40, 42]
    (found,) = decoded.undecodable
    assert (found.offset, found.topic) == (41, TABLE.topic)
    return found


def offsets(decoded: Decoded) -> list[int]:
    return sorted(n for table in decoded.tables for n in table.rows["__offset"].to_pylist())


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
