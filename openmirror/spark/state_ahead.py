"""Delta's state of a table, computed while nothing waits for it.

A commit under a transaction asks the table's newest snapshot which transactions it has, and Delta
answers by reading the log anew, in jobs of its own: a third of a second, most of a small append.
Delta keeps what it computed with the snapshot, and the next commit of this process finds it there.

All of it is Delta's own affair, by classes that only open-source Delta Lake has: where they are
absent, as on Databricks, nothing is computed ahead, and commits do what they did.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from openmirror.plan.features import (
    CHANGE_DATA_FEED,
    DELETION_VECTORS,
    FIRST_NAME_OF_FEED,
    has_change_feed,
    is_on,
)
from openmirror.spark.choosing import CurrentTable
from openmirror.spark.delta_log import delta_log, listed_snapshot, newest_snapshot
from openmirror.spark.scala import given

_MOST_WAITING = 8
_TRACKS_ROWS = "delta.enableRowTracking"
_ONLY_APPENDS = "delta.appendOnly"
_ASKED = (CHANGE_DATA_FEED, FIRST_NAME_OF_FEED, DELETION_VECTORS, _TRACKS_ROWS, _ONLY_APPENDS)


class StateAhead:
    """Computes states on a thread and in a session of its own, or where a commit waits for one."""

    def __init__(self, fresh: Callable[[], SparkSession]) -> None:
        """`fresh` makes a session, which is made when the first state is wanted."""
        self._fresh = fresh
        self._session: SparkSession | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="state-ahead")
        self._lock = threading.Lock()
        self._states: dict[str, Future[CurrentTable | None]] = {}
        self._committing: list[str] = []
        self._by_checksum: set[str] = set()

    def committing(self, table: str) -> None:
        """A commit to a table, by its path as Spark names it, begins: it has the cores."""
        with self._lock:
            self._committing.append(table)

    def committed(self, table: str, *, by_checksum: bool = False) -> None:
        """A commit to a table has ended. Is its checksum one to go by, the next such commit needs
        no state, and none is computed."""
        with self._lock:
            self._committing.remove(table)
            self._states.pop(table, None)
            (self._by_checksum.add if by_checksum else self._by_checksum.discard)(table)
            waits = bool(self._committing)
        if not waits:
            self.want(table)

    def want(self, table: str) -> None:
        """A commit to this table may come: compute its state, unless that is underway or known.

        The state that one underway makes old is of no use to the next.
        """
        with self._lock:
            if table in self._by_checksum or table in self._committing:
                return
            if table not in self._states:
                self._states[table] = self._pool.submit(self._ahead, table)
                self._leave_oldest()

    def _leave_oldest(self) -> None:
        """Of many tables that were committed to once, most have no next commit soon: their states
        would keep a core from those that do, for minutes."""
        waiting = [table for table, state in self._states.items() if not state.done()]
        for table in waiting[:-_MOST_WAITING]:
            if self._states[table].cancel():
                del self._states[table]

    def current(self, session: SparkSession, table: str) -> CurrentTable | None:
        """What a table is right before a commit; None where nobody knows.

        A state that is underway is waited for, and one that has not begun is computed here: the
        commit would do it at once otherwise, and beside the other.
        """
        with self._lock:
            state = self._states.get(table)
        if state is None or state.cancel():
            return _current(session, table)
        found = state.result()
        if found is not None and found.version == _newest_version(session, table):
            return found
        # Somebody else has committed since: it may be another table by now.
        return _current(session, table)

    def _ahead(self, table: str) -> CurrentTable | None:
        if self._session is None:
            self._session = self._fresh()
        return _current(self._session, table)


def _current(session: SparkSession, table: str) -> CurrentTable | None:
    try:
        log = delta_log(session, table)
        if log is None:
            return None
        # Listed for, as the commit will: a checkpoint that came meanwhile makes another snapshot.
        snapshot = listed_snapshot(session, log)
        # Asking for this is what computes the state.
        files, size = int(snapshot.numOfFiles()), int(snapshot.sizeInBytes())
        configuration = snapshot.metadata().configuration()
        asked = {name: given(configuration.get(name)) for name in _ASKED}
        properties = {name: str(value) for name, value in asked.items() if value is not None}
        return CurrentTable(
            version=int(snapshot.version()),
            files=files,
            bytes=size,
            has_change_data_feed=has_change_feed(properties),
            has_deletion_vectors=is_on(properties, DELETION_VECTORS),
            tracks_rows=is_on(properties, _TRACKS_ROWS),
            only_appends=is_on(properties, _ONLY_APPENDS),
        )
    except (Py4JError, PySparkException):
        # The table is gone, or its log broken, or Spark has ended: the commit says which.
        return None


def _newest_version(session: SparkSession, table: str) -> int | None:
    """Found out anew; the state of a version that is known is not computed again."""
    try:
        log = delta_log(session, table)
        return None if log is None else int(newest_snapshot(session, log).version())
    except (Py4JError, PySparkException):
        return None
