"""What lies in a resource group, and which of it can be a part of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ResourceType(StrEnum):
    """A type of resource, in lower case; in the order in which they can be deleted."""

    SITE = "microsoft.web/sites"
    PLAN = "microsoft.web/serverfarms"
    TOPIC = "microsoft.eventgrid/systemtopics"
    LOG_ALERT = "microsoft.insights/scheduledqueryrules"
    METRIC_ALERT = "microsoft.insights/metricalerts"
    ACTION_GROUP = "microsoft.insights/actiongroups"
    WORKBOOK = "microsoft.insights/workbooks"
    INSIGHTS = "microsoft.insights/components"
    LOGS = "microsoft.operationalinsights/workspaces"
    ENDPOINT = "microsoft.network/privateendpoints"
    ACCOUNT = "microsoft.storage/storageaccounts"
    WORKSPACE = "microsoft.databricks/workspaces"
    CONNECTOR = "microsoft.databricks/accessconnectors"
    IDENTITY = "microsoft.managedidentity/userassignedidentities"
    ZONE_LINK = "microsoft.network/privatednszones/virtualnetworklinks"
    ZONE = "microsoft.network/privatednszones"
    NETWORK = "microsoft.network/virtualnetworks"
    RULES = "microsoft.network/networksecuritygroups"


_PARTS = {part.value: part for part in ResourceType}


@dataclass(frozen=True)
class Resource:
    """Something in a resource group."""

    id: str
    name: str
    type: str
    """Such as `Microsoft.Storage/storageAccounts`."""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> ResourceType | None:
        """Which part its type says that it is; None for types that no deployment makes."""
        return _PARTS.get(self.type.lower())
