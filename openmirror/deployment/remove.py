"""Removing a deployment: what goes, in an order that loses nothing, until nothing is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from openmirror.deployment.rules.naming import tagged
from openmirror.deployment.rules.removal import Removal, is_app, names_in, plan_removal
from openmirror.errors import AccessDenied, NotThere, WrongRequest
from openmirror.ports.management import Group, Removable
from openmirror.ports.resources import Resource, ResourceType

_WITH_PRINCIPALS = (ResourceType.IDENTITY, ResourceType.TOPIC)


@dataclass(frozen=True)
class Reported:
    """One thing that is done, or could not be."""

    text: str
    refused: bool = False
    """Whether a resource stays that should go."""


@dataclass(frozen=True)
class Removing:
    """One deployment of one group."""

    azure: Removable
    group: str

    def name(self, wanted: str | None) -> str | None:
        """Which deployment is meant: None where there is none of it.

        Raises WrongRequest when there is no such group, or it holds several and none is named.
        """
        self._group()
        names = names_in(self.azure.resources(self.group))
        if wanted is not None:
            return wanted if wanted in names else None
        if len(names) > 1:
            raise WrongRequest(
                f"the group {self.group} holds the deployments {', '.join(names)}: say which, "
                "--name"
            )
        return names[0] if names else None

    def plan(self, name: str, *, with_data: bool) -> Removal:
        """What would go; raises WrongRequest where a lock is in the way."""
        resources = self.azure.resources(self.group)
        targets = {
            one.id: target
            for one in resources
            if tagged(one.tags) == name and (target := self.azure.private_target(one)) is not None
        }
        removal = plan_removal(name, self._group(), resources, targets, with_data=with_data)
        self._refuse_locks(removal)
        return removal

    def _group(self) -> Group:
        found = self.azure.group(self.group)
        if found is None:
            raise WrongRequest(
                f"there is no resource group {self.group} in this subscription, or you may not see "
                "it: give another --resource-group or --subscription"
            )
        return found

    def _refuse_locks(self, removal: Removal) -> None:
        """Before anything is deleted: half a deployment is worse than a whole one."""
        for lock in self.azure.locks(self.group):
            scope = lock.id.lower().partition("/providers/microsoft.authorization/locks")[0]
            if any(_meets(one.id.lower(), scope) for one in removal.gone):
                raise WrongRequest(
                    f"the lock {lock.name} ({lock.level}) is in the way, and nothing was deleted. "
                    f"If it may go: az lock delete --ids {lock.id}"
                )

    def carry_out(self, removal: Removal) -> Iterator[Reported]:
        """Delete it; says each thing before it goes. What is gone already is passed over.

        First nothing more is delivered, then nothing runs any more, then nobody has a role left.
        What Azure refuses to delete is reported, and the rest goes on.
        """
        for topic in removal.gone:
            if topic.part is ResourceType.TOPIC:
                yield from self._silence(topic)
        yield from self._deleted(one for one in removal.gone if is_app(one))
        yield from self._disown(removal)
        for setting in removal.settings:
            for step in self._delete("a diagnostic setting of what stays", setting):
                yield replace(step, refused=False)  # it only leads to nothing
        yield from self._deleted(one for one in removal.gone if not is_app(one))

    def _deleted(self, resources: Iterable[Resource]) -> Iterator[Reported]:
        for one in resources:
            yield from self._delete(f"{one.type} {one.name}", one.id)

    def _delete(self, what: str, identity: str) -> Iterator[Reported]:
        yield Reported(f"deleting {what}")
        try:
            self.azure.delete(identity)
        except (AccessDenied, WrongRequest) as error:
            yield Reported(f"{what} stays: {error}", refused=True)

    def _silence(self, topic: Resource) -> Iterator[Reported]:
        try:
            every = self.azure.subscriptions_of(topic)
        except NotThere:
            return
        for one in every:
            yield from self._delete(f"event subscription {one.rpartition('/')[2]}", one)

    def _disown(self, removal: Removal) -> Iterator[Reported]:
        """Roles of identities that go; on what is kept they would stay as those of nobody."""
        for one in removal.gone:
            if one.part not in _WITH_PRINCIPALS:
                continue
            try:
                principal = self.azure.principal_of(one)
            except NotThere:
                continue
            given = self.azure.assignments(self.group, principal) if principal else []
            # What somebody gave it elsewhere is theirs.
            roles = [
                role
                for role in given
                if f"/resourcegroups/{self.group}/".lower() in role.scope.lower()
            ]
            if roles:
                yield Reported(f"taking {len(roles)} role(s) away from {one.name}")
            for role in roles:
                try:
                    self.azure.delete_assignment(role.id)
                except (AccessDenied, WrongRequest) as error:
                    # Harmless: nobody can be that principal any more.
                    remedy = f"az role assignment delete --ids {role.id}"
                    yield Reported(f"a role stays: {error} ({remedy})")


def _meets(resource: str, locked: str) -> bool:
    """Whether deleting a resource touches a locked scope: it, what it is in, or what is in it."""
    return f"{resource}/".startswith(f"{locked}/") or locked.startswith(f"{resource}/")
