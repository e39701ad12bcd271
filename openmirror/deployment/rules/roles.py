"""The roles that a deployment gives its identities: who, which, where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, warning
from openmirror.deployment.rules.outputs import Outputs
from openmirror.ports.dead_letters import CONTAINER
from openmirror.ports.management import Assignment
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.table.layout import LAKE, LANDING


class Role(StrEnum):
    """A role of Azure's own, by its GUID."""

    BLOB_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
    BLOB_OWNER = "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"
    BLOB_DELEGATOR = "db58b8e5-c6ad-4a2a-8342-4190687cbf4a"
    QUEUE_CONTRIBUTOR = "974c5e8b-45b9-4653-ba55-5f855dd0fb88"
    QUEUE_SENDER = "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a"
    TABLE_CONTRIBUTOR = "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"
    METRICS_PUBLISHER = "3913510d-42f4-4e42-8a64-420c390055eb"


ROLE_NAMES: Mapping[Role, str] = {
    Role.BLOB_CONTRIBUTOR: "Storage Blob Data Contributor",
    Role.BLOB_OWNER: "Storage Blob Data Owner",
    Role.BLOB_DELEGATOR: "Storage Blob Delegator",
    Role.QUEUE_CONTRIBUTOR: "Storage Queue Data Contributor",
    Role.QUEUE_SENDER: "Storage Queue Data Message Sender",
    Role.TABLE_CONTRIBUTOR: "Storage Table Data Contributor",
    Role.METRICS_PUBLISHER: "Monitoring Metrics Publisher",
}


class Who(StrEnum):
    """An identity that a deployment makes."""

    FUNCTIONS = "the functions' identity"
    RUNNER = "the runner's identity"
    TOPIC = "the system topic's identity"


class Kind(StrEnum):
    """What a role is given on."""

    LAKE_ACCOUNT = "the lake account"
    RUNTIME_ACCOUNT = "the runtime account"
    LAKE_CONTAINER = "the lake account's container"
    RUNTIME_CONTAINER = "the runtime account's container"
    QUEUE = "the queue"
    INSIGHTS = "Application Insights"


@dataclass(frozen=True)
class GrantTarget:
    """A resource that a role is given on."""

    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else self.kind

    def scope(self, outputs: Outputs) -> str:
        """How the resource's id ends."""
        lake = f"Microsoft.Storage/storageAccounts/{outputs.lake_account}"
        runtime = f"Microsoft.Storage/storageAccounts/{outputs.runtime_account}"
        match self.kind:
            case Kind.LAKE_ACCOUNT:
                return lake
            case Kind.RUNTIME_ACCOUNT:
                return runtime
            case Kind.LAKE_CONTAINER:
                return f"{lake}/blobServices/default/containers/{self.name}"
            case Kind.RUNTIME_CONTAINER:
                return f"{runtime}/blobServices/default/containers/{self.name}"
            case Kind.QUEUE:
                return f"{runtime}/queueServices/default/queues/{self.name}"
            case Kind.INSIGHTS:
                insights = outputs.application_insights.rpartition("/")[2]
                return f"Microsoft.Insights/components/{insights}"


@dataclass(frozen=True)
class Grant:
    """One role of one identity."""

    who: Who
    role: Role
    place: GrantTarget
    conditioned: bool = False
    """Whether a condition narrows it to some paths."""

    def __str__(self) -> str:
        return f"{ROLE_NAMES[self.role]!r} on {self.place}"


_ZONE = GrantTarget(Kind.LAKE_CONTAINER, LANDING)
_TABLES = GrantTarget(Kind.LAKE_CONTAINER, LAKE)
_DEAD_LETTERS = GrantTarget(Kind.RUNTIME_CONTAINER, CONTAINER)
_RUNTIME = GrantTarget(Kind.RUNTIME_ACCOUNT)
_INSIGHTS = GrantTarget(Kind.INSIGHTS)
QUEUES = (EVENTS_QUEUE, EVENTS_QUEUE + POISON_SUFFIX, WORK_QUEUE, WORK_QUEUE + POISON_SUFFIX)

GRANTS: tuple[Grant, ...] = (
    Grant(Who.FUNCTIONS, Role.BLOB_CONTRIBUTOR, _ZONE),
    Grant(Who.FUNCTIONS, Role.BLOB_CONTRIBUTOR, _TABLES, conditioned=True),
    *(
        Grant(Who.FUNCTIONS, Role.QUEUE_CONTRIBUTOR, GrantTarget(Kind.QUEUE, name))
        for name in QUEUES
    ),
    Grant(Who.FUNCTIONS, Role.BLOB_CONTRIBUTOR, _DEAD_LETTERS),
    Grant(Who.FUNCTIONS, Role.BLOB_OWNER, _RUNTIME),
    Grant(Who.FUNCTIONS, Role.TABLE_CONTRIBUTOR, _RUNTIME),
    Grant(Who.FUNCTIONS, Role.METRICS_PUBLISHER, _INSIGHTS),
    Grant(Who.RUNNER, Role.BLOB_CONTRIBUTOR, _ZONE, conditioned=True),
    Grant(Who.RUNNER, Role.BLOB_CONTRIBUTOR, _TABLES),
    Grant(Who.RUNNER, Role.BLOB_DELEGATOR, GrantTarget(Kind.LAKE_ACCOUNT)),
    Grant(Who.RUNNER, Role.QUEUE_CONTRIBUTOR, GrantTarget(Kind.QUEUE, WORK_QUEUE)),
    Grant(Who.RUNNER, Role.QUEUE_CONTRIBUTOR, GrantTarget(Kind.QUEUE, WORK_QUEUE + POISON_SUFFIX)),
    Grant(Who.RUNNER, Role.METRICS_PUBLISHER, _INSIGHTS),
    Grant(Who.TOPIC, Role.QUEUE_SENDER, GrantTarget(Kind.QUEUE, EVENTS_QUEUE)),
    Grant(Who.TOPIC, Role.BLOB_CONTRIBUTOR, _DEAD_LETTERS),
)
"""Those of infra/bicep/roles.bicep that do not depend on a parameter."""


def check_roles(
    outputs: Outputs, given: Mapping[Who, Iterable[Assignment] | None]
) -> list[Finding]:
    """Every role that is missing; None of an identity says that there is no such identity."""
    found = list(_missing(outputs, given))
    return found or [
        ok(Check.ROLES, f"all {len(GRANTS)} are assigned (a new one takes minutes to count)")
    ]


def _missing(
    outputs: Outputs, given: Mapping[Who, Iterable[Assignment] | None]
) -> Iterator[Finding]:
    for who, assignments in given.items():
        if assignments is None:
            yield fault(Check.ROLES, f"there is no identity of {_bare(who)}", "Deploy again.")
            continue
        have = list(assignments)
        for grant in GRANTS:
            if grant.who is who:
                yield from _filtered(grant, grant.place.scope(outputs), have)


def _bare(who: Who) -> str:
    return who.value.removesuffix("'s identity").removesuffix("' identity")


def _filtered(grant: Grant, scope: str, have: list[Assignment]) -> Iterator[Finding]:
    there = [
        one
        for one in have
        if one.role.lower() == grant.role and one.scope.lower().endswith("/" + scope.lower())
    ]
    if not there:
        yield fault(
            Check.ROLES,
            f"{grant.who} lacks {grant}",
            "Deploy again, which assigns it; then wait: a new role takes up to ten minutes to "
            "count.",
        )
    elif grant.conditioned and not any(one.conditioned for one in there):
        yield warning(
            Check.ROLES,
            f"{grant.who} has {grant} without the condition that narrows it",
            "Delete that assignment and deploy again.",
        )
    elif not grant.conditioned and all(one.conditioned for one in there):
        yield fault(
            Check.ROLES,
            f"{grant.who} has {grant} under a condition only",
            "Delete that assignment and deploy again.",
        )
