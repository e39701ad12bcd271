"""Every version that a log still has, and which files of theirs are gone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from openmirror.deltalog.actions import Damaged, LogAction, actions_of
from openmirror.deltalog.file_actions import FileKey, checkpoint_actions, key_of, paths_of
from openmirror.deltalog.listed import ListedLog
from openmirror.deltalog.listing import Checkpoint
from openmirror.deltalog.state import batch_record_of
from openmirror.errors import ConditionFailed, NotThere
from openmirror.ports import Entry, FileStore
from openmirror.protocol.names import fold_case
from openmirror.protocol.sequence import Position
from openmirror.table.layout import StorePath, join
from openmirror.table.log import AppId
from openmirror.table.past import GoneFile, Past, PastCommit
from openmirror.table.user_metadata import REMOVES_MARKED

_TRIES = 3
_AT_ONCE = 8
_AHEAD = 64
"""Commits that are in memory at the same time."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WANTED = ("txn", "metaData", "add.path", "add.deletionVector")
_VACUUM = "VACUUM START"
_RETENTIONS = ("specifiedRetentionMillis", "defaultRetentionMillis")


class PastReplay:
    """PastReader without a JVM. Remembers nothing: it is asked seldom."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def past(self, table: StorePath) -> Past | None:
        """The past of the table at this path; None where there is no log.

        Reads every file of the log, and lists the folders that hold its data. Raises NotThere or
        ConditionFailed when the log is cleaned again and again while it is read.
        """
        for _ in range(_TRIES - 1):
            with suppress(NotThere, ConditionFailed):
                return self._replay(table)
        return self._replay(table)

    def _replay(self, table: StorePath) -> Past | None:
        listed = ListedLog(self._store, table).files  # before the data files: none comes too late
        if listed.newest < 0:
            return None
        checkpoints = {checkpoint.version: checkpoint for checkpoint in listed.checkpoints}
        replay = _Replay(folders=_Folders(self._store, table))
        commits: list[PastCommit] = []
        # Not one after the other: a stranger's file name can claim a version beyond counting.
        versions = sorted({*listed.commits, *checkpoints})
        read = self._actions_of(table, [listed.commits.get(version) for version in versions])
        for version, actions in zip(versions, read, strict=True):
            own = _commit(version, listed.commits[version].modified, actions) if actions else None
            commit = _followed(replay, own, actions)
            if commit is None and (checkpoint := checkpoints.get(version)):
                commit = self._begun(replay, table, checkpoint, own)
            if commit := commit or own:
                commits.append(commit)
        return Past(
            commits=tuple(commits),
            rebuilt=frozenset(replay.rebuilt),
            gone=tuple(replay.all_gone()),
        )

    def _actions_of(
        self, table: StorePath, entries: Sequence[Entry | None]
    ) -> Iterator[list[LogAction]]:
        """The actions of each commit, in order, some read while others wait for the network."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for start in range(0, len(entries), _AHEAD):
                some = entries[start : start + _AHEAD]
                yield from pool.map(lambda entry: self._actions(table, entry), some)

    def _actions(self, table: StorePath, entry: Entry | None) -> list[LogAction]:
        """The actions of a commit; none where it is gone or damaged."""
        if entry is None:
            return []
        try:
            return list(actions_of(self._store, join(table, "_delta_log"), entry))
        except Damaged:
            return []

    def _begun(
        self, replay: _Replay, table: StorePath, checkpoint: Checkpoint, own: PastCommit | None
    ) -> PastCommit | None:
        """The version of a checkpoint that the replay begins with; None for a damaged one."""
        version = checkpoint.version
        try:
            replay.begin(version, checkpoint_actions(self._store, table, checkpoint, _WANTED))
        except (Damaged, NotThere):  # a part or a sidecar is gone, and with it the version
            replay.forget()
            return None
        commit = own or PastCommit(version=version, at=checkpoint.parts[0].modified)
        return replace(commit, transactions=replay.transactions)


class _Folders:
    """Which files lie below the table, each folder listed when it is first asked for."""

    def __init__(self, store: FileStore, table: StorePath) -> None:
        self._store, self._table = store, table
        self._names: dict[str, frozenset[str]] = {}

    def has(self, path: str) -> bool:
        """Whether a file is there; of one that lies elsewhere nobody knows, so it is not."""
        if "://" in path or path.startswith("/"):
            return False
        folder, _, name = path.rpartition("/")
        if folder not in self._names:
            names: frozenset[str] = frozenset()
            with suppress(NotThere):
                parts = folder.split("/") if folder else ()
                listing = self._store.list_folder(join(self._table, *parts))
                names = frozenset(e.name for e in listing.entries if not e.is_folder)
            self._names[folder] = names
        return name in self._names[folder]


@dataclass(kw_only=True)
class _Replay:
    """The data files of one version after the other."""

    folders: _Folders
    version: int | None = -1
    """The version whose files are known; None where nobody knows them."""
    live: dict[FileKey, list[GoneFile]] = field(default_factory=dict)
    """With what is missing of each."""
    columns: frozenset[str] = frozenset()
    transactions: dict[AppId, Position] = field(default_factory=dict)
    """Those of the version."""
    rebuilt: set[int] = field(default_factory=set)
    gone: list[GoneFile] = field(default_factory=list)
    """Of files that left the table, those that are missing."""

    def can_take(self, version: int) -> bool:
        """Whether this version follows the one whose files are known."""
        return self.version is not None and version == self.version + 1

    def forget(self) -> None:
        """Nobody knows the files of the next version."""
        self.gone.extend(
            replace(file, removed=(self.version or 0) + 1)
            for files in self.live.values()
            for file in files
        )
        self.live, self.columns, self.version = {}, frozenset(), None

    def begin(self, version: int, actions: Iterable[LogAction]) -> None:
        """Go on from a checkpoint."""
        self.version = version - 1
        self.take(version, actions)

    def take(self, version: int, actions: Iterable[LogAction]) -> bool:
        """Follow the actions of a version; whether the table has lost a column by them."""
        before, self.transactions = self.columns, {}
        try:
            for action in actions:
                if txn := action.get("txn"):
                    self.transactions[AppId(str(txn["appId"]))] = Position(int(txn["version"]))
                elif add := action.get("add"):
                    self._added(version, add)
                elif remove := action.get("remove"):
                    self._removed(version, remove)
                elif metadata := action.get("metaData"):
                    fields = json.loads(metadata["schemaString"])["fields"]
                    self.columns = frozenset(fold_case(one["name"]) for one in fields)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise Damaged(f"version {version}: an action makes no sense ({error!r})") from error
        self.version = version
        self.rebuilt.add(version)
        return bool(before - self.columns)

    def _added(self, version: int, add: Mapping[str, Any]) -> None:
        if key_of(add) not in self.live:  # or only what is known of it is new
            missing = [path for path in paths_of(add) if not self.folders.has(path)]
            found = [GoneFile(path=path, added=version, removed=None) for path in missing]
            self.live[key_of(add)] = found

    def _removed(self, version: int, remove: Mapping[str, Any]) -> None:
        millis = remove.get("deletionTimestamp")
        at = _EPOCH + timedelta(milliseconds=millis) if millis else None
        for file in self.live.pop(key_of(remove), ()):
            self.gone.append(replace(file, removed=version, removed_at=at))

    def all_gone(self) -> list[GoneFile]:
        """Every missing file, for the versions that need it."""
        return [*self.gone, *(file for files in self.live.values() for file in files)]


def _followed(
    replay: _Replay, own: PastCommit | None, actions: list[LogAction]
) -> PastCommit | None:
    """A commit that the replay has followed; None where it cannot, and begins anew."""
    try:
        if own is not None and replay.can_take(own.version):
            loses_columns = replay.take(own.version, actions)
            changes_rows = own.changes_rows or loses_columns
            return replace(own, changes_rows=changes_rows, transactions=replay.transactions)
    except Damaged:
        pass
    replay.forget()
    return None


def _commit(version: int, modified: datetime, actions: Iterable[LogAction]) -> PastCommit | None:
    """What a commit says of itself; None where it makes no sense."""
    found = PastCommit(version=version, at=modified)
    transactions: dict[AppId, Position] = {}
    try:
        for action in actions:
            if info := action.get("commitInfo"):
                found = _described(found, info)
            elif txn := action.get("txn"):
                transactions[AppId(str(txn["appId"]))] = Position(int(txn["version"]))
            elif file := action.get("add") or action.get("remove"):
                changes = found.changes_rows or file.get("dataChange") is not False
                found = replace(found, changes_rows=changes)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    return replace(found, transactions=transactions)


def _described(commit: PastCommit, info: Mapping[str, Any]) -> PastCommit:
    millis = info.get("inCommitTimestamp") or info.get("timestamp")
    at = _EPOCH + timedelta(milliseconds=millis) if millis else commit.at
    operation = str(info.get("operation", ""))
    return replace(
        commit,
        at=at,
        operation=operation,
        batch_record=batch_record_of(info),
        removes_marked=info.get("userMetadata") == REMOVES_MARKED,
        deletes_before=_deletes_before(at, info) if operation == _VACUUM else None,
    )


def _deletes_before(at: datetime, info: Mapping[str, Any]) -> datetime | None:
    """A VACUUM deletes the files that left the table before this; None where it does not say so."""
    parameters = info.get("operationParameters") or {}
    known = (str(parameters.get(name, "")) for name in _RETENTIONS)  # as a number, or its text
    kept = next((millis for millis in known if millis.isdecimal()), None)
    return None if kept is None else at - timedelta(milliseconds=int(kept))
