"""A record says the same whether its schema stands within it or beside it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RECORDS
from tests.cdc.decoding.minted import MintedTable, batch, column, compact

ITEMS = MintedTable([column("id", "int32", optional=False), column("name", "string")], name="items")
CHANGES = [
    ITEMS.change("c", {"id": 1, "name": 'a "☃'}),
    ITEMS.change("u", {"id": 1}),
    ITEMS.change("t"),
    ITEMS.change("c", {"id": 2, "name": "b"}),
    ITEMS.change("d", {"id": 2}),
    ("items", None, None, {}),
]


def beside(row: dict[str, Any]) -> dict[str, Any]:
    """The record with its schemas in columns of their own."""
    found = dict(row)
    for name in ("key", "value"):
        if row[name] is not None:
            whole = json.loads(row[name])
            found[name] = compact(whole["payload"]).encode()
            found[f"{name}_schema"] = compact(whole["schema"])
    return found


@pytest.mark.parametrize("which", ["all", "some"])
def test_a_schema_beside_a_record_is_read_as_one_within(decoder: Decoder, which: str) -> None:
    within = batch(CHANGES)
    rows = [
        beside(row) if which == "all" or at % 2 else row
        for at, row in enumerate(within.to_pylist())
    ]
    apart = decoder.decode(pa.Table.from_pylist(rows, schema=RECORDS))
    wanted = decoder.decode(within)
    assert apart.undecodable == wanted.undecodable == ()
    assert (apart.others, len(apart.tables)) == (wanted.others, 1)
    assert apart.tables[0].rows.equals(wanted.tables[0].rows)


def test_a_schema_that_is_none_stops_its_record(decoder: Decoder) -> None:
    row = beside(batch(CHANGES[:1]).to_pylist()[0]) | {"value_schema": "{"}
    (found,) = decoder.decode(pa.Table.from_pylist([row], schema=RECORDS)).undecodable
    assert "schema" in found.stop.detail
