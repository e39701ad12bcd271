"""The writer of one table: takes rows, checks them, and lands them as change files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import FolderReplaced, WrongRequest
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import PARQUET, ChangeFileName, Sequence
from openmirror.publishing.aging import Aging
from openmirror.publishing.arrow import as_tables
from openmirror.publishing.buffer import RowBuffer
from openmirror.publishing.checking import RowChecks
from openmirror.publishing.composing import FileComposer
from openmirror.publishing.encoding import one_table
from openmirror.publishing.landing import Lander
from openmirror.publishing.options import PublishedFile, WriterOptions
from openmirror.publishing.pieces import WaitingRows, columns_of
from openmirror.publishing.positions import (
    AcceptedPositions,
    SourcePosition,
    is_before,
    need_position,
)


class TableWriter:
    """Publishes into one table; made by `Publisher.table`, safe to share between threads.

    A batch belongs to the thread that began it; rows of other threads are refused until it ends.

    Rows land in the order of the calls. They wait until there are enough of them or they are old
    enough, until `flush`, or until the writer is closed.

    Every call raises PublishRefused for rows that break a rule of the protocol, and takes none of
    them then (of a stream, none from the piece on that does). Every call may raise FolderReplaced,
    when the table folder was deleted or made anew; OtherPublisher, when another process moves the
    same source on; Unavailable, AccessDenied or OSError (a full disk), as the store does.
    FolderReplaced closes the writer, and its rows are lost. After the others the rows still wait,
    and `flush` goes on with them; only those of a batch that has not ended are forgotten, and the
    batch is to be given again. What went wrong in the writer's own thread is raised by the next
    call that takes rows, after it has taken them.
    """

    def __init__(
        self, name: str, lander: Lander, metadata: TableMetadata, options: WriterOptions
    ) -> None:
        """Reads the newest footer; raises FolderReplaced and what the store raises."""
        self._name = name
        self._lander = lander
        self._options = options
        self._lock = threading.RLock()
        self._buffer = RowBuffer()
        self._cut: list[WaitingRows] | None = None
        self._is_closed = False
        self._batch_thread = 0
        state = lander.state()
        self._composer = FileComposer(options.source, metadata, state)
        self._checks = RowChecks(name, metadata, state.columns)
        self._accepted = AcceptedPositions()
        self._aging = Aging(options.limits.seconds, options.monotonic, self._lock, self.flush_due)

    def insert(self, rows: object, position: SourcePosition | None = None) -> None:
        """Add rows without looking for their keys: one that is there twice stays twice (§5.1).

        `rows`: an Arrow table, batch or stream, a pandas or polars frame, a DuckDB relation, or a
        list of dicts. With `position` they are all of the source's batch there; see `batch`.
        """
        self._add(rows, Marker.INSERT, position)

    def upsert(self, rows: object, position: SourcePosition | None = None) -> None:
        """Each row takes the place of those with its key, or is added.

        Rows are whole: a column that they lack becomes NULL (PROTOCOL §5.1).
        """
        self._add(rows, Marker.UPSERT, position)

    def update(self, rows: object, position: SourcePosition | None = None) -> None:
        """The same as `upsert`, under the marker of rows that were there before."""
        self._add(rows, Marker.UPDATE, position)

    def delete(self, rows: object, position: SourcePosition | None = None) -> None:
        """Remove every row that has one of these keys; columns that are no keys are not sent."""
        self._add(rows, Marker.DELETE, position)

    def publish(
        self,
        rows: object,
        position: SourcePosition | None = None,
        *,
        marker: Marker | None = None,
    ) -> None:
        """Rows that all do what `marker` says, or say it themselves in a column `__rowMarker__`."""
        self._add(rows, marker, position)

    def change_key(
        self, old_keys: object, rows: object, position: SourcePosition | None = None
    ) -> None:
        """Rows whose keys have changed: their old keys are deleted, then the rows are inserted.

        All old keys go first, so that keys may be exchanged, and both land in one file. A new key
        must not be one of a row that stays: that would be there twice.
        """
        olds, news = (_whole(half, self._checks.columns) for half in (old_keys, rows))
        with self._lock, self._in_batch(position):
            halves = [
                self._checks.checked(olds, Marker.DELETE),
                self._checks.checked(news, Marker.INSERT),
            ]
            columns = columns_of(halves)
            if isinstance(columns, Broken):
                raise WrongRequest(f"old keys and rows have other types: {columns.detail}")
            both = one_table(halves, columns, None)
            self._take(WaitingRows(rows=both, marker=None, columns=columns, whole=True))
            self._report_failure()

    @contextmanager
    def batch(self, position: SourcePosition) -> Iterator[None]:
        """All calls inside are one batch of the source, which ends at this position.

        Positions are whole numbers, which grow, or texts, of which none comes twice. After a crash
        send everything behind `self.position` again, in the same order and the same batches: what
        landed of it, whole or in part, is not landed a second time, and a batch that this writer
        took already is not taken again: a number not above the highest, or the same text. A batch
        without rows lands with the next file, or at `flush` in a file without rows. Raises
        OtherPublisher when another batch was begun and must be finished first, WrongRequest for a
        batch in a batch.
        """
        with self._lock:
            self._begin(position)
        try:
            yield
        except BaseException:
            with self._lock:
                self._buffer.forget_batch()
                left = (*(self._cut or ()), *self._buffer.waiting)
                self._checks.only(self._composer.columns, left)
            raise
        with self._lock:
            if end := self._buffer.end():
                self._checks.taken(end)
            self._accepted.add(position)
            self._land_what_is_full()
            self._report_failure()

    @property
    def position(self) -> SourcePosition | None:
        """Of this source's last batch that landed whole; None before the first."""
        with self._lock:
            return self._composer.progress.position

    @property
    def columns(self) -> TableSchema:
        """Every column that landed or waits, with the type that holds all of its values."""
        return self._checks.columns

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns that `_metadata.json` declares."""
        return self._checks.keys

    def flush(self) -> list[PublishedFile]:
        """Land all that waits; answers the files that landed now, oldest first."""
        with self._lock, self._closed_if_replaced():
            self._need_open()
            self._aging.forget_failure()  # it is tried again now
            found = []
            while self._cut is not None or not self._buffer.is_empty:
                found += self._land(hold_back=False)
            return found

    def flush_due(self) -> list[PublishedFile]:
        """Land what waits if the oldest of it is older than the limit.

        A thread of the writer's own calls it; a program that forbids threads may call it instead.
        """
        with self._lock:
            if not self._aging.is_due() or self._is_closed:
                return []
            found = []
            while self._cut is not None or self._buffer.has_rows:
                landed = self._land(hold_back=True)
                if not landed and self._cut is None:
                    break
                found += landed
            self._aging.restart(waiting=self._buffer.has_rows)
            return found

    def close(self) -> None:
        """Land all that waits, and let go. A second time does nothing.

        Raises WrongRequest inside of a batch, whose end would never be heard of.
        """
        with self._lock:
            if not self._is_closed:
                if self._buffer.batch is not None:
                    raise WrongRequest(f"batch {self._buffer.batch!r} has not ended yet")
                self.flush()
                self._let_go()

    def abandon(self) -> None:
        """Let go without landing what waits; what landed stays.

        Never waits: a file that another thread is landing just now may still land, and none after.
        """
        self._let_go()
        if self._lock.acquire(blocking=False):
            try:
                self._forget()
            finally:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.close()
        finally:
            self.abandon()

    def _add(self, rows: object, marker: Marker | None, position: SourcePosition | None) -> None:
        with self._lock, self._in_batch(position):
            for table in as_tables(rows, self._checks.columns):
                self._take(self._checks.checked(table, marker))
            self._report_failure()

    @contextmanager
    def _in_batch(self, position: SourcePosition | None) -> Iterator[None]:
        self._need_open()
        if self._buffer.batch is not None and self._batch_thread != threading.get_ident():
            # Its rows would go with the batch when that is broken off.
            raise WrongRequest(f"another thread's batch {self._buffer.batch!r} has not ended yet")
        if position is None:
            yield
            return
        with self.batch(position):
            yield

    def _begin(self, position: SourcePosition) -> None:
        self._need_open()
        need_position(position)
        if self._buffer.batch is not None:
            raise WrongRequest(f"batch {self._buffer.batch!r} has not ended yet")
        done = self._composer.progress.position
        if done is None:
            done = self._accepted.last
        if done is not None and isinstance(done, str) != isinstance(position, str):
            raise WrongRequest(f"position {position!r} is of another kind than {done!r} before it")
        self._batch_thread = threading.get_ident()
        self._buffer.begin(
            position, is_landed=is_before(position, done) or position in self._accepted
        )

    def _take(self, piece: WaitingRows) -> None:
        if self._buffer.take(piece):
            self._checks.taken(piece)
            self._aging.begin()
            self._land_what_is_full()

    def _land_what_is_full(self) -> None:
        with self._closed_if_replaced():
            while self._buffer.is_full(self._options.limits):
                self._land(hold_back=True)

    def _land(self, *, hold_back: bool) -> list[PublishedFile]:
        """Land one file; none where all that was cut for it has landed before."""
        if self._cut is None:
            self._cut = self._buffer.cut(self._options.limits, hold_back=hold_back) or None
        cut = self._cut
        self._need_open()  # it may have been abandoned while a file before was landed
        if cut is None:
            return []
        self._options.before_landing(self._composer.landed_rows)
        landed = self._lander.land(lambda state: self._composer.compose(cut, state))
        self._cut = None
        self._aging.restart(waiting=self._buffer.has_rows)
        if landed is None:
            return []
        self._composer.landed()
        name = ChangeFileName(Sequence(landed.sequence), PARQUET)
        return [PublishedFile(str(name), self._composer.rows, self._composer.size)]

    def _need_open(self) -> None:
        if self._is_closed:
            raise WrongRequest(f"the writer of {self._name} is closed: open the table again")

    def _report_failure(self) -> None:
        """Raise what went wrong in the thread, once its rows are taken and no batch is open."""
        if self._buffer.batch is None:
            with self._closed_if_replaced():
                self._aging.raise_failure()

    @contextmanager
    def _closed_if_replaced(self) -> Iterator[None]:
        """Nothing that waits may ever land then: the table can be opened again, and begun anew.

        Not for the writer's own thread: whoever calls next is to hear of it first.
        """
        try:
            yield
        except FolderReplaced:
            self._forget()
            self._let_go()
            raise

    def _forget(self) -> None:
        self._buffer.clear()
        self._cut = None

    def _let_go(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._aging.stop()
            self._options.closed()


def _whole(rows: object, known: TableSchema) -> pa.Table:
    """All rows of one half of a change of keys, which is never cut apart."""
    return pa.concat_tables(list(as_tables(rows, known)), promote_options="default")
