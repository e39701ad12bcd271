"""The telemetry port: what is emitted of a mirror, besides its status files and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openmirror.ports.dead_letters import DeadLetter
from openmirror.ports.jobs import StartOutcome
from openmirror.ports.telemetry.stream_status_event import StreamStatusEvent
from openmirror.ports.telemetry.table_operation import TableOperation
from openmirror.ports.telemetry.table_status_event import TableStatusEvent


class Telemetry(Protocol):
    """Emits operations and statuses. Never raises for what it cannot send."""

    def happened(self, operation: TableOperation) -> None:
        """Emit an operation; when this returns, a crash of this process no longer loses it.

        One that this instance has emitted before is dropped.
        """
        ...

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        """Emit the status of all tables of a mirror, which is a heartbeat as well.

        What is not new is not emitted again at every call; a mirror's tables that are no longer
        among them are forgotten.
        """
        ...

    def report_streams(self, mirror: str, streams: Sequence[StreamStatusEvent]) -> None:
        """Emit the status of all databases' streams of a mirror, as it does those of its tables."""
        ...

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """Emit what the platform answered; the same answer is not emitted at every call."""
        ...

    def dead_letter_kept(self, dead_letter: DeadLetter) -> None:
        """Emit a dead letter. One that this instance has emitted before is dropped."""
        ...

    def dead_letters_waiting(self, counts: Mapping[str, int]) -> None:
        """Emit how many dead letters there are now, of each source."""
        ...


class NoTelemetry:
    """Emits nothing."""

    def happened(self, operation: TableOperation) -> None:
        """Emit nothing."""

    def report_statuses(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        """Emit nothing."""

    def report_streams(self, mirror: str, streams: Sequence[StreamStatusEvent]) -> None:
        """Emit nothing."""

    def asked_for_runner(self, job: str, outcome: StartOutcome) -> None:
        """Emit nothing."""

    def dead_letter_kept(self, dead_letter: DeadLetter) -> None:
        """Emit nothing."""

    def dead_letters_waiting(self, counts: Mapping[str, int]) -> None:
        """Emit nothing."""
