"""Replaying a log to its newest state, from the best start that there is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from openmirror.deltalog import history
from openmirror.deltalog.actions import Damaged
from openmirror.deltalog.listed import (
    ListedLog,
    from_its_last_checkpoint,
    since,
)
from openmirror.deltalog.state import LogState, empty
from openmirror.errors import ConditionFailed, NotThere
from openmirror.ports import FileStore
from openmirror.table.layout import StorePath
from openmirror.table.log import BatchRecord, BrokenLog, TableLog

_TRIES = 3
_OURS_AMONG = 4
"""Of so many commits one is of ours, where maintenance and others commit as well."""
_FAR = 50
"""Commits: a checkpoint that is so much newer than what is known is read instead of them."""


class LogReplay:
    """LogReader and HistoryReader without a JVM; safe to share between threads."""

    def __init__(self, store: FileStore, remember: int = 4096) -> None:
        self._store = store
        self._remember = remember
        self._known: OrderedDict[StorePath, LogState] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        """The newest state of the log at this path; None when there is no table.

        Raises NotThere or ConditionFailed when the log is cleaned or replaced again and again
        while it is read: observe again.
        """
        for _ in range(_TRIES - 1):
            with suppress(NotThere, ConditionFailed):
                return self._newest(table)
        return self._newest(table)

    def _is_as_listed(self, listed: ListedLog) -> bool:
        return ListedLog(self._store, listed.table).files.entries == listed.files.entries

    def history(self, table: StorePath, limit: int) -> list[BatchRecord]:
        """Our newest commits that are still in the log, newest first; damaged ones left out."""
        newest = from_its_last_checkpoint(self._store, table, before=_OURS_AMONG * limit)
        found = history.batch_records(newest, limit)
        if len(found) >= limit or newest.is_complete:
            return found
        return history.batch_records(ListedLog(self._store, table), limit)

    def _newest(self, table: StorePath) -> TableLog | BrokenLog | None:
        with self._lock:
            known = self._known.get(table)
        listed = self._likely_enough(table, known)
        if not listed.is_complete:
            goes_on = known is None or known.anchor in listed.files.entries
            if goes_on and (log := self._gone_on(listed, known)):
                return log
            listed = ListedLog(self._store, table)
        found = self._replay(listed, known)
        if isinstance(found, BrokenLog) and not self._is_as_listed(listed):
            # A listing is not made at once: one that a clean-up of the log changed meanwhile can
            # lack what it needs, and is no broken log.
            raise ConditionFailed(f"the log of {table} changed while it was listed")
        return found

    def _likely_enough(self, table: StorePath, known: LogState | None) -> ListedLog:
        """The files from what is known on, or from the last checkpoint."""
        if known is None:
            return from_its_last_checkpoint(self._store, table)
        if known.anchor is None:
            return ListedLog(self._store, table)
        return since(self._store, table, known.anchor.name)

    def _gone_on(self, listed: ListedLog, known: LogState | None) -> TableLog | None:
        """The newest log, where a part of its files is enough for that; None where it is not."""
        checkpoint = next(iter(listed.files.checkpoints), None)
        if known and known.log.version == listed.files.newest:
            return known.log
        try:
            if known and (checkpoint is None or checkpoint.version < known.log.version + _FAR):
                state = known
            elif checkpoint:
                state = listed.checkpoint(checkpoint)
            else:
                return None
            state = listed.forward(state)
        except Damaged:
            return None  # the whole log shows what is the matter with it, or another way
        batch_record = state.log.batch_record or history.newest(listed)
        log = replace(state.log, batch_record=batch_record, before_fence={})
        if not history.knows_all(log):
            return None
        self._keep(replace(state, log=log))
        return log

    def _replay(self, listed: ListedLog, known: LogState | None) -> TableLog | BrokenLog | None:
        table, files = listed.table, listed.files
        if files.newest < 0:
            if not files.traces:
                # The next log here will be young: it is not asked for its last checkpoint.
                self._keep(empty(table))
                return None
            # Calling this "no table" would let somebody create one over its remains.
            left = files.traces[0]
            return BrokenLog(table, f"no commit and no complete checkpoint, only {left}")
        if known and known.anchor not in files.entries:
            known = None
        if known and known.log.version == files.newest:
            return known.log
        reasons: list[str] = []
        for start in _starts(listed, known):
            try:
                state = listed.forward(start())
                log = history.with_history(listed, state.log)
            except Damaged as damage:
                reasons.append(str(damage))
                continue
            self._keep(replace(state, log=log))
            return log
        return BrokenLog(table, "; ".join(dict.fromkeys(reasons)))

    def _keep(self, state: LogState) -> None:
        with self._lock:
            self._known[state.log.path] = state
            self._known.move_to_end(state.log.path)
            while len(self._known) > self._remember:
                self._known.popitem(last=False)


def _starts(listed: ListedLog, known: LogState | None) -> list[Callable[[], LogState]]:
    """States to go on from, the newest first: an older one helps when a newer is damaged."""
    files = listed.files
    starts: list[Callable[[], LogState]] = [
        partial(listed.checkpoint, c) for c in files.checkpoints
    ]
    if known:
        starts.insert(0, lambda: known)
    if 0 in files.commits or not files.checkpoints:
        starts.append(lambda: empty(listed.table))
    return starts
