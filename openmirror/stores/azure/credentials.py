"""Who asks: an identity, or a key where one was given for an emulator."""

from __future__ import annotations

from typing import Any

from azure.core.credentials import AccessToken, AzureNamedKeyCredential, TokenCredential
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError
from azure.identity import DefaultAzureCredential

from openmirror.errors import CannotStart
from openmirror.ports.storage_account import AccountUrl


def account_credential(
    account: AccountUrl, key: str | None, given: TokenCredential | None = None
) -> TokenCredential | AzureNamedKeyCredential:
    """The key if there is one, else what was given, else the identity of the environment."""
    if key:
        return AzureNamedKeyCredential(account.account, key)
    return identity(str(account), secure=account.is_secure, given=given)


def identity(
    url: str,
    *,
    secure: bool,
    client_id: str | None = None,
    given: TokenCredential | None = None,
) -> TokenCredential:
    """Managed identity in Azure, `az login` elsewhere; raises CannotStart over http.

    `given` is a credential that this process must use for everything.
    """
    if not secure:
        raise CannotStart(
            f"{url}: an identity's token is only sent over https. Use the https:// URL, or for an "
            "emulator give its key: OPENMIRROR_ACCOUNT_KEY, or a connection string for queues"
        )
    if given is not None:
        return RefusalsApart(given)
    if client_id:
        return RefusalsApart(DefaultAzureCredential(managed_identity_client_id=client_id))
    return RefusalsApart(DefaultAzureCredential())


class RefusalsApart:
    """A credential whose refusals nobody takes for an answer of the service that wants the token.

    The storage SDK reads whatever response a refusal carries as one about the file it was asked
    for, so that a 404 would say that the file is missing.
    """

    def __init__(self, credential: TokenCredential) -> None:
        self._credential = credential

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        """A token; raises ClientAuthenticationError, ServiceRequestError if that may pass."""
        try:
            return self._credential.get_token(*scopes, **options)
        except ClientAuthenticationError as error:
            status = error.status_code
            if status is None:
                raise
            reason = f"no token was given ({status}): {error.message}"
        # 404 and 410 are answers of a machine's own service of tokens while it is replaced.
        if status in (404, 408, 410, 429) or status >= 500:
            raise ServiceRequestError(reason)
        raise ClientAuthenticationError(reason)
