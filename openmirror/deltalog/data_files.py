"""The data files that a log names: those of its newest version, and those that it removed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

from openmirror.deltalog.actions import Damaged, LogAction, actions_of
from openmirror.deltalog.file_actions import FileKey, checkpoint_actions, key_of
from openmirror.deltalog.listed import ListedLog
from openmirror.deltalog.listing import Checkpoint, LogFiles
from openmirror.errors import ConditionFailed, NotThere
from openmirror.plan.maintenance_steps import DeadFile, LiveFile, TableFiles
from openmirror.ports import FileStore
from openmirror.table.layout import StorePath, join
from openmirror.table.log import BrokenLog

_TRIES = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ADD = ("path", "size", "stats", "deletionVector", "tags")
_REMOVE = ("path", "size", "deletionTimestamp", "deletionVector")
_WANTED = (*(f"add.{name}" for name in _ADD), *(f"remove.{name}" for name in _REMOVE))
_CUBE, _BY = "ZCUBE_ID", "ZCUBE_ZORDER_BY"
_DELTA_LOG, _NOTE = "_delta_log", "_last_vacuum_info"
_THROUGH = "latestCommitVersionOutsideOfRetentionWindow"


class DataFilesReplay:
    """DataFilesReader without a JVM. Remembers nothing: it is asked seldom, and of many tables."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def data_files(self, table: StorePath) -> TableFiles | BrokenLog | None:
        """The files of the newest version, read from the newest checkpoint on.

        Raises NotThere or ConditionFailed when the log is cleaned or replaced again and again
        while it is read.
        """
        for _ in range(_TRIES - 1):
            with suppress(NotThere, ConditionFailed):
                return self._replay(table)
        return self._replay(table)

    def swept(self, table: StorePath, through: datetime) -> None:
        """As the port says: where Delta has left its note without a version, put one in.

        It may be too low, which only has Delta read more of the log. Raises what the store raises.
        """
        path = join(table, _DELTA_LOG, _NOTE)
        try:
            content = self._store.read(path)
            if not _names_no_version(content.data):
                return
            commits = ListedLog(self._store, table).files.commits
            past = [version for version, file in commits.items() if file.modified < through]
            if past:
                # Hadoop's checksum of the note that was there: Delta would take ours for damaged.
                with suppress(NotThere):
                    self._store.delete_file(join(table, _DELTA_LOG, f".{_NOTE}.crc"))
                note = json.dumps({_THROUGH: max(past)}).encode()
                self._store.write(path, note, only_if=content.etag)
        except (NotThere, ConditionFailed):
            # Gone, or another VACUUM has written its own.
            return

    def _replay(self, table: StorePath) -> TableFiles | BrokenLog | None:
        listed = ListedLog(self._store, table)
        if listed.files.newest < 0:
            return None
        reasons: list[str] = []
        for start in self._starts(listed.files, table):
            try:
                found = start()
                self._forward(found, listed.files, table)
            except Damaged as damage:
                reasons.append(str(damage))
                continue
            return self._summed_up(found, listed.files, table)
        return BrokenLog(table, "; ".join(dict.fromkeys(reasons)))

    def _starts(self, files: LogFiles, table: StorePath) -> Iterator[Callable[[], _Files]]:
        for checkpoint in files.checkpoints:
            yield partial(self._checkpoint, table, checkpoint)
        if 0 in files.commits or not files.checkpoints:
            yield lambda: _Files(-1)

    def _checkpoint(self, table: StorePath, checkpoint: Checkpoint) -> _Files:
        found = _Files(checkpoint.version)
        for action in checkpoint_actions(self._store, table, checkpoint, _WANTED):
            found.take(action)
        return found

    def _forward(self, found: _Files, files: LogFiles, table: StorePath) -> None:
        for version in range(found.version + 1, files.newest + 1):
            if version not in files.commits:
                raise Damaged(f"version {version} is missing, version {files.newest} is there")
            folder = join(table, _DELTA_LOG)
            for action in actions_of(self._store, folder, files.commits[version]):
                found.take(action)
            found.version = version

    def _summed_up(self, found: _Files, files: LogFiles, table: StorePath) -> TableFiles:
        live = {key.path for key in found.live}
        first = min(files.commits, default=None)
        oldest = files.commits[first] if first is not None else files.checkpoints[-1].parts[0]
        return TableFiles(
            version=found.version,
            live=tuple(found.live.values()),
            dead=tuple(file for path, file in found.dead.items() if path not in live),
            since=oldest.modified,
            names_all_dead=first is not None
            and (first == 0 or self._vacuumed_through(table) >= first),
        )

    def _vacuumed_through(self, table: StorePath) -> int:
        """Up to which version a VACUUM has deleted what was removed; -1 where it is not known."""
        try:
            content = self._store.read(join(table, _DELTA_LOG, _NOTE))
            version = json.loads(content.data)[_THROUGH]
        except (NotThere, KeyError, ValueError, TypeError):
            return -1
        return version if isinstance(version, int) else -1


def _names_no_version(note: bytes) -> bool:
    """Whether this is what open-source Delta notes of a VACUUM that listed the folder."""
    try:
        found = json.loads(note)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get(_THROUGH) is None


@dataclass
class _Files:
    version: int
    live: dict[FileKey, LiveFile] = field(default_factory=dict)
    dead: dict[str, DeadFile] = field(default_factory=dict)

    def take(self, action: LogAction) -> None:
        """Follow one action of a file; any other is passed over."""
        try:
            if add := action.get("add"):
                self.live[key_of(add)] = _live(add)
                self.dead.pop(str(add["path"]), None)
            elif remove := action.get("remove"):
                before = self.live.pop(key_of(remove), None)
                size = remove.get("size") or (before.size if before else 0)
                at = _EPOCH + timedelta(milliseconds=remove.get("deletionTimestamp") or 0)
                self.dead[str(remove["path"])] = DeadFile(int(size), at)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            kind = next(iter(action), "?")
            raise Damaged(f"version {self.version}: bad {kind} action ({error!r})") from error


def _live(add: Mapping[str, Any]) -> LiveFile:
    vector, tags = add.get("deletionVector"), dict(add.get("tags") or {})
    is_laid_out = _CUBE in tags and _BY in tags
    return LiveFile(
        size=int(add["size"]),
        rows=_rows(add.get("stats")),
        deleted=int(vector.get("cardinality") or 0) if vector else 0,
        cube=tags[_CUBE] if is_laid_out else None,
        laid_out_by=_columns(tags[_BY]) if is_laid_out else (),
    )


@lru_cache(maxsize=100)
def _columns(tag: str) -> tuple[str, ...]:
    """The names that many files have alike."""
    return tuple(map(str, json.loads(tag)))


def _rows(stats: object) -> int:
    if not isinstance(stats, str):
        return 0
    counted = json.loads(stats).get("numRecords")
    return counted if isinstance(counted, int) else 0
