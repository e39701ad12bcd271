"""What a Databricks workspace says of itself and of the job that is the runner; changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ObservedJob:
    """How the runner's job stands."""

    active: bool
    """Whether a run is there, or waits for its turn."""
    last: str = ""
    """How the last run ended; empty when there was none."""
    failed: bool = False
    page: str = ""
    """Where a person reads its log."""


@dataclass(frozen=True)
class ExternalLocation:
    """A place in storage that Unity Catalog knows."""

    name: str
    url: str
    """Such as `abfss://landing@account.dfs.core.windows.net/`."""
    file_events: bool | None
    """Whether Unity Catalog keeps events of its files; None where it does not say."""


class Workspace(Protocol):
    """One workspace."""

    def tenant(self) -> str | None:
        """The tenant that it belongs to; None when it does not say, or cannot be reached."""
        ...

    def job(self, number: int) -> ObservedJob:
        """The job's runs; raises AccessDenied, NotThere or Unavailable."""
        ...

    def locations(self) -> list[ExternalLocation]:
        """Those of its metastore that the caller may see; raises AccessDenied or Unavailable."""
        ...
