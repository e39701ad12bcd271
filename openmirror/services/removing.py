"""Removing a deployment: what goes, in an order that loses nothing, until nothing is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from openmirror.deployment.naming import TAG
from openmirror.deployment.removal import TOPIC, Removal, is_app, names_in, plan_removal
from openmirror.errors import AccessDenied, NotThere, WrongRequest
from openmirror.ports.management import Removable, Resource

_WITH_PRINCIPALS = ("microsoft.managedidentity/userassignedidentities", TOPIC)


@dataclass(frozen=True)
class Removing:
    """One deployment of one group."""

    azure: Removable
    group: str

    def name(self, wanted: str | None) -> str | None:
        """Which deployment is meant: None where there is none of it.

        Raises WrongRequest when the group holds several and none is named.
        """
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
        resources = [one for one in self.azure.resources(self.group) if one.tags.get(TAG) == name]
        targets = {
            one.id: target
            for one in resources
            if (target := self.azure.private_target(one)) is not None
        }
        removal = plan_removal(name, resources, targets, with_data=with_data)
        self._refuse_locks(removal)
        return removal

    def _refuse_locks(self, removal: Removal) -> None:
        """Before anything is deleted: half a deployment is worse than a whole one."""
        for lock in self.azure.locks(self.group):
            scope = lock.id.lower().partition("/providers/microsoft.authorization/locks")[0]
            if any(one.id.lower().startswith(scope) for one in removal.gone):
                raise WrongRequest(
                    f"the lock {lock.name} ({lock.level}) is in the way, and nothing was deleted. "
                    f"If it may go: az lock delete --ids {lock.id}"
                )

    def carry_out(self, removal: Removal) -> Iterator[str]:
        """Delete it; says each thing before it goes. What is gone already is passed over.

        First nothing more is delivered, then nothing runs any more, then nobody has a role left.
        """
        for topic in removal.gone:
            if topic.type.lower() == TOPIC:
                yield from self._silence(topic)
        yield from self._deleted(one for one in removal.gone if is_app(one))
        yield from self._disown(removal)
        yield from self._deleted(one for one in removal.gone if not is_app(one))

    def _deleted(self, resources: Iterable[Resource]) -> Iterator[str]:
        for one in resources:
            yield f"deleting {one.type} {one.name}"
            self.azure.delete(one.id)

    def _silence(self, topic: Resource) -> Iterator[str]:
        try:
            every = self.azure.subscriptions_of(topic)
        except NotThere:
            return
        for one in every:
            yield f"deleting event subscription {one.rpartition('/')[2]}"
            self.azure.delete(one)

    def _disown(self, removal: Removal) -> Iterator[str]:
        """Roles of identities that go; on what is kept they would stay as those of nobody."""
        for one in removal.gone:
            if one.type.lower() not in _WITH_PRINCIPALS:
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
                yield f"taking {len(roles)} role(s) away from {one.name}"
            for role in roles:
                try:
                    self.azure.delete_assignment(role.id)
                except (AccessDenied, WrongRequest) as error:
                    # Harmless: nobody can be that principal any more.
                    yield f"a role stays: {error} (az role assignment delete --ids {role.id})"
