"""Who is told how a mirror is doing, besides its status files and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openmirror.ports.jobs import StartOutcome
from openmirror.ports.letters import Letter
from openmirror.statusevent import Standing
from openmirror.tableoperation import TableOperation


class Telemetry(Protocol):
    """Hears of operations and of how things stand. Never raises for what it cannot send."""

    def happened(self, operation: TableOperation) -> None:
        """Tell of an operation; when it returns, a crash of this process no longer loses it.

        One that this instance was told of before is dropped.
        """
        ...

    def stand(self, mirror: str, tables: Sequence[Standing]) -> None:
        """All tables of a mirror as they stand: a sign of life as well.

        What is not new is not told again at every call; a mirror's tables that are no longer among
        them are forgotten.
        """
        ...

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """What the platform answered; what it goes on answering is not told at every call."""
        ...

    def letter_kept(self, letter: Letter) -> None:
        """A message was given up. One that this instance was told of before is dropped."""
        ...

    def letters_wait(self, counts: Mapping[str, int]) -> None:
        """How many letters there are now, of each source."""
        ...


class NoTelemetry:
    """Telemetry that nobody asked for."""

    def happened(self, operation: TableOperation) -> None:
        """Nobody is told."""

    def stand(self, mirror: str, tables: Sequence[Standing]) -> None:
        """Nobody is told."""

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """Nobody is told."""

    def letter_kept(self, letter: Letter) -> None:
        """Nobody is told."""

    def letters_wait(self, counts: Mapping[str, int]) -> None:
        """Nobody is told."""
