"""Work that crosses processes: the queue of work items, and the lease of a table.

Both only save work. A work item that is lost, repeated or late changes no result, and neither does
a lease that was lost without anybody noticing (ARCHITECTURE §3).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from openmirror.protocol.names import TableFolder


@dataclass(frozen=True)
class WorkItem:
    """One message of the work queue: reconcile this table."""

    folder: TableFolder
    reason: str
    """Why it was sent, for people: the name of an event's file, `sweep`, a request."""
    correlation: str = ""
    """The identity of the event behind it, which logs carry from event to commit."""


@dataclass(frozen=True)
class Taken:
    """A message that was taken: nobody else sees it for a while."""

    identity: str
    receipt: str
    """Proof of having taken it last; changes with every renewal."""
    work_item: WorkItem | None
    """None when the body is no work item."""
    body: str
    times: int
    """How often it has been taken, this time among them."""


class WorkQueue(Protocol):
    """The queue `table-work`; at least once, in no order."""

    def send(self, work_item: WorkItem, delay: timedelta = timedelta()) -> None:
        """Send a work item, hidden until the delay has passed."""
        ...

    def take(self, most: int) -> list[Taken]:
        """At most so many messages that are there now, hidden from others for `hidden_for`."""
        ...

    @property
    def hidden_for(self) -> timedelta:
        """How long a taken message stays hidden unless it is renewed."""
        ...

    def renew(self, taken: Taken) -> Taken | None:
        """Hide it for as long again; None when it has come back, or is gone."""
        ...

    def give_back(self, taken: Taken, delay: timedelta) -> None:
        """Let it be taken again after a delay, which counts as one more failure."""
        ...

    def delete(self, taken: Taken) -> None:
        """It is done; harmless when it has come back, or is gone."""
        ...

    def dead_letter(self, taken: Taken, why: str) -> None:
        """Move it to the poison queue, from where it is kept for a person."""
        ...

    def length(self) -> int:
        """About how many messages there are, those that are hidden among them."""
        ...


class Lease(Protocol):
    """The right to work on one table alone, or to sweep alone, for a while."""

    def renew(self) -> bool:
        """Keep it; False when it was lost, and somebody else may be at work."""
        ...

    def release(self) -> None:
        """Let others have it at once; harmless when it was lost."""
        ...


class Leases(Protocol):
    """Hands out the lease of each table, and the one of the root's sweep."""

    def take(self, folder: TableFolder) -> Lease | None:
        """The lease of this table, None while another process holds it."""
        ...

    def take_sweep(self) -> Lease | None:
        """The lease of the root's sweep, None while another process sweeps."""
        ...
