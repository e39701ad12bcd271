"""Azure's built-in roles, as far as the deployment assigns them: what each allows.

As Azure documents them (learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage
of 2026-07-01, and .../monitor of 2026-02-23). `actions` are operations on the resource itself: of a
storage account's, those on whole containers and queues are asked for by data requests as well.
A condition narrows data actions only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

_BLOB = "Microsoft.Storage/storageAccounts/blobServices"
_QUEUE = "Microsoft.Storage/storageAccounts/queueServices"
_TABLE = "Microsoft.Storage/storageAccounts/tableServices"


@dataclass(frozen=True)
class Role:
    """One role definition."""

    name: str
    guid: str
    actions: frozenset[str] = frozenset()
    not_actions: frozenset[str] = frozenset()
    data_actions: frozenset[str] = frozenset()
    not_data_actions: frozenset[str] = frozenset()

    def allows(self, action: str) -> bool:
        """Whether it holds an operation on a resource."""
        return _any(action, self.actions) and not _any(action, self.not_actions)

    def allows_data(self, action: str) -> bool:
        """Whether it holds an operation on data, before any condition is asked."""
        return _any(action, self.data_actions) and not _any(action, self.not_data_actions)


@cache  # a few dozen actions, asked hundreds of thousands of times
def _any(action: str, patterns: frozenset[str]) -> bool:
    # Azure ignores case in the names of operations, and `*` crosses slashes.
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)


def _of(service: str, *names: str) -> frozenset[str]:
    return frozenset(f"{service}/{name}" for name in names)


_DELEGATES = "generateUserDelegationKey/action"

BLOB_READER = Role(
    "Storage Blob Data Reader",
    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    actions=_of(_BLOB, "containers/read", _DELEGATES),
    data_actions=_of(_BLOB, "containers/blobs/read"),
)
BLOB_CONTRIBUTOR = Role(
    "Storage Blob Data Contributor",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    actions=_of(_BLOB, "containers/delete", "containers/read", "containers/write", _DELEGATES),
    data_actions=_of(
        f"{_BLOB}/containers/blobs", "read", "write", "delete", "move/action", "add/action"
    ),
)
BLOB_OWNER = Role(
    "Storage Blob Data Owner",
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    actions=_of(_BLOB, "containers/*", _DELEGATES),
    data_actions=_of(_BLOB, "containers/blobs/*"),
)
BLOB_DELEGATOR = Role(
    "Storage Blob Delegator",
    "db58b8e5-c6ad-4a2a-8342-4190687cbf4a",
    actions=_of(_BLOB, _DELEGATES),
)
QUEUE_CONTRIBUTOR = Role(
    "Storage Queue Data Contributor",
    "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    actions=_of(_QUEUE, "queues/delete", "queues/read", "queues/write"),
    data_actions=_of(f"{_QUEUE}/queues/messages", "delete", "read", "write", "process/action"),
)
QUEUE_PROCESSOR = Role(
    "Storage Queue Data Message Processor",
    "8a0f0c08-91a1-4084-bc3d-661d67233fed",
    data_actions=_of(f"{_QUEUE}/queues/messages", "read", "process/action"),
)
QUEUE_SENDER = Role(
    "Storage Queue Data Message Sender",
    "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a",
    data_actions=_of(f"{_QUEUE}/queues/messages", "add/action"),
)
QUEUE_READER = Role(
    "Storage Queue Data Reader",
    "19e7f393-937e-4f77-808e-94535e297925",
    actions=_of(_QUEUE, "queues/read"),
    data_actions=_of(f"{_QUEUE}/queues/messages", "read"),
)
TABLE_CONTRIBUTOR = Role(
    "Storage Table Data Contributor",
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
    actions=_of(_TABLE, "tables/read", "tables/write", "tables/delete"),
    data_actions=_of(
        f"{_TABLE}/tables/entities", "read", "write", "delete", "add/action", "update/action"
    ),
)
METRICS_PUBLISHER = Role(
    "Monitoring Metrics Publisher",
    "3913510d-42f4-4e42-8a64-420c390055eb",
    actions=frozenset(
        {
            "Microsoft.Insights/Register/Action",
            "Microsoft.Support/*",
            "Microsoft.Resources/subscriptions/resourceGroups/read",
        }
    ),
    data_actions=frozenset(
        {"Microsoft.Insights/Metrics/Write", "Microsoft.Insights/Telemetry/Write"}
    ),
)

ROLES: Mapping[str, Role] = {
    role.guid: role
    for role in (
        BLOB_READER,
        BLOB_CONTRIBUTOR,
        BLOB_OWNER,
        BLOB_DELEGATOR,
        QUEUE_CONTRIBUTOR,
        QUEUE_PROCESSOR,
        QUEUE_SENDER,
        QUEUE_READER,
        TABLE_CONTRIBUTOR,
        METRICS_PUBLISHER,
    )
}
"""By guid."""
