"""A stream that goes on after what passes: a server that is away, a store that is too busy."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

import psycopg

from openmirror.cdc.postgresql.opening import UnsendableTransaction
from openmirror.cdc.postgresql.pgoutput import MalformedMessage
from openmirror.cdc.postgresql.places import Lsn, lsn_text
from openmirror.cdc.postgresql.replication import LogEnded
from openmirror.cdc.postgresql.stream import LogStream
from openmirror.cdc.relay.relay import BatchReport
from openmirror.cdc.relay.reporting import RelayReports
from openmirror.errors import AccessDenied, CannotStart, ConditionFailed, Unavailable, reason_of
from openmirror.protocol.names import TablePath
from openmirror.protocol.relay_reports import RelayState
from openmirror.protocol.streams import StoppedTable

_WAITS = (1.0, 5.0, 15.0, 60.0)
"""Seconds before each further attempt."""
_EQUAL_FAILURES = 3
"""So many equal failures in a row are a problem that needs a person."""
_LASTING = 300.0
"""Seconds after which a stream that lands nothing, because nothing comes, counts as going well."""
_UNSENDABLE_AFTER = 2
"""So often the server fails to send one transaction before the stream goes on behind it."""
_PASSING = (
    Unavailable,
    CannotStart,
    ConditionFailed,
    AccessDenied,
    MalformedMessage,
    psycopg.Error,
    OSError,
)
_OF_THE_SERVER = ("53", "57", "58")
"""Classes of SQLSTATE that say nothing of one transaction: resources, operators, the system."""

log = logging.getLogger(__name__)


class StreamOpener(Protocol):
    """Opens the stream from its document, at the first attempt and again after each failure."""

    def open(self, unsendable: UnsendableTransaction | None) -> LogStream:
        """Return the opened stream.

        Args:
            unsendable: a transaction to go on behind; every table is loaded again then.
        """
        ...

    @property
    def stopped(self) -> Mapping[TablePath, StoppedTable]:
        """Tables that have stopped."""
        ...

    def bytes_behind(self) -> int:
        """Return how many bytes of the log the server has sent that have not landed."""
        ...


class RunningStream:
    """A thread that lands batch after batch, and whose owner asks now and then how it is."""

    def __init__(
        self,
        opener: StreamOpener,
        report: Callable[[BatchReport], None],
        trouble: Callable[[str], None],
        reports: RelayReports,
    ) -> None:
        """Args:
        opener: opens the stream; what the first `open` raises, `start` raises.
        report: hears of each batch; called from the thread.
        trouble: hears of each failure that is followed by another attempt; from the thread.
        reports: what status and telemetry know of the stream.
        """
        self._opener = opener
        self._report = report
        self._trouble = trouble
        self._reports = reports
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._stream: LogStream | None = None
        self._opened_at = time.monotonic()
        self._attempts = 0
        self._last_words = ""
        self._equal = 0
        self._suspect: tuple[Lsn, int] | None = None
        self._unsendable: UnsendableTransaction | None = None
        self._thread = threading.Thread(target=self._work, name="stream", daemon=True)

    @property
    def stopped(self) -> Mapping[TablePath, StoppedTable]:
        """Tables that have stopped, as far as is known now."""
        return self._opener.stopped

    def start(self) -> None:
        """Open the stream and begin. Raises what opening raises."""
        with self._reports.failing():
            self._stream = self._opener.open(None)
        self._thread.start()

    def check(self) -> None:
        """Raise what ended the stream, after which it does not go on."""
        if self._failure is not None:
            raise self._failure

    def stop(self, seconds: float) -> None:
        """Begin no further batch, and wait at most so long for the one that is underway."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            while not self._stopping.is_set():
                self._stopping.wait(self._attempt())
        except Exception as error:  # raised by `check`
            log.exception("the stream has ended")
            self._failure = error
            self._reports.failed(error)
        else:
            self._reports.troubled(RelayState.ENDED)
        finally:
            self._close()

    def _attempt(self) -> float:
        """Land until something fails; return the seconds to wait before the next attempt."""
        try:
            if self._stream is None:
                self._stream = self._opener.open(self._unsendable)
                self._unsendable = None
                self._opened_at = time.monotonic()
            while not self._stopping.is_set():
                self._pass_on(self._stream.turn())
            self._pass_on(self._stream.drain())
        except _PASSING as error:
            return self._failed(error)
        return 0.0

    def _pass_on(self, done: BatchReport | None) -> None:
        if done is None:
            return
        if done.rows or time.monotonic() - self._opened_at > _LASTING:
            self._attempts = self._equal = 0
            self._last_words = ""
        self._report(done)
        self._reports.landing(done.end, None, done.newest_ts_us)

    def _failed(self, error: Exception) -> float:
        words = reason_of(error)
        self._equal = self._equal + 1 if words == self._last_words else 1
        self._last_words = words
        if isinstance(error, LogEnded):
            self._suspect_transaction(error)
        self._close()
        is_problem = self._equal >= _EQUAL_FAILURES
        self._reports.troubled(RelayState.FAILED if is_problem else RelayState.WAITING, words)
        wait = _WAITS[min(self._attempts, len(_WAITS) - 1)]
        self._attempts += 1
        self._trouble(words)
        return wait

    def _suspect_transaction(self, error: LogEnded) -> None:
        """Go on behind a transaction at which the server fails each time."""
        stream = self._stream
        transaction = None if stream is None else stream.transaction
        if error.error is None or stream is None or transaction is None:
            return
        if error.error.sqlstate[:2] in _OF_THE_SERVER:
            return
        before = self._suspect
        times = before[1] + 1 if before is not None and before[0] == transaction.final else 1
        self._suspect = transaction.final, times
        if times >= _UNSENDABLE_AFTER:
            self._unsendable = UnsendableTransaction(
                transaction.final, stream.last_table, error.error.message
            )
            self._trouble(
                f"the server cannot send the transaction at {lsn_text(transaction.final)}: the "
                "stream goes on behind it, and every table is loaded again"
            )

    def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(*_PASSING):
                stream.close()
