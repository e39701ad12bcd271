"""Frames of the replication protocol, and messages of `pgoutput`, protocol version 1. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

from openmirror.cdc.postgresql.definitions import Oid, ReplicaIdentity
from openmirror.cdc.postgresql.encodings import decoded
from openmirror.cdc.postgresql.places import Lsn

EPOCH_US: Final = 946_684_800_000_000
"""PostgreSQL counts time from 2000-01-01; this is that moment in microseconds since 1970."""

_T = TypeVar("_T")
_OTHER_KINDS = {
    "A": "Stream Abort",
    "E": "Stream Stop",
    "K": "Commit Prepared",
    "P": "Prepare",
    "S": "Stream Start",
    "b": "Begin Prepare",
    "c": "Stream Commit",
    "p": "Stream Prepare",
    "r": "Rollback Prepared",
}


class MalformedMessage(ValueError):
    """Bytes that are no message of the protocol, or contradict the Relation message before."""


@dataclass(frozen=True)
class LogData:
    """A `w` frame: one message of the log."""

    start: Lsn
    end: Lsn
    ts_us: int
    """When the server sent the frame, in microseconds since 1970."""
    payload: bytes


@dataclass(frozen=True)
class KeepAlive:
    """A `k` frame: how far the server has read its log."""

    end: Lsn
    ts_us: int
    is_reply_wanted: bool


Frame = LogData | KeepAlive


@dataclass(frozen=True)
class BeginMessage:
    """The start of a transaction."""

    final: Lsn
    """Where the transaction's commit record begins."""
    ts_us: int
    """When the transaction was committed, in microseconds since 1970."""
    xid: int
    """The transaction's id without its epoch (32 bits)."""


@dataclass(frozen=True)
class CommitMessage:
    """The end of a transaction."""

    commit: Lsn
    """Where the commit record begins; the same as `Begin.final`."""
    end: Lsn
    """Where the commit record ends."""
    ts_us: int


@dataclass(frozen=True)
class Origin:
    """The server that a transaction was replicated from."""

    commit: Lsn
    name: str


@dataclass(frozen=True)
class RelationColumn:
    """A column that rows of a relation have in the log."""

    name: str
    type: Oid
    modifier: int
    is_key: bool
    """Whether the column belongs to the replica identity. Under FULL every column does."""


@dataclass(frozen=True)
class Relation:
    """A table as the transaction of the rows that follow saw it."""

    oid: Oid
    schema: str
    name: str
    identity: ReplicaIdentity
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True)
class TypeName:
    """The name of a type that is not built in."""

    oid: Oid
    schema: str
    name: str


@dataclass(frozen=True)
class Truncate:
    """One TRUNCATE statement."""

    relations: tuple[Oid, ...]
    cascade: bool
    restart_identity: bool


@dataclass(frozen=True)
class LogicalMessage:
    """A message that somebody wrote by `pg_logical_emit_message`."""

    is_transactional: bool
    lsn: Lsn
    prefix: str
    content: bytes


LogMessage = BeginMessage | CommitMessage | Origin | Relation | TypeName | Truncate | LogicalMessage


class UnchangedValue(Enum):
    """The flag of a large value that an UPDATE did not change and the log does not repeat."""

    UNCHANGED = "u"


UNCHANGED: Final = UnchangedValue.UNCHANGED
TupleValue = bytes | None | UnchangedValue
"""A value's text in the server's encoding, None for NULL, or UNCHANGED."""


@dataclass(frozen=True)
class RowMessage:
    """One INSERT, UPDATE or DELETE."""

    relation: Oid
    operation: str
    """`I`, `U` or `D`."""
    old_kind: str | None
    """`K` for an old row that has its key only, `O` for a whole old row, None without one."""
    old: tuple[TupleValue, ...] | None
    new: tuple[TupleValue, ...] | None


def parse_frame(data: bytes) -> Frame:
    """Return the frame of one CopyData of the replication connection.

    Raises:
        MalformedMessage: The bytes are neither a `w` nor a `k` frame.
    """
    cursor = _Cursor(data, "frame")
    kind = cursor.character()
    if kind == "w":
        start, end, sent = cursor.lsn(), cursor.lsn(), cursor.time()
        return LogData(start, end, sent, cursor.rest())
    if kind == "k":
        alive = KeepAlive(cursor.lsn(), cursor.time(), cursor.flags(1) == 1)
        return cursor.finished(alive)
    raise MalformedMessage(f"replication frame of unknown kind {kind!r}")


def parse_message(payload: bytes, encoding: str) -> LogMessage:
    """Return a message other than a row's.

    Names that are no text of the encoding keep their bytes as surrogates (`surrogateescape`),
    so that only their table has to stop.

    Args:
        payload: The message, from its kind on.
        encoding: The server's encoding as `SHOW server_encoding` names it.

    Raises:
        MalformedMessage: The message is truncated, too long, of a kind that protocol version 1
            does not have, or a row's.
        UnknownEncoding: No codec reads the encoding.
    """
    kind = chr(payload[0]) if payload else ""
    if kind not in _PARSERS:
        raise MalformedMessage(_refusal(kind))
    name, parse = _PARSERS[kind]
    cursor = _Cursor(payload, name, encoding)
    cursor.character()
    return cursor.finished(parse(cursor))


def row_message(payload: bytes) -> RowMessage:
    """Return one I, U or D message, value by value.

    This is exact and slow: `changes.change_rows` reads many messages of one table at once.

    Raises:
        MalformedMessage: The bytes are no such message.
    """
    cursor = _Cursor(payload, "row message")
    operation = cursor.character()
    if operation not in ("I", "U", "D"):
        raise MalformedMessage(f"a message of kind {operation!r} is no row")
    relation = cursor.unsigned(4)
    kind = cursor.character()
    old_kind, old = None, None
    if kind in ("K", "O") and operation != "I":
        old_kind, old = kind, cursor.values()
        kind = cursor.character() if operation == "U" else ""
    if kind != ("" if operation == "D" else "N"):
        raise cursor.wrong(f"{operation} with a row of kind {kind!r}")
    new = cursor.values() if kind == "N" else None
    return cursor.finished(RowMessage(relation, operation, old_kind, old, new))


def _refusal(kind: str) -> str:
    if kind in ("I", "U", "D"):
        return f"message {kind} is a row, which only the Relation message before it explains"
    if kind in _OTHER_KINDS:
        return f"message {kind} ({_OTHER_KINDS[kind]}) does not exist in protocol version 1"
    return f"message of unknown kind {kind!r}" if kind else "message of no bytes"


class _Cursor:
    """A position in a message; each read moves it, and fails beyond the message's end."""

    def __init__(self, data: bytes, what: str, encoding: str = "") -> None:
        self._data = bytes(data)
        self._at = 0
        self._what = what
        self._encoding = encoding

    def wrong(self, why: str) -> MalformedMessage:
        size = len(self._data)
        return MalformedMessage(f"{self._what}: {why} (at byte {self._at} of {size})")

    def finished(self, value: _T) -> _T:
        if self._at != len(self._data):
            raise self.wrong("bytes remain behind its end")
        return value

    def take(self, count: int) -> bytes:
        if count < 0 or self._at + count > len(self._data):
            raise self.wrong(f"{count} bytes are expected, and it ends before")
        found = self._data[self._at : self._at + count]
        self._at += count
        return found

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def character(self) -> str:
        return chr(self.take(1)[0])

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def signed(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big", signed=True)

    def lsn(self) -> Lsn:
        return Lsn(self.unsigned(8))

    def time(self) -> int:
        return self.signed(8) + EPOCH_US

    def flags(self, known: int) -> int:
        found = self.unsigned(1)
        if found & ~known:
            raise self.wrong(f"flags {found} are unknown")
        return found

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise self.wrong("a text has no end")
        content = self.take(end - self._at)
        self._at += 1
        return decoded(content, self._encoding, "surrogateescape")

    def values(self) -> tuple[TupleValue, ...]:
        return tuple([self._value() for _ in range(self.unsigned(2))])

    def _value(self) -> TupleValue:
        kind = self.character()
        if kind == "t":
            return self.take(self.signed(4))
        if kind == "n":
            return None
        if kind == "u":
            return UNCHANGED
        if kind == "b":
            raise self.wrong("a value is in binary form, which was not asked for")
        raise self.wrong(f"a value is of unknown kind {kind!r}")


def _begin(cursor: _Cursor) -> BeginMessage:
    return BeginMessage(cursor.lsn(), cursor.time(), cursor.unsigned(4))


def _commit(cursor: _Cursor) -> CommitMessage:
    cursor.flags(0)
    return CommitMessage(cursor.lsn(), cursor.lsn(), cursor.time())


def _origin(cursor: _Cursor) -> Origin:
    return Origin(cursor.lsn(), cursor.text())


def _relation(cursor: _Cursor) -> Relation:
    oid, schema, name = cursor.unsigned(4), _schema(cursor), cursor.text()
    identity = cursor.character()
    if identity not in tuple(ReplicaIdentity):
        raise cursor.wrong(f"replica identity {identity!r} is unknown")
    columns = tuple([_relation_column(cursor) for _ in range(cursor.unsigned(2))])
    return Relation(oid, schema, name, ReplicaIdentity(identity), columns)


def _relation_column(cursor: _Cursor) -> RelationColumn:
    is_key = cursor.flags(1) == 1
    return RelationColumn(cursor.text(), cursor.unsigned(4), cursor.signed(4), is_key)


def _schema(cursor: _Cursor) -> str:
    # The server leaves the name of its own schema out.
    return cursor.text() or "pg_catalog"


def _type(cursor: _Cursor) -> TypeName:
    return TypeName(cursor.unsigned(4), _schema(cursor), cursor.text())


def _truncate(cursor: _Cursor) -> Truncate:
    count, flags = cursor.unsigned(4), cursor.flags(3)
    relations = tuple([cursor.unsigned(4) for _ in range(count)])
    return Truncate(relations, bool(flags & 1), bool(flags & 2))


def _logical(cursor: _Cursor) -> LogicalMessage:
    is_transactional, lsn, prefix = cursor.flags(1) == 1, cursor.lsn(), cursor.text()
    return LogicalMessage(is_transactional, lsn, prefix, cursor.take(cursor.signed(4)))


_PARSERS: Final[dict[str, tuple[str, Callable[[_Cursor], LogMessage]]]] = {
    "B": ("Begin message", _begin),
    "C": ("Commit message", _commit),
    "M": ("logical message", _logical),
    "O": ("Origin message", _origin),
    "R": ("Relation message", _relation),
    "T": ("Truncate message", _truncate),
    "Y": ("Type message", _type),
}
