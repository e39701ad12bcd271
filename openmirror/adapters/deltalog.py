"""Reading a Delta log through the FileStore port, by replaying it (Delta's PROTOCOL.md)."""

from __future__ import annotations

import io
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from openmirror.commitnote import decode
from openmirror.errors import ConditionFailed, NotThere
from openmirror.layout import StorePath, join
from openmirror.ports import Content, Entry, FileStore
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.tablelog import AppId, BrokenLog, CommitNote, TableLog

_COMMIT = re.compile(r"(\d{20})\.json\Z")
_CHECKPOINT = re.compile(
    r"(?P<version>\d{20})\.checkpoint"
    r"(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.[0-9a-fA-F-]{36}(?=\.))?\.(?P<format>parquet|json)\Z"
)
_TRACE = re.compile(r"\d{20}\.(checkpoint|crc|\d{20}\.compacted)|_last_checkpoint\Z")
"""What a log leaves beside its commits: where it lies, there was a table."""
_CATALOG = ("catalogManaged", "catalogOwned-preview")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCK = 1 << 20
_ATTEMPTS = 3


class _Damaged(Exception):
    """A file of the log cannot be read for what it is."""


@dataclass(frozen=True)
class _State:
    """What is known after one version."""

    version: int
    anchor: Entry | None = None
    """The file that this version was read from; as long as it is there, so is this log."""
    transactions: Mapping[AppId, Position] = field(default_factory=dict)
    table_id: str | None = None
    schema: TableSchema = field(default_factory=TableSchema)
    properties: Mapping[str, str] = field(default_factory=dict)
    has_protocol: bool = False
    note: CommitNote | None = None


_NOTHING = _State(version=-1)


@dataclass(frozen=True)
class _Files:
    """A listing of `_delta_log`, sorted out."""

    commits: Mapping[int, Entry]
    checkpoints: tuple[tuple[int, tuple[Entry, ...]], ...]
    """Complete ones, newest first, each with its parts."""
    traces: tuple[str, ...]

    @property
    def newest(self) -> int:
        """The newest version; -1 when there is none."""
        return max([*self.commits, *(version for version, _ in self.checkpoints)], default=-1)

    @property
    def entries(self) -> set[Entry]:
        """Every file that a state can be anchored at."""
        return {*self.commits.values(), *(e for _, parts in self.checkpoints for e in parts)}


class LogReplay:
    """LogReader without a JVM; safe to share between threads."""

    def __init__(self, store: FileStore, remember: int = 256) -> None:
        self._store = store
        self._remember = remember
        self._known: OrderedDict[StorePath, tuple[_State, TableLog]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, table: StorePath) -> TableLog | BrokenLog | None:
        """The newest state of the log at this path; None when there is no table.

        Raises NotThere or ConditionFailed when the log is cleaned or replaced again and again
        while it is read: look again.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            files = self._list(table)
            if files is None:
                return None
            try:
                return self._replay(table, files)
            except (NotThere, ConditionFailed):
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def history(self, table: StorePath, limit: int) -> list[CommitNote]:
        """Our newest commits that are still in the log, newest first; damaged ones left out."""
        notes: list[CommitNote] = []
        files = self._list(table)
        commits = files.commits if files else {}
        for version in sorted(commits, reverse=True):
            if len(notes) >= limit:
                break
            try:
                note = self._commit(table, _NOTHING, commits[version]).note
            except (_Damaged, NotThere, ConditionFailed):
                continue
            if note:
                notes.append(note)
        return notes

    def _list(self, table: StorePath) -> _Files | None:
        try:
            listing = self._store.list_folder(join(table, "_delta_log"))
        except NotThere:
            return None
        commits: dict[int, Entry] = {}
        found: dict[tuple[int, str], list[Entry]] = {}
        traces: list[str] = []
        for entry in sorted(listing.entries, key=lambda entry: entry.name):
            if entry.is_folder:
                continue
            if match := _COMMIT.match(entry.name):
                commits[int(match[1])] = entry
            elif match := _CHECKPOINT.match(entry.name):
                kind = match["parts"] or entry.name
                found.setdefault((int(match["version"]), kind), []).append(entry)
            if _TRACE.match(entry.name):
                traces.append(entry.name)
        complete = [
            (version, tuple(parts))
            for (version, kind), parts in found.items()
            if not kind.isdecimal() or len(parts) == int(kind)
        ]
        newest_first = sorted(complete, key=lambda item: item[0], reverse=True)
        return _Files(commits, tuple(newest_first), tuple(traces))

    def _replay(self, table: StorePath, files: _Files) -> TableLog | BrokenLog | None:
        if files.newest < 0:
            if not files.traces:
                return None
            # Calling this "no table" would let somebody create one over its remains.
            left = files.traces[0]
            return BrokenLog(table, f"no commit and no complete checkpoint, only {left}")
        with self._lock:
            known = self._known.get(table)
        before = known[0] if known and known[0].anchor in files.entries else None
        if known and before and before.version == files.newest:
            return known[1]
        reasons: list[str] = []
        for start in self._starts(table, files, before, reasons):
            # The first one only: a stranger's file name can claim a version beyond counting.
            later = range(start.version + 1, files.newest + 1)
            missing = next((v for v in later if v not in files.commits), None)
            if missing is not None:
                reasons.append(f"version {missing} is missing, version {files.newest} is there")
                continue
            try:
                state = start
                for version in later:
                    state = self._commit(table, state, files.commits[version])
                log = self._log(table, files, _whole(state))
            except _Damaged as damage:
                reasons.append(str(damage))
                continue
            self._keep(table, replace(state, note=log.note), log)
            return log
        return BrokenLog(table, "; ".join(dict.fromkeys(reasons)))

    def _starts(
        self, table: StorePath, files: _Files, before: _State | None, reasons: list[str]
    ) -> Iterator[_State]:
        """States to go on from, the newest first: an older one helps when a newer is damaged."""
        if before and before.version <= files.newest:
            yield before
        for version, parts in files.checkpoints:
            try:
                yield self._checkpoint(table, version, parts)
            except _Damaged as damage:
                reasons.append(str(damage))
        if 0 in files.commits or not files.checkpoints:
            yield _NOTHING

    def _keep(self, table: StorePath, state: _State, log: TableLog) -> None:
        with self._lock:
            self._known[table] = state, log
            self._known.move_to_end(table)
            while len(self._known) > self._remember:
                self._known.popitem(last=False)

    def _log(self, table: StorePath, files: _Files, state: _State) -> TableLog:
        log = TableLog(
            path=table,
            table_id=state.table_id or "",
            version=state.version,
            transactions=state.transactions,
            schema=state.schema,
            properties=state.properties,
            note=state.note,
        )
        fenced = {e.app_id for e, position in log.epochs.items() if position == FENCED}
        wanted = set() if log.live else fenced
        if log.epochs and (wanted or not log.note):
            before, note = self._look_back(table, files, wanted, log.note)
            log = replace(log, before_fence=before, note=note)
        return log

    def _look_back(
        self, table: StorePath, files: _Files, wanted: set[AppId], note: CommitNote | None
    ) -> tuple[dict[AppId, Position], CommitNote | None]:
        """What only older commits say: where epochs were before their fence, and our last note.

        A damaged file is not passed over: behind it may be the position, and a position that is
        too low applies changes twice.
        """
        found: dict[AppId, Position] = {}
        for version in sorted(files.commits, reverse=True):
            if note and wanted <= found.keys():
                break
            try:
                commit = self._commit(table, _NOTHING, files.commits[version])
            except _Damaged:
                if wanted <= found.keys():
                    break  # a note is not worth a table
                raise
            note = note or commit.note
            _find(found, wanted, commit)
        for version, parts in files.checkpoints:
            if wanted <= found.keys():
                break
            _find(found, wanted, self._checkpoint(table, version, parts))
        return {app: found.get(app, START) for app in wanted}, note

    def _commit(self, table: StorePath, state: _State, entry: Entry) -> _State:
        """The state after one more commit."""
        data = self._bytes(table, entry)
        version = int(entry.name.partition(".")[0])
        return _after(replace(state, version=version, anchor=entry), _actions(entry.name, data))

    def _checkpoint(self, table: StorePath, version: int, parts: tuple[Entry, ...]) -> _State:
        state = _State(version=version, anchor=parts[0])
        for entry in parts:
            if entry.name.endswith(".json"):
                state = _after(state, _actions(entry.name, self._bytes(table, entry)))
                continue
            source = _Ranged(self._store, join(table, "_delta_log", entry.name), entry)
            try:
                state = _after(state, _checkpoint_rows(source))
            except (pa.ArrowException, OSError, ValueError) as error:
                if source.failure is not None:
                    raise source.failure from None
                raise _Damaged(f"{entry.name} cannot be read: {error}") from error
        # Commits before a checkpoint may be gone, so what it lacks is nowhere.
        return _whole(state)

    def _bytes(self, table: StorePath, entry: Entry) -> bytes:
        return _same(self._store.read(join(table, "_delta_log", entry.name)), entry)


class _Ranged(io.RawIOBase):
    """A file of the store as pyarrow reads it: whole blocks, so that small files cost one read."""

    def __init__(self, store: FileStore, path: StorePath, entry: Entry) -> None:
        super().__init__()
        self._store, self._path, self._entry = store, path, entry
        self._blocks: dict[int, bytes] = {}
        self._at = 0
        self.failure: Exception | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._entry.size}[whence]
        self._at = start + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._entry.size if size is None or size < 0 else self._at + size
        end = min(end, self._entry.size)
        numbers = range(self._at // _BLOCK, (end + _BLOCK - 1) // _BLOCK)
        data = b"".join(self._block(number) for number in numbers)
        first = self._at - (self._at // _BLOCK) * _BLOCK
        data = data[first : first + max(0, end - self._at)]
        self._at += len(data)
        return data

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            try:
                self._blocks[number] = _same(
                    self._store.read(self._path, number * _BLOCK, _BLOCK), self._entry
                )
            except Exception as failure:
                # Kept apart: a store that fails must not pass for a checkpoint that is damaged.
                self.failure = failure
                raise
        return self._blocks[number]


def _same(content: Content, entry: Entry) -> bytes:
    """What was read of this listed file, unless another has taken its place."""
    if content.etag != entry.etag:
        raise ConditionFailed(f"{entry.name} was replaced while the log was read")
    return content.data


def _whole(state: _State) -> _State:
    """The state itself, when it can be one of a table."""
    lacking = "metaData" if state.table_id is None else "protocol"
    if state.table_id is None or not state.has_protocol:
        raise _Damaged(f"no {lacking} action up to version {state.version}")
    return state


def _actions(name: str, data: bytes) -> Iterator[Mapping[str, Any]]:
    if not data.strip():
        raise _Damaged(f"{name} is empty")
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _Damaged(f"{name}, line {number} is not JSON") from error
        if not isinstance(action, dict):
            raise _Damaged(f"{name}, line {number} is not an action")
        yield action


def _checkpoint_rows(source: _Ranged) -> Iterator[Mapping[str, Any]]:
    with pq.ParquetFile(pa.PythonFile(source, mode="r")) as file:
        wanted = ("txn", "metaData", "protocol")
        for batch in file.iter_batches(columns=list(wanted)):
            for name in set(wanted) & set(batch.schema.names):
                for value in batch.column(name).drop_null().to_pylist():
                    yield {name: value}


def _after(state: _State, actions: Iterable[Mapping[str, Any]]) -> _State:
    """The state with these actions of its version; what is not needed here is passed over."""
    transactions = dict(state.transactions)
    for action in actions:
        try:
            if txn := action.get("txn"):
                transactions[AppId(str(txn["appId"]))] = Position(int(txn["version"]))
            elif metadata := action.get("metaData"):
                state = replace(
                    state,
                    table_id=str(metadata["id"]),
                    schema=_schema(metadata["schemaString"]),
                    # A map of Parquet arrives as pairs.
                    properties=dict(metadata.get("configuration") or {}),
                )
            elif protocol := action.get("protocol"):
                features = protocol.get("readerFeatures") or ()
                if any(name in features for name in _CATALOG):
                    raise _Damaged("a catalog holds its commits")
                state = replace(state, has_protocol=True)
            elif info := action.get("commitInfo"):
                state = replace(state, note=_note(info) or state.note)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = next(iter(action), "?")
            raise _Damaged(f"version {state.version}: bad {what} action ({error!r})") from error
    return replace(state, transactions=transactions)


def _schema(text: str) -> TableSchema:
    """Delta's schema as ours: logical names, and for a nested column only its kind."""
    columns = []
    for one in json.loads(text)["fields"]:
        kind = one["type"] if isinstance(one["type"], str) else one["type"]["type"]
        columns.append(Column(one["name"], ColumnType(kind.replace(" ", ""))))
    return TableSchema(tuple(columns))


def _note(info: Mapping[str, Any]) -> CommitNote | None:
    text = info.get("userMetadata")
    note = decode(text) if isinstance(text, str) else None
    millis = info.get("inCommitTimestamp") or info.get("timestamp")
    if note is None or not isinstance(millis, (int, float)):
        return note
    try:
        return replace(note, committed_at=_EPOCH + timedelta(milliseconds=millis))
    except OverflowError:
        return note


def _find(found: dict[AppId, Position], wanted: set[AppId], state: _State) -> None:
    for app in wanted - found.keys():
        position = state.transactions.get(app, FENCED)
        if position < FENCED:
            found[app] = position
