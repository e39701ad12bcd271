"""One log as it was listed, and its states, read from those very files."""

from __future__ import annotations

import json
from dataclasses import replace

from openmirror.deltalog.actions import Damaged, actions_of
from openmirror.deltalog.listing import Checkpoint, sort_out
from openmirror.deltalog.state import LogState, after, empty, whole
from openmirror.errors import ConditionFailed, NotThere
from openmirror.ports import Entry, FileStore
from openmirror.table.layout import StorePath, join

_LAST_CHECKPOINT = "_last_checkpoint"


class ListedLog:
    """The files of one log as they are when this is made; none without a log.

    Its methods raise Damaged, and NotThere or ConditionFailed when a file is another by now.
    """

    def __init__(
        self,
        store: FileStore,
        table: StorePath,
        entries: tuple[Entry, ...] | None = None,
        *,
        start: str = "",
    ) -> None:
        """All files, listed now; or `entries`, which are all whose names follow `start`."""
        self.table = table
        self.files = sort_out(_every(store, table) if entries is None else entries)
        self.is_complete = not start
        """Whether no file of the log is missing here."""
        self._store = store
        self._folder = _folder(table)

    def commit(self, version: int, before: LogState | None = None) -> LogState:
        """The state after one more commit; without a state before it, what it says alone."""
        entry = self.files.commits[version]
        actions = actions_of(self._store, self._folder, entry)
        return after(before or empty(self.table), version, entry, actions)

    def checkpoint(self, checkpoint: Checkpoint) -> LogState:
        """The state that a checkpoint holds."""
        state = empty(self.table)
        for part in checkpoint.parts:
            actions = actions_of(self._store, self._folder, part)
            state = after(state, checkpoint.version, part, actions)
        # Commits before a checkpoint may be gone, so what it lacks is nowhere.
        return self._with_own_record(whole(state))

    def _with_own_record(self, state: LogState) -> LogState:
        """With what the commit says of itself that a checkpoint was made of, where that is there.

        The checkpoint does not have it; and the next commit of ours goes on from what this says.
        """
        if state.log.version not in self.files.commits:
            return state
        try:
            own = self.commit(state.log.version).log
        except Damaged:
            return state
        log = replace(state.log, batch_record=own.batch_record)
        return replace(state, log=log)

    def forward(self, state: LogState) -> LogState:
        """The newest state, which every commit after this one leads to."""
        newest = self.files.newest
        # One after the other: a stranger's file name can claim a version beyond counting.
        for version in range(state.log.version + 1, newest + 1):
            if version not in self.files.commits:
                raise Damaged(f"version {version} is missing, version {newest} is there")
            state = self.commit(version, state)
        return whole(state)


def since(store: FileStore, table: StorePath, start: str) -> ListedLog:
    """The files whose names do not come before this one: newer versions have later names."""
    return ListedLog(store, table, _from(store, table, start), start=start)


def from_its_last_checkpoint(store: FileStore, table: StorePath, before: int = 0) -> ListedLog:
    """What begins with its last checkpoint, or at least so many versions before it.

    The whole log where Delta has noted no checkpoint beside it, as beside a young one.
    """
    version = _last_checkpoint(store, table)
    if version is None or version <= before:
        return ListedLog(store, table)
    start = f"{version - before:020d}"
    return since(store, table, start if before else f"{start}.checkpoint")


def _folder(table: StorePath) -> StorePath:
    return join(table, "_delta_log")


def _every(store: FileStore, table: StorePath) -> tuple[Entry, ...]:
    try:
        return store.list_folder(_folder(table)).entries
    except NotThere:
        return ()


def _from(store: FileStore, table: StorePath, start: str) -> tuple[Entry, ...]:
    try:
        return store.list_from(_folder(table), start)
    except NotThere:
        return ()


def _last_checkpoint(store: FileStore, table: StorePath) -> int | None:
    """The version that Delta notes beside the log; it may be an old one, and is only a hint."""
    try:
        noted = json.loads(store.read(join(_folder(table), _LAST_CHECKPOINT)).data)
    except (NotThere, ConditionFailed, ValueError, RecursionError):
        return None
    version = noted.get("version") if isinstance(noted, dict) else None
    return version if isinstance(version, int) and 0 <= version < 10**20 else None
