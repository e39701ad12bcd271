"""From frames of the log to batches: each table's changes in order, cut where transactions end.

Row messages are not read here. They are put beside those of their table, with their places, and are
read many at a time later (`changes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.pgoutput import (
    BeginMessage,
    CommitMessage,
    LogicalMessage,
    MalformedMessage,
    Relation,
    Truncate,
    parse_message,
)
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.protocol.streams import StopReason

MARK_PREFIX = "openmirror"
"""The prefix of messages that we write into the log."""
_HEAD = 25
"""Bytes of a frame before pgoutput's message."""
_BESIDE = 56
"""Bytes of memory that a row message takes beyond those of its frame: Python's objects."""
_DATA, _KEEPALIVE = ord("w"), ord("k")
_ROWS = frozenset(b"IUD")
_RELATION, _BEGIN, _COMMIT = ord("R"), ord("B"), ord("C")
_TRUNCATED = b"T"


@dataclass
class Changes:
    """Consecutive changes of one table that follow one Relation message."""

    relation: Relation
    shape: TableShape | StopReason | None = None
    """How the rows are read, or why they cannot be. None until the catalogue has been read behind
    their transaction."""
    messages: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The number of each message within its transaction."""
    runs: list[tuple[int, Lsn, int]] = field(default_factory=list)
    """Where a transaction's messages begin, its commit's LSN and time (microseconds since 1970)."""

    @property
    def first(self) -> LogPlace:
        """The place of the first message."""
        return LogPlace(self.runs[0][1], self.numbers[0])

    @property
    def last(self) -> LogPlace:
        """The place of the last message."""
        return LogPlace(self.runs[-1][1], self.numbers[-1])


@dataclass(frozen=True)
class Mark:
    """A message of ours that has come in the log."""

    name: str
    place: LogPlace


@dataclass(frozen=True, kw_only=True)
class LogBatch:
    """Everything that came of the log up to one place."""

    items: dict[Oid, list[Changes | Mark]]
    """Each table's changes, and the first marks of its loads among them."""
    marks: tuple[Mark, ...]
    """All marks that came, in their order."""
    transactions: frozenset[int]
    """The numbers (32 bits) of the transactions that it has changes of."""
    end: Lsn
    """Everything before it is in this batch, or was in one before."""
    is_whole: bool
    """Whether it ends where a transaction does; otherwise the rest of that one follows."""
    messages: int = 0
    """Row messages."""
    newest_us: int | None = None
    """When the newest transaction was committed: microseconds since 1970."""


class Assembler:
    """Puts frames together to batches. Every method raises MalformedMessage for what is none."""

    def __init__(
        self,
        encoding: str,
        is_mirrored: Callable[[Oid], bool],
        first_of: Callable[[str], Sequence[Oid]],
        complete: Lsn,
    ) -> None:
        """Args:
        encoding: what the server's text is in, by PostgreSQL's name.
        is_mirrored: returns whether changes of a table are wanted.
        first_of: gives the tables whose loads begin with a mark of this name.
        complete: everything before it was in batches before.
        """
        self._encoding = encoding
        self._is_mirrored = is_mirrored
        self._first_of = first_of
        self._relations: dict[bytes, Relation] = {}
        self._open: dict[bytes, Changes] = {}
        self._transaction: BeginMessage | None = None
        self._number = 0
        self._end = complete
        self._start_batch()

    @property
    def transaction(self) -> BeginMessage | None:
        """The transaction that has begun and not ended; None between two."""
        return self._transaction

    @property
    def last_relation(self) -> Relation | None:
        """The table that the newest Relation message was about."""
        return next(reversed(self._relations.values()), None) if self._relations else None

    def forget_relations(self) -> None:
        """Expect every table to be described anew, because another connection sends the log."""
        self._relations.clear()

    def feed(self, frames: Sequence[bytes]) -> None:
        """Take frames in the order in which they came."""
        open_ = self._open
        transaction = self._transaction
        for frame in frames:
            kind = frame[_HEAD] if frame[0] == _DATA and len(frame) > _HEAD else 0
            if kind in _ROWS and transaction is not None:
                number = self._number = self._number + 1
                changes = open_.get(frame[26:30])
                if changes is None:
                    changes = self._changes_of(frame[26:30])
                    if changes is None:
                        continue
                if changes.runs[-1][1] != transaction.final:
                    changes.runs.append(
                        (len(changes.messages), transaction.final, transaction.ts_us)
                    )
                changes.messages.append(frame[_HEAD:])
                changes.numbers.append(number)
                self.size += len(frame) + _BESIDE
                self.messages += 1
            else:
                self._other(frame, kind)
                transaction = self._transaction

    def cut(self) -> LogBatch:
        """Return what came since the last cut."""
        for changes in self._open.values():
            self._put(changes)
        batch = LogBatch(
            items=self._items,
            marks=tuple(self._marks),
            transactions=frozenset(self._transactions),
            end=self._end,
            is_whole=self._transaction is None,
            messages=self.messages,
            newest_us=self._newest_us,
        )
        self._start_batch()
        return batch

    def _start_batch(self) -> None:
        self._open.clear()
        self._items: dict[Oid, list[Changes | Mark]] = {}
        self._marks: list[Mark] = []
        self._transactions: set[int] = set()
        if self._transaction is not None:
            self._transactions.add(self._transaction.xid)
        self._newest_us: int | None = None
        self.messages = 0
        """Row messages since the last cut."""
        self.size = 0
        """The bytes of memory that they take, about."""

    @property
    def has_marks(self) -> bool:
        """Whether a mark has come since the last cut."""
        return bool(self._marks)

    @property
    def end(self) -> Lsn:
        """Everything before it has come."""
        return self._end

    def _other(self, frame: bytes, kind: int) -> None:
        """Take a frame that has no row."""
        if frame[0] == _KEEPALIVE and len(frame) == 18:
            if self._transaction is None:
                self._end = max(self._end, Lsn(int.from_bytes(frame[1:9], "big")))
            return
        if frame[0] != _DATA or len(frame) <= _HEAD:
            raise MalformedMessage(f"a frame of {len(frame)} bytes begins with {frame[:1]!r}")
        if kind in _ROWS:
            raise MalformedMessage("a row came outside of a transaction")
        message = parse_message(frame[_HEAD:], self._encoding)
        if isinstance(message, BeginMessage):
            self._transaction, self._number = message, 0
            self._transactions.add(message.xid)
        elif isinstance(message, CommitMessage):
            self._commit(message)
        elif isinstance(message, Relation):
            self._relation(frame[26:30], message)
        elif isinstance(message, Truncate):
            self._truncate(message)
        elif isinstance(message, LogicalMessage):
            self._message(message)

    def _commit(self, message: CommitMessage) -> None:
        transaction = self._transaction
        if transaction is None:
            raise MalformedMessage("a commit came outside of a transaction")
        if message.commit != transaction.final:
            raise MalformedMessage("a commit is not the one that its BEGIN named")
        self._newest_us = transaction.ts_us
        self._end = message.end
        self._transaction = None

    def _relation(self, oid: bytes, message: Relation) -> None:
        before = self._open.pop(oid, None)
        if before is not None:
            self._put(before)
        # The newest is the last, by which a transaction that cannot be sent is informed.
        self._relations.pop(oid, None)
        self._relations[oid] = message

    def _changes_of(self, oid: bytes) -> Changes | None:
        """Return a place for a table's changes; None for a table that is not mirrored."""
        transaction = self._transaction
        assert transaction is not None
        if oid not in self._relations:
            raise MalformedMessage(f"a row of relation {int.from_bytes(oid, 'big')} is unannounced")
        relation = self._relations[oid]
        if not self._is_mirrored(relation.oid):
            return None
        changes = Changes(relation, runs=[(0, transaction.final, transaction.ts_us)])
        self._open[oid] = changes
        return changes

    def _truncate(self, message: Truncate) -> None:
        transaction = self._transaction
        if transaction is None:
            raise MalformedMessage("a truncate came outside of a transaction")
        for relation in message.relations:
            self._number += 1
            oid = relation.to_bytes(4, "big")
            changes = self._open.get(oid) or self._changes_of(oid)
            if changes is None:
                continue
            if changes.runs[-1][1] != transaction.final:
                changes.runs.append((len(changes.messages), transaction.final, transaction.ts_us))
            changes.messages.append(_TRUNCATED)
            changes.numbers.append(self._number)
            self.messages += 1

    def _message(self, message: LogicalMessage) -> None:
        if message.prefix != MARK_PREFIX or self._transaction is None:
            return
        name = message.content.decode("utf-8", "replace")
        mark = Mark(name, LogPlace(self._transaction.final, self._number))
        self._marks.append(mark)
        for oid in self._first_of(name):
            changes = self._open.pop(oid.to_bytes(4, "big"), None)
            if changes is not None:
                self._put(changes)
            self._items.setdefault(oid, []).append(mark)

    def _put(self, changes: Changes) -> None:
        if changes.messages:
            self._items.setdefault(changes.relation.oid, []).append(changes)
