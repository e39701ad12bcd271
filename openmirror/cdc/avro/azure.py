"""The schema registry of an Event Hubs namespace."""

from __future__ import annotations

from collections.abc import Callable

from azure.core.credentials import TokenCredential
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from azure.schemaregistry import SchemaRegistryClient

from openmirror.cdc.avro.registry import SchemaId
from openmirror.errors import AccessDenied, Unavailable

_DENIED = (401, 403)


class AzureRegistry:
    """A `SchemaRegistry` by Azure's client; only identities of Entra ID may ask it."""

    def __init__(self, namespace: str, credential: Callable[[], TokenCredential]) -> None:
        """`namespace`: `NAME.servicebus.windows.net`. The credential is asked for when needed."""
        self._namespace = namespace
        self._credential = credential

    def schema(self, id_: SchemaId) -> str | None:
        """As `SchemaRegistry` has it."""
        with SchemaRegistryClient(self._namespace, self._credential()) as client:
            try:
                return client.get_schema(id_).definition
            except ResourceNotFoundError:
                return None
            except ClientAuthenticationError as error:
                raise self._denied(error) from None
            except HttpResponseError as error:
                if error.status_code in _DENIED:
                    raise self._denied(error) from None
                raise self._away(error) from None
            except AzureError as error:
                raise self._away(error) from None

    def _denied(self, error: AzureError) -> AccessDenied:
        return AccessDenied(
            f"the schema registry of {self._namespace} refuses: {error.message}. Whoever lands "
            "the stream needs the role Schema Registry Reader on the namespace"
        )

    def _away(self, error: AzureError) -> Unavailable:
        return Unavailable(f"the schema registry of {self._namespace}: {error.message}")
