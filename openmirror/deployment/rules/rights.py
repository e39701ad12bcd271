"""What the caller must be allowed to do to deploy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, warning
from openmirror.ports.management import Permission

ASSIGN = "Microsoft.Authorization/roleAssignments/write"
MAKE = (
    "Microsoft.EventGrid/systemTopics/write",
    "Microsoft.Insights/components/write",
    "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
    "Microsoft.ManagedIdentity/userAssignedIdentities/write",
    "Microsoft.OperationalInsights/workspaces/write",
    "Microsoft.Resources/deploymentStacks/write",
    "Microsoft.Resources/deployments/write",
    "Microsoft.Storage/storageAccounts/write",
    "Microsoft.Web/sites/write",
)


DENY = "Microsoft.Resources/deploymentStacks/manageDenySetting/action"
"""What the stack of the data takes, which nobody can delete by accident; Contributor has it not."""
CONNECT = "Microsoft.Databricks/accessConnectors/write"
"""What Databricks asks Azure of whoever makes a credential of an access connector."""


def may(permissions: Iterable[Permission], action: str) -> bool:
    """Whether some role allows an action, and does not take it back itself."""
    return bool(_granting(permissions, action))


def _granting(permissions: Iterable[Permission], action: str) -> list[Permission]:
    return [
        permission
        for permission in permissions
        if _matches(permission.actions, action) and not _matches(permission.not_actions, action)
    ]


def _matches(patterns: Iterable[str], action: str) -> bool:
    # Only the star is special in these patterns.
    return any(
        fnmatchcase(action.lower(), re.sub(r"([?\[])", r"[\1]", pattern.lower()))
        for pattern in patterns
    )


def check_rights(permissions: list[Permission], *, connects: bool) -> list[Finding]:
    """Whether the caller may make the resources, and assign roles.

    `connects` says that Databricks comes with it, whose credentials somebody has to make.
    """
    found = []
    if connects and not may(permissions, CONNECT):
        found.append(
            fault(
                Check.RIGHTS,
                f"you may not make the access connector ({CONNECT}), nor afterwards the "
                "credentials of Unity Catalog that use it",
                "Ask for the role Contributor on the resource group. Who makes the credentials "
                "needs it on the access connector, or Owner; createAccessConnector = false goes "
                "without one.",
            )
        )
    if lacking := [action for action in MAKE if not may(permissions, action)]:
        found.append(
            fault(
                Check.RIGHTS,
                f"you may not make what is deployed: {', '.join(lacking)}",
                "Ask for the role Contributor on the resource group.",
            )
        )
    if not may(permissions, DENY):
        found.append(
            fault(
                Check.RIGHTS,
                f"you may not deny the deletion of what holds data ({DENY})",
                "Ask for Azure Deployment Stack Owner, or Owner, on the resource group: "
                "Contributor has everything of a stack but this (which is not needed with azd).",
            )
        )
    granting = _granting(permissions, ASSIGN)
    if not granting:
        found.append(
            fault(
                Check.RIGHTS,
                f"you may not assign roles ({ASSIGN}), and the identities need some",
                "Ask for Role Based Access Control Administrator, or Owner, on the resource "
                "group. Contributor alone is not enough.",
            )
        )
    elif all(permission.condition for permission in granting):
        found.append(
            warning(
                Check.RIGHTS,
                "you may assign roles under a condition only",
                "See that it allows the roles of docs/SECURITY.md to service principals.",
            )
        )
    return found or [ok(Check.RIGHTS, "you may make resources and assign roles")]
