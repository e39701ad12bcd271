"""What a restart keeps, and what happens behind the endpoint's back."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient, FileSystemClient

from openmirror.emulator.account import open_account
from openmirror.errors import ConditionFailed, RootLocked
from openmirror.ports import ABSENT
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from tests.emulator.conftest import Ask, T
from tests.emulator_server import EndpointServer, endpoint_server


def creation(landing: FileSystemClient, path: str) -> object:
    above = path.rpartition("/")[0]
    return next(p.creation_time for p in landing.get_paths(above or None) if p.name == path)


def test_a_restart_keeps_everything_that_was_acknowledged_to_clients(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with (
        endpoint_server(root) as server,
        DataLakeServiceClient(server.url, credential=server.credential) as service,
    ):
        landing = service.get_file_system_client("landing")
        folder = landing.create_directory(T, metadata={"of": "folder"})
        file = landing.create_file(f"{T}/1.csv", metadata={"of": "file"})
        file.append_data(b"abc", 0, flush=True)
        file.append_data(b"def", 3)
        leased = landing.create_file(f"{T}/leased")
        lease_id = leased.acquire_lease(-1).id
        before = (
            file.get_file_properties().etag,
            folder.get_directory_properties().etag,
            creation(landing, T),
        )
    with (
        endpoint_server(root) as server,
        DataLakeServiceClient(server.url, credential=server.credential, retry_total=0) as service,
    ):
        landing = service.get_file_system_client("landing")
        folder, file = landing.get_directory_client(T), landing.get_file_client(f"{T}/1.csv")
        assert before == (
            file.get_file_properties().etag,
            folder.get_directory_properties().etag,
            creation(landing, T),
        )
        assert folder.get_directory_properties().metadata["of"] == "folder"
        assert file.get_file_properties().metadata == {"of": "file"}
        leased = landing.get_file_client(f"{T}/leased")
        with pytest.raises(HttpResponseError) as versioned:
            leased.delete_file()
        assert versioned.value.error_code == "LeaseIdMissing"
        leased.delete_file(lease=lease_id)
        file.flush_data(6)
        assert file.download_file().readall() == b"abcdef"


def test_a_file_replaced_behind_its_back_shows_nothing_of_the_old_one(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    file = landing.create_file(f"{T}/1.csv", metadata={"a": "b"})
    file.acquire_lease(-1)
    path = server.root / "landing" / T / "1.csv"
    path.unlink()
    path.write_bytes(b"new")
    found = file.get_file_properties()
    assert (found.metadata, found.lease.state, found.size) == ({}, "available", 3)


def test_a_folder_made_again_behind_its_back_is_another_one(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    landing.create_directory(T, metadata={"a": "b"})
    path = server.root / "landing" / T
    before = creation(landing, T)
    path.rmdir()
    # The file system's own clock must have moved on, so that the two differ.
    stood = time.time_ns()
    while probe(path.parent) <= stood:
        pass
    path.mkdir()
    assert creation(landing, T) != before
    assert "a" not in landing.get_directory_client(T).get_directory_properties().metadata


def probe(folder: Path) -> int:
    """The time that the file system gives to a new file."""
    file = folder / ".openmirror-probe"
    file.write_bytes(b"")
    written = file.stat().st_mtime_ns
    file.unlink()
    return written


def test_a_moved_folder_stays_the_same_one_whoever_moved_it(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    landing.create_directory("m/a", metadata={"a": "b"})
    before = creation(landing, "m/a")
    (server.root / "landing/m/a").rename(server.root / "landing/m/b")
    assert creation(landing, "m/b") == before


def test_the_local_form_and_clients_see_each_others_writes(
    landing: FileSystemClient, server: EndpointServer
) -> None:
    store = LocalStore(server.root)
    folder = StorePath(f"landing/{T}")
    landing.create_file(f"{T}/1.csv").append_data(b"abc", 0, flush=True)
    incarnation = store.incarnation(folder)
    (entry,) = store.list_folder(folder).entries
    assert (entry.name, entry.size) == ("1.csv", 3)
    store.write(StorePath(f"{folder}/2.csv"), b"by the store")
    assert landing.get_file_client(f"{T}/2.csv").download_file().readall() == b"by the store"
    assert [path.name for path in landing.get_paths(T)] == [f"{T}/1.csv", f"{T}/2.csv"]
    # The identity that the local form keeps in the folder moves and goes with it.
    moved = landing.get_directory_client(T).rename_directory(f"landing/{T}2")
    assert store.incarnation(StorePath(f"{folder}2")) == incarnation
    moved.delete_directory()
    landing.create_directory(T)
    assert store.incarnation(folder) not in (None, incarnation)


def test_conditions_hold_against_the_local_form_too(ask: Ask) -> None:
    """Whoever comes second is refused, whichever of the two it is."""
    store = LocalStore(ask.server.root)
    document = StorePath("lake/m/_openmirror/folders/T.json")
    etag = store.write(document, b"{}", only_if=ABSENT)
    head = ask("HEAD", f"/{document}").headers["etag"]
    put = {"x-ms-blob-type": "BlockBlob", "if-match": head}
    assert ask("PUT", f"/{document}", b"1", put).status == 201
    with pytest.raises(ConditionFailed):
        store.write(document, b"2", only_if=etag)
    store.write(document, b"3")
    assert ask("PUT", f"/{document}", b"4", put).status == 412
    assert store.read(document).data == b"3"


def test_a_containers_folder_may_go_and_come_back(ask: Ask) -> None:
    shutil.rmtree(ask.server.root / "landing")
    missing = ask("GET", "/landing?resource=filesystem&recursive=true")
    assert (missing.status, missing.code) == (404, "FilesystemNotFound")
    created = ask("PUT", "/landing/a?resource=file")
    assert (created.status, created.code) == (404, "FilesystemNotFound")
    assert ask("PUT", "/landing?resource=filesystem").status == 201


def test_only_one_endpoint_serves_a_root(server: EndpointServer) -> None:
    with pytest.raises(RootLocked, match="is served already, by process"):
        open_account(server.root, server.account)


def test_a_damaged_state_is_kept_under_another_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "root" / ".endpoint" / "state.sqlite3"
    state.parent.mkdir(parents=True)
    state.write_bytes(b"this is not a database, whatever its name may say" * 100)
    with (
        endpoint_server(tmp_path / "root") as server,
        BlobServiceClient(server.url, credential=server.credential) as blobs,
    ):
        blobs.get_blob_client("landing", "a").upload_blob(b"x", metadata={"a": "b"})
    assert state.with_suffix(".damaged").exists()
    assert "is damaged" in caplog.text


def test_uncommitted_data_that_nobody_will_commit_are_deleted(tmp_path: Path) -> None:
    root = tmp_path / "root"
    staging = root / ".endpoint" / "staging"
    with endpoint_server(root, key=None) as server:
        ask = Ask(server)
        ask("PUT", "/landing/kept?resource=file")
        ask("PATCH", "/landing/kept?action=append&position=0", b"abc")
        ask("PUT", "/landing/old?comp=block&blockid=AAAA", b"abc")
        kept, old = sorted(staging.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    week_ago = time.time() - 8 * 86400
    os.utime(old, (week_ago, week_ago))
    (staging / "left-by-a-crash").write_bytes(b"x")
    with endpoint_server(root, key=None) as server:
        assert list(staging.iterdir()) == [kept]
        refused = Ask(server)(
            "PUT",
            "/landing/old?comp=blocklist",
            b"<BlockList><Latest>AAAA</Latest></BlockList>",
        )
        assert refused.status == 400
