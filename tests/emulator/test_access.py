"""Who is let in: signatures, tokens over https, and nobody else."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient

from openmirror.emulator.certificate import certificate
from tests.emulator_server import EndpointServer, endpoint_server

OTHER_KEY = base64.b64encode(b"another").decode()


@pytest.mark.parametrize("with_account", [False, True])
def test_the_right_key_is_let_in(server: EndpointServer, with_account: bool) -> None:
    url = f"{server.url}/{server.account}" if with_account else server.url
    credential = AzureNamedKeyCredential(server.account, server.key)
    with DataLakeServiceClient(url, credential=credential) as service:
        file = service.get_file_client("landing", "a b/ü+&=%.csv")
        file.upload_data(b"x", overwrite=True, metadata={"a_1": "b", "a1": "c", "B": "d"})
        assert file.exists()
    with BlobServiceClient(url, credential=credential) as blobs:
        found = blobs.get_container_client("landing").list_blobs(
            name_starts_with="a b/", include=["metadata", "tags"]
        )
        assert [blob.name for blob in found] == ["a b/ü+&=%.csv"]


def test_a_connection_string_is_enough(server: EndpointServer) -> None:
    url = f"{server.url}/{server.account}"
    text = (
        f"DefaultEndpointsProtocol=http;AccountName={server.account};AccountKey={server.key};"
        f"BlobEndpoint={url};DfsEndpoint={url}"
    )
    with DataLakeServiceClient.from_connection_string(text) as service:
        assert [found.name for found in service.list_file_systems()] == ["lake", "landing"]


@pytest.mark.parametrize(
    ("account", "key"), [("devstoreaccount1", OTHER_KEY), ("somebodyelse", None)]
)
def test_a_wrong_key_or_account_is_not(
    server: EndpointServer, account: str, key: str | None
) -> None:
    credential = {"account_name": account, "account_key": key or server.key}
    with (
        DataLakeServiceClient(server.url, credential=credential, retry_total=0) as service,
        pytest.raises(ClientAuthenticationError) as refused,
    ):
        service.get_file_client("landing", "a").create_file()
    assert refused.value.status_code == 403
    assert refused.value.error_code == "AuthenticationFailed"
    assert list((server.root / "landing").iterdir()) == []
    assert server.events == []


def test_a_signature_is_of_one_request_only(server: EndpointServer) -> None:
    """A signature that was seen on one request does not open another."""
    seen: dict[str, str] = {}

    def keep(response: Any) -> None:
        seen.update(response.http_request.headers)

    with BlobServiceClient(server.url, credential=server.credential) as blobs:
        blobs.get_blob_client("landing", "a").upload_blob(b"x", raw_response_hook=keep)
    for path, body in (("/landing/b", "x"), ("/landing/a?comp=metadata", "x"), ("/landing/a", "")):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        headers = {name: value for name, value in seen.items() if name != "Content-Length"}
        connection.request("PUT", path, body, headers)
        status = connection.getresponse().status
        connection.close()
        assert status == 403


def test_shared_access_signatures_are_refused_by_name(server: EndpointServer) -> None:
    with (
        BlobServiceClient(f"{server.url}?sv=2025-11-05&ss=b&sig=AAAA", retry_total=0) as blobs,
        pytest.raises(ClientAuthenticationError, match="shared access signatures") as refused,
    ):
        blobs.get_blob_client("landing", "a").upload_blob(b"x")
    assert refused.value.status_code == 403


@pytest.mark.parametrize(
    ("authorization", "status", "code"),
    [
        (None, 401, "NoAuthenticationInformation"),
        ("SharedKey devstoreaccount1", 403, "AuthenticationFailed"),
        ("SharedKey devstoreaccount1:%%%", 403, "AuthenticationFailed"),
        ("SharedKeyLite devstoreaccount1:AAAA", 403, "AuthenticationFailed"),
        ("Bearer abc", 403, "AuthenticationFailed"),
        ("nonsense", 403, "AuthenticationFailed"),
    ],
)
def test_whoever_does_not_say_who_it_is_stays_outside(
    server: EndpointServer, authorization: str | None, status: int, code: str
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {"authorization": authorization} if authorization else {}
    connection.request("GET", "/landing?resource=filesystem&recursive=true", headers=headers)
    response = connection.getresponse()
    assert (response.status, response.getheader("x-ms-error-code")) == (status, code)
    assert json.loads(response.read())["error"]["code"] == code
    connection.close()


# --- Https --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EndpointServer, Path]]:
    folder = tmp_path_factory.mktemp("secure")
    files = certificate(folder, ["127.0.0.1"])
    with endpoint_server(folder / "root", certificate=files) as running:
        yield running, files[0]


class Token:
    """An identity whose tokens say what a test wants."""

    def __init__(self, token: str) -> None:
        self.token = token

    def get_token(self, *scopes: str, **options: object) -> AccessToken:
        return AccessToken(self.token, int(time.time()) + 600)


def jwt(**claims: object) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.c2ln"


STORAGE = "https://storage.azure.com"
LATER, EARLIER = time.time() + 3600, time.time() - 3600


@pytest.mark.parametrize(
    "token",
    [
        jwt(aud=STORAGE, exp=LATER),
        jwt(aud=f"{STORAGE}/", exp=LATER, nbf=EARLIER),
        jwt(aud=["https://devstoreaccount1.dfs.core.windows.net"], exp=LATER),
        "opaque",
    ],
    ids=["storage", "with-a-slash", "this-account", "opaque"],
)
def test_a_bearer_token_for_storage_is_let_in(
    secure: tuple[EndpointServer, Path], token: str
) -> None:
    server, trusted = secure
    assert server.url.startswith("https://")
    with DataLakeServiceClient(
        server.url, credential=Token(token), connection_verify=str(trusted), retry_total=0
    ) as service:
        file = service.get_file_client("landing", "a/1.csv")
        file.upload_data(b"by an identity", overwrite=True)
        assert file.download_file().readall() == b"by an identity"


@pytest.mark.parametrize(
    "token",
    [
        jwt(aud=STORAGE, exp=EARLIER),
        jwt(aud=STORAGE),
        jwt(aud=STORAGE, exp="soon"),
        jwt(aud=STORAGE, exp=LATER, nbf=LATER),
        jwt(aud="https://vault.azure.net", exp=LATER),
        jwt(exp=LATER),
        "a.b.c",
    ],
    ids=[
        "expired",
        "endless",
        "expires-soon",
        "not-yet",
        "other-service",
        "no-service",
        "no-token",
    ],
)
def test_a_bearer_token_that_has_expired_or_is_for_another_service_is_not(
    secure: tuple[EndpointServer, Path], token: str
) -> None:
    server, trusted = secure
    context = ssl.create_default_context(cafile=str(trusted))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    connection.request("GET", "/landing/a", headers={"authorization": f"Bearer {token}"})
    response = connection.getresponse()
    assert response.status == 401
    assert response.getheader("x-ms-error-code") == "InvalidAuthenticationInfo"
    connection.close()


def test_keys_work_over_https_as_well(secure: tuple[EndpointServer, Path]) -> None:
    server, trusted = secure
    with BlobServiceClient(
        server.url, credential=server.credential, connection_verify=str(trusted)
    ) as blobs:
        assert blobs.get_container_client("lake").exists()


def test_nobody_trusts_the_certificate_without_being_given_it(
    secure: tuple[EndpointServer, Path],
) -> None:
    server, _ = secure
    with (
        BlobServiceClient(server.url, credential=server.credential, retry_total=0) as blobs,
        pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED") as refused,
    ):
        blobs.get_container_client("lake").exists()
    assert not isinstance(refused.value, HttpResponseError)


def test_the_certificate_is_kept_until_it_lacks_a_host_or_ends(tmp_path: Path) -> None:
    first, key = certificate(tmp_path, [])
    made = first.read_bytes()
    assert certificate(tmp_path, ["localhost"])[0].read_bytes() == made
    assert certificate(tmp_path, ["10.1.2.3", "host.example"])[0].read_bytes() != made
    assert key.stat().st_mode & 0o077 == 0
    first.write_bytes(b"damaged")
    assert b"CERTIFICATE" in certificate(tmp_path, [])[0].read_bytes()
