"""What removing a deployment takes away, in which order, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openmirror.deployment.naming import LETTERS_CONTAINER, TAG
from openmirror.ports.management import Resource

_ORDER = (
    "microsoft.web/sites",
    "microsoft.web/serverfarms",
    "microsoft.eventgrid/systemtopics",
    "microsoft.insights/scheduledqueryrules",
    "microsoft.insights/metricalerts",
    "microsoft.insights/actiongroups",
    "microsoft.insights/workbooks",
    "microsoft.insights/components",
    "microsoft.operationalinsights/workspaces",
    "microsoft.network/privateendpoints",
    "microsoft.storage/storageaccounts",
    "microsoft.databricks/workspaces",
    "microsoft.databricks/accessconnectors",
    "microsoft.managedidentity/userassignedidentities",
    "microsoft.network/privatednszones/virtualnetworklinks",
    "microsoft.network/privatednszones",
    "microsoft.network/virtualnetworks",
    "microsoft.network/networksecuritygroups",
)
ACCOUNT = "microsoft.storage/storageaccounts"
ENDPOINT = "microsoft.network/privateendpoints"
WORKSPACE = "microsoft.databricks/workspaces"
TOPIC = "microsoft.eventgrid/systemtopics"
_NETWORK = "microsoft.network/"


def names_in(resources: Iterable[Resource]) -> list[str]:
    """The deployments that a group holds, by `name`."""
    return sorted({one.tags[TAG] for one in resources if TAG in one.tags})


@dataclass(frozen=True)
class Removal:
    """What would be done."""

    gone: tuple[Resource, ...]
    """In the order in which they are deleted."""
    kept: tuple[Resource, ...]


def plan_removal(
    name: str,
    resources: Iterable[Resource],
    targets: Mapping[str, str],
    *,
    with_data: bool,
) -> Removal:
    """Everything of one deployment; `targets` says where each private endpoint leads, by id.

    Without `with_data` the lake account stays, and all that one needs to reach it; so does a
    Databricks workspace, which may hold more than the runner.
    """
    ours = [one for one in resources if one.tags.get(TAG) == name]
    lake = next((one for one in ours if is_lake(one, name)), None)
    data = {one.id for one in ours if is_lake(one, name) or one.type.lower() == WORKSPACE}
    if lake is not None and _is_private(lake, targets):
        data |= {one.id for one in ours if _leads_to(one, lake, targets)}
    kept = [] if with_data else [one for one in ours if one.id in data]
    left = {one.id for one in kept}
    gone = sorted((one for one in ours if one.id not in left), key=_rank)
    return Removal(tuple(gone), tuple(sorted(kept, key=_rank)))


def is_lake(resource: Resource, name: str) -> bool:
    """Whether it holds the data: what was landed, and the tables."""
    return resource.type.lower() == ACCOUNT and resource.name.startswith(f"st{name}lake")


def _is_private(lake: Resource, targets: Mapping[str, str]) -> bool:
    return lake.id.lower() in {target.lower() for target in targets.values()}


def _leads_to(one: Resource, lake: Resource, targets: Mapping[str, str]) -> bool:
    if one.type.lower() == ENDPOINT:
        return targets.get(one.id, "").lower() == lake.id.lower()
    return one.type.lower().startswith(_NETWORK)


def is_app(resource: Resource) -> bool:
    """Whether it runs the functions, which have roles until they are gone."""
    return resource.type.lower().startswith("microsoft.web/")


def unhandled(lengths: Mapping[str, int | None], letters: int) -> list[str]:
    """What is lost with the queues and the dead letters, for whoever is asked."""
    told = [f"{length} message(s) in {queue}" for queue, length in lengths.items() if length]
    if letters:
        told.append(f"{letters} letter(s) in {LETTERS_CONTAINER}")
    return told


def _rank(resource: Resource) -> tuple[int, str]:
    kind = resource.type.lower()
    # What is not known goes before the identities that it may use.
    place = _ORDER.index(kind) if kind in _ORDER else _ORDER.index(ACCOUNT)
    return place, resource.id
