"""The port `Removable`: what removing a deployment needs."""

from __future__ import annotations

from functools import cache
from typing import Any

from openmirror.deployment.azure import groups
from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.azure.deployed import assignments
from openmirror.deployment.azure.failures import in_our_words
from openmirror.errors import NotThere, WrongRequest
from openmirror.ports.management import Assignment, Group, Lock
from openmirror.ports.resources import Resource, ResourceType

_CONTRIBUTOR = "Contributor on the resource group"
_DIAGNOSTICS = "microsoft.insights/diagnosticsettings"
_DIAGNOSTICS_VERSION = "2021-05-01-preview"
"""All that came before, and are no previews, know one setting alone for each resource."""
_ASSIGNER = "Role Based Access Control Administrator on the resource group"


class ArmRemovable:
    """One subscription's resources; each method asks Azure anew."""

    def __init__(self, clients: ManagementClients) -> None:
        self._clients = clients
        self._versions = cache(self._newest)

    def group(self, name: str) -> Group | None:
        """The resource group; None when there is none."""
        return groups.group(self._clients, name)

    def resources(self, group: str) -> list[Resource]:
        """Everything in the group."""
        return groups.resources(self._clients, group)

    def locks(self, group: str) -> list[Lock]:
        """All locks on the group and in it."""
        return groups.locks(self._clients, group)

    def principal_of(self, resource: Resource) -> str | None:
        """The principal of an identity, or the own one of a resource; None without one."""
        found = self._get(resource)
        if resource.part is ResourceType.IDENTITY:
            return (found.get("properties") or {}).get("principalId")
        return (found.get("identity") or {}).get("principalId")

    def private_target(self, resource: Resource) -> str | None:
        """The resource that a private endpoint leads to; None for anything else."""
        if resource.part is not ResourceType.ENDPOINT:
            return None
        links = (self._get(resource).get("properties") or {}).get("privateLinkServiceConnections")
        for link in links or ():
            return str(link["properties"]["privateLinkServiceId"])
        return None

    def subscriptions_of(self, topic: Resource) -> list[str]:
        """The ids of a system topic's event subscriptions."""
        group = topic.id.split("/")[4]
        with in_our_words(f"the event subscriptions of {topic.name}"):
            found = self._clients.events.system_topic_event_subscriptions.list_by_system_topic(
                group, topic.name
            )
            return [str(one.id) for one in found]

    def assignments(self, group: str, principal: str) -> list[Assignment]:
        """Every role that a principal has in the group."""
        return assignments(self._clients, group, principal)

    def delete(self, resource: str) -> None:
        """Delete by id, and wait; harmless when it is gone."""
        try:
            with in_our_words(resource, _CONTRIBUTOR):
                self._clients.resources.resources.begin_delete_by_id(
                    resource, api_version=self._versions(_type_of(resource))
                ).result()
        except NotThere:
            return

    def delete_assignment(self, assignment: str) -> None:
        """Take a role away; harmless when it is gone."""
        try:
            with in_our_words(assignment, _ASSIGNER):
                self._clients.authorization.role_assignments.delete_by_id(assignment)
        except NotThere:
            return

    def _get(self, resource: Resource) -> dict[str, Any]:
        with in_our_words(resource.id):
            return self._clients.get(resource.id, self._versions(_type_of(resource.id)))

    def _newest(self, kind: str) -> str:
        """The newest version of the interface of a type that is no preview, as Azure lists them."""
        if kind.lower() == _DIAGNOSTICS:
            return _DIAGNOSTICS_VERSION
        provider, _, name = kind.partition("/")
        with in_our_words(f"the resource provider {provider}"):
            known = self._clients.resources.providers.get(provider)
        for one in known.resource_types or ():
            if str(one.resource_type).lower() == name.lower():
                every = sorted(one.api_versions or (), reverse=True)
                stable = [version for version in every if not version.endswith("preview")]
                if every:
                    return str((stable or every)[0])
        raise WrongRequest(f"Azure does not say how {kind} is asked for")


def _type_of(resource: str) -> str:
    """`Provider/kind/kind` of an id, whose names stand between its kinds."""
    parts = resource.rpartition("/providers/")[2].split("/")
    return "/".join([parts[0], *parts[1::2]])
