"""Before a deployment: everything that would make it fail, or be of no use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from openmirror.deployment.asking import asked
from openmirror.deployment.rules.before import (
    check_earlier,
    check_group,
    check_locks,
    check_names,
    check_providers,
    check_python,
    check_region,
    check_workspace,
    folded,
    providers_needed,
)
from openmirror.deployment.rules.findings import Check, Finding, fault, has_faults, unknown
from openmirror.deployment.rules.naming import NAME
from openmirror.deployment.rules.parameter_rules import check_parameters
from openmirror.deployment.rules.parameters import Parameters
from openmirror.deployment.rules.publisher_role import check_publisher_role
from openmirror.deployment.rules.rights import check_rights
from openmirror.deployment.rules.template import ResourceNames
from openmirror.ports.management import Group, Subscription
from openmirror.ports.workspace import Workspace


@dataclass(frozen=True)
class Intended:
    """What somebody is about to deploy."""

    group: str
    parameters: Parameters
    location: str | None = None
    """The region; by default that of the parameters, or of the group."""


@dataclass(frozen=True)
class Preflight:
    """What is asked; nothing is changed."""

    subscription: Subscription
    workspace: Callable[[str], Workspace]
    """The workspace of a URL."""
    wrong_settings: Callable[[Mapping[str, str]], str | None]
    """What is wrong with app settings of openmirror; None when nothing is."""

    def findings(self, intended: Intended) -> Iterator[Finding]:
        """All of them, each as soon as it is known."""
        parameters = intended.parameters
        found = self._parameters(parameters)
        yield from found
        seen: list[Group | None] = []
        yield from asked(Check.GROUP, lambda: self._group(intended, seen))
        group = seen[0] if seen else None
        region = intended.location or parameters.location or (group.location if group else None)
        needed = providers_needed(parameters)
        yield from asked(
            Check.PROVIDERS, lambda: check_providers(self.subscription.providers(needed))
        )
        yield from self._region(region, parameters.python)
        yield from asked(
            Check.RIGHTS,
            lambda: check_rights(
                self.subscription.permissions(group.name if group else None),
                connects=parameters.uses_databricks,
            ),
        )
        if parameters.has_publishers and not has_faults(found):
            yield from asked(Check.PUBLISHER_ROLE, lambda: self._publisher_role(group, parameters))
        if group is not None:
            yield from self._in(group, parameters)
        else:
            yield unknown(
                Check.NAMES,
                "the names of the accounts and the app come from the group, and none is seen yet",
                "Ask again when the group is there, to know beforehand that they are free.",
            )
        if parameters.workspace and not has_faults(found):
            yield from asked(Check.WORKSPACE, lambda: self._workspace(parameters.workspace))

    def _parameters(self, parameters: Parameters) -> list[Finding]:
        found = check_parameters(parameters)
        if not has_faults(found) and (wrong := self.wrong_settings(parameters.settings)):
            remedy = "Correct `settings` in the parameters file: docs/OPERATIONS.md has them all."
            return [fault(Check.PARAMETERS, wrong, remedy)]
        return found

    def _group(self, intended: Intended, seen: list[Group | None]) -> list[Finding]:
        group = self.subscription.group(intended.group)
        seen.append(group)
        wanted = intended.location or intended.parameters.location
        return check_group(intended.group, group, wanted)

    def _region(self, region: str | None, python: str) -> Iterator[Finding]:
        if region is None:
            yield unknown(
                Check.REGION, "no region is known yet", "Give one: --location, or `location`."
            )
            return
        found = asked(Check.REGION, lambda: check_region(region, self.subscription.flex_regions()))
        yield from found
        if not has_faults(found):
            yield from asked(
                Check.REGION,
                lambda: check_python(
                    region, python, self.subscription.flex_pythons(folded(region))
                ),
            )

    def _publisher_role(self, group: Group | None, parameters: Parameters) -> list[Finding]:
        known = self.subscription.roles(group.name if group else None)
        earlier = self.subscription.deployments(group.name) if group else []
        return check_publisher_role(parameters, known, earlier)

    def _in(self, group: Group, parameters: Parameters) -> Iterator[Finding]:
        ask = self.subscription
        yield from asked(Check.LOCKS, lambda: check_locks(ask.locks(group.name)))
        yield from asked(
            Check.EARLIER,
            lambda: check_earlier(
                parameters.name, ask.deployments(group.name), ask.resources(group.name)
            ),
        )
        # Of a name that breaks the rule nobody knows what would become.
        if NAME.fullmatch(parameters.name):
            yield from asked(Check.NAMES, lambda: self._names(group, parameters.name))

    def _names(self, group: Group, name: str) -> list[Finding]:
        ask, names = self.subscription, ResourceNames.of(name, group.id)
        answers = {
            names.lake_account: ask.account_name(names.lake_account),
            names.runtime_account: ask.account_name(names.runtime_account),
            names.function_app: ask.site_name(names.function_app),
        }
        return check_names(names, ask.resources(group.name), answers)

    def _workspace(self, url: str) -> list[Finding]:
        return check_workspace(url, self.subscription.tenant(), self.workspace(url).tenant())
