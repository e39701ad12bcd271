"""A database whose changes are made up, and its stream as a restarted connector sends it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pyarrow as pa

from openmirror.cdc.decoded import (
    CONTROL,
    Decoded,
    DecodedRows,
    SourceColumn,
    SourceTable,
    UndecodableRecord,
)
from openmirror.cdc.records import RECORDS
from openmirror.cdc.stops import EventsLost
from openmirror.formats.arrow_types import arrow_type
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import START, Offset, StopCode, StopReason, StreamIdentity

ID, TEXT = ColumnType("long"), ColumnType("string")
COLUMNS = (SourceColumn("id", ID, False, False), SourceColumn("text", TEXT, True, False))


@dataclass(frozen=True)
class Event:
    """One record about a row."""

    table: str
    op: str
    id: int | None
    text: str | None = None
    place: tuple[int, ...] = ()
    """Empty in a snapshot."""
    transaction: int | None = None
    pair: str | None = None
    columns: tuple[SourceColumn, ...] = COLUMNS
    more: tuple[object, ...] = ()
    """Values of the columns behind the first two."""
    keys: tuple[str, ...] = ("id",)
    absent: tuple[str, ...] = ()
    """Columns whose values the log does not have."""
    bad: StopCode | None = None
    """Why it cannot be understood."""
    nowhere: bool = False
    """Whether it does not say which table it is of."""
    snapshot: str = "true"
    """Which one, where the place is empty, or is that of a snapshot."""
    ts: int | None = None
    """The source's time, where it is not that of its place."""
    within: tuple[int, ...] = ()
    """Its number in its transaction, where the place is that of a commit."""
    database: str = "db"


@dataclass
class Stream:
    """A stream in memory: what was sent into it, with the offsets that it got."""

    identity: StreamIdentity = field(default_factory=lambda: StreamIdentity("0" * 32))
    events: list[Event | None] = field(default_factory=list)
    """None is a record about no row."""
    earliest: Offset = START
    reads: list[Offset] = field(default_factory=list)
    lets_go: bool = True
    """Whether records are deleted that nobody needs any more."""

    @property
    def forgets_by_itself(self) -> bool:
        """Never."""
        return False

    def ends(self) -> tuple[Offset, Offset]:
        return self.earliest, Offset(len(self.events))

    def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
        del most_bytes
        if start < self.earliest:
            raise EventsLost(f"{start} is gone")
        self.reads.append(start)
        rows = [
            {"offset": offset, "topic": "s.t", "key": None, "value": None, "headers": []}
            for offset in range(start, min(len(self.events), start + most_records))
        ]
        return pa.Table.from_pylist(rows, RECORDS)

    def forget(self, before: Offset) -> None:
        if self.lets_go:
            self.earliest = max(self.earliest, before)

    def decode(self, records: pa.Table) -> Decoded:
        """What the records of this stream say."""
        found: dict[tuple[SourceTable, tuple[SourceColumn, ...]], list[tuple[int, Event]]] = {}
        undecodable, others = [], 0
        for offset in records.column("offset").to_pylist():
            event = self.events[offset]
            if event is None:
                others += 1
                continue
            table = SourceTable(event.database, "app", event.table)
            if event.bad is not None:
                named = None if event.nowhere else table
                stop = StopReason(event.bad, "it is broken", "Mend it.")
                undecodable.append(UndecodableRecord(Offset(offset), "s.t", named, stop))
            else:
                found.setdefault((table, event.columns), []).append((offset, event))
        tables = tuple(
            DecodedRows(table, events[0][1].keys, columns, _rows(columns, events))
            for (table, columns), events in found.items()
        )
        return Decoded(tables, tuple(undecodable), others)


def _rows(columns: Sequence[SourceColumn], events: Iterable[tuple[int, Event]]) -> pa.Table:
    schema = pa.schema([*CONTROL, *(pa.field(c.name, arrow_type(c.type)) for c in columns)])
    rows = []
    for offset, event in events:
        given = (event.id, event.text, *event.more)[: len(columns)]
        values = dict(zip((column.name for column in columns), given, strict=True))
        rows.append(
            {
                "__offset": offset,
                "__op": event.op,
                "__snapshot": event.snapshot if event.op == "r" or not event.place else "false",
                "__transaction": None if event.transaction is None else str(event.transaction),
                "__position": list(event.place),
                "__within": list(event.within) or None,
                "__key": None if event.op == "t" else json.dumps({"id": event.id}),
                "__pair": event.pair,
                "__absent": json.dumps(event.absent) if event.absent else None,
                "__ts_us": event.ts or max(event.place, default=None),
                **(values if event.op not in "dt" else {"id": event.id}),
            }
        )
    return pa.Table.from_pylist(rows, schema)


Rows = dict[int, str | None]


@dataclass
class Database:
    """Tables of texts by number; knows what each of them held after each of its changes."""

    random: Random
    has_commits: bool = False
    """Whether places are those of commits, with numbers in no order within."""
    tables: tuple[str, ...] = ("one", "two")
    history: dict[str, list[Rows]] = field(default_factory=dict)
    _lsn: int = 100
    _transaction: int = 1
    _committed: int = -1

    def __post_init__(self) -> None:
        self.history = {table: [{}] for table in self.tables}

    def now(self, table: str) -> Rows:
        """What a table holds."""
        return self.history[table][-1]

    def snapshot(self) -> list[Event]:
        """The rows of all tables, which become the first thing that each of them held."""
        events = []
        for table in self.tables:
            for number in range(self.random.randint(0, 4)):
                self.history[table].append({**self.now(table), number: f"s{number}"})
                events.append(Event(table, "r", number, f"s{number}"))
        return events

    def transaction(self) -> list[Event]:
        """Some changes that are committed together; places may go back from one to the next."""
        self._transaction += 1
        self._lsn += self.random.choice((-3, 5, 10))
        events: list[Event] = []
        for _ in range(self.random.randint(1, 6)):
            self._lsn += self.random.choice((0, 1))
            events += self._change(self.random.choice(self.tables))
        self._committed = max(self._committed, self._lsn) + 1
        self._lsn = max(self._lsn, self._committed) + 3
        return events

    def _change(self, table: str) -> list[Event]:
        rows = dict(self.now(table))
        text = f"v{self._lsn}-{self.random.randint(0, 99)}"
        number = self.random.randint(0, 6)
        event = Event(table, "u", number, text, (self._committed, self._lsn))
        if self.has_commits:
            # No two changes have one, and they come in no order.
            within = (self._lsn * 7919 % 10007, self._lsn)
            event = replace(event, place=(self._transaction,), within=within, ts=self._transaction)
        else:
            event = replace(event, transaction=self._transaction)
        if self.random.random() < 0.03:
            made = [replace(event, op="t", id=None, text=None)]
            rows = {}
        elif number not in rows:
            made = [replace(event, op="c")]
            rows[number] = text
        elif self.random.random() < 0.1:
            made = [replace(event, text=self.random.choice((None, "made up")), absent=("text",))]
        elif self.random.random() < 0.3:
            made = [replace(event, op="d", text=None)]
            del rows[number]
        elif self.random.random() < 0.3 and (free := [n for n in range(9) if n not in rows]):
            new = self.random.choice(free)
            gone = replace(event, op="d", text=None, pair="newkey")
            made = [gone, replace(event, op="c", id=new, pair="oldkey")]
            del rows[number]
            rows[new] = text
        else:
            made = [event]
            rows[number] = text
        # One place may be several changes', but not the same change twice.
        self._lsn += 1
        self.history[table].append(rows)
        return made


def stream_of(random: Random, database: Database, transactions: int) -> Stream:
    """A database's stream; a connector that is restarted sends the last transactions again."""
    sent: list[list[Event]] = [database.transaction() for _ in range(transactions)]
    stream = Stream()
    at = 0
    while at < len(sent):
        events = sent[at]
        at += 1
        if random.random() < 0.25:
            # It was stopped inside of a transaction, and comes again from some transaction on.
            stream.events += events[: random.randint(0, len(events))]
            at = max(0, at - random.randint(1, 3))
            continue
        stream.events += [*events, *([None] if random.random() < 0.3 else [])]
    return stream
