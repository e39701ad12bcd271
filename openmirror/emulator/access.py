"""Who may ask: the account's key, or over https a bearer token."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.signatures import is_signed

DEVELOPMENT_ACCOUNT = "devstoreaccount1"
DEVELOPMENT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The account and key that every storage emulator has; they are public, and protect nothing."""

_AUDIENCES = frozenset(
    {
        "https://storage.azure.com",
        "e406a681-f3d4-42a8-90b6-c2b029497af1",
    }
)
_SKEW_SECONDS = 300


class Gatekeeper(Protocol):
    """Lets requests in."""

    def check(
        self,
        method: str,
        raw_path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
    ) -> None:
        """Raises RefusedCall unless the request may go on."""


@dataclass(frozen=True)
class Credentials:
    """What requests are checked against."""

    account: str
    key: str | None
    """Base64; None lets every signature pass."""
    is_https: bool

    def check(
        self,
        method: str,
        raw_path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
    ) -> None:
        """Raises Refused unless the request may go on."""
        scheme, _, value = headers.get("authorization", "").partition(" ")
        match scheme.lower():
            case "sharedkey":
                self._check_signature(value, method, raw_path, query, headers)
            case "bearer":
                self._check_token(value)
            case "" if any(name == "sig" for name, _ in query):
                raise RefusedCall(Fault.AUTHENTICATION, "shared access signatures are not imitated")
            case "":
                raise RefusedCall(Fault.NO_AUTHENTICATION)
            case _:
                raise RefusedCall(
                    Fault.AUTHENTICATION, f"only SharedKey and Bearer, not {scheme!r}"
                )

    def _check_signature(
        self,
        value: str,
        method: str,
        raw_path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
    ) -> None:
        account, _, signature = value.partition(":")
        if account != self.account:
            raise RefusedCall(Fault.AUTHENTICATION, f"the account here is {self.account}")
        if self.key is not None and not is_signed(
            base64.b64decode(self.key),
            signature.strip(),
            account=account,
            method=method,
            raw_path=raw_path,
            query=query,
            headers=headers,
        ):
            raise RefusedCall(Fault.AUTHENTICATION, "the signature was not made with the key here")

    def _check_token(self, token: str) -> None:
        if not self.is_https:
            raise RefusedCall(Fault.AUTHENTICATION, "bearer tokens are only taken over https")
        if not token.strip():
            raise RefusedCall(Fault.TOKEN, "the token is empty")
        claims = _claims(token.strip())
        if claims is None:
            return
        now = time.time()
        expires, begins = claims.get("exp"), claims.get("nbf", 0)
        if not isinstance(expires, int | float) or expires + _SKEW_SECONDS < now:
            raise RefusedCall(Fault.TOKEN, "the token has expired")
        if not isinstance(begins, int | float) or begins - _SKEW_SECONDS > now:
            raise RefusedCall(Fault.TOKEN, "the token is not valid yet")
        given = claims.get("aud")
        audiences = given if isinstance(given, list) else [given]
        own = {f"https://{self.account}.{host}.core.windows.net" for host in ("dfs", "blob")}
        if not {str(name).rstrip("/") for name in audiences} & (_AUDIENCES | own):
            raise RefusedCall(Fault.TOKEN, f"the token is for {given!r}, not for storage")


def _claims(token: str) -> dict[str, Any] | None:
    """What a JWT says; None for a token of another kind. Nobody's signature is checked."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        text = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        claims = json.loads(text)
    except (binascii.Error, ValueError) as error:
        raise RefusedCall(Fault.TOKEN, "the token is no JWT, though it looks like one") from error
    if not isinstance(claims, dict):
        raise RefusedCall(Fault.TOKEN, "the token's claims are no object")
    return claims
