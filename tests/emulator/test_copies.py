"""Copies within the account, by every verb that has one; and many deletions in one request."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.storage.blob import (
    BlobBlock,
    BlobClient,
    ContainerClient,
    ContentSettings,
    PartialBatchErrorException,
)

from openmirror.emulator.facts import Facts
from tests.emulator.conftest import Ask
from tests.emulator_server import EndpointServer

CONTENT = bytes(range(256)) * 5000


@pytest.fixture
def source(lake: ContainerClient) -> BlobClient:
    blob = lake.get_blob_client("a/from %20#é")
    settings = ContentSettings(content_type="text/csv", cache_control="no-store")
    blob.upload_blob(CONTENT, metadata={"by": "publisher"}, content_settings=settings)
    return blob


@pytest.fixture
def target(lands: ContainerClient) -> BlobClient:
    """In another container, and a folder that is not there."""
    return lands.get_blob_client("x/y/to")


def described(blob: BlobClient) -> tuple[bytes, str | None, dict[str, str]]:
    found = blob.get_blob_properties()
    return blob.download_blob().readall(), found.content_settings.content_type, found.metadata


@pytest.mark.parametrize("sync", [False, True])
def test_a_copy_has_the_content_and_what_is_known_of_it(
    source: BlobClient, target: BlobClient, sync: bool, server: EndpointServer
) -> None:
    answered = target.start_copy_from_url(source.url, requires_sync=sync)
    assert answered["copy_status"] == "success"
    assert described(target) == (CONTENT, "text/csv", {"by": "publisher"})
    copy = target.get_blob_properties().copy
    assert (copy.id, copy.status) == (answered["copy_id"], "success")
    assert copy.progress == f"{len(CONTENT)}/{len(CONTENT)}"
    assert copy.completion_time is not None
    assert (copy.source or "").endswith("/lake/a/from%20%2520%23%C3%A9")
    assert (server.root / "landing/x/y/to").read_bytes() == CONTENT
    event = server.events[-1]
    assert event["data"]["api"] == "CopyBlob"
    assert event["data"]["contentLength"] == len(CONTENT)
    assert event["subject"].endswith("/landing/blobs/x/y/to")


def test_a_list_that_is_asked_for_copies_shows_them(
    source: BlobClient, target: BlobClient, lands: ContainerClient
) -> None:
    made = target.start_copy_from_url(source.url)["copy_id"]
    found = {blob.name: blob.copy for blob in lands.list_blobs(include=["copy"])}
    assert (found["x/y/to"].id, found["x/y/to"].status) == (made, "success")
    assert next(lands.list_blobs(name_starts_with="x/y/t")).copy.id is None


def test_a_copy_may_have_metadata_of_its_own(source: BlobClient, target: BlobClient) -> None:
    target.start_copy_from_url(source.url, metadata={"own": "1"})
    assert target.get_blob_properties().metadata == {"own": "1"}


def test_a_copy_is_spoken_of_until_the_blob_is_written_anew(
    source: BlobClient, target: BlobClient
) -> None:
    target.start_copy_from_url(source.url)
    target.set_blob_metadata({"a": "b"})
    assert target.get_blob_properties().copy.status == "success"
    target.set_http_headers(ContentSettings(content_type="text/plain"))
    assert target.get_blob_properties().copy.status is None
    target.start_copy_from_url(source.url)
    target.upload_blob(b"new", overwrite=True)
    assert target.get_blob_properties().copy.status is None


def test_a_copy_keeps_the_blocks_that_its_source_was_made_of(
    lake: ContainerClient, target: BlobClient
) -> None:
    source = lake.get_blob_client("blocks")
    source.stage_block("one", b"111")
    source.stage_block("two", b"2")
    source.commit_block_list([BlobBlock("one"), BlobBlock("two")])
    target.start_copy_from_url(source.url)
    target.commit_block_list([BlobBlock("two"), BlobBlock("one")])
    assert target.download_blob().readall() == b"2111"


def test_a_blob_may_be_copied_over_itself(source: BlobClient) -> None:
    source.start_copy_from_url(source.url, metadata={"new": "1"})
    assert described(source) == (CONTENT, "text/csv", {"new": "1"})


def test_a_copy_of_a_folder_is_an_empty_folder(source: BlobClient, target: BlobClient) -> None:
    answered = target.start_copy_from_url(source.url.rpartition("/")[0])
    assert answered["copy_status"] == "success"
    assert target.get_blob_properties().metadata == {"hdi_isfolder": "true"}
    assert target.get_blob_properties().size == 0


def test_a_signature_in_the_sources_url_is_not_kept(source: BlobClient, target: BlobClient) -> None:
    target.start_copy_from_url(f"{source.url}?sv=2025-11-05&sig=secret")
    assert "secret" not in (target.get_blob_properties().copy.source or "")


def test_a_blob_is_put_from_a_url(source: BlobClient, target: BlobClient) -> None:
    md5 = hashlib.md5(CONTENT, usedforsecurity=False).digest()
    target.upload_blob_from_url(source.url, overwrite=True, source_content_md5=md5)
    assert described(target) == (CONTENT, "text/csv", {"by": "publisher"})
    assert target.get_blob_properties().copy.status is None
    target.upload_blob_from_url(source.url, overwrite=True, include_source_blob_properties=False)
    assert described(target) == (CONTENT, "application/octet-stream", {})
    with pytest.raises(HttpResponseError) as other:
        target.upload_blob_from_url(source.url, overwrite=True, source_content_md5=b"0" * 16)
    assert other.value.error_code == "Md5Mismatch"


def test_blocks_are_put_from_urls(source: BlobClient, target: BlobClient) -> None:
    target.stage_block_from_url("one", source.url, source_offset=0, source_length=1000)
    target.stage_block_from_url("two", source.url, source_offset=1000, source_length=24)
    target.stage_block_from_url("all", source.url)
    target.commit_block_list([BlobBlock("two"), BlobBlock("one"), BlobBlock("all")])
    assert target.download_blob().readall() == CONTENT[1000:1024] + CONTENT[:1000] + CONTENT
    with pytest.raises(HttpResponseError) as beyond:
        target.stage_block_from_url("x", source.url, source_offset=0, source_length=2_000_000)
    assert beyond.value.error_code == "InvalidRange"


def test_a_copy_holds_to_the_conditions_of_both_ends(
    source: BlobClient, target: BlobClient
) -> None:
    target.start_copy_from_url(source.url, match_condition=MatchConditions.IfMissing)
    with pytest.raises(ResourceExistsError) as taken:
        target.start_copy_from_url(source.url, match_condition=MatchConditions.IfMissing)
    assert taken.value.error_code == "BlobAlreadyExists"
    with pytest.raises(HttpResponseError) as other:
        target.start_copy_from_url(
            source.url, source_etag="0x8OTHER", source_match_condition=MatchConditions.IfNotModified
        )
    assert other.value.error_code == "SourceConditionNotMet"
    target.acquire_lease(60)
    with pytest.raises(HttpResponseError) as held:
        target.start_copy_from_url(source.url)
    assert held.value.error_code == "LeaseIdMissing"


def test_what_cannot_be_copied_is_refused(source: BlobClient, target: BlobClient) -> None:
    with pytest.raises(ResourceNotFoundError) as missing:
        target.start_copy_from_url(source.url + "x")
    assert missing.value.error_code == "CannotVerifyCopySource"
    with pytest.raises(HttpResponseError) as folder:
        target.upload_blob_from_url(source.url.rpartition("/")[0])
    assert folder.value.error_code == "ResourceTypeMismatch"
    for other in ("https://other.blob.core.windows.net/lake/a", f"{source.url}?snapshot=1"):
        with pytest.raises(HttpResponseError) as elsewhere:
            target.start_copy_from_url(other)
        assert elsewhere.value.status_code == HTTPStatus.NOT_IMPLEMENTED
    assert not target.exists()
    source.start_copy_from_url(source.url)
    with pytest.raises(HttpResponseError) as done:
        source.abort_copy("00000000-0000-0000-0000-000000000000")
    assert done.value.error_code == "NoPendingCopyOperation"


def test_what_an_earlier_release_remembered_of_a_file_is_read() -> None:
    known = Facts(metadata={"a": "b"}, blocks=(("one", 1),))
    record = json.loads(known.to_json())
    del record["copy"]
    assert Facts.from_json(json.dumps(record)) == known


@pytest.mark.parametrize(
    "header",
    ["/lake/../../secret", "/lake/%2e%2e/secret/file", "/lake", "", "http://[", "/lake/%ff"],
)
def test_no_source_leads_out_of_the_containers(ask: Ask, header: str) -> None:
    refused = ask("PUT", "/landing/x", headers={"x-ms-copy-source": header})
    assert refused.status == HTTPStatus.BAD_REQUEST
    assert not (ask.server.root / "landing" / "x").exists()


# --- Batches ------------------------------------------------------------------------------------


def test_many_blobs_are_deleted_at_once_and_each_has_its_answer(
    lake: ContainerClient, server: EndpointServer
) -> None:
    for name in ("a/1", "a/2 %20é", "b"):
        lake.upload_blob(name, b"x")
    assert {answer.status_code for answer in lake.delete_blobs("a/1", "a/2 %20é")} == {202}
    assert [event["data"]["api"] for event in server.events[-2:]] == ["DeleteBlob"] * 2
    with pytest.raises(PartialBatchErrorException) as partly:
        lake.delete_blobs("b", "none")
    assert [part.status_code for part in partly.value.parts] == [202, 404]
    assert [blob.name for blob in lake.list_blobs()] == ["a"]
    single = lake.delete_blobs("none", raise_on_any_failure=False)
    assert [part.headers["x-ms-error-code"] for part in single] == ["BlobNotFound"]


def part(request: str) -> str:
    return f"--b\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n{request}\r\n"


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        ("DELETE /lake/x HTTP/1.1\r\n\r\n", "NoAuthenticationInformation"),
        (
            "GET /lake/x HTTP/1.1\r\nauthorization: SharedKey devstoreaccount1:none\r\n\r\n",
            "NotImplemented",
        ),
    ],
)
def test_each_request_of_a_batch_is_let_in_by_itself(
    ask: Ask, request_line: str, code: str
) -> None:
    ask("PUT", "/lake/x", b"abc", {"x-ms-blob-type": "BlockBlob"})
    headers = {"content-type": "multipart/mixed; boundary=b"}
    body = (part(request_line) + "--b--\r\n").encode()
    answer = ask("POST", "/lake?restype=container&comp=batch", body, headers)
    assert answer.status == HTTPStatus.ACCEPTED
    assert f"x-ms-error-code: {code}".encode() in answer.body
    assert (ask.server.root / "lake/x").exists()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", "x"),
        ("multipart/mixed; boundary=b", "--b--\r\n"),
        ("multipart/mixed; boundary=b", part("nonsense") + "--b--\r\n"),
        ("multipart/mixed; boundary=b", part("DELETE /lake/x HTTP/1.1\r\n") * 257 + "--b--\r\n"),
    ],
    ids=["no-multipart", "empty", "no-request", "too-many"],
)
def test_what_is_no_batch_is_refused_and_nothing_of_it_done(ask: Ask, kind: str, body: str) -> None:
    ask("PUT", "/lake/x", b"abc", {"x-ms-blob-type": "BlockBlob"})
    refused = ask("POST", "/?comp=batch", body.encode(), {"content-type": kind})
    assert (refused.status, refused.code) == (400, "InvalidInput")
    assert (ask.server.root / "lake/x").exists()
