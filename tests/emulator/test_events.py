"""The events of an account with a hierarchical namespace, quirks and all."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from azure.core.messaging import CloudEvent
from azure.eventgrid import EventGridEvent
from azure.storage.blob import BlobBlock, ContainerClient
from azure.storage.filedatalake import FileSystemClient
from azure.storage.queue import QueueClient

from openmirror.emulator.events import Envelope
from openmirror.emulator.subscription import QueueSink, is_subscribed
from openmirror.ports.landing_events import EventKind, LandingEvent
from openmirror.stores.azure.event_grid import read_events
from standins.azurite import Azurite
from tests.emulator.conftest import Ask, T
from tests.emulator_server import EndpointServer, endpoint_server

HOST = "https://devstoreaccount1.dfs.core.windows.net"
BLOB_HOST = "https://devstoreaccount1.blob.core.windows.net"


def reported(server: EndpointServer) -> list[tuple[str, str, str]]:
    """Kind, API and path of each event."""
    return [
        (
            event["eventType"].removeprefix("Microsoft.Storage."),
            event["data"]["api"],
            event["subject"].partition("/blobs/")[2],
        )
        for event in server.events
    ]


def test_a_file_is_announced_empty_and_again_when_a_flush_closes_it(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    file = landing.create_file(f"{T}/1.csv")
    file.append_data(b"abc", 0)
    file.flush_data(3, close=True)
    assert reported(server) == [
        ("BlobCreated", "CreateFile", f"{T}/1.csv"),
        ("BlobCreated", "FlushWithClose", f"{T}/1.csv"),
    ]
    created, closed = (event["data"] for event in server.events)
    assert (created["contentLength"], closed["contentLength"]) == (0, 3)
    assert closed["eTag"] == file.get_file_properties().etag.strip('"')
    assert closed["url"] == f"{HOST}/landing/{T}/1.csv"
    assert closed["blobType"] == "BlockBlob"
    assert [event["dataVersion"] for event in server.events] == ["2", "2"]


def test_a_flush_that_does_not_close_is_never_announced(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    file = landing.create_file(f"{T}/1.csv")
    file.append_data(b"abc", 0)
    file.flush_data(3)
    file.append_data(b"def", 3, flush=True)
    assert reported(server) == [("BlobCreated", "CreateFile", f"{T}/1.csv")]


def test_upload_data_closes(landing: FileSystemClient, server: EndpointServer) -> None:
    landing.get_file_client("a").upload_data(b"x", overwrite=True)
    assert [api for _, api, _ in reported(server)] == ["CreateFile", "FlushWithClose"]


def test_a_rename_is_announced_under_the_new_name(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    landing.create_file(f"{T}/_1 ü.csv").rename_file(f"landing/{T}/1 ü.csv")
    renamed = server.events[-1]
    assert reported(server)[-1] == ("BlobRenamed", "RenameFile", f"{T}/1 ü.csv")
    assert renamed["data"]["sourceUrl"] == f"{HOST}/landing/{T}/_1%20%C3%BC.csv"
    assert renamed["data"]["destinationUrl"] == f"{HOST}/landing/{T}/1%20%C3%BC.csv"
    assert not {"contentLength", "eTag", "url"} & renamed["data"].keys()
    assert renamed["dataVersion"] == "1"


def test_what_happens_to_a_folder_is_one_event(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    folder = landing.create_directory("a/b")
    for name in "123":
        folder.create_file(name)
    server.events.clear()
    moved = folder.rename_directory("landing/a/c")
    moved.delete_directory()
    assert reported(server) == [
        ("DirectoryRenamed", "RenameDirectory", "a/c"),
        ("DirectoryDeleted", "DeleteDirectory", "a/c"),
    ]
    assert server.events[-1]["data"]["recursive"] == "true"
    assert server.events[-1]["data"]["url"] == f"{HOST}/landing/a/c"


def test_folders_are_announced_when_they_are_made_by_name(
    landing: FileSystemClient, lands: ContainerClient, server: EndpointServer, ask: Ask
) -> None:
    landing.create_directory("a/b")
    landing.create_directory("a/b")
    landing.create_file("c/d/1")
    lands.upload_blob("e", b"", metadata={"hdi_isfolder": "true"})
    assert [event for event in reported(server) if event[0].startswith("Directory")] == [
        ("DirectoryCreated", "CreateDirectory", "a/b"),
        ("DirectoryCreated", "CreateDirectory", "e"),
    ]
    assert (server.root / "landing" / "e").is_dir()
    ask("PUT", "/landing/x?resource=directory")
    ask("DELETE", "/landing/x?recursive=false")
    assert ask.server.events[-1]["data"]["recursive"] == "false"


def test_blob_writers_are_announced_once_by_the_blob_host(
    lands: ContainerClient, server: EndpointServer
) -> None:
    blob = lands.get_blob_client("a/1")
    blob.upload_blob(b"abc")
    blob.stage_block("AAAA", b"defg")
    blob.commit_block_list([BlobBlock("AAAA")])
    blob.delete_blob()
    assert reported(server) == [
        ("BlobCreated", "PutBlob", "a/1"),
        ("BlobCreated", "PutBlockList", "a/1"),
        ("BlobDeleted", "DeleteBlob", "a/1"),
    ]
    put, listed, deleted = (event["data"] for event in server.events)
    assert (put["contentLength"], listed["contentLength"]) == (3, 4)
    assert "contentOffset" not in put
    assert not {"eTag", "contentLength"} & deleted.keys()
    assert {put["url"], listed["url"], deleted["url"]} == {f"{BLOB_HOST}/landing/a/1"}
    assert {event["dataVersion"] for event in server.events} == {""}


def test_the_datalake_sdk_deletes_as_dfs(landing: FileSystemClient, server: EndpointServer) -> None:
    landing.create_file("a").delete_file()
    assert reported(server)[-1] == ("BlobDeleted", "DeleteFile", "a")
    assert server.events[-1]["data"]["url"] == f"{HOST}/landing/a"


def test_what_changes_no_content_is_not_announced(
    landing: FileSystemClient, lands: ContainerClient, server: EndpointServer
) -> None:
    file = landing.create_file("a")
    server.events.clear()
    file.set_metadata({"a": "b"})
    file.acquire_lease().release()
    file.set_access_control(permissions="0700")
    file.append_data(b"x", 0)
    lands.get_blob_client("b").stage_block("AAAA", b"x")
    assert server.events == []


def test_what_is_refused_is_not_announced(ask: Ask) -> None:
    ask("PUT", "/landing/a?resource=file")
    ask.server.events.clear()
    for method, path, headers in (
        ("PUT", "/landing/a?resource=file", {"if-none-match": "*"}),
        ("PUT", "/landing/b", {"x-ms-rename-source": "/landing/none"}),
        ("PATCH", "/landing/a?action=flush&position=5&close=true", {}),
        ("DELETE", "/landing/a", {"if-match": '"0x8"'}),
        ("DELETE", "/landing/none?recursive=true", {}),
    ):
        assert ask(method, path, b"", headers).status >= 400
    assert ask.server.events == []


def test_sequencers_grow_and_ids_are_never_the_same(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    for _ in range(5):
        landing.get_file_client("a").upload_data(b"x", overwrite=True)
    sequencers = [event["data"]["sequencer"] for event in server.events]
    assert sequencers == sorted(set(sequencers))
    assert len({event["id"] for event in server.events}) == len(server.events)


def test_an_event_is_there_before_its_request_is_answered_and_after_its_change(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    seen: list[bytes] = []

    def hear(event: dict[str, Any]) -> None:
        path = event["subject"].partition("/blobs/")[2]
        seen.append((server.root / "landing" / path).read_bytes())

    server.on_event = hear
    landing.get_file_client("a").upload_data(b"abc", overwrite=True)
    assert seen == [b"", b"abc"]


def test_whoever_hears_an_event_may_ask_the_endpoint_at_once(ask: Ask) -> None:
    answers: list[int] = []

    def answer(event: dict[str, Any]) -> None:
        if "/landing/" in event["subject"]:
            answers.append(ask("PUT", "/lake/seen?resource=file").status)

    ask.server.on_event = answer
    assert ask("PUT", "/landing/a?resource=file").status == 201
    assert answers == [201]


def test_a_write_is_answered_whatever_its_hearer_does(
    ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: dict[str, Any]) -> None:
        raise RuntimeError("this subscriber is broken")

    ask.server.on_event = fail
    assert ask("PUT", "/landing/a?resource=file").status == 201
    assert "this subscriber is broken" in caplog.text


@pytest.mark.parametrize("envelope", Envelope)
def test_the_event_filter_reads_both_envelopes(tmp_path: Path, envelope: Envelope) -> None:
    with endpoint_server(tmp_path / "root", key=None, envelope=envelope) as server:
        ask = Ask(server)
        ask("PUT", "/landing/a%20%25/1?resource=file")
        ask("PUT", "/landing/a%20%25/2", headers={"x-ms-rename-source": "/landing/a%20%25/1"})
        ask("DELETE", "/landing/a%20%25?recursive=true")
    for event in server.events:
        (EventGridEvent if envelope is Envelope.EVENT_GRID else CloudEvent).from_dict(event)
    read = [found for event in server.events for found in read_events(json.dumps(event))]
    assert all(isinstance(event, LandingEvent) for event in read)
    assert [(event.kind, event.path) for event in read if isinstance(event, LandingEvent)] == [
        (EventKind.FILE_WRITTEN, "landing/a %/1"),
        (EventKind.FILE_RENAMED, "landing/a %/2"),
        (EventKind.FOLDER_DELETED, "landing/a %"),
    ]
    created, renamed, deleted = read
    assert isinstance(created, LandingEvent)
    assert created.is_only_opened
    assert isinstance(renamed, LandingEvent)
    assert renamed.source == "landing/a %/1"
    assert isinstance(deleted, LandingEvent)
    assert deleted.recursive


def test_only_what_the_product_subscribes_to_reaches_a_queue(ask: Ask) -> None:
    ask("PUT", "/lake/a?resource=file")
    ask("PUT", "/landing/a?resource=file")
    passed = [event["subject"] for event in ask.server.events if is_subscribed(event)]
    assert passed == ["/blobServices/default/containers/landing/blobs/a"]


def test_a_real_queue_gets_them_in_base64_and_in_order(tmp_path: Path, azurite: Azurite) -> None:
    name = "endpoint-events"
    with (
        QueueSink(azurite.connection_string, name) as sink,
        endpoint_server(tmp_path / "root", key=None) as server,
    ):
        server.on_event = sink
        ask = Ask(server)
        for number in range(5):
            ask("PUT", f"/landing/{number}?resource=file")
            ask("PUT", f"/lake/{number}?resource=file")
    with QueueClient.from_connection_string(azurite.connection_string, name) as queue:
        messages = [message.content for message in queue.receive_messages(max_messages=32)]
        queue.delete_queue()
    events = [json.loads(base64.b64decode(message)) for message in messages]
    assert [event["subject"][-1] for event in events] == list("01234")
