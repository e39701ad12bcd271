"""A folded batch of a history: versions it opens, and rows that close others (PROTOCOL §5.9).

Data columns, those of a history among them, are called as in `ports.merge_rows`.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class VersionKind(StrEnum):
    """What one folded row does to a history; stands in the column `kind`."""

    OPENS = "opens"
    """Is a new version."""
    CLOSES = "closes"
    """Closes the open versions of its key, of its version where the table has a version column."""


AT_LEAST_ONCE = "at_least_once"
"""Of a version that was folded without the table: NULL where it is opened as it is. Else it is
opened for each version of its key that the table has open, and if true, once where it has none."""


class FoldedVersions(Protocol):
    """A small batch that was folded before it was decided, as tables of `pyarrow`."""

    @property
    def asks(self) -> bool:
        """Whether the table says how often some of its versions are opened."""
        ...

    def opens(self, decided_at: datetime) -> Any:
        """The new versions, and `at_least_once` where the batch asks."""
        ...

    def closes(self, decided_at: datetime) -> Any:
        """One row for each key, with what the versions that it closes get."""
        ...
