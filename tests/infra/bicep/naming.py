"""Whether Azure takes the names that a deployment gives, and keeps its resources apart by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.infra.bicep.deployed import Deployed, Deployment
from tests.infra.bicep.evaluation import Later
from tests.infra.bicep.folder import Finding
from tests.infra.name_rules import GLOBAL, NAME_RULES

ROLE_ASSIGNMENT = "Microsoft.Authorization/roleAssignments"


def naming(deployment: Deployment) -> list[Finding]:
    """What is wrong with the names of one deployment."""
    return sorted({*_rules(deployment), *_twice(deployment), *_roles_twice(deployment)})


def found(resource: Deployed, text: str) -> Finding:
    return Finding(resource.path, resource.line, text)


def _rules(deployment: Deployment) -> Iterator[Finding]:
    for resource in deployment.resources:
        rule = NAME_RULES.get(resource.type)
        if rule is None:
            yield found(resource, f"{resource.type} has no rule in name_rules.py")
            continue
        why = rule.broken_by(resource.name.rpartition("/")[2])
        if why is not None:
            yield found(resource, f"{resource.type}: {why}")
        location = resource.body.get("location")
        if isinstance(location, Later):
            yield found(resource, f"{resource.type}: its region is known too late")


def _twice(deployment: Deployment) -> Iterator[Finding]:
    count = Counter(each.id.lower() for each in deployment.resources)
    for resource in deployment.resources:
        if count[resource.id.lower()] > 1:
            yield found(resource, f"{resource.type} {resource.name} is made twice")


def _roles_twice(deployment: Deployment) -> Iterator[Finding]:
    """Azure takes a role once for each principal and scope, whatever the assignment's name."""

    def whole(each: Deployed) -> tuple[str, object, object]:
        given = each.properties
        return each.scope, given.get("principalId"), given.get("roleDefinitionId")

    roles = deployment.of(ROLE_ASSIGNMENT)
    count = Counter(map(whole, roles))
    for role in roles:
        if count[whole(role)] > 1:
            yield found(role, "a role is given twice to one principal at one scope")


def shared(one: Deployment, other: Deployment) -> list[str]:
    """The resources that two deployments would both call theirs."""
    ours = {_reached(each): each for each in one.resources}
    return sorted(f"{each.type} {each.name}" for each in other.resources if _reached(each) in ours)


def _reached(resource: Deployed) -> str:
    rule = NAME_RULES.get(resource.type)
    whole = resource.name if rule and rule.reach == GLOBAL else resource.id
    return f"{resource.type} {whole}".lower()
