"""Managed identity, over plain http: as virtual machines, App Service and `az` have it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from openmirror.emulator.onelake.small_requests import SmallAnswer, SmallRequest
from openmirror.emulator.onelake.tokens import AccessToken, Tokens, audience_of, tenant_id

TENANT = "openmirror.local"
"""The tenant of managed identities, and of who is signed in at `az`."""
_SYSTEM = str(uuid5(NAMESPACE_URL, "openmirror:identity"))
_CHOSEN_BY = ("client_id", "clientid", "object_id", "principal_id", "msi_res_id", "mi_res_id")


@dataclass(frozen=True)
class ManagedIdentity:
    """Gives tokens to what runs on this machine, as Azure's machines do."""

    tokens: Tokens
    region: str | None = None
    """Where this machine says it is."""
    header: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    """What App Service gives its apps as IDENTITY_HEADER."""

    def environment(self, address: str) -> dict[str, str]:
        """What makes clients find it at this address, such as http://127.0.0.1:10081."""
        return {
            "IDENTITY_ENDPOINT": f"{address}/msi/token",
            "IDENTITY_HEADER": self.header,
            "AZURE_POD_IDENTITY_AUTHORITY_HOST": address,
        }

    def answer(self, asked: SmallRequest) -> SmallAnswer:
        """What the machine's own services would say to this request."""
        if asked.method != "GET":
            return _refused(405, "invalid_request", "this is asked by GET")
        match asked.parts:
            case ("metadata", "identity", "oauth2", "token"):
                if asked.headers.get("metadata", "").lower() != "true":
                    return _refused(
                        400, "invalid_request", "Required metadata header not specified"
                    )
                return self._token(asked.query, _as_machines)
            case ("metadata", "instance", *_) if self.region:
                return SmallAnswer(
                    200, {"location": self.region, "compute": {"location": self.region}}
                )
            case ("msi", "token"):
                if not secrets.compare_digest(
                    asked.headers.get("x-identity-header", "").encode(), self.header.encode()
                ):
                    return _refused(
                        401, "unauthorized", "X-IDENTITY-HEADER is not this app's IDENTITY_HEADER"
                    )
                return self._token(asked.query, _as_app_service)
            case ("az", "account", "get-access-token"):
                if asked.headers.get("metadata", "").lower() != "true":
                    return _refused(
                        400, "invalid_request", "Required metadata header not specified"
                    )
                return self._token(asked.query, _as_az)
        return _refused(404, "not_found", "there is no such endpoint")

    def _token(self, query: Mapping[str, str], form: _Form) -> SmallAnswer:
        resource = query.get("resource") or query.get("scope") or ""
        if not resource:
            return _refused(400, "invalid_request", "Required query variable 'resource' is missing")
        audience = audience_of(resource)
        if audience is None:
            return _refused(400, "invalid_resource", f"nothing here takes tokens for {resource!r}")
        client = next((query[name] for name in _CHOSEN_BY if query.get(name)), _SYSTEM)
        tenant = query.get("tenant") or TENANT
        return SmallAnswer(200, form(self.tokens.issue(tenant, client, audience), client, query))


_Form = Callable[[AccessToken, str, Mapping[str, str]], dict[str, object]]


def _as_machines(token: AccessToken, client: str, query: Mapping[str, str]) -> dict[str, object]:
    return {
        **_as_app_service(token, client, query),
        "expires_in": str(token.lifetime),
        "ext_expires_in": str(token.lifetime),
    }


def _as_app_service(token: AccessToken, client: str, query: Mapping[str, str]) -> dict[str, object]:
    return {
        "access_token": token.text,
        "client_id": client,
        "expires_on": str(token.expires),
        "not_before": str(token.issued),
        "resource": query.get("resource", ""),
        "token_type": "Bearer",
    }


def _as_az(token: AccessToken, client: str, query: Mapping[str, str]) -> dict[str, object]:
    del client  # somebody is signed in
    local = datetime.fromtimestamp(token.expires, UTC).astimezone()
    return {
        "accessToken": token.text,
        "expiresOn": f"{local:%Y-%m-%d %H:%M:%S.%f}",
        "expires_on": token.expires,
        "subscription": str(uuid5(NAMESPACE_URL, "openmirror:subscription")),
        "tenant": tenant_id(query.get("tenant") or TENANT),
        "tokenType": "Bearer",
    }


def _refused(status: int, error: str, words: str) -> SmallAnswer:
    return SmallAnswer(status, {"error": error, "error_description": words, "message": words})
