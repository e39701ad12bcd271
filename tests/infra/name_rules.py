"""Azure's rules for the names of the resources that a deployment makes.

From its documentation of naming rules and restrictions, the narrower rule where an earlier edition
had one. `reach` says among what a name must be the only one: the whole of Azure, a resource group,
or whatever the resource stands in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GLOBAL, GROUP, PARENT = "Azure", "resource group", "parent"

_GUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NOT_EVENT_GRIDS = "(?!Microsoft-|EventGrid-|System-)"
_DASHED = r"[a-z0-9]+(-[a-z0-9]+)*"  # lowercase, no dash first, last or twice


@dataclass(frozen=True)
class NameRule:
    """The last part of a name, the one of the resource itself."""

    least: int
    most: int
    pattern: str
    reach: str

    def broken_by(self, name: str) -> str | None:
        """Why Azure would refuse a name, or None."""
        if not self.least <= len(name) <= self.most:
            return f"{name!r} has {len(name)} characters, not {self.least} to {self.most}"
        if not re.fullmatch(self.pattern, name):
            return f"{name!r} does not match {self.pattern}"
        return None


NAME_RULES = {
    "Microsoft.Authorization/roleAssignments": NameRule(36, 36, _GUID, PARENT),
    "Microsoft.Databricks/accessConnectors": NameRule(3, 64, r"[\w-]+", GROUP),
    "Microsoft.Databricks/workspaces": NameRule(3, 30, r"[\w-]+", GROUP),
    "Microsoft.EventGrid/systemTopics": NameRule(3, 50, rf"{_NOT_EVENT_GRIDS}[A-Za-z0-9-]+", GROUP),
    "Microsoft.EventGrid/systemTopics/eventSubscriptions": NameRule(
        3, 64, r"[A-Za-z0-9-]+", PARENT
    ),
    "Microsoft.Insights/actionGroups": NameRule(1, 260, r"[^:<>+/&%\\?|]*[^:<>+/&%\\?|. ]", GROUP),
    "Microsoft.Insights/components": NameRule(1, 260, r"[^%&\\?/]*[^%&\\?/. ]", GROUP),
    "Microsoft.Insights/diagnosticSettings": NameRule(1, 260, r"[^*<>%&:\\?+/]*[^ ]", PARENT),
    "Microsoft.Insights/metricAlerts": NameRule(
        1, 260, r"[^*#&+:<>?@%{}\\/]*[^*#&+:<>?@%{}\\/. ]", GROUP
    ),
    "Microsoft.Insights/scheduledQueryRules": NameRule(
        1, 260, r"[^*<>%{}&:\\?/#]*[^*<>%{}&:\\?/#. ]", GROUP
    ),
    "Microsoft.Insights/workbooks": NameRule(36, 36, _GUID, GROUP),
    "Microsoft.ManagedIdentity/userAssignedIdentities": NameRule(
        3, 128, r"[A-Za-z0-9][\w-]*", GROUP
    ),
    "Microsoft.Network/networkSecurityGroups": NameRule(1, 80, r"[A-Za-z0-9]([\w.-]*\w)?", GROUP),
    "Microsoft.Network/privateDnsZones": NameRule(1, 63, rf"{_DASHED}(\.{_DASHED})+", GROUP),
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": NameRule(
        1, 80, r"[A-Za-z0-9]([\w.-]*\w)?", PARENT
    ),
    "Microsoft.Network/privateEndpoints": NameRule(2, 64, r"[A-Za-z0-9][\w.-]*\w", GROUP),
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups": NameRule(
        1, 80, r"[A-Za-z0-9]([\w.-]*\w)?", PARENT
    ),
    "Microsoft.Network/virtualNetworks": NameRule(2, 64, r"[A-Za-z0-9][\w.-]*\w", GROUP),
    "Microsoft.OperationalInsights/workspaces": NameRule(
        4, 63, r"[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9]", GROUP
    ),
    "Microsoft.Resources/deployments": NameRule(1, 64, r"[\w.()-]+", GROUP),
    "Microsoft.Resources/resourceGroups": NameRule(1, 90, r"[\w.()-]*[\w()-]", PARENT),
    "Microsoft.Storage/storageAccounts": NameRule(3, 24, r"[a-z0-9]+", GLOBAL),
    "Microsoft.Storage/storageAccounts/blobServices": NameRule(7, 7, "default", PARENT),
    "Microsoft.Storage/storageAccounts/blobServices/containers": NameRule(3, 63, _DASHED, PARENT),
    "Microsoft.Storage/storageAccounts/queueServices": NameRule(7, 7, "default", PARENT),
    "Microsoft.Storage/storageAccounts/queueServices/queues": NameRule(3, 63, _DASHED, PARENT),
    "Microsoft.Web/serverfarms": NameRule(1, 40, r"[A-Za-z0-9-]+", GROUP),
    # Azure takes 60 characters; the Functions host makes its id of the first 32, and two apps with
    # one id that share a storage account take each other's locks.
    "Microsoft.Web/sites": NameRule(2, 32, r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?", GLOBAL),
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": NameRule(3, 3, "ftp|scm", PARENT),
    "Microsoft.Web/sites/config": NameRule(3, 22, "appsettings|logs|web", PARENT),
}
