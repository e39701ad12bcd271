"""Requests that no honest client sends: each is refused in Azure's words, and touches nothing."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from tests.emulator.conftest import Answer, Ask, T

BLOB = {"x-ms-blob-type": "BlockBlob"}


@pytest.fixture
def outside(ask: Ask) -> Path:
    """What lies beside the root and must stay as it is."""
    secret = ask.server.root.parent / "secret"
    secret.mkdir(exist_ok=True)
    (secret / "file").write_bytes(b"secret")
    return secret


def untouched(outside: Path) -> bool:
    return [(path.name, path.read_bytes()) for path in outside.iterdir()] == [("file", b"secret")]


ESCAPES = [
    "/landing/../secret/file",
    "/landing/%2e%2e/secret/file",
    "/landing/..%2fsecret%2ffile",
    "/landing/a/%2E%2E/%2e%2E/../secret/file",
    "/../secret/file",
    "/..%2f..%2fsecret/file",
    "/landing/./x",
    "/landing/a%00b",
    "/landing/%ff%fe",
    "/landing/%ed%a0%80",
    "/.endpoint/state.sqlite3",
    "/%2eendpoint/state.sqlite3",
    "/landing/" + "n" * 256,
    "/landing/" + "%C3%A9" * 200,
    "/landing/" + "d/" * 600 + "x",
]


@pytest.mark.parametrize("path", ESCAPES, ids=lambda path: path[:30])
@pytest.mark.parametrize(
    ("method", "query", "headers"),
    [
        ("GET", "", {}),
        ("HEAD", "", {}),
        ("DELETE", "?recursive=true", {}),
        ("PUT", "?resource=file", {}),
        ("PUT", "?resource=directory", {}),
        ("PUT", "", BLOB),
        ("PATCH", "?action=append&position=0", {}),
    ],
)
def test_no_path_leads_out_of_the_containers(
    ask: Ask, outside: Path, path: str, method: str, query: str, headers: dict[str, str]
) -> None:
    refused = ask(method, path + query, b"", headers)
    assert refused.status == 400
    if method != "HEAD":
        assert refused.code in ("InvalidUri", "InvalidResourceName")
    assert untouched(outside)


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [
        ("/lake/none", {}, 404, "BlobNotFound"),
        ("/nowhere/none", {}, 404, "ContainerNotFound"),
        ("/lake?restype=container&comp=metadata&snapshot=1", {}, 501, "NotImplemented"),
        ("/lake/none?action=getStatus", {}, 404, "PathNotFound"),
        ("/nowhere?resource=filesystem", {}, 404, "FilesystemNotFound"),
        ("/lake/there", {"if-match": "other"}, 412, "ConditionNotMet"),
        ("/lake/there", {"authorization": ""}, 401, "NoAuthenticationInformation"),
        ("/lake/there", {"authorization": "Basic x"}, 403, "AuthenticationFailed"),
        ("/lake/%00", {}, 400, "InvalidUri"),
    ],
)
def test_a_refused_head_says_why_in_headers_alone(
    ask: Ask, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    """A type without a body ends the process of whoever uses Azure's SDK for C++."""
    ask("PUT", "/lake/there", b"abc", BLOB)
    refused = ask("HEAD", path, headers=headers)
    assert (refused.status, refused.headers["x-ms-error-code"]) == (status, code)
    assert (refused.headers.get("content-type"), refused.body) == (None, b"")
    assert refused.headers.get("content-length", "0") == "0"


@pytest.mark.parametrize("path", ESCAPES[:10], ids=lambda path: path[:30])
def test_no_rename_leads_out_of_the_containers(ask: Ask, outside: Path, path: str) -> None:
    ask("PUT", "/landing/x?resource=file")
    taken = ask("PUT", "/landing/stolen", headers={"x-ms-rename-source": path})
    given = ask("PUT", path, headers={"x-ms-rename-source": "/landing/x"})
    assert (taken.status, given.status) == (400, 400)
    assert untouched(outside)
    assert ask("HEAD", "/landing/x").status == 200


def test_symbolic_links_that_lead_out_are_neither_listed_nor_followed(
    ask: Ask, outside: Path
) -> None:
    landing = ask.server.root / "landing"
    (landing / "folder").symlink_to(outside)
    (landing / "file").symlink_to(outside / "file")
    (landing / "loop").symlink_to(landing / "loop")
    listed = ask("GET", "/landing?resource=filesystem&recursive=true")
    assert listed.json() == {"paths": []}
    attempts: list[Answer] = [
        ask("GET", "/landing/folder/file"),
        ask("GET", "/landing/file"),
        ask("GET", "/landing/loop"),
        ask("GET", "/landing?resource=filesystem&recursive=true&directory=folder"),
        ask("PUT", "/landing/folder/new?resource=file"),
        ask("PUT", "/landing/file", b"x", BLOB),
        ask("PUT", "/landing/x", headers={"x-ms-rename-source": "/landing/folder"}),
        ask("DELETE", "/landing/folder?recursive=true"),
    ]
    assert {attempt.status for attempt in attempts} == {400}
    assert {attempt.code for attempt in attempts} == {"InvalidUri"}
    assert untouched(outside)


def test_deleting_a_folder_does_not_follow_the_links_in_it(ask: Ask, outside: Path) -> None:
    ask("PUT", "/landing/a/b?resource=directory")
    (ask.server.root / "landing" / "a" / "b" / "link").symlink_to(outside)
    assert ask("DELETE", "/landing/a?recursive=true").status == 200
    assert untouched(outside)


@pytest.mark.parametrize("query", ["", "?recursive=true", "?recursive=false"])
def test_a_container_is_never_deleted_by_mistake(ask: Ask, query: str) -> None:
    ask("PUT", "/landing/a?resource=file")
    for path in ("/landing", "/landing/", "//landing//", "/devstoreaccount1/landing"):
        refused = ask("DELETE", f"{path}{query}")
        assert (refused.status, refused.code) == (400, "InvalidUri")
    assert ask("HEAD", "/landing/a").status == 200


def test_slashes_that_follow_each_other_are_one(ask: Ask) -> None:
    assert ask("PUT", f"//landing//{T}///1.csv?resource=file").status == 201
    assert ask("HEAD", f"/landing/{T}/1.csv").status == 200
    assert ask("HEAD", f"/landing/{T.replace('/', '%2F')}%2F1.csv/").status == 200


@pytest.mark.parametrize("length", ["99999999999999999999", "1048577", "-1", "x", "1e3", "٣"])
def test_a_length_beyond_the_limit_or_sense_is_refused_before_the_body(
    ask: Ask, length: str
) -> None:
    head = (
        f"PUT /landing/x HTTP/1.1\r\nhost: here\r\nx-ms-blob-type: BlockBlob\r\n"
        f"authorization: SharedKey devstoreaccount1:none\r\ncontent-length: {length}\r\n"
        "expect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", ask.server.port), timeout=10) as connection:
        connection.sendall(head.encode())
        answer = connection.recv(4096).decode("latin-1")
    assert answer.startswith(("HTTP/1.1 400", "HTTP/1.1 413"))
    assert not (ask.server.root / "landing" / "x").exists()


def test_a_body_that_grows_beyond_the_limit_is_refused(ask: Ask) -> None:
    def pieces() -> bytes:
        return b"".join(b"10000\r\n" + b"x" * 0x10000 + b"\r\n" for _ in range(20)) + b"0\r\n\r\n"

    head = (
        "PUT /landing/x HTTP/1.1\r\nhost: here\r\nx-ms-blob-type: BlockBlob\r\n"
        "authorization: SharedKey devstoreaccount1:none\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", ask.server.port), timeout=10) as connection:
        connection.sendall(head.encode() + pieces())
        answer = connection.recv(65536).decode("latin-1")
    assert answer.startswith("HTTP/1.1 413")
    assert "x-ms-error-code: RequestBodyTooLarge" in answer
    assert not (ask.server.root / "landing" / "x").exists()


def test_a_client_that_hangs_up_leaves_nothing_behind(ask: Ask) -> None:
    head = (
        "PUT /landing/x HTTP/1.1\r\nhost: here\r\nx-ms-blob-type: BlockBlob\r\n"
        "authorization: SharedKey devstoreaccount1:none\r\ncontent-length: 1000\r\n\r\nhalf"
    )
    with socket.create_connection(("127.0.0.1", ask.server.port), timeout=10) as connection:
        connection.sendall(head.encode())
    assert ask("GET", "/landing/x").status == 404


@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("PATCH", "/landing/f?action=append", {}, "MissingRequiredQueryParameter"),
        ("PATCH", "/landing/f?action=append&position=-1", {}, "InvalidQueryParameterValue"),
        ("PATCH", "/landing/f?action=append&position=x", {}, "InvalidQueryParameterValue"),
        ("PATCH", f"/landing/f?action=flush&position={2**70}", {}, "InvalidQueryParameterValue"),
        ("PATCH", "/landing/f?action=flush&position=9", {}, "InvalidFlushPosition"),
        ("PATCH", "/landing/f?action=flush&position=0&close=si", {}, "InvalidQueryParameterValue"),
        ("DELETE", "/landing/f?recursive=1", {}, "InvalidQueryParameterValue"),
        ("PUT", "/landing/f", {}, "MissingRequiredHeader"),
        ("PUT", "/landing/f?comp=lease", {}, "InvalidHeaderValue"),
        ("PUT", "/landing/f?comp=lease", {"x-ms-lease-action": "acquire"}, "MissingRequiredHeader"),
        (
            "PUT",
            "/landing/f?comp=lease",
            {"x-ms-lease-action": "acquire", "x-ms-lease-duration": "long"},
            "InvalidHeaderValue",
        ),
        (
            "PUT",
            "/landing/f?comp=lease",
            {"x-ms-lease-action": "renew", "x-ms-lease-id": "me"},
            "InvalidHeaderValue",
        ),
        ("GET", "/landing/f", {"if-modified-since": "yesterday"}, "InvalidHeaderValue"),
        ("PUT", "/landing/f?resource=file", {"x-ms-properties": "a=!"}, "InvalidHeaderValue"),
        ("PUT", "/landing/f?resource=file", {"x-ms-permissions": "all"}, "InvalidHeaderValue"),
        ("PUT", "/landing/f?comp=metadata", {"x-ms-meta-a.b": "1"}, "InvalidMetadata"),
        ("PUT", "/landing/f?comp=block&blockid=%21", {}, "InvalidQueryParameterValue"),
        ("PUT", "/landing/f?comp=blocklist", {}, "InvalidXmlDocument"),
    ],
)
def test_requests_without_sense_are_refused_by_name(
    ask: Ask, method: str, path: str, headers: dict[str, str], code: str
) -> None:
    assert ask("PUT", "/landing/f?resource=file").status == 201
    refused = ask(method, path, b"", headers)
    assert (refused.status, refused.code) == (400, code)
    assert ask("HEAD", "/landing/f").headers["content-length"] == "0"


@pytest.mark.parametrize(
    "document",
    [
        b"<BlockList><Latest>",
        b"<Other/>",
        b"<BlockList><Newest>AAAA</Newest></BlockList>",
        b'<!DOCTYPE x [<!ENTITY a "aaaa">]><BlockList><Latest>&a;</Latest></BlockList>',
        b'<!doctype x SYSTEM "file:///etc/passwd"><BlockList/>',
        b"\xff\xfe\x00",
    ],
)
def test_block_lists_without_sense_are_refused(ask: Ask, document: bytes) -> None:
    refused = ask("PUT", "/landing/f?comp=blocklist", document)
    assert (refused.status, refused.code) == (400, "InvalidXmlDocument")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("PUT", "/landing/f?comp=page", {}),
        ("PUT", "/landing/f?comp=snapshot", {}),
        ("PUT", "/landing/f", {"x-ms-blob-type": "PageBlob"}),
        ("PUT", "/landing/f", {"x-ms-copy-source": "http://127.0.0.1/landing/g"}),
        ("PUT", "/landing/f", {**BLOB, "x-ms-copy-source": "http://127.0.0.1/landing/g"}),
        ("GET", "/landing/f?snapshot=2026-01-01T00:00:00.0000000Z", {}),
    ],
)
def test_what_is_not_imitated_says_so(
    ask: Ask, method: str, path: str, headers: dict[str, str]
) -> None:
    refused = ask(method, path, b"", headers)
    assert (refused.status, refused.code) == (501, "NotImplemented")


def test_files_in_the_way_of_folders_are_conflicts(ask: Ask) -> None:
    ask("PUT", "/landing/f?resource=file")
    below = ask("PUT", "/landing/f/x/y?resource=file")
    assert (below.status, below.code) == (409, "PathConflict")
    folder = ask("PUT", "/landing/f?resource=directory")
    assert (folder.status, folder.code) == (409, "PathAlreadyExists")
    ask("PUT", "/landing/d?resource=directory")
    blob = ask("PUT", "/landing/d", b"x", BLOB)
    assert (blob.status, blob.code) == (409, "ResourceTypeMismatch")
    assert ask("GET", "/landing/f/x").status == 404


@pytest.mark.parametrize("name", ["_openmirror", ".x.crc", ".openmirror-1"])
def test_names_that_a_local_root_keeps_for_itself_are_refused_and_never_shown(
    ask: Ask, name: str
) -> None:
    folder = ask.server.root / "landing" / "a"
    folder.mkdir()
    (folder / name).write_bytes(b"ours")
    for refused in (
        ask("PUT", f"/landing/a/{name}?resource=file"),
        ask("PUT", f"/landing/a/{name}", b"", BLOB),
    ):
        assert (refused.status, refused.code) == (400, "InvalidResourceName")
    assert ask("GET", f"/landing/a/{name}").status == 404
    assert ask("GET", "/landing?resource=filesystem&recursive=true&directory=a").json() == {
        "paths": []
    }
    # Nobody sees it, so the folder counts as empty.
    assert ask("DELETE", "/landing/a?recursive=false").status == 200


def test_a_race_for_one_name_has_one_winner(ask: Ask) -> None:
    def create() -> None:
        answers.append(
            ask("PUT", "/landing/log/1.json", b"me", {**BLOB, "if-none-match": "*"}).status
        )

    answers: list[int] = []
    threads = [threading.Thread(target=create) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201] + [409] * 11


def test_a_race_of_renames_to_one_name_has_one_winner_and_loses_no_source(ask: Ask) -> None:
    """What Delta commits rest on."""

    def commit(number: int) -> None:
        source = {"x-ms-rename-source": f"/lake/log/.{number}.tmp", "if-none-match": "*"}
        answers[number] = ask("PUT", "/lake/log/1.json", headers=source).status

    answers: dict[int, int] = {}
    for number in range(10):
        ask("PUT", f"/lake/log/.{number}.tmp", str(number).encode(), BLOB)
    threads = [threading.Thread(target=commit, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (number for number, status in answers.items() if status == 201)
    assert ask("GET", "/lake/log/1.json").body == str(winner).encode()
    assert {status for number, status in answers.items() if number != winner} == {409}
    listed = ask("GET", "/lake?resource=filesystem&recursive=false&directory=log").json()["paths"]
    assert len(listed) == 10


@pytest.mark.parametrize(
    "query",
    [
        "restype=container&comp=list&prefix=../lake/",
        "restype=container&comp=list&prefix=a/%2e%2e/b",
        "restype=container&comp=list&prefix=%00/",
        "restype=container&comp=list&delimiter=.",
        "restype=container&comp=list&marker=%2e%2e",
        "resource=filesystem&recursive=true&directory=../lake",
        "resource=filesystem&recursive=true&directory=%2e%2e",
        "resource=filesystem&recursive=true&directory=a%00",
    ],
)
def test_no_list_leads_out_of_its_container(ask: Ask, query: str) -> None:
    ask("PUT", "/lake/secret?resource=file")
    refused = ask("GET", f"/landing?{query}")
    assert refused.status == 400
    assert b"secret" not in refused.body


def test_names_that_xml_cannot_say_are_listed_all_the_same(ask: Ask) -> None:
    name = "a%01%0a%0d%3C%26%22%EF%BF%BE"
    assert ask("PUT", f"/landing/{name}", b"x", BLOB).status == 201
    listed = ElementTree.fromstring(ask("GET", "/landing?restype=container&comp=list").body)
    (found,) = listed.iter("Name")
    assert found.get("Encoded") == "true"
    assert unquote(found.text or "") == unquote(name)
    (entry,) = ask("GET", "/landing?resource=filesystem&recursive=true").json()["paths"]
    assert entry["name"] == unquote(name)
