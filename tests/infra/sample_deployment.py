"""The Bicep files with sample people, as the resources and role assignments that would stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.infra.access import INSIGHTS, LAKE, RUNTIME, Assignment, Scope
from tests.infra.bicep.expansion import Deployed, Deployment, expand
from tests.infra.bicep.folder import Folder
from tests.infra.role_definitions import ROLES, Role
from tests.infra.role_matrix import (
    CRM,
    FUNCTIONS,
    FURTHER,
    MIRRORS,
    OPERATOR,
    READER,
    RUNNER,
    SALES,
    SALES2,
    TOPIC,
)


def _principal(number: int) -> dict[str, str]:
    return {
        "principalId": f"00000000-0000-0000-0000-{number:012d}",
        "principalType": "ServicePrincipal",
    }


_PEOPLE = {
    who: _principal(number)
    for number, who in enumerate((SALES, SALES2, CRM, OPERATOR, READER, FURTHER), 1)
}
PARAMETERS: Mapping[str, Any] = {
    "publishers": [{**_PEOPLE[who], "mirror": mirror} for who, mirror in MIRRORS.items()],
    "operators": [_PEOPLE[OPERATOR]],
    "readers": [_PEOPLE[READER]],
    "runners": [_PEOPLE[FURTHER]],
    "databricksWorkspaceUrl": "https://adb-1.2.azuredatabricks.net",
    "databricksJobId": "42",
    # A test does not wait.
    "settings": {"OPENMIRROR_DROP_GRACE": "0s", "OPENMIRROR_METADATA_GRACE": "0s"},
}
"""A deployment that has one of everybody."""
_OURS = {"functions": FUNCTIONS, "runner": RUNNER}
_SERVICES = {"blobServices": "blob", "queueServices": "queue", "tableServices": "table"}
ROLE_ASSIGNMENT = "Microsoft.Authorization/roleAssignments"


@cache
def folder() -> Folder:
    """The Bicep files as they are."""
    return Folder.at()


@cache
def deployment() -> Deployment:
    """What they make for the sample people."""
    return expand(folder(), PARAMETERS)


def assignments(
    of: Deployment | None = None, roles: Mapping[str, Role] = ROLES
) -> list[Assignment]:
    """Every role assignment of a deployment, in the terms of the table."""
    made = of or deployment()
    return [_assignment(made, one, roles) for one in made.of(ROLE_ASSIGNMENT)]


def _assignment(made: Deployment, one: Deployed, roles: Mapping[str, Role]) -> Assignment:
    assigned = one.properties
    return Assignment(
        principal=_who(made, str(assigned["principalId"])),
        role=roles[str(assigned["roleDefinitionId"]).rpartition("/")[2]],
        scope=_scope(made, one.scope),
        condition=assigned.get("condition"),
        description=str(assigned.get("description", "")),
    )


def _who(made: Deployment, principal: str) -> str:
    for who, given in _PEOPLE.items():
        if given["principalId"] == principal:
            return who
    for identity in made.of("Microsoft.ManagedIdentity/userAssignedIdentities"):
        if principal.startswith(f"{identity.id}:"):
            return _OURS[identity.symbol]
    (topic,) = made.of("Microsoft.EventGrid/systemTopics")
    assert principal.startswith(f"{topic.id}:"), f"nobody knows {principal}"
    return TOPIC


def _scope(made: Deployment, at: str) -> Scope:
    for account in made.of("Microsoft.Storage/storageAccounts"):
        if at == account.id or at.startswith(f"{account.id}/"):
            which = {"lake.bicep": LAKE, "runtime.bicep": RUNTIME}[account.path]
            # /blobServices/default/containers/NAME
            inside = at.removeprefix(account.id).split("/")[1:]
            return (which, _SERVICES[inside[0]], inside[3]) if inside else (which,)
    if any(at == component.id for component in made.of("Microsoft.Insights/components")):
        return (INSIGHTS,)
    # A group or a subscription: everything in it.
    return ()
