"""What a subscription must have before anything is deployed to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, unknown, warning
from openmirror.deployment.rules.naming import data_stack, tagged
from openmirror.deployment.rules.parameters import Parameters
from openmirror.deployment.rules.template import ResourceNames
from openmirror.ports.management import (
    Deployment,
    DeploymentState,
    Group,
    Lock,
    NameAnswer,
)
from openmirror.ports.resources import Resource

ALWAYS = (
    "Microsoft.App",
    "Microsoft.EventGrid",
    "Microsoft.Insights",
    "Microsoft.ManagedIdentity",
    "Microsoft.OperationalInsights",
    "Microsoft.Storage",
    "Microsoft.Web",
)
_ACCOUNT, _SITE = "microsoft.storage/storageaccounts", "microsoft.web/sites"
PRIVATE = "Microsoft.Network"
DATABRICKS = "Microsoft.Databricks"


def providers_needed(parameters: Parameters) -> list[str]:
    """The resource providers that must be registered."""
    needed = list(ALWAYS)
    if parameters.is_private:
        needed.append(PRIVATE)
    if parameters.uses_databricks:
        needed.append(DATABRICKS)
    return sorted(needed)


def check_providers(registered: Mapping[str, bool]) -> list[Finding]:
    """Each that is not registered."""
    found = [
        fault(
            Check.PROVIDERS,
            f"{name} is not registered in the subscription",
            f"az provider register --namespace {name} --wait",
        )
        for name, is_there in sorted(registered.items())
        if not is_there
    ]
    return found or [ok(Check.PROVIDERS, f"all {len(registered)} are registered")]


def folded(region: str) -> str:
    """One spelling for `North Europe` and `northeurope`."""
    return re.sub(r"[^a-z0-9]", "", region.lower())


def check_region(region: str, offered: Iterable[str]) -> list[Finding]:
    """Whether Flex Consumption is there."""
    if folded(region) in {folded(one) for one in offered}:
        return [ok(Check.REGION, f"{region} offers Flex Consumption")]
    return [
        fault(
            Check.REGION,
            f"{region} does not offer Flex Consumption, which the Function App runs on",
            "Choose another region: az functionapp list-flexconsumption-locations",
        )
    ]


def check_python(region: str, wanted: str, offered: Iterable[str]) -> list[Finding]:
    """Whether Flex Consumption runs this version of Python there."""
    known = sorted(offered)
    if not known:
        return [
            unknown(
                Check.REGION,
                f"{region} does not say which versions of Python it has",
                f"az functionapp list-flexconsumption-runtimes --location {region} "
                "--runtime python",
            )
        ]
    if wanted in known:
        return [ok(Check.REGION, f"{region} has Python {wanted}")]
    return [
        fault(
            Check.REGION,
            f"{region} has no Python {wanted} on Flex Consumption, but {', '.join(known)}",
            "Set pythonVersion to one of these, 3.11 at least, or choose another region.",
        )
    ]


def check_group(name: str, group: Group | None, wanted: str | None) -> list[Finding]:
    """Whether there is a group, and where."""
    if group is None:
        return [
            warning(
                Check.GROUP,
                f"there is no resource group {name} yet, or you may not see it",
                f"az group create --name {name} --location {wanted or 'REGION'}, unless the "
                "deployment makes it.",
            )
        ]
    return [ok(Check.GROUP, f"{group.name} is in {group.location}")]


def check_names(
    names: ResourceNames, ours: Iterable[Resource], answers: Mapping[str, NameAnswer]
) -> list[Finding]:
    """Each name that somebody else has; `answers` are by name."""
    here = {(resource.type.lower(), resource.name) for resource in ours}
    found = []
    for kind, name in (
        (_ACCOUNT, names.lake_account),
        (_ACCOUNT, names.runtime_account),
        (_SITE, names.function_app),
    ):
        answer = answers[name]
        if (kind, name) in here:
            found.append(ok(Check.NAMES, f"{name} is there already, in this group"))
        elif answer.free:
            found.append(ok(Check.NAMES, f"{name} is free"))
        else:
            found.append(
                fault(
                    Check.NAMES,
                    f"{name} cannot be had: {answer.why}",
                    "Choose another `name` in the parameters: it is part of it. An account of "
                    "your own that was deleted keeps its name for a while.",
                )
            )
    return found


def check_locks(locks: Iterable[Lock]) -> list[Finding]:
    """A lock lets nothing be changed, or only nothing be deleted."""
    found = []
    for lock in locks:
        if lock.level == "ReadOnly":
            found.append(
                fault(
                    Check.LOCKS,
                    f"the lock {lock.name} lets nothing be changed here",
                    f"az lock delete --ids {lock.id}, or another resource group.",
                )
            )
        else:
            found.append(
                warning(
                    Check.LOCKS,
                    f"the lock {lock.name} lets nothing be deleted here",
                    "A deployment that takes nothing away goes through. One that does, such as a "
                    "publisher's role, fails; scripts/remove.sh stops before it begins.",
                )
            )
    return found or [ok(Check.LOCKS, "none")]


def check_earlier(
    name: str, deployments: Iterable[Deployment], resources: Iterable[Resource]
) -> list[Finding]:
    """What is in the group already, and whether a deployment would get in its way.

    `deployments` are the newest first.
    """
    newest: dict[str, Deployment] = {}
    for one in deployments:
        newest.setdefault(one.name, one)
    ours = (name, data_stack(name))
    found = [_last(newest[called]) for called in ours if called in newest]
    others = {made for one in resources if (made := tagged(one.tags))} - {name}
    for other in sorted(others):
        found.append(
            warning(
                Check.EARLIER,
                f"the group holds a deployment of the name {other!r}; {name!r} would be a second "
                "one beside it, with accounts of its own",
                f"To change the first, give `name` = {other!r}. A second has stacks of its own: "
                f"give --name {name} to `verify` and to scripts/remove.sh.",
            )
        )
    return found or [ok(Check.EARLIER, "nothing of openmirror is in the group yet")]


def _last(last: Deployment) -> Finding:
    if last.state is DeploymentState.RUNNING:
        return fault(
            Check.EARLIER,
            f"{last.name} is still being deployed; a second time at once fails",
            f"Wait until it has ended: az stack group show --name {last.name} --resource-group "
            "GROUP --query provisioningState",
        )
    if last.state is DeploymentState.FAILED:
        why = last.error or "no reason is given"
        return warning(
            Check.EARLIER,
            f"the last deployment of {last.name} failed half way: {why}",
            "Remove the cause and deploy again: what is there already is taken up, and nothing is "
            "made twice.",
        )
    return ok(Check.EARLIER, f"{last.name} is there, and would be brought up to date")


def check_workspace(url: str, ours: str, theirs: str | None) -> list[Finding]:
    """Whether the workspace trusts the tenant that the identities are made in."""
    if theirs is None:
        return [
            unknown(
                Check.WORKSPACE,
                f"{url} does not say which tenant it belongs to, or cannot be reached from here",
                "Open it in a browser: the identities can start its job only if it belongs to "
                f"the tenant {ours}.",
            )
        ]
    if theirs.lower() != ours.lower():
        return [
            fault(
                Check.WORKSPACE,
                f"{url} belongs to the tenant {theirs}, the subscription to {ours}: an identity "
                "of one cannot ask the other for anything",
                "Take a workspace of the subscription's tenant, or let a runner run elsewhere, "
                "always on, without databricksWorkspaceUrl.",
            )
        ]
    return [ok(Check.WORKSPACE, f"{url} belongs to the subscription's tenant")]
