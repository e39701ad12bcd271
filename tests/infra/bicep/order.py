"""Whether what a deployment looks up is there by then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.infra.bicep.deployed import Deployed, Deployment
from tests.infra.bicep.expansion import STACKS
from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.syntax import Expression, Module, Resource, Template, symbol, walk


def waits_for(template: Template) -> Mapping[str, frozenset[str]]:
    """For each module or resource, all those that stand before Azure begins with it."""
    declared: dict[str, Module | Resource] = {**template.modules, **template.resources}
    direct = {
        name: frozenset(_named(template, each.value)) - {name} for name, each in declared.items()
    }
    whole: dict[str, frozenset[str]] = {}

    def reach(name: str, above: frozenset[str]) -> frozenset[str]:
        if name not in whole:
            if name in above:
                raise ValueError(f"{template.path}: {name} waits for itself")
            further = [reach(each, above | {name}) for each in direct[name]]
            whole[name] = direct[name].union(*further)
        return whole[name]

    for name in declared:
        reach(name, frozenset())
    return whole


def _named(template: Template, value: Expression) -> Iterator[str]:
    for each in walk(value):
        name = symbol(each)
        if name is None:
            continue
        if name in template.modules or name in template.resources:
            yield name
        elif name in template.variables:
            yield from _named(template, template.variables[name].value)


def order(folder: Folder, deployment: Deployment) -> list[Finding]:
    """What a module looks up that another makes, without waiting for it; or that nobody makes."""
    before: dict[str, frozenset[str]] = {}
    earlier: frozenset[str] = frozenset()
    for name in STACKS:
        template = folder.templates[name]
        waiting = waits_for(template)
        before |= {each: waiting[each] | earlier for each in waiting}
        # What stands in the template itself, and in no module of it.
        before[""] = earlier
        earlier |= frozenset(template.modules)
    made = {each.id: each for each in deployment.resources}
    return sorted(set(_lost(deployment, made, before)))


def _lost(
    deployment: Deployment, made: Mapping[str, Deployed], before: Mapping[str, frozenset[str]]
) -> Iterator[Finding]:
    for wanted in deployment.existing:
        maker = made.get(wanted.id) or _inside(wanted, made)
        if maker is None:
            yield Finding(wanted.path, wanted.line, f"nothing makes {wanted.type} {wanted.name}")
        elif maker.module not in {wanted.module, *before.get(wanted.module, ())}:
            yield Finding(
                wanted.path,
                wanted.line,
                f"{wanted.module} does not wait for {maker.module}, which makes {wanted.name}",
            )


def _inside(wanted: Deployed, made: Mapping[str, Deployed]) -> Deployed | None:
    """A subnet is made as part of its network."""
    above, _, kind = wanted.id.rpartition("/")[0].rpartition("/")
    network = made.get(above)
    inner = network.properties.get(kind, []) if network else []
    name = wanted.name.rpartition("/")[2]
    return network if any(each.get("name") == name for each in inner) else None


def first(folder: Folder, name: str, *, before: str, template: str = "main.bicep") -> bool:
    """Whether one module stands before another is begun."""
    return name in waits_for(folder.templates[template])[before]
