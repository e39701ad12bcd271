"""The stand-in for Entra ID: what it answers, and which tokens are taken here."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from openmirror.emulator.onelake.az import write_az
from openmirror.emulator.onelake.hosts import API, DFS, LOGIN
from openmirror.emulator.onelake.tokens import (
    FABRIC,
    STORAGE,
    TokenRefused,
    Tokens,
    audience_of,
)
from tests.azurite.tokens import UnsignedTokens
from tests.onelake.conftest import ZONE, Asking

TENANT = "5a6c3f0e-8d1b-4f7a-9a53-0c7f8f1d2e01"
SECRET = "a-secret-that-is-nowhere-to-be-found"
OWN = Tokens(3600)


def part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def claims(token: str) -> dict[str, Any]:
    middle = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    return found


def test_a_client_secret_is_exchanged_for_a_token_of_version_2(asking: Asking) -> None:
    form = {"grant_type": "client_credentials", "client_id": "app", "client_secret": SECRET}
    answer = asking.entra(tenant=TENANT, scope="https://storage.azure.com/.default", **form)
    answered = answer.json()
    assert (answered["token_type"], answered["expires_in"]) == ("Bearer", 3600)
    found = claims(answered["access_token"])
    assert found["aud"] == "https://storage.azure.com"
    assert found["iss"] == f"https://sts.windows.net/{TENANT}/"
    assert (found["tid"], found["appid"]) == (TENANT, "app")
    assert found["exp"] - time.time() == pytest.approx(3600, abs=30)
    assert answer.headers["cache-control"] == "no-store"


def test_scopes_about_people_are_passed_over(asking: Asking) -> None:
    """MSAL of Go sends them for applications too."""
    scope = "https://storage.azure.com/.default openid offline_access profile"
    form = {"grant_type": "client_credentials", "client_id": "app", "client_secret": SECRET}
    assert asking.entra(scope=scope, **form).status == 200


def test_a_resource_is_asked_for_in_version_1(asking: Asking) -> None:
    answered = asking.entra(
        "",
        grant_type="client_credentials",
        client_id="app",
        client_assertion="x.y.z",
        client_assertion_type="urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        resource="https://storage.azure.com/",
    ).json()
    assert answered["expires_in"] == "3600"
    assert int(answered["expires_on"]) - int(answered["not_before"]) == 3600
    assert asking("HEAD", ZONE, token=answered["access_token"]).status == 200


@pytest.mark.parametrize(
    ("form", "status", "error", "number"),
    [
        ({}, 400, "invalid_request", 900144),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", 70003),
        ({"client_id": ""}, 400, "invalid_request", 900144),
        ({"client_secret": ""}, 401, "invalid_client", 7000216),
        ({"scope": ""}, 400, "invalid_request", 900144),
        ({"scope": "https://storage.azure.com"}, 400, "invalid_scope", 1002012),
        ({"scope": "https://vault.azure.net/.default"}, 400, "invalid_resource", 500011),
        ({"scope": "https://storage.azure.com.evil/.default"}, 400, "invalid_resource", 500011),
    ],
)
def test_a_wrong_token_request_is_refused_as_entra_words_it(
    asking: Asking, form: dict[str, str], status: int, error: str, number: int
) -> None:
    whole = {
        "grant_type": "client_credentials",
        "client_id": "app",
        "client_secret": SECRET,
        "scope": "https://storage.azure.com/.default",
    }
    answer = asking.entra(**({**whole, **form} if form else {}))
    answered = answer.json()
    assert (answer.status, answered["error"], answered["error_codes"]) == (status, error, [number])
    assert answered["error_description"].startswith(f"AADSTS{number}: ")
    assert SECRET not in answer.body.decode()


def test_discovery_names_endpoints_and_keys_at_the_host_that_was_asked(asking: Asking) -> None:
    def get(path: str, host: str = LOGIN) -> Any:
        return asking("GET", path, host=host, token=None).json()

    for version in ("/v2.0", ""):
        found = get(f"/{TENANT}{version}/.well-known/openid-configuration")
        assert found["token_endpoint"] == f"https://{LOGIN}/{TENANT}/oauth2{version}/token"
        keys = get(found["jwks_uri"].removeprefix(f"https://{LOGIN}"))["keys"]
        assert (keys[0]["kty"], keys[0]["alg"], keys[0]["use"]) == ("RSA", "RS256", "sig")
    elsewhere = get(
        f"/{TENANT}/v2.0/.well-known/openid-configuration", "westus2.login.microsoft.com"
    )
    assert elsewhere["token_endpoint"].startswith("https://westus2.login.microsoft.com/")


def test_instance_discovery_knows_entras_hosts_and_no_others(asking: Asking) -> None:
    path = "/common/discovery/instance?api-version=1.1&authorization_endpoint=https%3A%2F%2F{}%2F{}"
    known = asking(
        "GET", path.format(LOGIN, "t%2Foauth2%2Fv2.0%2Fauthorize"), host=LOGIN, token=None
    )
    answered = known.json()
    assert answered["tenant_discovery_endpoint"].endswith(
        "/t/v2.0/.well-known/openid-configuration"
    )
    assert "sts.windows.net" in answered["metadata"][0]["aliases"]
    stranger = asking("GET", path.format("login.evil.com", "t"), host=LOGIN, token=None)
    assert (stranger.status, stranger.json()["error"]) == (400, "invalid_instance")


def test_nobody_signs_in_here(asking: Asking) -> None:
    answer = asking("GET", "/common/oauth2/v2.0/authorize", host=LOGIN, token=None)
    assert answer.status == 404
    assert "nobody signs in here" in answer.json()["error_description"]


def test_machines_ask_for_tokens_of_their_identity(asking: Asking) -> None:
    path = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource={}"
    answered = asking.plainly(path.format("https://storage.azure.com/"), Metadata="true").json()
    assert int(answered["expires_in"]) == 3600
    assert int(answered["expires_on"]) > time.time()
    assert asking("HEAD", ZONE, token=answered["access_token"]).status == 200
    assert asking.plainly(path.format("https://storage.azure.com")).status == 400
    assert asking.plainly(path.format(""), Metadata="true").status == 400
    assert asking.plainly(path.format("https://vault.azure.net"), Metadata="true").status == 400
    location = asking.plainly("/metadata/instance/compute", Metadata="true").json()
    assert location["location"] == "westeurope"


def test_apps_ask_with_the_header_that_they_were_given(asking: Asking) -> None:
    given = asking.onelake.identity.environment(asking.onelake.identity_address)
    path = "/msi/token?api-version=2019-08-01&resource=https://storage.azure.com&client_id=mine"
    answered = asking.plainly(path, X_IDENTITY_HEADER=given["IDENTITY_HEADER"]).json()
    assert answered["client_id"] == "mine"
    assert claims(answered["access_token"])["appid"] == "mine"
    assert asking.plainly(path, X_IDENTITY_HEADER="other").status == 401
    assert asking.plainly(path).status == 401
    assert given["IDENTITY_ENDPOINT"].endswith("/msi/token")


def test_az_has_the_shape_of_its_own(asking: Asking) -> None:
    path = "/az/account/get-access-token?resource=https://api.fabric.microsoft.com&tenant=a.com"
    answered = asking.plainly(path, Metadata="true").json()
    assert set(answered) == {
        "accessToken",
        "expiresOn",
        "expires_on",
        "subscription",
        "tenant",
        "tokenType",
    }
    assert asking("GET", "/v1/workspaces", host=API, token=answered["accessToken"]).status == 200
    assert asking.plainly(path).status == 400


def forged(**changed: Any) -> str:
    """A token that somebody else signed."""
    now = int(time.time())
    stated = {"aud": STORAGE, "iss": f"https://sts.windows.net/{TENANT}/", "tid": TENANT}
    stated |= {"exp": now + 3600, "nbf": now, **changed.pop("claims", {})}
    head = {"alg": "RS256", "typ": "JWT", **changed}
    return f"{part(head)}.{part(stated)}.{base64.urlsafe_b64encode(b'x' * 256).decode()}"


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("", "no JWT"),
        ("opaque", "no JWT"),
        ("a.b.c", "no JWT"),
        (f"{part({'alg': 'none'})}.{part({})}.", "signed by 'none'"),
        (UnsignedTokens().get_token("x").token, "signed by 'none'"),
        (forged(alg="HS256"), "signed by 'HS256'"),
        (forged(), "signed elsewhere"),
        (OWN.issue(TENANT, "c", STORAGE).text, "signed elsewhere"),
    ],
)
def test_a_token_from_elsewhere_is_refused(asking: Asking, token: str, says: str) -> None:
    answer = asking("GET", f"{ZONE}?resource=filesystem&recursive=false", token=token)
    assert answer.status == 401
    assert says in answer.json()["error"]["message"]
    of_fabric = asking("GET", "/v1/workspaces", host=API, token=token)
    assert (of_fabric.status, of_fabric.json()["errorCode"]) == (401, "InvalidToken")
    here = asking(
        "GET", "/landing?resource=filesystem&recursive=false", host="localhost", token=token
    )
    assert here.status == 401


def test_a_token_is_for_one_audience(asking: Asking) -> None:
    storage = asking.token("https://storage.azure.com")
    fabric = asking.token(f"https://{API}")
    assert asking("HEAD", ZONE, token=fabric).status == 401
    assert asking("GET", "/v1/workspaces", host=API, token=storage).status == 401


@pytest.mark.parametrize("given", [{}, {"authorization": "SharedKey devstoreaccount1:x"}])
def test_onelake_takes_neither_nothing_nor_a_key(asking: Asking, given: dict[str, str]) -> None:
    answer = asking("GET", f"{ZONE}/x", headers=given, token=None)
    assert answer.status in (401, 403)
    assert "tokens of Entra ID only" in answer.json()["error"]["message"]
    assert asking("GET", f"{ZONE}/x?sv=2020&sig=abc", token=None).status == 401


@pytest.mark.parametrize(
    ("later", "change", "says"),
    [
        (3599, {}, None),
        (3600, {}, "expired"),
        (-299, {}, None),
        (-301, {}, "not valid yet"),
        (0, {"iss": "https://sts.windows.net/other/"}, "its issuer is"),
        (0, {"iss": None, "tid": None}, "its issuer is"),
        (0, {"aud": [STORAGE]}, "it is for"),
        (0, {"exp": "9999999999"}, "expired"),
        (0, {"exp": None}, "expired"),
    ],
)
def test_issuer_audience_and_times_are_checked(
    later: int, change: dict[str, Any], says: str | None
) -> None:
    now = [1_700_000_000.0]
    tokens = Tokens(3600, lambda: now[0], OWN.key_id, OWN.key)
    token = tokens.issue(TENANT, "c", STORAGE).text
    if change:
        token = signed_with(tokens, {**claims(token), **change})
    now[0] += later
    if says is None:
        tokens.check(token, STORAGE)
        return
    with pytest.raises(TokenRefused, match=says):
        tokens.check(token, STORAGE)


def signed_with(tokens: Tokens, stated: dict[str, Any]) -> str:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    text = f"{part({'alg': 'RS256', 'kid': tokens.key_id})}.{part(stated)}"
    signature = tokens.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_claims_that_were_changed_are_refused() -> None:
    head, _, signature = OWN.issue(TENANT, "c", STORAGE).text.split(".")
    changed = part({**claims(OWN.issue(TENANT, "c", FABRIC).text)})
    with pytest.raises(TokenRefused, match="signature is wrong"):
        OWN.check(f"{head}.{changed}.{signature}", FABRIC)


def test_the_ordinary_account_takes_the_same_tokens_and_its_key(asking: Asking) -> None:
    path = "/landing?resource=filesystem&recursive=false"
    assert asking("GET", path, host="localhost").status == 200
    key = {"authorization": "SharedKey devstoreaccount1:AAAA"}
    assert asking("GET", path, host="localhost", headers=key, token=None).status == 403


def test_resources_are_known_with_and_without_slash_and_scope() -> None:
    for text in ("https://storage.azure.com", "https://storage.azure.com//.default"):
        assert audience_of(text) == STORAGE
    assert audience_of(f"https://{DFS}/.default") == STORAGE
    assert audience_of("https://analysis.windows.net/powerbi/api/.default") == FABRIC
    assert audience_of("https://management.azure.com") is None


def test_secrets_are_neither_logged_nor_stored(
    asking: Asking, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    for scope in ("https://storage.azure.com/.default", "nonsense"):
        asking.entra(
            grant_type="client_credentials", client_id="app", client_secret=SECRET, scope=scope
        )
    asking.entra(grant_type="password", client_id="app", password=SECRET, username="me")
    assert SECRET not in caplog.text
    files = [file for file in asking.root.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if SECRET.encode() in file.read_bytes()]


def test_a_token_request_that_is_too_large_is_refused_without_being_kept(asking: Asking) -> None:
    answer = asking("POST", f"/{TENANT}/oauth2/v2.0/token", b"x" * (2 << 20), LOGIN, token=None)
    assert answer.status == 413


def test_az_is_a_program_that_needs_no_network_settings(tmp_path: Path, asking: Asking) -> None:
    folder = write_az(tmp_path, asking.onelake.identity_address)
    words = ["account", "get-access-token", "--output", "json", "--resource", STORAGE]
    env = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    answered = subprocess.run([folder / "az", *words], env=env, capture_output=True, check=True)
    assert asking("HEAD", ZONE, token=json.loads(answered.stdout)["accessToken"]).status == 200
    other = subprocess.run([folder / "az", "login"], env=env, capture_output=True)
    assert (other.returncode, b"stands for the Azure CLI" in other.stderr) == (1, True)
