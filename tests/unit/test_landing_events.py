"""Event Grid's messages are read whatever they look like, and lead to the right table folder."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.ports.landing_events import (
    Elsewhere,
    EventKind,
    Inside,
    LandingEvent,
    NoEvent,
    OtherEvent,
    location_of,
)
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.stores.azure.event_grid import read_events
from openmirror.table.layout import StorePath

FILE = "m/Files/LandingZone/Sales.schema/Orders/00000000000000000007.parquet"
ORDERS = TableFolder("m", TablePath("Sales", "Orders"))


def subject(path: str, container: str = "landing") -> str:
    return f"/blobServices/default/containers/{container}/blobs/{path}"


def grid(path: str = FILE, kind: str = "BlobCreated", **data: Any) -> dict[str, Any]:
    """Event Grid's own schema."""
    return {
        "topic": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
        "subject": subject(path),
        "eventType": f"Microsoft.Storage.{kind}",
        "id": "e-1",
        "eventTime": "2026-11-21T09:30:00.1234567Z",
        "data": {"api": "FlushWithClose", "contentLength": 12, "eTag": "0x1", **data},
        "dataVersion": "2",
        "metadataVersion": "1",
    }


def cloud(path: str = FILE, kind: str = "BlobCreated", **data: Any) -> dict[str, Any]:
    """The CloudEvents schema."""
    return {
        "source": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a",
        "subject": subject(path),
        "type": f"Microsoft.Storage.{kind}",
        "id": "e-1",
        "time": "2026-11-21T09:30:00.1234567Z",
        "data": {"api": "FlushWithClose", "contentLength": 12, "eTag": "0x1", **data},
        "specversion": "1.0",
    }


def one(message: object) -> Any:
    (event,) = read_events(json.dumps(message))
    return event


@pytest.mark.parametrize("envelope", [grid, cloud])
@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: [e]], ids=["single", "array"])
@pytest.mark.parametrize("encode", [str.encode, lambda text: base64.b64encode(text.encode())])
def test_every_form_of_delivery_says_the_same(envelope: Any, wrap: Any, encode: Any) -> None:
    (event,) = read_events(encode(json.dumps(wrap(envelope()))))
    assert isinstance(event, LandingEvent)
    assert event.kind is EventKind.FILE_WRITTEN
    assert event.path == f"landing/{FILE}"
    assert (event.identity, event.api, event.size, event.etag) == (
        "e-1",
        "FlushWithClose",
        12,
        "0x1",
    )
    assert event.time is not None
    assert event.time.isoformat().startswith("2026-11-21T09:30:00.123456")


@pytest.mark.parametrize("envelope", [grid, cloud])
@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("BlobCreated", EventKind.FILE_WRITTEN),
        ("BlobRenamed", EventKind.FILE_RENAMED),
        ("BlobDeleted", EventKind.FILE_DELETED),
        ("DirectoryCreated", EventKind.FOLDER_CREATED),
        ("DirectoryRenamed", EventKind.FOLDER_RENAMED),
        ("DirectoryDeleted", EventKind.FOLDER_DELETED),
    ],
)
def test_every_kind_of_event_is_known(envelope: Any, kind: str, meaning: EventKind) -> None:
    event = one(envelope(kind=kind))
    assert isinstance(event, LandingEvent)
    assert event.kind is meaning


@pytest.mark.parametrize("kind", ["BlobTierChanged", "LifecyclePolicyCompleted", "NeverHeardOf"])
@pytest.mark.parametrize("envelope", [grid, cloud])
def test_an_event_of_another_type_is_no_mistake(envelope: Any, kind: str) -> None:
    event = one(envelope(kind=kind))
    assert isinstance(event, OtherEvent)
    assert kind in event.reason


def test_a_rename_says_where_from_and_where_to() -> None:
    source = "https://a.dfs.core.windows.net/landing/m/Files/LandingZone/T/_tmp%20%5B1%5D.parquet"
    event = one(grid("m/Files/LandingZone/T/x.parquet", "BlobRenamed", sourceUrl=source))
    assert event.path == "landing/m/Files/LandingZone/T/x.parquet"
    assert event.source == "landing/m/Files/LandingZone/T/_tmp [1].parquet"


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("http://127.0.0.1:10000/devstoreaccount1/landing/m/x", "landing/m/x"),
        ("https://a.blob.core.windows.net/landing/m/x", "landing/m/x"),
        ("https://a.dfs.core.windows.net/other/m/x", "other/m/x"),
        ("https://a.dfs.core.windows.net/landing/a%2Fb", None),
        ("https://a.dfs.core.windows.net/", None),
        ("http://[", None),
    ],
)
def test_a_source_url_is_decoded_part_by_part(url: str, source: str | None) -> None:
    assert one(grid(kind="BlobRenamed", sourceUrl=url)).source == source


def test_a_subject_is_taken_as_it_is_for_it_is_not_encoded() -> None:
    event = one(grid("m/Files/LandingZone/a%2Fb c#[1]/%2e%2e"))
    assert event.path == "landing/m/Files/LandingZone/a%2Fb c#[1]/%2e%2e"


@pytest.mark.parametrize(("written", "meant"), [("true", True), ("false", False), (True, True)])
def test_a_deleted_folder_says_whether_all_in_it_went_too(written: object, meant: bool) -> None:
    assert one(grid(kind="DirectoryDeleted", recursive=written)).recursive is meant


@pytest.mark.parametrize(
    ("api", "size", "is_only_opened"),
    [
        ("CreateFile", 0, True),
        ("SftpCreate", 0, True),
        ("FlushWithClose", 0, False),
        ("PutBlob", 0, False),
        ("CreateFile", 9, False),
    ],
)
def test_a_file_that_was_only_opened_is_known_by_the_call(
    api: str, size: int, is_only_opened: bool
) -> None:
    assert one(grid(api=api, contentLength=size)).is_only_opened is is_only_opened


@pytest.mark.parametrize(
    ("api", "may_grow"), [("CopyBlob", True), ("PutBlob", False), ("FlushWithClose", False)]
)
def test_a_copy_may_still_grow_when_its_event_comes(api: str, may_grow: bool) -> None:
    assert one(grid(api=api, contentLength=9)).may_grow is may_grow


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"garbage",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"17",
        b'"text"',
        base64.b64encode(b"not json"),
        b"[" * 100_000,
        b"{}",
        b'{"id": "x"}',
        b'{"eventType": "Microsoft.Storage.BlobCreated"}',
        json.dumps({**grid(), "eventTime": "yesterday"}).encode(),
        json.dumps({**grid(), "subject": None}).encode(),
        json.dumps({**grid(), "subject": "/blobServices/default/containers/landing"}).encode(),
        json.dumps({**grid(), "subject": subject("")}).encode(),
        json.dumps({**grid(), "data": None}).encode(),
        json.dumps({**cloud(), "data": "text"}).encode(),
        json.dumps({**cloud(), "time": "yesterday"}).encode(),
    ],
)
def test_what_is_no_event_is_a_value_with_a_reason(message: bytes) -> None:
    (event,) = read_events(message)
    assert isinstance(event, NoEvent)
    assert event.reason


def test_one_bad_event_of_several_does_not_take_the_others_with_it() -> None:
    events = read_events(json.dumps([grid(), {"id": 1}, 7, cloud()]))
    assert [type(event) for event in events] == [LandingEvent, NoEvent, NoEvent, LandingEvent]


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from([*grid(), *cloud(), "api"]), inner)
        ),
    )
)
def test_no_json_makes_it_raise(value: object) -> None:
    assert read_events(json.dumps(value))


@given(st.binary())
def test_no_bytes_make_it_raise(data: bytes) -> None:
    assert read_events(data)


ZONE = "landing/m/Files/LandingZone"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"{ZONE}/Sales.schema/Orders", ORDERS),
        (f"{ZONE}/Sales.schema/Orders/7.parquet", Inside(ORDERS, "7.parquet")),
        (f"{ZONE}/T", TableFolder("m", TablePath("", "T"))),
        (
            f"{ZONE}/T/_metadata.json",
            Inside(TableFolder("m", TablePath("", "T")), "_metadata.json"),
        ),
        (f"{ZONE}/a%2F..%2Fb/x", Inside(TableFolder("m", TablePath("", "a%2F..%2Fb")), "x")),
    ],
)
def test_a_path_leads_to_its_table_folder(path: str, place: object) -> None:
    assert location_of(StorePath(path)) == place


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("lake/m/Tables/dbo/T/part-0.parquet", "container"),
        ("other/m/Files/LandingZone/T/x", "container"),
        ("landing/m/Files/Monitoring/tables.json", "landing zone"),
        ("landing/m/Files/LandingZone", "landing zone"),
        ("landing/m", "landing zone"),
        ("landing", "landing zone"),
        ("landing/m/Elsewhere/LandingZone/T/x", "landing zone"),
        (f"{ZONE}/_partnerEvents.json", "reserves"),
        (f"{ZONE}/_staging/T/x", "reserves"),
        (f"{ZONE}/T/_ProcessedFiles/x.parquet", "reserves"),
        (f"{ZONE}/T/_ProcessedFiles", "reserves"),
        (f"{ZONE}/T/_tmp.parquet", "reserves"),
        (f"{ZONE}/S.schema/_x/y", "reserves"),
        (f"{ZONE}/T/_metadata.json/x", "reserves"),
        (f"{ZONE}/S.schema", "several tables"),
        (f"{ZONE}/.schema/T/x", "several tables"),
        (f"{ZONE}/T/7.parquet/part-0.parquet", "inside a table folder"),
        (f"{ZONE}/../../../lake/m/Tables", "no"),
        (f"{ZONE}/T/..", "not one that a publisher can mean"),
        (f"{ZONE}//T/x", "not one that a publisher can mean"),
        (f"{ZONE}/T/a\x00b", "not one that a publisher can mean"),
        (f"{ZONE}/{'x' * 1024}/y", "too long"),
        (f"{ZONE}/{'x/' * 600}y", "too long"),
    ],
)
def test_a_path_that_no_table_depends_on_says_why(path: str, reason: str) -> None:
    place = location_of(StorePath(path))
    assert isinstance(place, Elsewhere)
    assert reason in place.reason


@given(st.text())
def test_no_path_makes_it_raise(path: str) -> None:
    location_of(StorePath(path))
    location_of(StorePath(f"{ZONE}/{path}"))
