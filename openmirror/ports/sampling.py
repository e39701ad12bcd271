"""The one row that shows that a deployment works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from openmirror.table.layout import StorePath

KEY = "id"
"""The key column of the sample rows."""


class SampleRow(Protocol):
    """Writes change files of one row, and looks for it in a Delta table."""

    def insert(self, identity: str, at: datetime) -> bytes:
        """A change file that adds the row."""
        ...

    def delete(self, identities: Sequence[str]) -> bytes:
        """A change file that takes rows away."""
        ...

    def present(self, table: StorePath) -> Mapping[str, datetime]:
        """The rows that the table has, and when each was landed; none where there is no table.

        Raises NotThere or ConditionFailed when files went while it was read: try again; and
        WrongRequest for a table that cannot be read as one of these rows.
        """
        ...


class QueueLengths(Protocol):
    """How much lies in the queues."""

    def length(self, queue: str) -> int | None:
        """About how many messages there are; None when there is no such queue."""
        ...
