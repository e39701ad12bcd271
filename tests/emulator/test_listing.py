"""Lists of both endpoints: pages, folders, creation times."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobPrefix, BlobServiceClient, ContainerClient
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from tests.emulator.conftest import Ask, T
from tests.emulator_server import EndpointServer

TREE = ["a", "a/1", "a/b", "a/b/2", "a/b/3", "a-b", "a-b/4", "z"]
"""Depth first: a folder, what is in it, then what comes after it."""


@pytest.fixture
def tree(landing: FileSystemClient) -> FileSystemClient:
    for name in ("a/b/3", "a/b/2", "a/1", "a-b/4", "z"):
        landing.create_file(name)
    return landing


def in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: name.split("/"))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pages_of_any_size_list_everything_once(
    tree: FileSystemClient, lands: ContainerClient, size: int
) -> None:
    pages = [[p.name for p in page] for page in tree.get_paths(max_results=size).by_page()]
    assert [name for page in pages for name in page] == in_order(TREE)
    assert all(len(page) <= size for page in pages)
    blobs = lands.list_blobs(results_per_page=size)
    assert [blob.name for blob in blobs] == in_order(TREE)


def test_a_page_goes_on_though_its_last_entry_is_gone(tree: FileSystemClient) -> None:
    pages = tree.get_paths(max_results=4).by_page()
    first = [path.name for path in next(pages)]
    tree.delete_file(first[-1]) if first[-1] != "a/b" else tree.delete_directory("a/b")
    rest = [path.name for page in pages for path in page]
    assert set(rest) >= set(in_order(TREE)[4:]) - {"a/b/2", "a/b/3"}
    assert not set(first) & set(rest)


def test_one_folder_is_listed_without_what_is_in_its_folders(tree: FileSystemClient) -> None:
    assert [p.name for p in tree.get_paths("a", recursive=False)] == ["a/1", "a/b"]


@pytest.mark.parametrize(
    "path",
    [
        "/landing?resource=filesystem&recursive=false&directory=a",
        "/landing?resource=filesystem&recursive=false&directory=/a/",
        "/landing/a?resource=filesystem&recursive=false",
        "/landing//a/?resource=filesystem&recursive=false&directory=",
        "/devstoreaccount1/landing/a?resource=filesystem&recursive=False",
    ],
)
def test_the_folder_is_a_parameter_or_in_the_url(ask: Ask, path: str) -> None:
    for name in ("a/1", "a/b/2"):
        ask("PUT", f"/landing/{name}?resource=file")
    assert [entry["name"] for entry in ask("GET", path).json()["paths"]] == ["a/1", "a/b"]


def test_entries_say_what_clients_read(ask: Ask) -> None:
    ask("PUT", "/landing/a/1?resource=file")
    ask("PUT", "/landing/a/1?action=append&position=0&flush=true", b"abc",
        {"x-http-method-override": "PATCH"})  # fmt: skip
    folder, file = ask("GET", "/landing?resource=filesystem&recursive=true").json()["paths"]
    assert (folder["name"], folder["isDirectory"], folder["contentLength"]) == ("a", "true", "0")
    assert "isDirectory" not in file
    assert file["contentLength"] == "3"
    assert file["lastModified"].endswith(" GMT")
    assert not file["etag"].startswith('"')
    # Ticks of 100 ns since 1601: between 2020 and 2100.
    assert 132_223_104_000_000_000 < int(folder["creationTime"]) < 157_469_184_000_000_000


def test_a_folder_made_again_is_another_one(landing: FileSystemClient) -> None:
    seen = set()
    for _ in range(12):
        folder = landing.create_directory(T)
        seen.add(next(p.creation_time for p in landing.get_paths(T[:-2])))
        folder.delete_directory()
    assert len(seen) == 12


def test_a_folder_stays_the_same_while_files_come_and_go(landing: FileSystemClient) -> None:
    def listed() -> object:
        found = next(p for p in landing.get_paths(T[:-2], recursive=False))
        return found.creation_time, found.etag, found.last_modified

    landing.create_directory(T)
    before = listed()
    landing.create_file(f"{T}/1")
    landing.create_directory(T)
    landing.delete_file(f"{T}/1")
    assert listed()[0] == before[0]  # type: ignore[index]


def test_files_behind_the_back_of_the_endpoint_are_listed(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    folder = server.root / "landing" / T
    folder.mkdir(parents=True)
    (folder / "1.csv").write_bytes(b"abc")
    (found,) = landing.get_paths(T)
    assert (found.name, found.content_length) == (f"{T}/1.csv", 3)
    etag = landing.get_file_client(f"{T}/1.csv").get_file_properties().etag
    (folder / "1.csv").write_bytes(b"abcd")
    assert landing.get_file_client(f"{T}/1.csv").get_file_properties().etag != etag


def test_what_is_missing_is_an_error_not_an_empty_list(
    landing: FileSystemClient, service: DataLakeServiceClient, lake: ContainerClient
) -> None:
    with pytest.raises(ResourceNotFoundError) as no_folder:
        list(landing.get_paths("none"))
    assert no_folder.value.error_code == "PathNotFound"
    with pytest.raises(ResourceNotFoundError) as no_filesystem:
        list(service.get_file_system_client("nowhere").get_paths())
    assert no_filesystem.value.error_code == "FilesystemNotFound"
    # The Blob endpoint knows only prefixes.
    assert list(lake.list_blobs(name_starts_with="none/")) == []


def test_a_flat_list_marks_folders(tree: FileSystemClient, lands: ContainerClient) -> None:
    found = {blob.name: blob for blob in lands.list_blobs(include=["metadata"])}
    marked = {name for name, blob in found.items() if (blob.metadata or {}).get("hdi_isfolder")}
    assert marked == {"a", "a/b", "a-b"}
    assert found["a"].size == 0
    assert tree.get_directory_client("a").get_directory_properties().metadata["hdi_isfolder"]


def test_prefixes_need_not_be_folders(tree: FileSystemClient, lands: ContainerClient) -> None:
    def names(prefix: str) -> list[str]:
        return [blob.name for blob in lands.list_blobs(name_starts_with=prefix)]

    assert names("a/b") == ["a/b", "a/b/2", "a/b/3"]
    assert names("a/b/") == ["a/b/2", "a/b/3"]
    assert names("a-") == ["a-b", "a-b/4"]
    walked = list(lands.walk_blobs("a/"))
    assert [(type(item) is BlobPrefix, item.name) for item in walked] == [
        (True, "a/b/"),
        (False, "a/1"),
    ]


@pytest.mark.parametrize(
    "start", ["", "a", "a/", "a/1", "a/b", "a/b/", "a/b/2", "a/b/25", "a/c", "a-", "a-b/9", "zz"]
)
@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b/", "z"])
def test_a_flat_list_starts_from_any_path(ask: Ask, start: str, prefix: str) -> None:
    for name in ("a/b/3", "a/b/2", "a/1", "a-b/4", "z"):
        ask("PUT", f"/landing/{name}?resource=file")
    wanted = [
        name
        for name in in_order(TREE)
        if name.split("/") >= start.split("/") and name.startswith(prefix)
    ]
    query = f"restype=container&comp=list&maxresults=2&prefix={prefix}&startFrom={start}"
    found: list[str | None] = []
    marker: str | None = ""
    while marker is not None:
        page = ElementTree.fromstring(ask("GET", f"/landing?{query}&marker={marker}").body)
        found += [name.text for name in page.iterfind("Blobs/Blob/Name")]
        marker = page.findtext("NextMarker") or None
    assert found == wanted


def test_a_list_by_folder_starts_from_one_name(ask: Ask) -> None:
    for name in ("a/b/3", "a/1", "a-b/4", "z"):
        ask("PUT", f"/landing/{name}?resource=file")
    query = "restype=container&comp=list&delimiter=/"

    def names(more: str) -> list[str | None]:
        blobs = ElementTree.fromstring(ask("GET", f"/landing?{query}&{more}").body)
        return [name.text for name in blobs.iterfind("Blobs/*/Name")]

    assert names("startFrom=a-b") == ["a-b/", "z"]
    assert names("startFrom=a-b/") == ["a-b/", "z"]
    assert names("prefix=a/&startFrom=a/b") == ["a/b/"]
    assert names("prefix=a/&startFrom=b") == []
    refused = ask("GET", f"/landing?{query}&startFrom=a/1")
    assert (refused.status, refused.code) == (400, "InvalidQueryParameterValue")


def test_paths_begin_from_a_path_in_the_folder(ask: Ask) -> None:
    for name in ("a/b/3", "a/b/2", "a/c", "z"):
        ask("PUT", f"/landing/{name}?resource=file")
    query = "resource=filesystem&directory=a"

    def names(more: str) -> list[str]:
        found = ask("GET", f"/landing?{query}&{more}").json()["paths"]
        return [entry["name"] for entry in found]

    assert names("recursive=true&beginFrom=b/3") == ["a/b/3", "a/c"]
    assert names("recursive=false&beginFrom=c") == ["a/c"]
    refused = ask("GET", f"/landing?{query}&recursive=false&beginFrom=b/3")
    assert (refused.status, refused.code) == (400, "InvalidQueryParameterValue")


def test_containers_are_made_listed_and_deleted(
    service: DataLakeServiceClient, blobs: BlobServiceClient, server: EndpointServer
) -> None:
    made = service.create_file_system("third", metadata={"a": "b"})
    made.create_file("x/1")
    assert [found.name for found in service.list_file_systems()] == ["lake", "landing", "third"]
    assert [found.name for found in blobs.list_containers("l")] == ["lake", "landing"]
    assert made.get_file_system_properties().metadata == {"a": "b"}
    with pytest.raises(ResourceExistsError) as twice:
        blobs.create_container("third")
    assert twice.value.error_code == "ContainerAlreadyExists"
    blobs.delete_container("third")
    assert not made.exists()
    assert not (server.root / "third").exists()


@pytest.mark.parametrize("name", ["ab", "Upper", "a--b", "-ab", "ab_c", "devstoreaccount1"])
def test_container_names_follow_the_rules(ask: Ask, name: str) -> None:
    refused = ask("PUT", f"/{name}/x?resource=file")
    made = ask("PUT", f"/devstoreaccount1/{name}?restype=container")
    assert refused.status in (400, 404)
    assert (made.status, made.code) == (400, "InvalidResourceName")


@pytest.mark.parametrize("query", ["continuation=%21", "maxResults=0", "maxResults=x", ""])
def test_senseless_questions_are_refused(ask: Ask, query: str) -> None:
    recursive = "recursive=maybe&" if not query else "recursive=true&"
    refused = ask("GET", f"/landing?resource=filesystem&{recursive}{query}")
    assert (refused.status, refused.code) == (400, "InvalidQueryParameterValue")
