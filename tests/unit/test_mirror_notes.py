"""What lies where it feeds no table, and who publishes: of a mirror, not of one table."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from openmirror.cli.status_table import streams
from openmirror.operate.mirror_notes import all_notes, mirror_notes
from openmirror.protocol.names import TablePath
from openmirror.protocol.relay_reports import RelayReport, RelayState
from openmirror.protocol.rules import Code
from openmirror.protocol.streams import (
    Offset,
    StopCode,
    StoppedTable,
    StopReason,
    StreamDocument,
    StreamIdentity,
)
from openmirror.status import publisher_text, to_json
from openmirror.stores.memory.files import MemoryStore
from openmirror.table import layout
from openmirror.table.layout import StorePath

NUMBER_ONE = f"{1:020d}.parquet"
ZONE = layout.landing_zone("m")
NOW = datetime(2026, 1, 2, tzinfo=UTC)
LANDING = RelayState.LANDING


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore(lambda: datetime.now(UTC))
    made.make_folder(ZONE)
    made.make_folder(layout.monitoring("m"))
    return made


def warned(store: MemoryStore) -> list[tuple[str | None, str]]:
    notes = mirror_notes(store, "m", NOW)
    return [(warning.file, warning.detail) for warning in notes.warnings]


def test_what_lies_where_it_belongs_is_not_mentioned(store: MemoryStore) -> None:
    for path in (
        f"{ZONE}/Orders/{NUMBER_ONE}",
        f"{ZONE}/Sales.schema/Orders/{NUMBER_ONE}",
        f"{ZONE}/_partnerEvents.json",
        f"{ZONE}/_staged.parquet",
        f"{ZONE}/.DS_Store",
        f"{ZONE}/README.md",
    ):
        store.write(StorePath(path), b"{}")
    assert warned(store) == []


def test_a_table_of_a_stream_that_has_stopped_is_named_with_its_reason_and_remedy(
    store: MemoryStore,
) -> None:
    path = StorePath(f"{ZONE}/_streams/shop.json")
    reason = StopReason(StopCode.TRUNCATE_UNSUPPORTED, "it was emptied", "Begin anew.")
    stopped = {TablePath("app", "orders"): StoppedTable(Offset(7), reason)}
    document = StreamDocument(identity=StreamIdentity("0" * 32), stopped=stopped)
    store.write(path, document.as_json())
    (warning,) = mirror_notes(store, "m", NOW).warnings
    assert (warning.code, warning.file) == (Code.STREAM_TABLE_STOPPED, path)
    named = "app.schema/orders is landed no further (TruncateUnsupported): it was emptied. Begin"
    assert named in warning.detail
    store.write(path, document.resumed(TablePath("app", "orders")).as_json())
    assert warned(store) == []


def test_a_stream_says_how_far_it_has_landed(store: MemoryStore) -> None:
    orders = TablePath("app", "orders")
    document = StreamDocument(
        identity=StreamIdentity("0" * 32), complete_to=Offset(9), tables=frozenset({orders})
    ).wanting(orders, "n")
    store.write(StorePath(f"{ZONE}/_streams/shop.json"), document.as_json())
    notes = mirror_notes(store, "m", NOW)
    (printed,) = to_json((), [notes])["mirrors"]  # type: ignore[misc]
    (stream,) = printed["streams"]
    assert (stream["stream"], stream["completeTo"], stream["stopped"]) == ("shop", 9, [])
    assert stream["newSnapshots"] == [{"table": "app.schema/orders", "since": None, "attempts": 1}]
    (line,) = streams([notes], notes.streams[0].written_at)
    assert "stream shop, 1 table, landed up to record 9" in line
    assert "a new snapshot of app.schema/orders is awaited" in line


def reported(store: MemoryStore, stream: str = "shop", **how: Any) -> None:
    """What a relay says of itself, a minute ago."""
    minute_ago = NOW - timedelta(minutes=1)
    report = RelayReport(**{"at": minute_ago, "state": LANDING, "since": minute_ago, **how})
    store.write(StorePath(f"{ZONE}/_streams/_relays/{stream}.json"), report.as_json())


def declare(store: MemoryStore, *topics: str) -> None:
    streams = [{"topic": f"kafka://broker/{topic}"} for topic in topics]
    settings = json.dumps({"openmirror": {"streams": streams}}).encode()
    store.write(layout.mirror_settings("m"), settings)


def down(store: MemoryStore) -> list[str]:
    return [warning.detail for warning in mirror_notes(store, "m", NOW).of_relays]


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ({"next": Offset(9), "end": Offset(9)}, "up to date"),
        ({"next": Offset(8), "end": Offset(9)}, "1 record to go"),
        (
            {"next": Offset(2), "end": Offset(9), "newest": NOW - timedelta(seconds=90)},
            "7 records to go, 30 s behind the database",
        ),
        ({"state": RelayState.ENDED}, "its relay ended at"),
    ],
)
def test_a_relay_says_how_far_it_is(store: MemoryStore, how: dict[str, Any], line: str) -> None:
    reported(store, **how)
    notes = mirror_notes(store, "m", NOW)
    (shown,) = streams([notes], NOW)
    assert shown.startswith("m: stream shop, nothing of it has landed; ")
    assert line in shown
    assert notes.of_relays == ()
    (printed,) = to_json((), [notes])["mirrors"]  # type: ignore[misc]
    assert printed["streams"][0]["relay"]["state"] == how.get("state", LANDING)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"state": RelayState.FAILED, "detail": "the topic is gone"}, "the topic is gone"),
        ({"state": RelayState.WAITING, "detail": "no answer"}, "tried again: no answer"),
        ({"at": NOW - timedelta(minutes=4)}, "nothing was heard of its relay since"),
    ],
)
def test_a_stream_that_is_not_landed_is_named(
    store: MemoryStore, how: dict[str, Any], why: str
) -> None:
    reported(store, **how)
    (detail,) = down(store)
    assert detail.startswith("stream shop: ")
    assert why in detail
    # It is no change file that nobody applies: a drain has done all that it can.
    assert mirror_notes(store, "m", NOW).warnings == ()


def test_a_declared_stream_that_nobody_lands_is_named(store: MemoryStore) -> None:
    declare(store, "shop", "crm.*")
    nobody = "mirroring.json declares it, and nobody lands it"
    assert down(store) == [f"stream crm.*: {nobody}", f"stream shop: {nobody}"]
    reported(store, "crm.a")
    reported(store, "shop", state=RelayState.ENDED)
    assert down(store) == [f"stream shop: {nobody}"]
    reported(store, "shop")
    assert down(store) == []


def test_a_report_that_cannot_be_read_is_no_report(store: MemoryStore) -> None:
    store.write(StorePath(f"{ZONE}/_streams/_relays/shop.json"), b"{")
    assert mirror_notes(store, "m", NOW).streams == ()


def test_a_document_of_a_stream_that_cannot_be_read_is_named(store: MemoryStore) -> None:
    store.write(StorePath(f"{ZONE}/_streams/shop.json"), b"{")
    ((file, detail),) = warned(store)
    assert file == f"{ZONE}/_streams/shop.json"
    assert "no document of a stream" in detail


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (f"{ZONE}/{NUMBER_ONE}", "not beside them"),
        (f"{ZONE}/export.csv.gz", "not beside them"),
        (f"{ZONE}/Sales.schema/{NUMBER_ONE}", "not in a schema's"),
    ],
)
def test_a_change_file_outside_of_a_table_folder_is_named(
    store: MemoryStore, path: str, says: str
) -> None:
    store.write(StorePath(path), b"x")
    ((file, detail),) = warned(store)
    assert file == path
    assert says in detail


def test_many_of_one_kind_are_one_warning(store: MemoryStore) -> None:
    for number in range(1, 6):
        store.write(StorePath(f"{ZONE}/{number:020d}.parquet"), b"x")
    ((file, detail),) = warned(store)
    assert file == f"{ZONE}/{NUMBER_ONE}"
    assert "like 4 more" in detail


@pytest.mark.parametrize("zone", ["Files/landingzone", "files/LandingZone", "LandingZone"])
def test_a_landing_zone_in_another_spelling_is_listed_although_it_is_no_mirror(zone: str) -> None:
    store = MemoryStore(lambda: datetime.now(UTC))
    store.write(StorePath(f"landing/m/{zone}/Orders/{NUMBER_ONE}"), b"x")
    (notes,) = all_notes(store, [], NOW)
    assert notes.mirror == "m"
    ((file, detail),) = [(warning.file, warning.detail) for warning in notes.warnings]
    assert file == f"landing/m/{zone}"
    assert "landing/<mirror>/Files/LandingZone" in detail


def test_a_folder_called_schema_alone_is_listed(store: MemoryStore) -> None:
    store.make_folder(StorePath(f"{ZONE}/.schema/Orders"))
    ((file, _),) = warned(store)
    assert file == f"{ZONE}/.schema"


def test_the_publisher_is_named_in_its_own_words(store: MemoryStore) -> None:
    about = b'{"partnerName": "Contoso", "sourceInfo": {"sourceType": "SQL", "sourceVersion": "9"}}'
    store.write(StorePath(f"{ZONE}/_partnerEvents.json"), about)
    partner = mirror_notes(store, "m", NOW).partner
    assert partner is not None
    assert publisher_text(partner) == "Contoso (SQL 9)"


def test_what_a_publisher_wrote_in_another_form_is_nobody(store: MemoryStore) -> None:
    store.write(StorePath(f"{ZONE}/_partnerEvents.json"), b"\xff")
    assert mirror_notes(store, "m", NOW).partner is None
