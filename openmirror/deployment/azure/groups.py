"""What a resource group holds: its resources, locks, deployment stacks and deployments."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.azure.failures import in_our_words
from openmirror.errors import NotThere
from openmirror.ports.management import Deployment, DeploymentState, Group, Lock
from openmirror.ports.resources import Resource

_LOCKS = "2020-05-01"
_STACKS = "2024-03-01"
_OVER = {
    "succeeded": DeploymentState.SUCCEEDED,
    "failed": DeploymentState.FAILED,
    "canceled": DeploymentState.FAILED,
}


def group(clients: ManagementClients, name: str) -> Group | None:
    """The resource group; None when there is none."""
    try:
        with in_our_words(f"the resource group {name}"):
            found = clients.resources.resource_groups.get(name)
    except NotThere:
        return None
    return Group(str(found.id), str(found.name), str(found.location))


def resources(clients: ManagementClients, name: str) -> list[Resource]:
    """Everything in a group; nothing where there is no group."""
    try:
        with in_our_words(f"the resource group {name}"):
            found = list(clients.resources.resources.list_by_resource_group(name))
    except NotThere:
        return []
    return [Resource(str(o.id), str(o.name), str(o.type), dict(o.tags or {})) for o in found]


def locks(clients: ManagementClients, name: str) -> list[Lock]:
    """All locks on a group and in it."""
    path = f"/subscriptions/{clients.subscription}/resourceGroups/{name}"
    path += "/providers/Microsoft.Authorization/locks"
    try:
        found = clients.whole(path, _LOCKS, f"the locks of {name}")
    except NotThere:
        return []
    return [
        Lock(str(one["id"]), str(one["name"]), str(one["properties"]["level"])) for one in found
    ]


def deployments(clients: ManagementClients, name: str) -> list[Deployment]:
    """All deployment stacks and deployments that a group remembers, the newest first.

    What azd made is no stack. None where there is no group.
    """
    path = f"/subscriptions/{clients.subscription}/resourceGroups/{name}"
    path += "/providers/Microsoft.Resources/deploymentStacks"
    try:
        stacks = clients.whole(path, _STACKS, f"the deployment stacks of {name}")
        with in_our_words(f"the deployments of {name}"):
            found = list(clients.deployments.deployments.list_by_resource_group(name))
    except NotThere:
        return []
    known = [*map(_stack, stacks), *map(_deployment, found)]
    return sorted(known, key=lambda one: one.at or datetime.min.replace(tzinfo=UTC), reverse=True)


def _stack(found: Mapping[str, Any]) -> Deployment:
    properties = found["properties"]
    changed = (found.get("systemData") or {}).get("lastModifiedAt")
    return Deployment(
        name=str(found["name"]),
        state=_state(str(properties["provisioningState"])),
        at=_time(changed) if changed else None,
        outputs=_outputs(properties.get("outputs")),
        error=_reason(properties.get("error")),
        publisher_role=_given(properties.get("parameters"), "publisherRole"),
    )


def _deployment(found: Any) -> Deployment:
    properties = found.properties
    return Deployment(
        name=str(found.name),
        state=_state(_word(properties.provisioning_state)),
        at=properties.timestamp,
        outputs=_outputs(properties.outputs),
        error=_reason(properties.error),
        publisher_role=_given(properties.parameters, "publisherRole"),
    )


def _time(text: str) -> datetime:
    """A time as Azure writes it, whose seconds may have seven digits."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}").replace(tzinfo=UTC)


def _state(word: str) -> DeploymentState:
    return _OVER.get(word.lower(), DeploymentState.RUNNING)


def _outputs(outputs: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: str(one.get("value") or "") for name, one in (outputs or {}).items()}


def _given(parameters: Mapping[str, Any] | None, name: str) -> str:
    """What a parameter was given, as text; empty where nothing was, not even by default."""
    return str(((parameters or {}).get(name) or {}).get("value") or "")


def _word(answer: Any) -> str:
    """Azure's own word: a member of one of the SDK's enumerations, or text that it knows not."""
    return str(getattr(answer, "value", answer))


def _reason(error: Mapping[str, Any] | None) -> str:
    """The innermost reasons: the outer ones only say that there are some."""
    if error is None:
        return ""
    inner = [reason for one in error.get("details") or () if (reason := _reason(one))]
    if inner:
        return "; ".join(inner)
    return ": ".join(str(part) for part in (error.get("code"), error.get("message")) if part)
