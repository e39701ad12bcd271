"""How Spark's ABFS driver gets at a storage account: as Hadoop settings."""

from __future__ import annotations

from collections.abc import Mapping

from openmirror.errors import CannotStart
from openmirror.ports.storage_account import AccountUrl

_TOKENS = "org.apache.hadoop.fs.azurebfs.oauth2"
_AUTHORITY = "https://login.microsoftonline.com"

AUTH_TYPE = "fs.azure.account.auth.type"
"""When this is set already, somebody else has arranged for access."""


def abfs_settings(account: AccountUrl, key: str | None, env: Mapping[str, str]) -> dict[str, str]:
    """Hadoop settings for one account, without the prefix `spark.hadoop.`.

    With a key (emulators only) that key; else the identity that azure-identity would find in the
    same environment: a workload's token file, a service principal, a managed identity. Raises
    CannotStart for an account without TLS and without a key, which no token may be sent to.
    """
    host = account.abfs_host
    settings = _endpoint(account)
    if key is not None:
        return settings | {
            f"{AUTH_TYPE}.{host}": "SharedKey",
            f"fs.azure.account.key.{host}": key,
        }
    if not account.is_secure:
        raise CannotStart(f"{account} needs a key: no token may be sent without TLS")
    oauth = {"fs.azure.account.oauth.provider.type": f"{_TOKENS}.{_provider(env)}", **_oauth(env)}
    named = {f"{name}.{host}": value for name, value in oauth.items()}
    return settings | {f"{AUTH_TYPE}.{host}": "OAuth", **named}


def _endpoint(account: AccountUrl) -> dict[str, str]:
    # Two threads for each client that Delta makes, one a commit: they are never stopped, and keep
    # a JVM from ending.
    settings = {"fs.azure.metrics.collection.enabled": "false"}
    if account.in_path:
        settings["fs.azure.abfs.endpoint"] = account.host
    if not account.is_secure:
        settings["fs.azure.always.use.https"] = "false"
        # The driver's other client cannot be made without TLS.
        settings["fs.azure.networking.library"] = "JDK_HTTP_URL_CONNECTION"
    return settings


def _provider(env: Mapping[str, str]) -> str:
    if env.get("AZURE_FEDERATED_TOKEN_FILE"):
        return "WorkloadIdentityTokenProvider"
    return "ClientCredsTokenProvider" if env.get("AZURE_CLIENT_SECRET") else "MsiTokenProvider"


def _oauth(env: Mapping[str, str]) -> dict[str, str]:
    client = env.get("AZURE_CLIENT_ID")
    authority = (env.get("AZURE_AUTHORITY_HOST") or _AUTHORITY).rstrip("/")
    tenant = env.get("AZURE_TENANT_ID")
    prefix = "fs.azure.account.oauth2"
    provider = _provider(env)
    if provider == "MsiTokenProvider":
        # Without a client id it is the one identity that the machine has.
        return {f"{prefix}.client.id": client} if client else {}
    if not client or not tenant:
        raise CannotStart(
            "an identity is half given: AZURE_CLIENT_ID and AZURE_TENANT_ID are needed beside "
            "AZURE_FEDERATED_TOKEN_FILE or AZURE_CLIENT_SECRET"
        )
    if provider == "WorkloadIdentityTokenProvider":
        return {
            f"{prefix}.client.id": client,
            f"{prefix}.msi.tenant": tenant,
            f"{prefix}.msi.authority": authority + "/",
            f"{prefix}.token.file": env["AZURE_FEDERATED_TOKEN_FILE"],
        }
    return {
        f"{prefix}.client.id": client,
        f"{prefix}.client.secret": env["AZURE_CLIENT_SECRET"],
        f"{prefix}.client.endpoint": f"{authority}/{tenant}/oauth2/token",
    }
