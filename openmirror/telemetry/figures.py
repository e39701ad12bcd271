"""The metrics: what a commit did, how the tables of a mirror are, how many dead letters wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opentelemetry.metrics import Meter

from openmirror.ports.telemetry.table_operation import TableOperation
from openmirror.ports.telemetry.table_status_event import TableStatusEvent
from openmirror.protocol.names import TableFolder, TableName

_OF_A_TABLE = ("mirror", "schema", "table")
METRICS: Mapping[str, tuple[str, ...]] = {
    "rows_applied": (*_OF_A_TABLE, "kind"),
    "bytes_processed": _OF_A_TABLE,
    "batch_duration_seconds": _OF_A_TABLE,
    "replication_lag_seconds": _OF_A_TABLE,
    "pending_files": _OF_A_TABLE,
    "oldest_pending_age_seconds": _OF_A_TABLE,
    "table_status": _OF_A_TABLE,
    "heartbeat": ("mirror",),
    "dead_letters_waiting": ("source",),
}
"""Every metric with its dimensions, in the order of docs/OPERATIONS.md."""


class Figures:
    """All metrics of one process. A gauge that is not set again is not sent again."""

    def __init__(self, meter: Meter) -> None:
        self._rows = meter.create_counter(
            "rows_applied", "{row}", "Change rows that were applied, by kind."
        )
        self._bytes = meter.create_counter(
            "bytes_processed", "By", "Size of the change files that were applied."
        )
        self._lag = meter.create_histogram(
            "replication_lag_seconds",
            "s",
            "From the landing of a batch's oldest file to its commit.",
        )
        self._duration = meter.create_histogram(
            "batch_duration_seconds", "s", "From the first read of a batch to its commit."
        )
        self._pending = meter.create_gauge(
            "pending_files", "{file}", "Change files that are not applied."
        )
        self._oldest = meter.create_gauge(
            "oldest_pending_age_seconds", "s", "Age of the oldest file that is not applied, else 0."
        )
        self._status = meter.create_gauge(
            "table_status", "1", "0 running, 1 warning, 2 error, 3 stopped."
        )
        self._heartbeat = meter.create_counter(
            "heartbeat", "{pass}", "Status passes over a mirror: it is alive."
        )
        self._dead_letters = meter.create_gauge(
            "dead_letters_waiting", "{message}", "Messages that were given up and are still kept."
        )

    def of_commit(self, commit: TableOperation) -> None:
        """Count what a batch brought, and how long it took."""
        table = _dimensions(commit.folder, commit.table)
        for kind, count in commit.rows.items():
            self._rows.add(count, {**table, "kind": kind})
        self._bytes.add(commit.bytes, table)
        self._duration.record(commit.seconds, table)
        if commit.latency_seconds is not None:
            self._lag.record(commit.latency_seconds, table)

    def of_mirror(self, mirror: str, tables: Sequence[TableStatusEvent]) -> None:
        """Set the gauges of all its tables, and count the pass as a heartbeat."""
        for one in tables:
            table = _dimensions(one.folder, one.table)
            self._pending.set(one.pending_files, table)
            self._oldest.set(one.oldest_pending_seconds, table)
            self._status.set(int(one.health), table)
        self._heartbeat.add(1, {"mirror": mirror})

    def of_dead_letters(self, counts: Mapping[str, int]) -> None:
        """Set the gauge of each source."""
        for source, count in counts.items():
            self._dead_letters.set(count, {"source": source})


def _dimensions(folder: TableFolder, table: TableName) -> dict[str, str]:
    return {"mirror": folder.mirror, "schema": table.schema, "table": table.table}
