"""Which role publishers get: recorded in the parameters file, proposed here.

It is never worked out from who deploys, or from what that person may see: a second deployment, by
somebody else, would take every publisher's role away and give another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, warning
from openmirror.deployment.rules.outputs import is_ours
from openmirror.deployment.rules.parameters import Parameters
from openmirror.deployment.rules.roles import ROLE_NAMES, Role
from openmirror.ports.management import Deployment

OWN_ROLE = "openmirror publisher"
"""What infra/bicep/publisher-role.json calls the role that may not delete the container."""
_CREATE = "az role definition create --role-definition @infra/bicep/publisher-role.json"
_WIDE = (
    f"publishers get {ROLE_NAMES[Role.BLOB_CONTRIBUTOR]}, which may delete the whole container "
    "`landing`"
)


def check_publisher_role(
    parameters: Parameters, roles: Mapping[str, str], earlier: Iterable[Deployment]
) -> list[Finding]:
    """The role that the file records, or the one to record.

    `roles` are those that can be given, name by GUID; `earlier` the group's deployments, the newest
    first.
    """
    if not parameters.has_publishers:
        return []
    recorded = parameters.publisher_role
    if not recorded:
        return [warning(Check.PUBLISHER_ROLE, *_proposed(roles))]
    if recorded not in roles:
        return [
            fault(
                Check.PUBLISHER_ROLE,
                f"publisherRole is {recorded}, and no such role can be given here",
                f"{_CREATE} --query name --output tsv, with this subscription and group in it; "
                "then record what it prints.",
            )
        ]
    before = _before(earlier, parameters.name)
    if before and before != recorded:
        return [
            warning(
                Check.PUBLISHER_ROLE,
                f"the last deployment gave publishers {roles.get(before, before)!r}; this file "
                f"gives all of them {roles[recorded]!r} in its place",
                f"If that is not meant, record publisherRole = {before}.",
            )
        ]
    return [ok(Check.PUBLISHER_ROLE, f"publishers get {roles[recorded]!r}, as recorded")]


def _proposed(roles: Mapping[str, str]) -> tuple[str, str]:
    own = sorted(guid for guid, name in roles.items() if name == OWN_ROLE)
    if own:
        return (
            f"{_WIDE}, although there is a role {OWN_ROLE!r} that may not: none is recorded",
            f"Record publisherRole = {own[0]} in the parameters file.",
        )
    return (
        f"{_WIDE}: publisherRole is not recorded",
        f"{_CREATE} --query name --output tsv, with this subscription and group in it, and record "
        f"publisherRole = what it prints; or {Role.BLOB_CONTRIBUTOR}, where publishers trust each "
        "other.",
    )


def _before(earlier: Iterable[Deployment], name: str) -> str:
    """What the newest deployment of this name was given; empty where none says so."""
    given = (one.publisher_role.lower() for one in earlier if is_ours(one, name))
    return next((role for role in given if role), "")
