"""Writing, reading and describing files, with the real SDKs."""

from __future__ import annotations

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob import BlobBlock, ContainerClient, ContentSettings
from azure.storage.filedatalake import FileSystemClient

from tests.emulator.conftest import Ask, T
from tests.emulator_server import EndpointServer

UNEQUAL = MatchConditions.IfModified
SAME = MatchConditions.IfNotModified
ABSENT = MatchConditions.IfMissing


def test_what_was_appended_is_seen_after_the_flush_and_lies_there_as_a_plain_file(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    file = landing.create_directory(T).create_file("1.parquet")
    file.append_data(b"hello ", 0)
    file.append_data(b"world", 6)
    on_disk = server.root / "landing" / T / "1.parquet"
    assert file.download_file().readall() == on_disk.read_bytes() == b""
    file.flush_data(11)
    assert file.download_file().readall() == on_disk.read_bytes() == b"hello world"


def test_uncommitted_data_lie_outside_the_containers(
    landing: FileSystemClient, lands: ContainerClient, server: EndpointServer
) -> None:
    landing.create_file(f"{T}/1.parquet").append_data(b"x", 0)
    lands.get_blob_client(f"{T}/2.parquet").stage_block("AAAA", b"y")
    found = sorted(path.name for path in (server.root / "landing").rglob("*") if path.is_file())
    assert found == ["1.parquet"]


def test_a_file_grows_by_later_appends(landing: FileSystemClient) -> None:
    file = landing.create_file(f"{T}/1.csv")
    for end, text in ((3, b"one"), (6, b"two"), (9, b"six")):
        file.append_data(text, end - 3)
        file.flush_data(end)
    assert file.download_file().readall() == b"onetwosix"


def test_append_can_flush_by_itself(landing: FileSystemClient) -> None:
    file = landing.create_file(f"{T}/1.csv")
    file.append_data(b"abc", 0, flush=True)
    assert file.download_file().readall() == b"abc"


def test_appends_may_come_in_any_order(landing: FileSystemClient) -> None:
    file = landing.create_file(f"{T}/1.csv")
    file.append_data(b"world", 6)
    file.append_data(b"hello ", 0)
    file.flush_data(11)
    assert file.download_file().readall() == b"hello world"


@pytest.mark.parametrize("size", [1, 1 << 20, 9_000_000])
def test_upload_data_writes_all_sizes(landing: FileSystemClient, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    file = landing.get_file_client(f"{T}/1.parquet")
    file.upload_data(content[:size], overwrite=True, chunk_size=1 << 20, max_concurrency=4)
    assert file.download_file().readall() == content[:size]
    assert file.get_file_properties().size == size


def test_upload_data_without_overwrite_refuses_a_missing_file(landing: FileSystemClient) -> None:
    with pytest.raises(ResourceNotFoundError):
        landing.get_file_client(f"{T}/1.parquet").upload_data(b"x", overwrite=False)


def test_creating_over_a_file_empties_it_unless_it_must_be_missing(
    landing: FileSystemClient,
) -> None:
    file = landing.get_file_client(f"{T}/1.parquet")
    file.upload_data(b"old", overwrite=True)
    with pytest.raises(ResourceExistsError) as refused:
        file.create_file(match_condition=ABSENT)
    assert refused.value.error_code == "PathAlreadyExists"
    assert file.download_file().readall() == b"old"
    file.create_file()
    assert file.download_file().readall() == b""


@pytest.mark.parametrize(("position", "flushed"), [(0, 4), (0, 2), (1, 4)])
def test_a_flush_needs_exactly_the_bytes_that_were_appended(
    landing: FileSystemClient, position: int, flushed: int
) -> None:
    file = landing.create_file(f"{T}/1.csv")
    file.append_data(b"abc", position)
    with pytest.raises(HttpResponseError) as refused:
        file.flush_data(flushed if position == 0 else position + 3)
    assert refused.value.status_code == 400
    assert refused.value.error_code == "InvalidFlushPosition"
    assert file.download_file().readall() == b""


@pytest.mark.parametrize("appended", [b"x", b"xy", b"longer than it was"])
def test_what_is_appended_below_the_end_of_a_file_is_refused_by_the_flush(
    landing: FileSystemClient, appended: bytes
) -> None:
    file = landing.get_file_client(f"{T}/1.csv")
    file.upload_data(b"abc", overwrite=True)
    file.append_data(appended, 1)
    with pytest.raises(HttpResponseError) as refused:
        file.flush_data(1 + len(appended))
    assert (refused.value.status_code, refused.value.error_code) == (400, "InvalidFlushPosition")
    assert file.download_file().readall() == b"abc"
    file.append_data(b"def", 3)
    file.flush_data(6)
    assert file.download_file().readall() == b"abcdef"


@pytest.mark.parametrize("content", [b"new", b"longer than it was"])
def test_upload_data_without_overwrite_leaves_a_file_as_it_is(
    landing: FileSystemClient, content: bytes
) -> None:
    """As on a real account: the bytes are taken, and the flush meets its own condition."""
    file = landing.get_file_client(f"{T}/1.parquet")
    file.upload_data(b"old", overwrite=True)
    with pytest.raises(ResourceModifiedError) as refused:
        file.upload_data(content, overwrite=False)
    assert (refused.value.status_code, refused.value.error_code) == (412, "ConditionNotMet")
    assert file.download_file().readall() == b"old"
    file.upload_data(content, overwrite=True)
    assert file.download_file().readall() == content


def test_a_content_md5_is_checked(landing: FileSystemClient) -> None:
    file = landing.create_file(f"{T}/1.csv")
    file.append_data(b"abc", 0, validate_content=True)
    with pytest.raises(HttpResponseError) as refused:
        file.append_data(b"abc", 3, headers={"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="})
    assert refused.value.error_code == "Md5Mismatch"


def test_reads_take_ranges(lake: ContainerClient) -> None:
    lake.upload_blob("a/1", b"0123456789")
    assert lake.download_blob("a/1", offset=3, length=4).readall() == b"3456"
    assert lake.download_blob("a/1", offset=8, length=50).readall() == b"89"
    with pytest.raises(HttpResponseError) as refused:
        lake.download_blob("a/1", offset=10, length=1).readall()
    assert (refused.value.status_code, refused.value.error_code) == (416, "InvalidRange")


def test_reads_take_etags_with_quotes_and_without(ask: Ask) -> None:
    ask("PUT", "/lake/1", b"abc", {"x-ms-blob-type": "BlockBlob"})
    etag = ask("HEAD", "/lake/1").headers["etag"]
    assert etag == f'"{etag.strip(chr(34))}"'
    for given in (etag, etag.strip('"'), "*"):
        read = ask("GET", "/lake/1", headers={"if-match": given, "range": "bytes=0-1"})
        assert (read.status, read.body) == (206, b"ab")
    refused = ask("GET", "/lake/1", headers={"if-match": '"0x8OTHER"'})
    assert (refused.status, refused.code) == (412, "ConditionNotMet")
    assert ask("GET", "/lake/1", headers={"if-none-match": etag}).status == 304


def test_each_write_has_an_etag_of_its_own_the_same_wherever_it_is_seen(
    landing: FileSystemClient, lands: ContainerClient
) -> None:
    file = landing.get_file_client(f"{T}/1.csv")
    seen = set()
    for _ in range(8):
        file.upload_data(b"same", overwrite=True)
        etag = file.get_file_properties().etag
        assert etag == file.download_file().properties.etag
        assert etag.strip('"') == next(iter(landing.get_paths(T))).etag
        assert etag.strip('"') == next(iter(lands.list_blobs(name_starts_with=f"{T}/"))).etag
        seen.add(etag)
    file.set_metadata({"a": "b"})
    seen.add(file.get_file_properties().etag)
    assert len(seen) == 9


def test_a_blob_is_written_under_conditions(lake: ContainerClient) -> None:
    blob = lake.get_blob_client("a/1.json")
    first = blob.upload_blob(b"1", match_condition=ABSENT, overwrite=True)["etag"]
    with pytest.raises(ResourceExistsError) as taken:
        blob.upload_blob(b"2", match_condition=ABSENT, overwrite=True)
    assert taken.value.error_code == "BlobAlreadyExists"
    second = blob.upload_blob(b"2", overwrite=True, etag=first, match_condition=SAME)["etag"]
    assert second != first
    with pytest.raises(ResourceModifiedError) as changed:
        blob.upload_blob(b"3", overwrite=True, etag=first, match_condition=SAME)
    assert changed.value.error_code == "ConditionNotMet"
    with pytest.raises(ResourceModifiedError):
        lake.get_blob_client("a/none").upload_blob(
            b"", overwrite=True, etag=first, match_condition=SAME
        )
    with pytest.raises(HttpResponseError) as unchanged:
        blob.download_blob(etag=second, match_condition=UNEQUAL)
    assert unchanged.value.status_code == 304
    assert blob.download_blob().readall() == b"2"


def test_a_block_list_makes_a_blob_of_new_and_old_blocks(lake: ContainerClient) -> None:
    blob = lake.get_blob_client("a/blocks")
    for name, content in (("one", b"11"), ("two", b"222"), ("six", b"6")):
        blob.stage_block(name, content)
    committed, waiting = blob.get_block_list("all")
    assert (committed, [block.id for block in waiting]) == ([], ["one", "two", "six"])
    blob.commit_block_list([BlobBlock("two"), BlobBlock("one")])
    assert blob.download_blob().readall() == b"22211"
    blob.stage_block("end", b"$")
    blob.commit_block_list([BlobBlock("one"), BlobBlock("end"), BlobBlock("two")])
    assert blob.download_blob().readall() == b"11$222"
    with pytest.raises(HttpResponseError) as refused:
        blob.commit_block_list([BlobBlock("six")])
    assert refused.value.error_code == "InvalidBlockList"


def test_large_blobs_come_in_blocks(lake: ContainerClient) -> None:
    content = bytes(range(251)) * 20_000
    blob = lake.get_blob_client("large")
    blob._config.max_single_put_size = 1 << 20
    blob._config.max_block_size = 1 << 20
    blob.upload_blob(content, max_concurrency=4)
    assert blob.download_blob().readall() == content


def test_metadata_and_properties_are_kept_and_replaced(
    landing: FileSystemClient, lake: ContainerClient
) -> None:
    file = landing.create_file(f"{T}/1.csv", metadata={"by": "publisher"})
    file.upload_data(b"a,b", overwrite=True, metadata={"by": "other", "n": "1"})
    assert file.get_file_properties().metadata == {"by": "other", "n": "1"}
    file.set_metadata({"only": "this"})
    assert file.get_file_properties().metadata == {"only": "this"}
    blob = lake.get_blob_client("x.json")
    blob.upload_blob(b"{}", content_settings=ContentSettings(content_type="application/json"))
    assert blob.get_blob_properties().content_settings.content_type == "application/json"
    blob.set_http_headers(ContentSettings(content_type="text/plain", cache_control="no-store"))
    found = blob.get_blob_properties().content_settings
    assert (found.content_type, found.cache_control) == ("text/plain", "no-store")


def test_rights_are_kept_and_shown(landing: FileSystemClient) -> None:
    folder = landing.create_directory(T, permissions="0750", umask="0000")
    assert folder.get_access_control()["permissions"] == "rwxr-x---"
    folder.set_access_control(acl="user::rwx,user:someone:r-x,group::r-x,mask::r-x,other::---")
    assert "someone" in folder.get_access_control()["acl"]
    assert folder.get_access_control()["permissions"].endswith("+")


def test_delete_needs_recursive_for_a_folder_with_something_in_it(
    landing: FileSystemClient, lands: ContainerClient, server: EndpointServer
) -> None:
    landing.create_file(f"{T}/1.csv")
    with pytest.raises(ResourceExistsError) as not_empty:
        lands.delete_blob(T)
    assert not_empty.value.error_code == "DirectoryIsNotEmpty"
    landing.delete_directory("m")
    assert list((server.root / "landing").iterdir()) == []
    with pytest.raises(ResourceNotFoundError):
        landing.delete_directory("m")


def test_files_are_deleted(landing: FileSystemClient, lake: ContainerClient) -> None:
    landing.create_file("a/1").delete_file()
    assert not landing.get_file_client("a/1").exists()
    assert landing.get_directory_client("a").exists()
    lake.upload_blob("b", b"")
    lake.delete_blob("b")
    with pytest.raises(ResourceNotFoundError) as missing:
        lake.delete_blob("b")
    assert missing.value.error_code == "BlobNotFound"
