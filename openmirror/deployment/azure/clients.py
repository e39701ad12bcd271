"""The SDKs' clients of one subscription, and the requests that none of them has."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from azure.core import AzureClouds
from azure.core.credentials import TokenCredential
from azure.core.rest import HttpRequest
from azure.mgmt.authorization.v2022_04_01 import AuthorizationManagementClient
from azure.mgmt.core.tools import get_arm_endpoints
from azure.mgmt.eventgrid import EventGridManagementClient
from azure.mgmt.resource.deployments import DeploymentsMgmtClient
from azure.mgmt.resource.resources import ResourceManagementClient
from azure.mgmt.storage import StorageManagementClient
from azure.mgmt.web import WebSiteManagementClient

from openmirror.deployment.azure.failures import in_our_words

_RETRIES = 3
_CONNECT_SECONDS = 10
_READ_SECONDS = 60


class ManagementClients:
    """One client for each service that is asked, over one subscription."""

    def __init__(
        self,
        credential: TokenCredential,
        subscription: str,
        endpoint: str,
        scopes: list[str],
        **extra: Any,
    ) -> None:
        # At INFO it logs each request, headers and all.
        logging.getLogger("azure").setLevel(logging.WARNING)
        self.subscription = subscription
        kept: dict[str, Any] = {
            "base_url": endpoint.rstrip("/"),
            "credential_scopes": scopes,
            "retry_total": _RETRIES,
            "connection_timeout": _CONNECT_SECONDS,
            "read_timeout": _READ_SECONDS,
            **extra,
        }
        self.resources = ResourceManagementClient(credential, subscription, **kept)
        self.deployments = DeploymentsMgmtClient(credential, subscription, **kept)
        self.authorization = AuthorizationManagementClient(credential, subscription, **kept)
        self.events = EventGridManagementClient(credential, subscription, **kept)
        self.storage = StorageManagementClient(credential, subscription, **kept)
        self.web = WebSiteManagementClient(credential, subscription, **kept)

    @classmethod
    def of(
        cls, credential: TokenCredential, subscription: str, cloud: AzureClouds
    ) -> ManagementClients:
        """Clients of a subscription of one of Azure's clouds."""
        known = get_arm_endpoints(cloud)
        return cls(credential, subscription, known["resource_manager"], known["credential_scopes"])

    def close(self) -> None:
        """Let go of the connections."""
        for client in (
            self.resources,
            self.deployments,
            self.authorization,
            self.events,
            self.storage,
            self.web,
        ):
            client.close()

    def get(self, path: str, version: str, **query: str) -> dict[str, Any]:
        """One object, by its path below the cloud's endpoint."""
        asked = urlencode({"api-version": version, **query})
        response = self.resources.send_request(HttpRequest("GET", f"{path}?{asked}"))
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found

    def every(self, path: str, version: str, **query: str) -> Iterator[Mapping[str, Any]]:
        """All objects of a list, page by page."""
        found = self.get(path, version, **query)
        while True:
            yield from found.get("value") or ()
            link = found.get("nextLink")
            if not link:
                return
            response = self.resources.send_request(HttpRequest("GET", str(link)))
            response.raise_for_status()
            found = response.json()

    def whole(self, path: str, version: str, what: str, **query: str) -> list[Mapping[str, Any]]:
        """All objects of a list; errors are in our words."""
        with in_our_words(what):
            return list(self.every(path, version, **query))
