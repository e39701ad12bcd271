"""One log as it was listed, and its states, read from those very files."""

from __future__ import annotations

from openmirror.deltalog.actions import Damaged, actions_of
from openmirror.deltalog.listing import Checkpoint, sort_out
from openmirror.deltalog.state import LogState, after, empty, whole
from openmirror.errors import NotThere
from openmirror.ports import FileStore
from openmirror.table.layout import StorePath, join


class ListedLog:
    """The files of one log as they are when this is made; none without a log.

    Its methods raise Damaged, and NotThere or ConditionFailed when a file is another by now.
    """

    def __init__(self, store: FileStore, table: StorePath) -> None:
        self.table = table
        self._store = store
        self._folder = join(table, "_delta_log")
        try:
            entries = store.list_folder(self._folder).entries
        except NotThere:
            entries = ()
        self.files = sort_out(entries)

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
        return whole(state)

    def forward(self, state: LogState) -> LogState:
        """The newest state, which every commit after this one leads to."""
        newest = self.files.newest
        # One after the other: a stranger's file name can claim a version beyond counting.
        for version in range(state.log.version + 1, newest + 1):
            if version not in self.files.commits:
                raise Damaged(f"version {version} is missing, version {newest} is there")
            state = self.commit(version, state)
        return whole(state)
