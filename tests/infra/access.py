"""What storage asks the roles for, operation by operation, and whether assignments give it.

From learn.microsoft.com: rest/api/storageservices/authorize-with-azure-active-directory (which
action each operation of the Blob and Queue services needs), storage/blobs/
storage-auth-abac-attributes (attributes of each action) and storage-auth-abac-security (renames ask
for `move/action`; conditions of roles are not asked for whole containers).

The Data Lake endpoint has no such table of its own. Where the documents leave open which of
several actions it asks for, both ends are kept: what is `surely` enough, and what `maybe` is. So an
operation is allowed or refused here only where it is so whichever holds; all else is neither.

- A listing gives the folder as the prefix; with or without its last slash is not documented.
- Making a file, appending and flushing: `write`, `add/action`, or both.
- A rename: `move/action` on both ends, or `delete` of the source and a write of the destination. A
  signature with either of these renames, as the testers of Storage Explorer found.
- Deleting a folder with all in it: `delete` of the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tests.infra.abac import CONTAINER, LIST, PATH, PREFIX, Asked, holds
from tests.infra.role_definitions import Role

BLOB = "Microsoft.Storage/storageAccounts/blobServices/containers"
QUEUE = "Microsoft.Storage/storageAccounts/queueServices/queues"

Scope = tuple[str, ...]
"""A place in the resource group: an account, then the service, then a container or queue."""
LAKE, RUNTIME = "lake", "runtime"
"""The two accounts."""
INSIGHTS = "insights"
"""Application Insights."""


@dataclass(frozen=True)
class Check:
    """One question that the service asks of the roles."""

    scope: Scope
    action: str
    suboperation: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_data: bool = True


@dataclass(frozen=True)
class Assignment:
    """One role assignment, as it would stand."""

    principal: str
    role: Role
    scope: Scope
    condition: str | None = None
    description: str = ""

    def gives(self, check: Check) -> bool:
        """Whether it lets this through."""
        if check.scope[: len(self.scope)] != self.scope:
            return False
        if not check.is_data:
            # Conditions speak of data alone.
            return self.role.allows(check.action)
        if not self.role.allows_data(check.action):
            return False
        asked = Asked(check.action, check.suboperation, check.attributes)
        return self.condition is None or holds(self.condition, asked)


Checks = tuple[Check, ...]


@dataclass(frozen=True)
class Operation:
    """One request as storage sees it."""

    what: str
    surely: tuple[Checks, ...]
    """Rights of which any one set is enough, whatever is not documented."""
    maybe: tuple[Checks, ...]
    """Rights of which any one set may be enough."""


class Verdict(StrEnum):
    """What comes of an operation."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    UNCLEAR = "depends on what is not documented"


def verdict(assignments: Iterable[Assignment], principal: str, operation: Operation) -> Verdict:
    """What comes of an operation that a principal asks for; rights of all assignments add up."""
    own = [one for one in assignments if one.principal == principal]

    def given(checks: Checks) -> bool:
        return all(any(one.gives(check) for one in own) for check in checks)

    if any(map(given, operation.surely)):
        return Verdict.ALLOWED
    return Verdict.UNCLEAR if any(map(given, operation.maybe)) else Verdict.REFUSED


# -- Blobs, files and folders


@dataclass(frozen=True)
class Files:
    """A container, and what can be asked of it."""

    account: str
    name: str

    @property
    def scope(self) -> Scope:
        return (self.account, "blob", self.name)

    def read(self, path: str) -> Operation:
        """Content or properties of a file or folder."""
        return _one(f"read {self.name}/{path}", self._on(path, "read"))

    def list(self, folder: str) -> Operation:
        """What lies in a folder; the container's root is empty."""
        spelled = (folder, f"{folder}/") if folder else ("",)
        asked = tuple(self._listing(prefix) for prefix in spelled)
        return Operation(f"list {self.name}/{folder}", (asked,), tuple((one,) for one in asked))

    def list_names(self, prefix: str) -> Operation:
        """Blobs whose names begin so: at the Blob endpoint the prefix is what was sent."""
        return _one(f"list {self.name}/{prefix}*", self._listing(prefix))

    def write(self, path: str) -> Operation:
        """Make or replace a file, append to it, flush it, or make a folder."""
        write, add = self._on(path, "write"), self._on(path, "add/action")
        return Operation(f"write {self.name}/{path}", ((write, add),), ((write,), (add,)))

    def change(self, path: str) -> Operation:
        """Properties, metadata, blocks and leases of what is there."""
        return _one(f"change {self.name}/{path}", self._on(path, "write"))

    def delete(self, path: str) -> Operation:
        """A file, or a folder with all in it."""
        return _one(f"delete {self.name}/{path}", self._on(path, "delete"))

    def rename(self, source: str, path: str) -> Operation:
        """A file, or a folder with all in it, within the container."""
        moves = (self._on(source, "move/action"), self._on(path, "move/action"))
        deletes = self._on(source, "delete")
        write, add = self._on(path, "write"), self._on(path, "add/action")
        return Operation(
            f"rename {self.name}/{source} to {path}",
            ((*moves, deletes, write, add),),
            (moves, (deletes, write), (deletes, add)),
        )

    def set_access(self, path: str) -> Operation:
        """Owner or access control list of a file."""
        owner = self._on(path, "manageOwnership/action")
        access = self._on(path, "modifyPermissions/action")
        return Operation(f"set access of {self.name}/{path}", ((owner, access),), ((access,),))

    def describe(self) -> Operation:
        """The container's own properties."""
        return _one(f"describe {self.name}", self._itself("read"))

    def make(self) -> Operation:
        """The container itself."""
        return _one(f"make {self.name}", self._itself("write"))

    def remove(self) -> Operation:
        """The container, with all in it."""
        return _one(f"remove {self.name}", self._itself("delete"))

    def _on(self, path: str, name: str) -> Check:
        attributes = {PATH: path, CONTAINER: self.name}
        return Check(self.scope, f"{BLOB}/blobs/{name}", attributes=attributes)

    def _listing(self, prefix: str) -> Check:
        attributes = {PREFIX: prefix, CONTAINER: self.name}
        return Check(self.scope, f"{BLOB}/blobs/read", LIST, attributes)

    def _itself(self, name: str) -> Check:
        return Check(self.scope, f"{BLOB}/{name}", is_data=False)


# -- Queues


@dataclass(frozen=True)
class Messages:
    """A queue, and what can be asked of it."""

    name: str
    account: str = RUNTIME

    @property
    def scope(self) -> Scope:
        return (self.account, "queue", self.name)

    def send(self) -> Operation:
        return self._any("send to", ("messages/add/action",), ("messages/write",))

    def take(self) -> Operation:
        either = ("messages/process/action",), ("messages/delete", "messages/read")
        return self._any("take from", *either)

    def peek(self) -> Operation:
        return self._any("peek into", ("messages/read",))

    def renew(self) -> Operation:
        return self._any("hide a message of", ("messages/write",))

    def delete(self) -> Operation:
        return self._any("delete from", ("messages/process/action",), ("messages/delete",))

    def clear(self) -> Operation:
        return self._any("clear", ("messages/delete",))

    def count(self) -> Operation:
        """The queue's properties, its length among them."""
        return _one(f"count {self.name}", self._itself("read"))

    def make(self) -> Operation:
        return _one(f"make {self.name}", self._itself("write"))

    def remove(self) -> Operation:
        return _one(f"remove {self.name}", self._itself("delete"))

    def _any(self, what: str, *either: tuple[str, ...]) -> Operation:
        enough = tuple(
            tuple(Check(self.scope, f"{QUEUE}/{name}") for name in names) for names in either
        )
        return Operation(f"{what} {self.name}", enough, enough)

    def _itself(self, name: str) -> Check:
        return Check(self.scope, f"{QUEUE}/{name}", is_data=False)


def _one(what: str, check: Check) -> Operation:
    return Operation(what, ((check,),), ((check,),))
