"""Who is told how a mirror is doing, besides its status files and logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from openmirror.protocol.names import TableFolder, TableName
from openmirror.tableoperation import TableOperation


class Health(IntEnum):
    """A table's state as one number that an alert can compare."""

    RUNNING = 0
    WARNING = 1
    ERROR = 2
    STOPPED = 3


@dataclass(frozen=True)
class Standing:
    """How one table stands now."""

    folder: TableFolder
    table: TableName
    health: Health
    pending_files: int
    oldest_pending_seconds: float
    """Age of the oldest file that is not applied; 0 without one."""


class Telemetry(Protocol):
    """Hears of operations and of how tables stand. Never raises for what it cannot send."""

    def happened(self, operation: TableOperation) -> None:
        """Tell of an operation; when it returns, a crash of this process no longer loses it.

        One that this instance was told of before is dropped.
        """
        ...

    def stand(self, mirror: str, tables: Sequence[Standing]) -> None:
        """All tables of a mirror as they stand: a sign of life as well."""
        ...


class NoTelemetry:
    """Telemetry that nobody asked for."""

    def happened(self, operation: TableOperation) -> None:
        """Nobody is told."""

    def stand(self, mirror: str, tables: Sequence[Standing]) -> None:
        """Nobody is told."""
