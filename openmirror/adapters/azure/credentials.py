"""Who asks: an identity, or a key where one was given for an emulator."""

from __future__ import annotations

from azure.core.credentials import AzureNamedKeyCredential, TokenCredential
from azure.identity import DefaultAzureCredential

from openmirror.account import AccountUrl
from openmirror.errors import CannotStart


def account_credential(
    account: AccountUrl, key: str | None
) -> TokenCredential | AzureNamedKeyCredential:
    """The key if there is one, else the identity of the environment."""
    if key:
        return AzureNamedKeyCredential(account.account, key)
    return identity(str(account), secure=account.is_secure)


def identity(url: str, *, secure: bool, client_id: str | None = None) -> TokenCredential:
    """Managed identity in Azure, `az login` elsewhere; raises CannotStart over http."""
    if not secure:
        raise CannotStart(
            f"{url}: an identity's token is only sent over https. Use the https:// URL, or for an "
            "emulator give its key: OPENMIRROR_ACCOUNT_KEY, or a connection string for queues"
        )
    if client_id:
        return DefaultAzureCredential(managed_identity_client_id=client_id)
    return DefaultAzureCredential()
