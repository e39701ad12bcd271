"""A service credential of Unity Catalog as the Azure SDKs take it: no secret on the cluster."""

from __future__ import annotations

import os
from typing import Any, Protocol

from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError, ServiceRequestError

from openmirror.databricks.error_text import first_line
from openmirror.errors import CannotStart

ON_A_CLUSTER = "DATABRICKS_RUNTIME_VERSION"
"""The variable that every machine of a cluster has."""
_STORAGE = "https://storage.azure.com/.default"


class _Provider(Protocol):
    """What Databricks gives out for a name; it renews its tokens by itself."""

    def get_token(self, *scopes: str, **options: Any) -> AccessToken: ...


class ServiceCredential:
    """Tokens of the managed identity behind a service credential; safe to share between threads.

    Every token is asked for anew, and the SDKs keep it until shortly before it expires.
    """

    def __init__(self, name: str, provider: _Provider) -> None:
        self._name = name
        self._provider = provider

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        """A token; raises ServiceRequestError when the workspace gives none, which may pass."""
        try:
            return self._provider.get_token(*scopes, **options)
        except AzureError:
            raise
        except Exception as error:  # what a provider raises is documented nowhere
            reason = f"the service credential {self._name} gave no token: {first_line(error)}"
            raise ServiceRequestError(reason) from error


def service_credential(name: str) -> ServiceCredential:
    """The credential of this name, which has just given a token for storage.

    Raises CannotStart anywhere but on a Databricks cluster, and without the right to use it.
    """
    what = f"the service credential {name} (OPENMIRROR_SERVICE_CREDENTIAL)"
    if ON_A_CLUSTER not in os.environ:
        raise CannotStart(
            f"{what} can only be had on a Databricks cluster. Elsewhere leave it out: a managed "
            "identity, or what AZURE_CLIENT_ID and its companions say, is used then"
        )
    try:
        # Off a cluster even the import asks for a workspace.
        from databricks.sdk.runtime import dbutils

        credentials: Any = dbutils.credentials
        ask = credentials.getServiceCredentialsProvider
    except (ImportError, AttributeError) as error:
        raise CannotStart(
            f"{what} needs Databricks Runtime 16.2 or newer on classic compute in dedicated access "
            f"mode, and this is {os.environ[ON_A_CLUSTER]}: {first_line(error)}"
        ) from error
    try:
        credential = ServiceCredential(name, ask(name))
        credential.get_token(_STORAGE)
    except Exception as error:  # as above
        raise CannotStart(
            f"{what} cannot be used: {first_line(error)}. See that it exists, and that the "
            f"principal that the job runs as may use it: GRANT ACCESS ON SERVICE CREDENTIAL "
            f"`{name}` TO `<its application id>`"
        ) from error
    return credential
