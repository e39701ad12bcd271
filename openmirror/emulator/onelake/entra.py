"""A stand-in for Entra ID: what clients ask about a tenant, and tokens for applications.

Every application gets a token, whatever its secret: nothing is checked against it, kept or logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit
from uuid import uuid4

from openmirror.emulator.onelake.hosts import LOGIN, LOGINS, HostPart, part_of
from openmirror.emulator.onelake.small_requests import SmallAnswer, SmallRequest
from openmirror.emulator.onelake.tokens import (
    RESOURCES,
    AccessToken,
    Tokens,
    audience_of,
    tenant_id,
)

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ABOUT_PEOPLE = ("openid", "profile", "offline_access", "email")
"""Scopes that MSAL of Go and Java sends always, and that mean nothing for an application."""
_WELL_KNOWN = (".well-known", "openid-configuration")


@dataclass(eq=False)
class _Refused(Exception):
    """An error as Entra ID words it."""

    error: str
    number: int
    """Of AADSTS."""
    words: str
    status: int = 400

    def answered(self) -> SmallAnswer:
        described = f"AADSTS{self.number}: {self.words}"
        return SmallAnswer(
            self.status,
            {
                "error": self.error,
                "error_description": described,
                "error_codes": [self.number],
                "timestamp": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ}",
                "trace_id": str(uuid4()),
                "correlation_id": str(uuid4()),
            },
        )


@dataclass(frozen=True)
class Directory:
    """All tenants there could be."""

    tokens: Tokens

    def answer(self, asked: SmallRequest) -> SmallAnswer:
        """What Entra ID would say to this request."""
        host = asked.headers.get("host", LOGIN)
        try:
            match asked.method, asked.parts:
                case "GET", (_, "discovery", "instance"):
                    return _instance(asked)
                case "GET", (tenant, *rest) if tuple(rest) == ("v2.0", *_WELL_KNOWN):
                    return SmallAnswer(200, _configuration(host, tenant, "/v2.0"))
                case "GET", (tenant, *rest) if tuple(rest) == _WELL_KNOWN:
                    return SmallAnswer(200, _configuration(host, tenant, ""))
                case "GET", (_, "discovery", "keys") | (_, "discovery", "v2.0", "keys"):
                    return SmallAnswer(200, {"keys": [self.tokens.public()]})
                case "POST", (tenant, "oauth2", "v2.0", "token"):
                    return self._token(tenant, asked.form, "scope")
                case "POST", (tenant, "oauth2", "token"):
                    return self._token(tenant, asked.form, "resource")
        except _Refused as refused:
            return refused.answered()
        words = "this stand-in for Entra ID gives tokens to applications; nobody signs in here"
        return _Refused("not_imitated", 90002, words, 404).answered()

    def _token(self, tenant: str, form: Mapping[str, str], wanted: str) -> SmallAnswer:
        grant = form.get("grant_type")
        if not grant:
            raise _missing("grant_type")
        if grant != "client_credentials":
            raise _Refused(
                "unsupported_grant_type",
                70003,
                f"the grant type {grant!r} is not imitated: only client_credentials",
            )
        if not form.get("client_id"):
            raise _missing("client_id")
        _check_secret(form)
        if not form.get(wanted):
            raise _missing(wanted)
        token = self.tokens.issue(tenant, form["client_id"], _audience(form[wanted], wanted))
        return SmallAnswer(
            200, _in_version_2(token) if wanted == "scope" else _in_version_1(token, form)
        )


def _check_secret(form: Mapping[str, str]) -> None:
    if form.get("client_secret"):
        return
    if form.get("client_assertion") and form.get("client_assertion_type") == _ASSERTION:
        return
    raise _Refused(
        "invalid_client",
        7000216,
        "'client_assertion', 'client_secret' or 'request' is required for the "
        "'client_credentials' grant type.",
        401,
    )


def _audience(text: str, wanted: str) -> str:
    """The audience of `scope` (with `/.default`) or of `resource`."""
    scopes = [scope for scope in text.split() if scope not in _ABOUT_PEOPLE]
    if wanted == "scope" and (len(scopes) != 1 or not scopes[0].endswith("/.default")):
        raise _Refused(
            "invalid_scope", 1002012, f"the scope {text!r} is not one resource with /.default"
        )
    found = audience_of(scopes[0]) if scopes else None
    if found is None:
        raise _Refused(
            "invalid_resource",
            500011,
            f"nothing here takes tokens for {text!r}, but for {', '.join(RESOURCES)}",
        )
    return found


def _missing(name: str) -> _Refused:
    return _Refused("invalid_request", 900144, f"the request body must hold the parameter '{name}'")


def _in_version_2(token: AccessToken) -> dict[str, object]:
    return {
        "token_type": "Bearer",
        "expires_in": token.lifetime,
        "ext_expires_in": token.lifetime,
        "access_token": token.text,
    }


def _in_version_1(token: AccessToken, form: Mapping[str, str]) -> dict[str, object]:
    return {
        "token_type": "Bearer",
        "expires_in": str(token.lifetime),
        "ext_expires_in": str(token.lifetime),
        "expires_on": str(token.expires),
        "not_before": str(token.issued),
        "resource": form["resource"],
        "access_token": token.text,
    }


def _instance(asked: SmallRequest) -> SmallAnswer:
    """Whether a host is one of Entra ID's, and its other names."""
    try:
        asks_about = urlsplit(asked.query.get("authorization_endpoint", ""))
    except ValueError:
        raise _Refused("invalid_instance", 50049, "Unknown or invalid instance.") from None
    if part_of(asks_about.netloc) not in (HostPart.LOGIN, HostPart.HERE):
        raise _Refused("invalid_instance", 50049, "Unknown or invalid instance.")
    tenant = asks_about.path.strip("/").partition("/")[0] or "common"
    return SmallAnswer(
        200,
        {
            "tenant_discovery_endpoint": f"https://{asks_about.netloc}/{tenant}/v2.0/"
            + "/".join(_WELL_KNOWN),
            "api-version": asked.query.get("api-version", "1.1"),
            "metadata": [
                {
                    "preferred_network": LOGIN,
                    "preferred_cache": "login.windows.net",
                    "aliases": list(LOGINS),
                }
            ],
        },
    )


def _configuration(host: str, tenant: str, version: str) -> dict[str, object]:
    """The openid-configuration of a tenant, at the host that was asked, with its port."""
    base = f"https://{host}/{tenant}"
    directory = tenant if tenant in ("common", "organizations") else tenant_id(tenant)
    issuer = (
        f"https://{host}/{directory}/v2.0" if version else f"https://sts.windows.net/{directory}/"
    )
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{base}/oauth2{version}/authorize",
        "token_endpoint": f"{base}/oauth2{version}/token",
        "device_authorization_endpoint": f"{base}/oauth2{version}/devicecode",
        "jwks_uri": f"{base}/discovery{version}/keys",
        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
        "response_types_supported": ["code", "id_token", "token"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid"],
        "tenant_region_scope": None,
        "cloud_instance_name": "microsoftonline.com",
    }
