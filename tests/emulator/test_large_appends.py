"""Large appends are written once, where they belong, and nobody sees what is not whole."""

from __future__ import annotations

import errno
import http.client
import os
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from azure.storage.filedatalake import FileSystemClient
from h11._readers import ContentLengthReader
from h11._receivebuffer import ReceiveBuffer

from openmirror.emulator.bodies import Body, Reserved
from openmirror.emulator.certificate import certificate
from tests.emulator.conftest import Ask, T
from tests.emulator_server import EndpointServer, endpoint_server

LARGE = os.urandom(700_000)
OTHER = os.urandom(700_000)
FILE = f"/landing/{T}/_1.parquet"


def create(ask: Ask) -> None:
    assert ask("PUT", f"{FILE}?resource=file").status == 201


def append(ask: Ask, position: int, body: bytes) -> int:
    return ask("PATCH", f"{FILE}?action=append&position={position}", body).status


def flush(ask: Ask, position: int) -> int:
    return ask("PATCH", f"{FILE}?action=flush&position={position}").status


def content(ask: Ask) -> bytes:
    return (ask.server.root / FILE[1:]).read_bytes()


def staged(ask: Ask) -> list[Path]:
    return list((ask.server.root / ".endpoint" / "staging").iterdir())


def test_large_appends_in_any_order_become_the_file(ask: Ask) -> None:
    create(ask)
    before = staged(ask)
    assert append(ask, len(LARGE), OTHER) == 202
    assert append(ask, 0, LARGE) == 202
    assert content(ask) == b""
    assert flush(ask, len(LARGE + OTHER)) == 200
    assert content(ask) == LARGE + OTHER
    assert staged(ask) == before
    assert append(ask, len(LARGE + OTHER), LARGE) == 202
    assert flush(ask, len(LARGE + OTHER + LARGE)) == 200
    assert content(ask) == LARGE + OTHER + LARGE


def test_a_large_append_replaces_what_was_appended_there(ask: Ask) -> None:
    create(ask)
    assert append(ask, 0, LARGE) == 202
    assert append(ask, 100, OTHER[:-100]) == 202
    assert flush(ask, len(LARGE)) == 200
    assert content(ask) == LARGE[:100] + OTHER[:-100]


def test_what_a_client_breaks_off_is_not_in_the_file(ask: Ask) -> None:
    create(ask)
    assert append(ask, 0, LARGE) == 202
    for position in (len(LARGE), 300_000):
        connection = http.client.HTTPConnection("127.0.0.1", ask.server.port)
        connection.putrequest("PATCH", f"{FILE}?action=append&position={position}")
        connection.putheader("authorization", f"SharedKey {ask.server.account}:none")
        connection.putheader("content-length", str(len(OTHER)))
        connection.endheaders()
        connection.send(OTHER[:400_000])
        connection.close()
    assert append(ask, len(LARGE), LARGE) == 202  # also where somebody broke off
    assert flush(ask, 2 * len(LARGE)) == 200
    assert content(ask) == LARGE + LARGE


def test_a_wrong_checksum_leaves_what_was_there(ask: Ask) -> None:
    create(ask)
    assert append(ask, 0, LARGE) == 202
    sent = {"content-md5": "AAAAAAAAAAAAAAAAAAAAAA=="}
    path = f"{FILE}?action=append&position={{}}"
    assert ask("PATCH", path.format(0), OTHER, sent).code == "Md5Mismatch"
    assert ask("PATCH", path.format(len(LARGE)), OTHER, sent).code == "Md5Mismatch"
    assert flush(ask, 2 * len(LARGE)) == 400
    assert flush(ask, len(LARGE)) == 200
    assert content(ask) == LARGE


@pytest.mark.parametrize("position", ["x", "-1", "9" * 30, str(2**63)])
def test_a_place_that_is_none_is_refused(ask: Ask, position: str) -> None:
    create(ask)
    assert ask("PATCH", f"{FILE}?action=append&position={position}", LARGE).status == 400
    assert append(ask, 0, LARGE) == 202
    assert flush(ask, len(LARGE)) == 200
    assert content(ask) == LARGE


def test_two_appends_to_one_place_at_once_leave_one_of_them_whole(ask: Ask) -> None:
    create(ask)
    wanted: list[Callable[[], object]] = [
        lambda: append(ask, 0, LARGE),
        lambda: append(ask, 0, OTHER),
    ] * 3
    threads = [threading.Thread(target=one) for one in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert flush(ask, len(LARGE)) == 200
    assert content(ask) in (LARGE, OTHER)


def test_large_bodies_are_not_copied_by_h11(
    landing: FileSystemClient, server: EndpointServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the endpoint knows of h11's insides is what they are."""
    passed = []
    count = ContentLengthReader.__call__

    def counted(reader: ContentLengthReader, buffer: ReceiveBuffer) -> object:
        passed.append(len(buffer))
        return count(reader, buffer)

    monkeypatch.setattr(ContentLengthReader, "__call__", counted)
    content = os.urandom(1 << 20) * 16
    landing.get_file_client(f"{T}/x").upload_data(content, overwrite=True)
    assert (server.root / "landing" / T / "x").read_bytes() == content
    assert 0 < sum(passed) < len(content) / 2


@pytest.mark.parametrize(("size", "is_there"), [(100_001, True), (999_999, True), (99_999, False)])
def test_a_large_append_is_written_where_it_belongs_as_it_comes(
    ask: Ask, size: int, is_there: bool
) -> None:
    create(ask)
    before = set(staged(ask))
    with socket.create_connection(("127.0.0.1", ask.server.port), timeout=20) as connection:
        connection.sendall(
            f"PATCH /{ask.server.account}{FILE}?action=append&position=0 HTTP/1.1\r\nhost: x\r\n"
            f"authorization: SharedKey {ask.server.account}:none\r\n"
            f"content-length: {size:012}\r\nexpect: 100-continue\r\n\r\n".encode()
        )
        assert b" 100 " in connection.recv(1 << 16)
        assert bool(set(staged(ask)) - before) == is_there
        connection.sendall(LARGE[:size] if size <= len(LARGE) else (LARGE + OTHER)[:size])
        assert b" 202 " in connection.recv(1 << 16)
    assert flush(ask, size) == 200
    assert content(ask) == (LARGE + OTHER)[:size]


def test_a_full_disk_refuses_one_body_and_leaves_the_connection_usable(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(ask)
    pwrite = os.pwrite

    def full(fd: int, data: bytes | memoryview, offset: int) -> int:
        if offset + len(data) > 1 << 19:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(fd, data, offset)

    connection = http.client.HTTPConnection("127.0.0.1", ask.server.port, timeout=20)
    headers = {"authorization": f"SharedKey {ask.server.account}:none"}
    path = f"/{ask.server.account}{FILE}?action=append&position=0"
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        connection.request("PATCH", path, bytes(1 << 20), headers)
        response = connection.getresponse()
        assert (response.status, bool(response.read())) == (500, True)
    for body in (LARGE, OTHER):
        connection.request("PATCH", path, body, headers)
        response = connection.getresponse()
        assert (response.status, response.read()) == (202, b"")
    connection.close()
    assert flush(ask, len(OTHER)) == 200
    assert content(ask) == OTHER


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.ENOSPC, None])
def test_a_disk_that_allocates_nothing_beforehand_takes_what_it_has_room_for(
    ask: Ask, error: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def allocate(fd: int, position: int, length: int) -> None:
        asked.append((position, length))
        raise OSError(error, os.strerror(error or 0))

    if error is None:
        monkeypatch.delattr(os, "posix_fallocate")
    else:
        monkeypatch.setattr(os, "posix_fallocate", allocate)
    create(ask)
    assert append(ask, 0, LARGE) == 202
    assert append(ask, len(LARGE), OTHER) == 202
    assert asked == ([(0, len(LARGE)), (len(LARGE), len(OTHER))] if error else [])
    assert flush(ask, len(LARGE + OTHER)) == 200
    assert content(ask) == LARGE + OTHER


def test_over_https_a_large_body_comes_whole_and_the_next_request_after_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "landing/m/Files/LandingZone/T").mkdir(parents=True)
    body = LARGE + OTHER
    made = certificate(tmp_path, ["127.0.0.1"])
    with endpoint_server(root, key=None, certificate=made) as server:
        context = ssl.create_default_context(cafile=str(made[0]))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
        path = f"/{server.account}/landing/m/Files/LandingZone/T/x"
        headers = {
            "authorization": f"SharedKey {server.account}:none",
            "x-ms-blob-type": "BlockBlob",
        }
        for _ in range(3):
            connection.request("PUT", path, body, headers)
            response = connection.getresponse()
            assert (response.status, response.read()) == (201, b"")
        connection.close()
    assert (root / "landing/m/Files/LandingZone/T/x").read_bytes() == body


def test_a_body_goes_to_its_place_and_nowhere_else(tmp_path: Path) -> None:
    file, released = tmp_path / "file", []
    fd = os.open(file, os.O_RDWR | os.O_CREAT)
    body = Body(tmp_path)
    body.go_to(Reserved(fd, 10, 6, lambda: released.append(1)))
    body.add(b"abc")
    body.add(b"def")
    with pytest.raises(ValueError, match="room"):
        body.add(b"g")
    assert (body.all(), body.size) == (b"abcdef", 6)
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    body.write_to(fd, 10)
    body.write_to(other, 2)
    body.close()
    body.close()
    os.close(other)
    assert file.read_bytes() == bytes(10) + b"abcdef"
    assert (tmp_path / "other").read_bytes() == bytes(2) + b"abcdef"
    assert released == [1]
