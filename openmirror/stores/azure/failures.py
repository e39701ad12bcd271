"""What a storage service answers, in the words of this package."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import contextmanager

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)

from openmirror.errors import (
    AccessDenied,
    AlreadyThere,
    ConditionFailed,
    NotThere,
    OpenmirrorError,
    Unavailable,
    WrongRequest,
)

BLOB_ROLE = "Storage Blob Data Contributor"
QUEUE_ROLE = "Storage Queue Data Contributor"

_PASSING = frozenset(
    {
        "AccountBeingCreated",
        "ContainerBeingDeleted",
        "DestinationPathIsBeingDeleted",
        "FilesystemBeingDeleted",
        "OperationTimedOut",
        "QueueBeingDeleted",
        "SourcePathIsBeingDeleted",
    }
)
"""Conflicts (409) that end by themselves."""
_WHO_ASKS = frozenset({"AuthenticationFailed", "InvalidAuthenticationInfo"})
"""Refusals of a key or a token, whatever was asked for."""
_BAD_NAME = frozenset(
    {"InvalidInput", "InvalidResourceName", "InvalidUri", "OutOfRangeInput", "UriTooLong"}
)


@contextmanager
def in_our_words(what: str, role: str = BLOB_ROLE) -> Iterator[None]:
    """Turn the SDK's errors about `what` into ours.

    Raises NotThere, AlreadyThere, ConditionFailed, WrongRequest, AccessDenied or Unavailable; what
    is none of them stays as it is. A refusal has its place where `what` is a path, whose role is
    the one for blobs: then others may be open.
    """
    try:
        yield
    except HttpResponseError as error:
        if error.status_code is None and isinstance(error, ClientAuthenticationError):
            raise _no_token(what, error) from error
        ours = _translated(what, role, error)
        if ours is None:
            raise
        raise ours from error
    except (ServiceRequestError, ServiceResponseError) as error:
        raise Unavailable(f"{what}: the storage service cannot be reached: {error}") from error


def code_of(error: AzureError) -> str:
    """The service's own code of an error; empty when it gave none."""
    code = getattr(error, "error_code", None)
    if code is None and (response := getattr(error, "response", None)) is not None:
        code = response.headers.get("x-ms-error-code")
    return str(getattr(code, "value", code) or "")


def passes(error: AzureError) -> bool:
    """Whether a conflict ends by itself."""
    return code_of(error) in _PASSING


def _translated(what: str, role: str, error: HttpResponseError) -> OpenmirrorError | None:
    status, code = error.status_code or 0, code_of(error)
    code_text = f" ({code})" if code else ""
    if status == 404:
        return NotThere(f"there is no {what}{code_text}")
    if status in (401, 403):
        return _denied(what, role, code, _who_asked(error))
    if status == 412:
        return ConditionFailed(f"{what} has changed since it was read{code_text}")
    if error.status_code is None:
        # An answer that broke off, after all of the SDK's tries to read it.
        return Unavailable(f"{what}: the storage service's answer was lost: {error.message}")
    if status in (408, 429) or status >= 500 or passes(error):
        return Unavailable(f"{what}: the storage service answers {status}{code_text}")
    if status == 409:
        return AlreadyThere(f"{what} is taken{code_text}")
    if status == 414 or code in _BAD_NAME:
        return WrongRequest(f"the storage service does not take {what!r}{code_text}")
    return None


def _denied(what: str, role: str, code: str, who: str) -> AccessDenied:
    by_name = code in _WHO_ASKS
    if code == "AuthorizationFailure":
        why = f"Its firewall may refuse this network; if not, {who} lacks"
    elif by_name:
        why = "The key or token is wrong, or of another tenant. An identity needs"
    else:
        why = f"{who[0].upper()}{who[1:]} lacks"
    return AccessDenied(
        f"{what}: access is denied ({code or 'no reason given'}). {why} the role {role!r} on this "
        "account or container, or an entry in the access list of the path; a new assignment takes "
        "some minutes to count",
        place=what if role == BLOB_ROLE and not by_name else None,
    )


def _who_asked(error: HttpResponseError) -> str:
    """Whose request was refused, by what it was signed with; never any part of a secret."""
    request = getattr(error.response, "request", None)
    sent = str((getattr(request, "headers", None) or {}).get("Authorization") or "")
    kind, _, value = sent.partition(" ")
    if kind == "SharedKey":
        return f"the key of account {value.partition(':')[0]}"
    claims = _claims(value) if kind == "Bearer" else {}
    names = {"name": "upn", "object id": "oid", "application": "appid"}
    known = [f"{shown} {claims[claim]}" for shown, claim in names.items() if claims.get(claim)]
    return f"the identity ({', '.join(known)})" if known else "the identity"


def _claims(token: str) -> dict[str, object]:
    """What an access token says of its owner; nothing for one that cannot be read."""
    payload = [*token.split("."), "", ""][1]
    try:
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_token(what: str, error: ClientAuthenticationError) -> AccessDenied:
    # The SDK lists every kind of identity that it tried; what to do is the same for all of them.
    first, *tried = str(error.message).splitlines() or [""]
    reason = "nobody is signed in" if tried or not first else first
    return AccessDenied(
        f"{what}: {reason}: run `az login`, or in Azure assign a managed identity "
        "(named in AZURE_CLIENT_ID if there are several)"
    )
