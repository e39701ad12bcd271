"""What a relay does, in lines that a person can follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from openmirror import durations
from openmirror.protocol.counts import counted

if TYPE_CHECKING:
    from openmirror.cdc.relay.relay import BatchReport
    from openmirror.protocol.names import TablePath
    from openmirror.protocol.streams import StoppedTable

_EVERY = 10.0
"""Seconds between two lines about records, while nothing else happens."""


class StreamLines:
    """Says at once what stops, and now and then how far the stream has landed."""

    def __init__(
        self, say: Callable[[str], None], monotonic: Callable[[], float], now: Callable[[], float]
    ) -> None:
        self._say = say
        self._monotonic = monotonic
        self._now = now
        self._last_line_at = monotonic()
        self._rows = 0

    def begin(self, stopped: Mapping[TablePath, StoppedTable]) -> None:
        """Which tables have stopped before."""
        for path, table in stopped.items():
            self._stopped(path, table)

    def landed(self, report: BatchReport) -> None:
        """A batch has landed."""
        self._rows += sum(report.rows.values())
        for path, table in report.stopped.items():
            self._stopped(path, table)
        for path in sorted(report.anew):
            self._say(f"{path}: its new snapshot has landed")
        if self._monotonic() - self._last_line_at >= _EVERY and self._rows:
            self._last_line_at = self._monotonic()
            behind = ""
            if report.newest_ts_us is not None:
                seconds = max(0.0, self._now() - report.newest_ts_us / 1e6)
                behind = f", {durations.short(round(seconds, 1))} behind the database"
            self._say(f"{counted(self._rows, 'change')} landed{behind}")
            self._rows = 0

    def trouble(self, why: str) -> None:
        """An attempt that failed, and is repeated."""
        self._say(f"not landed, and tried again: {why}")

    def _stopped(self, path: TablePath, table: StoppedTable) -> None:
        stop = table.stop
        self._say(f"{path} has stopped ({stop.code}): {stop.detail}. {stop.remedy}")
