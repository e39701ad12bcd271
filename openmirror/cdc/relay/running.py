"""A relay that runs beside other work, at every interval or at once while much is there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import timedelta

from openmirror.cdc.relay.relay import BatchReport, Relay
from openmirror.cdc.relay.reporting import RelayReports
from openmirror.errors import Unavailable
from openmirror.protocol.names import TablePath
from openmirror.protocol.relay_reports import RelayState
from openmirror.protocol.streams import Offset, StoppedTable

_WAITS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between attempts while a service is away."""


class RunningRelay:
    """A thread that lands batch after batch, and whose owner asks now and then how it is."""

    def __init__(
        self,
        relay: Relay,
        every: timedelta,
        most_records: int,
        report: Callable[[BatchReport], None],
        trouble: Callable[[str], None],
        reports: RelayReports,
    ) -> None:
        """`report` hears of each batch, `trouble` of each attempt that failed; from the thread."""
        self._relay = relay
        self._every = every.total_seconds()
        self._most_records = most_records
        self._report = report
        self._trouble = trouble
        self._reports = reports
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._failures = 0
        self._thread = threading.Thread(target=self._work, name="relay", daemon=True)

    @property
    def next(self) -> Offset:
        """The first record that has not been read."""
        return self._relay.next

    @property
    def stopped(self) -> Mapping[TablePath, StoppedTable]:
        """Tables that have stopped, as far as is known now."""
        return self._relay.document.stopped

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def check(self) -> None:
        """Raise what ended the relay, after which it does not go on."""
        if self._failure is not None:
            raise self._failure

    def stop(self, seconds: float) -> None:
        """Begin no further batch, and wait at most so long for the one underway."""
        self._stopping.set()
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                self._stopping.wait(self._turn())
        except Exception as error:  # noqa: BLE001 - raised by `check`
            self._failure = error
            self._reports.failed(error)
        else:
            self._reports.troubled(RelayState.ENDED)

    def _turn(self) -> float:
        """Land one batch; seconds until the next one."""
        try:
            done = self._relay.step()
            if done.records:
                self._report(done)
            self._reports.landing(done.end, self._relay.ends, done.newest_ts_us)
        except Unavailable as error:
            self._trouble(str(error))
            self._reports.troubled(RelayState.WAITING, str(error))
            self._failures += 1
            return _WAITS[min(self._failures, len(_WAITS)) - 1]
        self._failures = 0
        return 0.0 if done.records >= self._most_records else self._every
