"""What a relay says of itself to whoever asks: written now and then, and when it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from openmirror.errors import OpenmirrorError, reason_of
from openmirror.ports import FileStore
from openmirror.protocol.relay_reports import (
    RELAYS_FOLDER,
    REPORT_EVERY,
    REST_EVERY,
    RelayReport,
    RelayState,
)
from openmirror.protocol.streams import STREAMS_FOLDER, Offset
from openmirror.table.layout import StorePath, join


def report_path(zone: StorePath, stream: str) -> StorePath:
    """Where the report on a stream's relay lies."""
    return join(zone, STREAMS_FOLDER, RELAYS_FOLDER, f"{stream}.json")


@dataclass(frozen=True)
class WaitingBytes:
    """Bytes that wait for a relay, as `RelayReport` has them."""

    bytes_behind: int | None = None
    source_keeps: int | None = None
    source_limit: int | None = None


def _nobody_knows(_: Offset) -> WaitingBytes:
    return WaitingBytes()


class RelayReports:
    """The reports of one relay. Failing to write one is no failure of the relay."""

    def __init__(
        self,
        store: FileStore,
        zone: StorePath,
        stream: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        waiting: Callable[[Offset], WaitingBytes] = _nobody_knows,
    ) -> None:
        """`waiting` says what waits from a record on."""
        self._store = store
        self._zone = zone
        self._path = report_path(zone, stream)
        self._clock = clock
        self._last: RelayReport | None = None
        self._next: Offset | None = None
        self._ends: tuple[Offset | None, Offset] | None = None
        self._newest: datetime | None = None
        self._measure = waiting
        self._waiting = WaitingBytes()

    def landing(
        self,
        at: Offset,
        ends: Callable[[], tuple[Offset | None, Offset]] | None,
        newest_ts_us: int | None,
    ) -> None:
        """Report that the relay lands what comes.

        Args:
            at: It reads from there on.
            ends: The first record that is there, and the next one to be written; asked for where a
                report is due. None for a stream whose offsets count no records.
            newest_ts_us: The source's time of the newest change, in microseconds since 1970.
        """
        self._next = None if ends is None else at
        self._newest = _moment(newest_ts_us) or self._newest
        now, last = self._clock(), self._last
        if last is not None and last.state is RelayState.LANDING:
            has_moved = (last.next, last.newest) != (self._next, self._newest)
            if now - last.at < (REPORT_EVERY if has_moved else REST_EVERY):
                return
        self._ends, self._waiting = None if ends is None else ends(), self._measure(at)
        self._write(now, RelayState.LANDING)

    def troubled(self, state: RelayState, detail: str = "") -> None:
        """It waits for something, has failed, or has ended."""
        now, last = self._clock(), self._last
        is_known = last is not None and (last.state, last.detail) == (state, detail)
        if last is None or not is_known or now - last.at >= REST_EVERY:
            self._write(now, state, detail)

    def failed(self, error: Exception) -> None:
        """It does not go on."""
        self.troubled(RelayState.FAILED, reason_of(error))

    @contextmanager
    def failing(self) -> Iterator[None]:
        """What is raised within the block has ended the relay."""
        try:
            yield
        except Exception as error:
            self.failed(error)
            raise

    def _write(self, now: datetime, state: RelayState, detail: str = "") -> None:
        begins, end = self._ends or (None, None)
        if end is not None and self._next is not None:
            end = max(end, self._next)
        last = self._last
        self._last = RelayReport(
            at=now,
            state=state,
            since=last.since if last is not None and last.state is state else now,
            detail=detail,
            begins=begins,
            next=self._next,
            end=end,
            newest=self._newest,
            bytes_behind=self._waiting.bytes_behind,
            source_keeps=self._waiting.source_keeps,
            source_limit=self._waiting.source_limit,
        )
        try:
            # A zone that was deleted does not come back by it.
            if self._store.incarnation(self._zone) is not None:
                self._store.write(self._path, self._last.as_json())
        except (OpenmirrorError, OSError):
            # The same store gets all that lands: whoever does that sees it, and says so.
            return


def _moment(us: int | None) -> datetime | None:
    """None also for times that no database has."""
    if us is None:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    except OverflowError:
        return None
