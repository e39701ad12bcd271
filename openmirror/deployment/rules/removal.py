"""What removing a deployment takes away, in which order, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openmirror.deployment.rules.naming import tagged
from openmirror.deployment.rules.template import is_lake, is_made, is_runtime
from openmirror.ports.dead_letters import CONTAINER
from openmirror.ports.management import Group
from openmirror.ports.resources import Resource, ResourceType
from openmirror.protocol.counts import counted

_ORDER = tuple(ResourceType)
_NETWORK = frozenset(
    {
        ResourceType.ENDPOINT,
        ResourceType.NETWORK,
        ResourceType.RULES,
        ResourceType.ZONE,
        ResourceType.ZONE_LINK,
    },
)
_APP = frozenset({ResourceType.SITE, ResourceType.PLAN})
_INTERFACE = "microsoft.network/networkinterfaces"
_DIAGNOSTICS = "providers/Microsoft.Insights/diagnosticSettings/openmirror"
"""What sends logs to the workspace that goes."""


def names_in(resources: Iterable[Resource]) -> list[str]:
    """The deployments that a group holds, by `name`."""
    return sorted({name for one in resources if (name := tagged(one.tags))})


@dataclass(frozen=True)
class Removal:
    """What would be done."""

    name: str
    gone: tuple[Resource, ...]
    """In the order in which they are deleted."""
    kept: tuple[Resource, ...] = ()
    """Parts of the deployment that stay, and what they need."""
    others: tuple[Resource, ...] = ()
    """What bears the deployment's tag and is no part of it."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The ids of what stays on a part that is kept, and leads to one that goes."""
        if not any(one.part is ResourceType.LOGS for one in self.gone):
            return ()
        lakes = [f"{one.id}/blobServices/default" for one in self.kept if is_lake(one, self.name)]
        others = [one.id for one in self.kept if one.part is ResourceType.WORKSPACE]
        return tuple(f"{at}/{_DIAGNOSTICS}" for at in (*lakes, *others))

    @property
    def takes_queues(self) -> bool:
        """Whether messages and dead letters go, too."""
        return any(is_runtime(one, self.name) for one in self.gone)


def plan_removal(
    name: str,
    group: Group,
    resources: Iterable[Resource],
    targets: Mapping[str, str],
    *,
    with_data: bool,
) -> Removal:
    """What goes of one deployment; `targets` says where each private endpoint leads, by id.

    A tag alone says little: a policy may give it to whatever is in the group. So only what has a
    part's type and name is deleted. Without `with_data` the lake account stays, and all that one
    needs to reach it; so does a Databricks workspace, which may hold more than the runner.
    """
    every = list(resources)
    bearing = [one for one in every if tagged(one.tags) == name]
    ours = [one for one in bearing if is_made(one, name, group.id)]
    left = set() if with_data else _data(name, ours, targets)
    left |= _shared_zones(every, {one.id for one in ours} - left)
    others = [one for one in bearing if one not in ours and not _comes_with(one, ours)]
    return Removal(
        name,
        gone=_sorted(one for one in ours if one.id not in left),
        kept=_sorted(one for one in ours if one.id in left),
        others=_sorted(others),
    )


def _comes_with(one: Resource, ours: list[Resource]) -> bool:
    """Whether it is a network interface that comes and goes with an endpoint."""
    return one.type.lower() == _INTERFACE and any(
        end.part is ResourceType.ENDPOINT
        and one.name.lower().startswith(f"{end.name.lower()}.nic.")
        for end in ours
    )


def _data(name: str, ours: list[Resource], targets: Mapping[str, str]) -> set[str]:
    lake = next((one for one in ours if is_lake(one, name)), None)
    data = {one.id for one in ours if is_lake(one, name) or one.part is ResourceType.WORKSPACE}
    if lake is not None and _is_private(lake, targets):
        data |= {one.id for one in ours if _leads_to(one, lake, targets)}
    return data


def _is_private(lake: Resource, targets: Mapping[str, str]) -> bool:
    return lake.id.lower() in {target.lower() for target in targets.values()}


def _leads_to(one: Resource, lake: Resource, targets: Mapping[str, str]) -> bool:
    if one.part is ResourceType.ENDPOINT:
        return targets.get(one.id, "").lower() == lake.id.lower()
    return one.part in _NETWORK


def _shared_zones(every: list[Resource], gone: set[str]) -> set[str]:
    """Zones of `gone` with which a network that stays finds its endpoints too.

    Zones have no name of their own: all private deployments of a group share them.
    """
    links = [one for one in every if one.part is ResourceType.ZONE_LINK and one.id not in gone]
    return {
        zone.id
        for zone in every
        if zone.part is ResourceType.ZONE
        and zone.id in gone
        and any(link.id.lower().startswith(f"{zone.id.lower()}/") for link in links)
    }


def is_app(resource: Resource) -> bool:
    """Whether it runs the functions, which have roles until they are gone."""
    return resource.part in _APP


def unhandled(lengths: Mapping[str, int | None], dead_letters: int) -> list[str]:
    """What is lost with the queues and the dead letters, for whoever is asked."""
    lost = [
        f"{counted(length, 'message')} in {queue}" for queue, length in lengths.items() if length
    ]
    if dead_letters:
        lost.append(f"{dead_letters} dead letter(s) in {CONTAINER}")
    return lost


def _sorted(resources: Iterable[Resource]) -> tuple[Resource, ...]:
    return tuple(sorted(resources, key=_rank))


def _rank(resource: Resource) -> tuple[int, str]:
    part = resource.part
    return _ORDER.index(part) if part is not None else len(_ORDER), resource.id
