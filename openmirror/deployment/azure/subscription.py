"""The port `Subscription`: what is asked before something is deployed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from azure.mgmt.storage.models import StorageAccountCheckNameAvailabilityParameters
from azure.mgmt.web.models import ResourceNameAvailabilityRequest

from openmirror.deployment.azure import groups
from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.azure.failures import in_our_words
from openmirror.ports.management import (
    Deployment,
    Group,
    Lock,
    NameAnswer,
    Permission,
)
from openmirror.ports.resources import Resource

_SUBSCRIPTION = "2022-12-01"
_PERMISSIONS = "2022-04-01"
_STACKS = "2020-10-01"
"""The version that lists each plan's own runtimes."""
_FLEX_PLAN = "FC1"
_READER = "Reader on the subscription"


class ArmSubscription:
    """One subscription; each method asks Azure anew."""

    def __init__(self, clients: ManagementClients) -> None:
        self._clients = clients

    def tenant(self) -> str:
        """The tenant that the subscription trusts."""
        with in_our_words(f"subscription {self._clients.subscription}", _READER):
            return str(self._clients.get(self._path, _SUBSCRIPTION)["tenantId"])

    def group(self, name: str) -> Group | None:
        """The resource group; None when there is none."""
        return groups.group(self._clients, name)

    def providers(self, names: Iterable[str]) -> Mapping[str, bool]:
        """Which of these resource providers are registered."""
        with in_our_words("the resource providers", _READER):
            listed = list(self._clients.resources.providers.list())
        states = {str(one.namespace).lower(): str(one.registration_state) for one in listed}
        return {name: states.get(name.lower(), "") == "Registered" for name in names}

    def flex_regions(self) -> frozenset[str]:
        """The regions that offer Flex Consumption."""
        with in_our_words("the regions of Flex Consumption", _READER):
            found = list(self._clients.web.list_geo_regions(sku="FlexConsumption"))
        return frozenset(str(one.name) for one in found)

    def flex_pythons(self, region: str) -> frozenset[str]:
        """The versions of Python that Flex Consumption has in a region."""
        path = f"/providers/Microsoft.Web/locations/{region}/functionAppStacks"
        found = self._clients.whole(path, _STACKS, f"the runtimes of {region}", stack="python")
        return frozenset(version for stack in found for version in _flex_versions(stack))

    def permissions(self, group: str | None) -> list[Permission]:
        """What the caller may do at the group, or at the subscription."""
        path = self._path + (f"/resourceGroups/{group}" if group else "")
        path += "/providers/Microsoft.Authorization/permissions"
        found = self._clients.whole(path, _PERMISSIONS, "your permissions")
        return [
            Permission(
                tuple(one.get("actions") or ()),
                tuple(one.get("notActions") or ()),
                str(one.get("condition") or ""),
            )
            for one in found
        ]

    def roles(self, group: str | None) -> Mapping[str, str]:
        """The roles that can be given at the group, or in the subscription: name by GUID."""
        scope = self._path + (f"/resourceGroups/{group}" if group else "")
        with in_our_words("the role definitions", _READER):
            found = list(self._clients.authorization.role_definitions.list(scope))
        return {str(one.name).lower(): str(one.role_name) for one in found}

    def locks(self, group: str) -> list[Lock]:
        """All locks on the group and in it."""
        return groups.locks(self._clients, group)

    def account_name(self, name: str) -> NameAnswer:
        """Whether a storage account may be called so."""
        asked = StorageAccountCheckNameAvailabilityParameters(name=name)
        with in_our_words(f"the name {name}", _READER):
            answer = self._clients.storage.storage_accounts.check_name_availability(asked)
        return NameAnswer(bool(answer.name_available), str(answer.message or answer.reason or ""))

    def site_name(self, name: str) -> NameAnswer:
        """Whether a Function App may be called so."""
        asked = ResourceNameAvailabilityRequest(name=name, type="Site")
        with in_our_words(f"the name {name}", _READER):
            answer = self._clients.web.check_name_availability(asked)
        return NameAnswer(bool(answer.name_available), str(answer.message or answer.reason or ""))

    def deployments(self, group: str) -> list[Deployment]:
        """All deployments that the group remembers, the newest first."""
        return groups.deployments(self._clients, group)

    def resources(self, group: str) -> list[Resource]:
        """Everything in the group."""
        return groups.resources(self._clients, group)

    @property
    def _path(self) -> str:
        return f"/subscriptions/{self._clients.subscription}"


def _flex_versions(stack: Mapping[str, Any]) -> Iterable[str]:
    """What a stack says, level by level, of the runtimes of the one plan."""
    for major in stack["properties"].get("majorVersions") or ():
        for minor in major.get("minorVersions") or ():
            linux = (minor.get("stackSettings") or {}).get("linuxRuntimeSettings") or {}
            for plan in linux.get("Sku") or ():
                if plan.get("skuCode") == _FLEX_PLAN:
                    yield str(plan["functionAppConfigProperties"]["runtime"]["version"])
