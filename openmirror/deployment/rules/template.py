"""What the Bicep files make that a resource group lists, and what they call each of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from openmirror.deployment.rules.naming import NAME, guid, unique_string
from openmirror.ports.resources import Resource, ResourceType

SITE = "func-{name}-{token}"
LAKE_ACCOUNT = "st{name}lake{short}"
RUNTIME_ACCOUNT = "st{name}run{short}"
_ZONE = r"privatelink\.(?:blob|dfs|queue|table)\.[a-z.]+"
_CALLED: Mapping[ResourceType, str] = {
    ResourceType.SITE: SITE,
    ResourceType.PLAN: "asp-{name}-{token}",
    ResourceType.TOPIC: "egst-{name}-{token}",
    ResourceType.LOG_ALERT: "alert-{name}-[a-z-]+",
    ResourceType.METRIC_ALERT: "alert-{name}-[a-z-]+",
    ResourceType.ACTION_GROUP: "ag-{name}",
    ResourceType.INSIGHTS: "appi-{name}-{token}",
    ResourceType.LOGS: "log-{name}-{token}",
    ResourceType.ENDPOINT: "pep-{name}-(?:lake|runtime)-(?:blob|dfs|queue|table)",
    ResourceType.ACCOUNT: f"(?:{LAKE_ACCOUNT}|{RUNTIME_ACCOUNT})",
    ResourceType.WORKSPACE: "dbw-{name}-{token}",
    ResourceType.CONNECTOR: "dbac-{name}-{token}",
    ResourceType.IDENTITY: "id-{name}-(?:functions|runner)-{token}",
    ResourceType.ZONE_LINK: _ZONE + "/vnet-{name}-{token}",
    ResourceType.ZONE: _ZONE,
    ResourceType.NETWORK: "vnet-{name}-{token}",
    ResourceType.RULES: "nsg-vnet-{name}-{token}-(?:functions|endpoints)",
}
"""How each is called: what is in braces is filled in. A workbook's name is a GUID."""


@dataclass(frozen=True)
class ResourceNames:
    """Those names that must be free in all of Azure."""

    lake_account: str
    runtime_account: str
    function_app: str

    @classmethod
    def of(cls, name: str, group: str) -> ResourceNames:
        """The names in the group of this id, as infra/bicep/main.bicep makes them."""
        token = unique_string(group, name)[:6]
        made = (
            one.format(name=name, token=token, short=token[:4])
            for one in (LAKE_ACCOUNT, RUNTIME_ACCOUNT, SITE)
        )
        return cls(*made)


def is_made(resource: Resource, name: str, group: str) -> bool:
    """Whether its type and name are those of a part of the deployment `name`.

    `group` is the id of the resource group, as Azure spells it.
    """
    part, called = resource.part, resource.name.lower()
    if part is ResourceType.WORKBOOK:
        return called == guid(group, name, "workbook")
    return part is not None and _is_called(called, _CALLED[part], name)


def is_lake(resource: Resource, name: str) -> bool:
    """Whether it is the account with the data: what was landed, and the tables."""
    return resource.part is ResourceType.ACCOUNT and _is_called(resource.name, LAKE_ACCOUNT, name)


def is_runtime(resource: Resource, name: str) -> bool:
    """Whether it is the account with the queues and the dead letters."""
    return resource.part is ResourceType.ACCOUNT and _is_called(
        resource.name, RUNTIME_ACCOUNT, name
    )


def name_in(site: str) -> str | None:
    """The deployment's `name` in that of its Function App; None where it has none."""
    match = re.fullmatch(_pattern(SITE, f"({NAME.pattern})"), site)
    return match[1] if match else None


def _is_called(called: str, as_made: str, name: str) -> bool:
    return re.fullmatch(_pattern(as_made, re.escape(name)), called) is not None


def _pattern(as_made: str, name: str) -> str:
    return as_made.format(name=name, token="[a-z2-7]{6}", short="[a-z2-7]{4}")
