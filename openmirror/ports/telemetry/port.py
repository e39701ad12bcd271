"""Who is told how a mirror is doing, besides its status files and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.telemetry.table_operation import TableOperation
from openmirror.ports.telemetry.table_status_event import TableStatusEvent


class Telemetry(Protocol):
    """Hears of operations and of how things stand. Never raises for what it cannot send."""

    def happened(self, operation: TableOperation) -> None:
        """Tell of an operation; when it returns, a crash of this process no longer loses it.

        One that this instance was told of before is dropped.
        """
        ...

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        """All tables of a mirror as they stand: a sign of life as well.

        What is not new is not told again at every call; a mirror's tables that are no longer among
        them are forgotten.
        """
        ...

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """What the platform answered; what it goes on answering is not told at every call."""
        ...

    def dead_letter_kept(self, dead_letter: DeadLetter) -> None:
        """A message was given up. One that this instance was told of before is dropped."""
        ...

    def dead_letters_waiting(self, counts: Mapping[str, int]) -> None:
        """How many letters there are now, of each source."""
        ...


class NoTelemetry:
    """Telemetry that nobody asked for."""

    def happened(self, operation: TableOperation) -> None:
        """Nobody is told."""

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        """Nobody is told."""

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """Nobody is told."""

    def dead_letter_kept(self, dead_letter: DeadLetter) -> None:
        """Nobody is told."""

    def dead_letters_waiting(self, counts: Mapping[str, int]) -> None:
        """Nobody is told."""
