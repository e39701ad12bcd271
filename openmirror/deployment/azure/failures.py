"""What Azure Resource Manager answers, in the words of this package."""

from __future__ import annotations

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
    CannotStart,
    NotThere,
    OpenmirrorError,
    Unavailable,
    WrongRequest,
)


@contextmanager
def in_our_words(what: str, right: str = "Reader on the resource group") -> Iterator[None]:
    """Turn the SDKs' errors about `what` into ours; `right` is the role that it takes.

    Raises NotThere, AccessDenied, WrongRequest or Unavailable; CannotStart when Azure does not know
    who asks, since then every other question is asked in vain.
    """
    try:
        yield
    except ClientAuthenticationError as error:
        raise _unknown(what, error) from error
    except HttpResponseError as error:
        raise _translated(what, right, error) from error
    except (ServiceRequestError, ServiceResponseError) as error:
        raise Unavailable(f"{what}: Azure cannot be reached: {_first(error)}") from error


def code_of(error: HttpResponseError) -> str:
    """Azure's own code of an error; empty when it gave none."""
    return str(error.error.code or "") if error.error is not None else ""


def _translated(what: str, right: str, error: HttpResponseError) -> OpenmirrorError:
    status, code = error.status_code or 0, code_of(error)
    code_text = f" ({code})" if code else ""
    if status == 401:
        return _unknown(what, error)
    if status == 404:
        return NotThere(f"there is no {what}{code_text}")
    if status == 403:
        return AccessDenied(f"{what}: access is denied{code_text}: it takes {right}")
    if status in (408, 429) or status >= 500:
        return Unavailable(f"{what}: Azure answers {status}{code_text}")
    if code == "ScopeLocked":
        return WrongRequest(f"{what} is locked: {_first(error)}")
    return WrongRequest(f"{what}: Azure refuses: {_first(error)}")


def _unknown(what: str, error: HttpResponseError) -> CannotStart:
    answer = _first(error).rstrip(".")
    return CannotStart(f"{what}: Azure does not know who asks: {answer}. Log in: `az login`")


def _first(error: AzureError) -> str:
    lines = str(error.message or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
