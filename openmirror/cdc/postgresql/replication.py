"""The server's log, as it sends it: one connection, read and answered by one thread.

The thread hands on the frames of the replication protocol as they come, in a queue that is bounded
in bytes. While the queue is full it reads nothing, so that the server waits; it goes on answering,
so that the server does not give the connection up.
"""

from __future__ import annotations

import select
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from psycopg import pq
from psycopg.errors import OperationalError

from openmirror.cdc.postgresql.places import Lsn, lsn_text
from openmirror.errors import Unavailable

_EPOCH_US = 946_684_800_000_000
"""Microseconds from 1970 to 2000, when PostgreSQL's clock begins."""
_STATUS = struct.Struct("!cQQQqB")
_ANSWER_EVERY = 5.0
"""Seconds between two answers to the server, whatever it asks."""
_IN_USE = "55006"
"""The SQLSTATE of an object that another process of the server has."""
_CHUNK = 1 << 20
"""Bytes after which frames are handed on while more of them are there."""
_MOST_WAITING = 32 << 20
"""Bytes of frames that may wait to be taken. One frame of any size is taken beyond it."""


@dataclass(frozen=True)
class ServerError:
    """The server's report of a statement of ours that failed."""

    sqlstate: str
    message: str


class LogEnded(Unavailable):
    """The server sends no more; it may once it is asked again."""

    def __init__(self, message: str, error: ServerError | None = None) -> None:
        super().__init__(message)
        self.error = error
        """The error that the server itself reported; None where the connection was lost."""

    @property
    def is_in_use(self) -> bool:
        """Whether another process of the server still reads the slot."""
        return self.error is not None and self.error.sqlstate == _IN_USE


class ReplicationReader:
    """Reads a replication slot from an LSN on. `start` comes first, and `close` last."""

    def __init__(
        self,
        connect: Callable[[], pq.abc.PGconn],
        slot: str,
        publication: str,
        start: Lsn,
        *,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        """Args:
        connect: gives a connection in replication mode; raises what connecting raises.
        start: transactions that were committed before it are not sent.
        most_waiting: bytes of frames that wait at most.
        """
        self._connect = connect
        self._slot = slot
        self._publication = publication
        self._start = start
        self._most_waiting = most_waiting
        self._frames: deque[list[bytes]] = deque()
        self._sizes: deque[int] = deque()
        self._waiting = 0
        self._changed = threading.Condition()
        # `start` is not acknowledged: a new connection may read on before all before it has landed.
        # The server passes over an acknowledgement of 0.
        self._acknowledged = Lsn(0)
        self._received = start
        self._failure: LogEnded | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="postgresql log", daemon=True)

    def start(self) -> None:
        """Begin to read. Raises LogEnded where the server refuses, and what `connect` raises."""
        self._connection = self._connect()
        name = self._publication.replace('"', '""').replace("'", "''")
        command = (
            f'START_REPLICATION SLOT "{self._slot}" LOGICAL {lsn_text(self._start)} '
            f"(proto_version '1', publication_names '\"{name}\"', messages 'true')"
        )
        result = self._connection.exec_(command.encode())
        if result.status != pq.ExecStatus.COPY_BOTH:
            failure = _ended(result)
            self._connection.finish()
            raise failure
        self._connection.nonblocking = 1
        self._thread.start()

    def take(self, seconds: float) -> list[bytes]:
        """Return the next frames, waiting so long at most; none where none came.

        Raises LogEnded once all that came before the end has been taken.
        """
        with self._changed:
            if not self._frames and self._failure is None:
                self._changed.wait(seconds)
            if self._frames:
                self._waiting -= self._sizes.popleft()
                return self._frames.popleft()
            if self._failure is not None:
                raise self._failure
            return []

    @property
    def received(self) -> Lsn:
        """How far the server has sent its log."""
        return self._received

    def acknowledge(self, lsn: Lsn) -> None:
        """Report the server that everything before this LSN may be forgotten."""
        self._acknowledged = max(self._acknowledged, lsn)

    def close(self) -> None:
        """End the connection, and say last what was acknowledged."""
        self._stopping = True
        if self._thread.ident is not None:
            self._thread.join(10.0)

    def _work(self) -> None:
        try:
            self._read()
        except (OSError, OperationalError, ValueError) as error:
            # A socket that was closed is -1 for `select`, which then raises ValueError.
            words = " ".join(str(error).split())
            self._fail(LogEnded(f"the connection to the server's log was lost: {words}"))
        finally:
            self._connection.finish()

    def _read(self) -> None:
        answered_at = 0.0
        acknowledged = None
        while not self._stopping:
            now = time.monotonic()
            if now - answered_at >= _ANSWER_EVERY or acknowledged != self._acknowledged:
                acknowledged = self._acknowledged
                self._answer(acknowledged)
                answered_at = now
            has_room = self._waiting < self._most_waiting
            readable, _, _ = select.select(
                [self._connection.socket] if has_room else [], [], [], 0.2
            )
            if readable:
                self._connection.consume_input()
                if not self._take_frames():
                    return
        self._answer(self._acknowledged)

    def _take_frames(self) -> bool:
        """Take all that has come; False where the server has ended the stream."""
        frames: list[bytes] = []
        size = 0
        while True:
            length, data = self._connection.get_copy_data(1)
            if length <= 0:
                break
            frame = bytes(data)
            frames.append(frame)
            size += length + 64
            if frame[0] == 107 and frame[17]:  # a keepalive that asks for an answer
                self._answer(self._acknowledged)
            if size >= _CHUNK:
                self._hand_on(frames, size)
                frames, size = [], 0
                if self._waiting >= self._most_waiting:
                    return True
        self._hand_on(frames, size)
        if length == 0:
            return True
        self._fail(_ended(self._connection.get_result()))
        return False

    def _hand_on(self, frames: list[bytes], size: int) -> None:
        if not frames:
            return
        last = frames[-1]
        self._received = max(self._received, Lsn(int.from_bytes(last[1:9], "big")))
        with self._changed:
            self._frames.append(frames)
            self._sizes.append(size)
            self._waiting += size
            self._changed.notify()

    def _answer(self, acknowledged: Lsn) -> None:
        now = time.time_ns() // 1000 - _EPOCH_US
        received = max(self._received, acknowledged)
        status = _STATUS.pack(b"r", received, acknowledged, acknowledged, now, 0)
        if self._connection.put_copy_data(status) == 1:
            self._connection.flush()

    def _fail(self, failure: LogEnded) -> None:
        with self._changed:
            self._failure = failure
            self._changed.notify()


def _ended(result: pq.abc.PGresult | None) -> LogEnded:
    """Return why the server ended the stream."""
    if result is None:
        return LogEnded("the server ended the stream of its log")
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode("ascii", "replace")
    words = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(
        "utf-8", "replace"
    )
    if not state:
        text = " ".join(result.error_message.decode("utf-8", "replace").split())
        return LogEnded("the server ended the stream of its log" + (f": {text}" if text else ""))
    return LogEnded(f"the server cannot send its log: {words}", ServerError(state, words))
