"""What a connector is asked for in its own offsets, and what it forgets."""

from __future__ import annotations

import json

import pytest

from openmirror.cdc.capture.asked_snapshots import (
    AskedSnapshot,
    is_in_snapshot,
    may_be_asked,
    place_with,
)
from openmirror.protocol.names import TablePath

_HALF_DONE = {
    "incremental_snapshot_collections": "[]",
    "incremental_snapshot_maximum_key": "ACED",
    "incremental_snapshot_primary_key": "ACED",
    "incremental_snapshot_correlation_id": "before",
}


def _source(**more: object) -> bytes:
    return json.dumps({"partition": {"server": "shop"}, "offset": {"lsn": 7, **more}}).encode()


def test_what_was_half_done_before_is_forgotten() -> None:
    assert json.loads(place_with(_source(**_HALF_DONE), None)) == json.loads(_source())


def test_a_snapshot_begins_at_the_tables_first_row() -> None:
    asked = AskedSnapshot("n", "public", "orders")
    offset = json.loads(place_with(_source(**_HALF_DONE), asked))["offset"]
    (table,) = json.loads(offset.pop("incremental_snapshot_collections"))
    assert offset == {"lsn": 7, "incremental_snapshot_correlation_id": "n"}
    assert table["incremental_snapshot_collections_id"] == "public.orders"


@pytest.mark.parametrize("name", ["orders", "Größe", "a-b", "my orders", "a.b", "o'clock", 'a"b'])
def test_a_name_that_a_connector_would_read_otherwise_is_known(name: str) -> None:
    plain = name in ("orders", "Größe", "a-b")
    assert may_be_asked(TablePath("public", name)) == plain
    assert may_be_asked(TablePath(name, "orders")) == plain


def test_behind_a_row_of_such_a_snapshot_changes_are_changes() -> None:
    amid = _source(snapshot="INCREMENTAL", snapshot_completed=False, last_snapshot_record=False)
    assert json.loads(place_with(amid, None)) == json.loads(_source())


@pytest.mark.parametrize(
    ("source", "inside"),
    [
        (None, False),
        (b"", False),
        (_source(), False),
        (_source(snapshot_completed=True), False),
        (_source(snapshot="INITIAL", snapshot_completed=False), True),
        (_source(snapshot="INCREMENTAL", snapshot_completed=False), False),
    ],
)
def test_a_stream_that_ends_inside_of_its_first_snapshot_is_known(
    source: bytes | None, inside: bool
) -> None:
    assert is_in_snapshot(source) == inside
