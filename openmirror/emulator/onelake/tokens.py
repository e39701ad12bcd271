"""Access tokens that are made here and taken here: RS256, by a key that is made at each start."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from openmirror.emulator.access import Gatekeeper
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.onelake.items import is_guid

STORAGE = "https://storage.azure.com"
"""The audience of OneLake, which is storage like any other."""
FABRIC = "https://api.fabric.microsoft.com"
RESOURCES: Mapping[str, str] = {
    "https://storage.azure.com": STORAGE,
    "e406a681-f3d4-42a8-90b6-c2b029497af1": STORAGE,
    "https://onelake.dfs.fabric.microsoft.com": STORAGE,
    "https://onelake.blob.fabric.microsoft.com": STORAGE,
    "https://api.fabric.microsoft.com": FABRIC,
    "https://analysis.windows.net/powerbi/api": FABRIC,
    "00000009-0000-0000-c000-000000000000": FABRIC,
}
"""What clients ask a token for, and the audience that it gets."""
ISSUER = "https://sts.windows.net/{tenant}/"

_SKEW_SECONDS = 300
_CLOCK = time.time


class TokenRefused(Exception):
    """A token that is not taken; the message says why."""


@dataclass(frozen=True)
class AccessToken:
    """One access token."""

    text: str
    issued: int
    """Seconds since 1970."""
    lifetime: int
    """Seconds."""

    @property
    def expires(self) -> int:
        """Seconds since 1970."""
        return self.issued + self.lifetime


@dataclass(frozen=True)
class Tokens:
    """Makes tokens, and takes those that it made."""

    lifetime: int
    """Seconds."""
    clock: Callable[[], float] = _CLOCK
    key_id: str = field(default_factory=lambda: uuid4().hex)
    key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(65537, 2048), repr=False
    )

    def issue(self, tenant: str, client: str, audience: str) -> AccessToken:
        """A token of an application, for one audience."""
        now = int(self.clock())
        directory = tenant_id(tenant)
        claims = {
            "aud": audience,
            "iss": ISSUER.format(tenant=directory),
            "iat": now,
            "nbf": now,
            "exp": now + self.lifetime,
            "appid": client,
            "idtyp": "app",
            "oid": str(uuid5(NAMESPACE_URL, f"openmirror:{client}")),
            "tid": directory,
            "ver": "1.0",
        }
        head = {"alg": "RS256", "typ": "JWT", "kid": self.key_id}
        signed = f"{_text(head)}.{_text(claims)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return AccessToken(f"{signed}.{_encoded(signature)}", now, self.lifetime)

    def check(self, text: str, audience: str) -> None:
        """Raises TokenRefused unless it was made here, for this audience, and is in time."""
        parts = text.strip().split(".")
        if len(parts) != 3:
            raise TokenRefused("it is no JWT")
        head, claims = (_claims(part) for part in parts[:2])
        if head.get("alg") != "RS256":
            raise TokenRefused(f"it is signed by {head.get('alg')!r}, not by RS256")
        if head.get("kid") != self.key_id:
            raise TokenRefused(
                "it was signed elsewhere, or before the last start: only tokens of this start "
                "are taken, and a token of Entra ID itself must never be sent here"
            )
        try:
            self.key.public_key().verify(
                _decoded(parts[2]),
                f"{parts[0]}.{parts[1]}".encode(),
                padding.PKCS1v15(),
                hashes.SHA256(),
            )
        except InvalidSignature:
            raise TokenRefused("its signature is wrong") from None
        self._check_claims(claims, audience)

    def _check_claims(self, claims: Mapping[str, Any], audience: str) -> None:
        now = self.clock()
        if claims.get("iss") != ISSUER.format(tenant=claims.get("tid")):
            raise TokenRefused(f"its issuer is {claims.get('iss')!r}")
        if claims.get("aud") != audience:
            raise TokenRefused(f"it is for {claims.get('aud')!r}, and this takes {audience!r}")
        if not isinstance(expires := claims.get("exp"), int) or expires <= now:
            raise TokenRefused("it has expired")
        if not isinstance(begins := claims.get("nbf"), int) or begins - _SKEW_SECONDS > now:
            raise TokenRefused("it is not valid yet")

    def public(self) -> dict[str, str]:
        """The public key, as a JWK."""
        numbers = self.key.public_key().public_numbers()
        return {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": self.key_id,
            "n": _encoded(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")),
            "e": _encoded(numbers.e.to_bytes(3, "big")),
        }


@dataclass(frozen=True)
class OneLakeGate:
    """Lets in who has a token of this start for storage: OneLake takes neither keys nor SAS."""

    tokens: Tokens

    def check(
        self,
        method: str,
        raw_path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
    ) -> None:
        """Raises RefusedCall unless the request may go on: the token says all."""
        del method, raw_path, query
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if not scheme:
            raise RefusedCall(Fault.NO_AUTHENTICATION, "OneLake takes tokens of Entra ID only")
        if scheme.lower() != "bearer":
            raise RefusedCall(
                Fault.AUTHENTICATION, f"OneLake takes tokens of Entra ID only, not {scheme}"
            )
        try:
            self.tokens.check(text, STORAGE)
        except TokenRefused as refused:
            raise RefusedCall(Fault.TOKEN, f"{refused}.") from refused


@dataclass(frozen=True)
class KeyOrToken:
    """Lets in who has the account's key, or a token of this start."""

    key: Gatekeeper
    token: Gatekeeper

    def check(
        self,
        method: str,
        raw_path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
    ) -> None:
        """Raises RefusedCall unless the request may go on."""
        is_token = headers.get("authorization", "").lower().startswith("bearer ")
        (self.token if is_token else self.key).check(method, raw_path, query, headers)


def tenant_id(tenant: str) -> str:
    """The GUID of a tenant, which may be given by a domain."""
    if is_guid(tenant):
        return tenant.lower()
    return str(uuid5(NAMESPACE_URL, f"openmirror:tenant/{tenant.casefold()}"))


def audience_of(resource: str) -> str | None:
    """The audience of a resource or of a scope; None for what nobody here takes."""
    text = resource.removesuffix("/.default").rstrip("/")
    for name, audience in RESOURCES.items():
        if text == name or text.startswith(f"{name}/"):
            return audience
    return None


def _text(value: Mapping[str, Any]) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise TokenRefused("it is no JWT") from None


def _claims(text: str) -> dict[str, Any]:
    try:
        value = json.loads(_decoded(text))
    except ValueError:
        raise TokenRefused("it is no JWT") from None
    if not isinstance(value, dict):
        raise TokenRefused("it is no JWT")
    return value
