"""Renames, in every spelling that publishers use."""

from __future__ import annotations

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from tests.emulator.conftest import Ask, T
from tests.emulator_server import EndpointServer

NEW = f"/landing/{T}/1.parquet"


def put(ask: Ask, path: str, content: bytes = b"x") -> str:
    made = ask("PUT", path, content, {"x-ms-blob-type": "BlockBlob"})
    assert made.status == 201
    return made.headers["etag"]


@pytest.mark.parametrize(
    "source",
    [
        f"/landing/{T}/_1.parquet",
        f"landing/{T}/_1.parquet",
        f"/devstoreaccount1/landing/{T}/_1.parquet",
        f"https://devstoreaccount1.dfs.core.windows.net/landing/{T}/_1.parquet",
        f"http://127.0.0.1:1/devstoreaccount1/landing/{T}/_1.parquet?resource=file",
        f"/landing/{T}/_1.parquet?resource=file",
        f"/landing/{T}/%5F1.parquet",
        f"/landing/{T.replace('/', '%2F')}%2F_1.parquet",
        f"/landing//{T}//_1.parquet",
    ],
)
@pytest.mark.parametrize("query", ["", "?mode=legacy", "?mode=posix"])
def test_a_source_may_be_spelt_in_many_ways(ask: Ask, source: str, query: str) -> None:
    put(ask, f"/landing/{T}/_1.parquet")
    done = ask("PUT", f"{NEW}{query}", headers={"x-ms-rename-source": source})
    assert done.status == 201
    assert ask("GET", NEW).body == b"x"
    assert ask("HEAD", f"/landing/{T}/_1.parquet").status == 404


@pytest.mark.parametrize("with_account", [False, True])
@pytest.mark.parametrize("name", ["b c.csv", "100%.csv", "ü#?&+=.csv", "a[1]{2}*.csv"])
def test_the_sdk_renames_names_of_all_kinds(
    server: EndpointServer, with_account: bool, name: str
) -> None:
    url = f"{server.url}/{server.account}" if with_account else server.url
    with DataLakeServiceClient(url, credential=server.credential, retry_total=0) as service:
        landing = service.get_file_system_client("landing")
        file = landing.create_file(f"{T}/{name}")
        file.append_data(b"x", 0, flush=True)
        renamed = file.rename_file(f"landing/{T}/new {name}")
        assert renamed.download_file().readall() == b"x"
        assert [path.name for path in landing.get_paths(T)] == [f"{T}/new {name}"]
    assert (server.root / "landing" / T / f"new {name}").read_bytes() == b"x"


def test_a_rename_takes_the_place_of_a_file_unless_it_must_not(ask: Ask) -> None:
    put(ask, NEW, b"old")
    put(ask, "/landing/m/_new", b"new")
    source = {"x-ms-rename-source": "/landing/m/_new"}
    refused = ask("PUT", NEW, headers={**source, "if-none-match": "*"})
    assert (refused.status, refused.code) == (409, "PathAlreadyExists")
    assert ask("GET", NEW).body == b"old"
    assert ask("PUT", NEW, headers=source).status == 201
    assert ask("GET", NEW).body == b"new"


def test_a_rename_may_ask_for_the_content_of_its_source(landing: FileSystemClient) -> None:
    file = landing.get_file_client(f"{T}/_1")
    file.upload_data(b"1", overwrite=True)
    read = file.get_file_properties().etag
    file.upload_data(b"2", overwrite=True)
    with pytest.raises(HttpResponseError) as changed:
        file.rename_file(
            f"landing/{T}/1",
            source_etag=read,
            source_match_condition=MatchConditions.IfNotModified,
        )
    assert changed.value.error_code == "SourceConditionNotMet"
    file.rename_file(
        f"landing/{T}/1",
        source_etag=file.get_file_properties().etag,
        source_match_condition=MatchConditions.IfNotModified,
        match_condition=MatchConditions.IfMissing,
    )


def test_content_and_etag_and_metadata_move_with_a_file(landing: FileSystemClient) -> None:
    file = landing.create_file(f"{T}/_1", metadata={"a": "b"})
    file.append_data(b"x", 0, flush=True)
    before = file.get_file_properties()
    after = file.rename_file(f"landing/{T}/1").get_file_properties()
    assert (after.etag, after.metadata, after.creation_time) == (
        before.etag,
        before.metadata,
        before.creation_time,
    )


def test_appended_data_move_with_a_file(landing: FileSystemClient) -> None:
    file = landing.create_file(f"{T}/_1")
    file.append_data(b"abc", 0)
    renamed = file.rename_file(f"landing/{T}/1")
    renamed.flush_data(3)
    assert renamed.download_file().readall() == b"abc"


def test_folders_move_with_all_in_them_and_keep_their_creation_time(
    landing: FileSystemClient,
) -> None:
    landing.create_file(f"{T}/sub/1")
    before = created(landing, T)
    landing.get_directory_client(T).rename_directory(f"landing/{T}2")
    assert created(landing, f"{T}2") == before
    assert landing.get_file_client(f"{T}2/sub/1").exists()
    assert not landing.get_directory_client(T).exists()


def created(landing: FileSystemClient, folder: str) -> object:
    above = folder.rpartition("/")[0]
    return next(p.creation_time for p in landing.get_paths(above) if p.name == folder)


def test_renames_go_between_containers(service: DataLakeServiceClient) -> None:
    file = service.get_file_system_client("landing").create_file("a/1")
    service.get_file_system_client("lake").create_directory("b")
    file.rename_file("lake/b/1")
    assert service.get_file_client("lake", "b/1").exists()


def test_a_missing_source_or_destination_folder_is_named_as_missing(
    landing: FileSystemClient,
) -> None:
    file = landing.create_file("a/1")
    with pytest.raises(ResourceNotFoundError) as no_parent:
        file.rename_file("landing/none/1")
    assert no_parent.value.error_code == "RenameDestinationParentPathNotFound"
    with pytest.raises(ResourceNotFoundError) as no_source:
        landing.get_file_client("a/none").rename_file("landing/a/2")
    assert no_source.value.error_code == "SourcePathNotFound"
    with pytest.raises(ResourceNotFoundError) as no_container:
        file.rename_file("nowhere/1")
    assert no_container.value.error_code == "FilesystemNotFound"


def test_folders_never_take_the_place_of_what_is_not_empty(landing: FileSystemClient) -> None:
    folder = landing.create_directory("a")
    landing.create_file("b/1")
    landing.create_directory("c")
    with pytest.raises(ResourceExistsError):
        folder.rename_directory("landing/b")
    with pytest.raises(ResourceExistsError):
        folder.rename_directory("landing/b/1")
    with pytest.raises(ResourceExistsError) as inside:
        folder.rename_directory("landing/a/b")
    assert inside.value.error_code == "InvalidRenameSourcePath"
    folder.rename_directory("landing/c")
    assert [path.name for path in landing.get_paths(recursive=False)] == ["b", "c"]


@pytest.mark.parametrize(
    "source", ["", "/", "/landing", "/landing/../lake/x", "/landing/%00", "http://[/x", "/a%ff/b"]
)
def test_a_source_without_sense_is_refused(ask: Ask, source: str) -> None:
    refused = ask("PUT", NEW, headers={"x-ms-rename-source": source})
    assert refused.status == 400
    assert refused.code in ("InvalidSourceUri", "InvalidUri", "InvalidResourceName")


def test_a_lease_protects_source_and_destination(landing: FileSystemClient) -> None:
    one, two = landing.create_file("a/1"), landing.create_file("a/2")
    lease = two.acquire_lease()
    with pytest.raises(HttpResponseError) as destination:
        one.rename_file("landing/a/2")
    assert destination.value.error_code == "LeaseIdMissing"
    with pytest.raises(HttpResponseError) as source:
        two.rename_file("landing/a/3")
    assert source.value.error_code == "LeaseIdMissing"
    two.rename_file("landing/a/3", source_lease=lease.id)
