"""§13.4: operations, keys, snapshots, replays and schemas of a stream; and what is no record."""

from __future__ import annotations

from typing import Any

from tests.cdc.decoding.malformed import GOOD, MALFORMED
from tests.cdc.decoding.malformed import TABLE as STRICT
from tests.cdc.decoding.minted import MintedTable, Record, column, struct, with_schema
from tests.vectors.stream_words import StreamVector, stops, table

_ID, _TEXT = column("id", "int32", optional=False), column("text", "string")
_T = MintedTable([_ID, _TEXT])
_OTHER = MintedTable([_ID, _TEXT], name="other")
_SEEN = "id:integer text:string"
_LARGEST = 20_000
"""Bytes of a record in a vector."""
_ABSENT = "__debezium_unavailable_value"


def _at(place: int, commit: int | None = None) -> dict[str, Any]:
    """Where a change stands in the source's log."""
    before = place if commit is None else commit
    return {"sequence": f'["{before}","{place}"]', "lsn": place, "txId": place}


def _row(op: str, place: int, number: int, text: str | None = None, of: MintedTable = _T) -> Record:
    return of.change(op, {"id": number, "text": text}, **_at(place))


def _snapshot(place: int, *rows: tuple[int, str], of: MintedTable = _T) -> list[Record]:
    """Rows that a connector read at one place in the log."""
    return [of.change("r", {"id": n, "text": text}, **_at(place)) for n, text in rows]


def _pair(old: int, new: int, text: str, place: int) -> list[Record]:
    """A changed key: both halves."""
    topic, key, delete, _ = _row("d", place, old)
    _, other, create, _ = _row("c", place, new, text)
    return [
        (topic, key, delete, {"__debezium.newkey": other or b""}),
        (topic, other, create, {"__debezium.oldkey": key or b""}),
    ]


def _vector(
    name: str, title: str, records: list[Record], *rows: tuple[Any, ...], stop: Any = None
) -> StreamVector:
    return StreamVector(
        name=name,
        title=title,
        records=records,
        tables=[table(_SEEN, *rows)],
        stopped=[] if stop is None else [stop],
    )


def _about_no_row(name: str, meaning: str) -> Record:
    return (name, None, with_schema(struct([column("ts_ms", "int64")], meaning), {"ts_ms": 1}), {})


def _with_more(place: int, number: int, **how: Any) -> Record:
    """A change of a table that has one column more."""
    wider = MintedTable([_ID, _TEXT, column("more", "int32", **how)])
    return wider.change("c", {"id": number, "text": "b", "more": 7}, **_at(place))


_FIRST = _snapshot(10, (1, "a"), (2, "b"))
_TOMBSTONE: Record = (_T.topic, _row("d", 12, 1)[1], None, {})
_KEYLESS = MintedTable([_ID, _TEXT], keys=())
_NARROWER = MintedTable([column("id", "int16", optional=False), _TEXT])
_BEAT = "io.debezium.connector.common.Heartbeat"
_END = "io.debezium.connector.common.TransactionMetadataValue"
_MESSAGE = "io.debezium.connector.postgresql.MessageValue"

OPERATIONS = [
    _vector(
        "operations",
        "creates, reads, updates and deletes, each by its key",
        [*_FIRST, _row("c", 11, 3, "c"), _row("u", 12, 2, "B"), _row("d", 13, 1), _TOMBSTONE],
        (2, "B"),
        (3, "c"),
    ),
    _vector(
        "truncate",
        "a truncate at its place: what was there is gone, what follows stays",
        [*_FIRST, _T.change("t", **_at(11)), _row("c", 12, 3, "c")],
        (3, "c"),
    ),
    _vector(
        "changed-key",
        "a changed key is a delete and a create, which land together",
        [*_FIRST, *_pair(1, 5, "a", 11)],
        (2, "b"),
        (5, "a"),
    ),
    _vector(
        "changed-key-without-its-second-half",
        "the connector lost the second half: the table stops before the first",
        [*_FIRST, _pair(1, 5, "a", 11)[0], _row("c", 12, 9, "z")],
        (1, "a"),
        (2, "b"),
        stop=stops("EventsLost", 2),
    ),
    _vector(
        "unchanged-large-value",
        "a value that the source's log does not have stays as it is",
        [*_FIRST, _row("u", 11, 1, _ABSENT), _row("u", 12, 2, "B")],
        (1, "a"),
        (2, "B"),
    ),
    _vector(
        "unchanged-large-value-of-a-new-row",
        "a row that is made has no value to keep: the table stops before it",
        [*_FIRST, _row("c", 11, 3, _ABSENT)],
        (1, "a"),
        (2, "b"),
        stop=stops("ValueUnavailable", 2),
    ),
    _vector(
        "records-about-no-row",
        "heartbeats, ends of transactions, messages and tombstones change nothing",
        [
            _about_no_row("__debezium-heartbeat.pg", _BEAT),
            *_FIRST,
            _about_no_row("pg.transaction", _END),
            _about_no_row("pg.message", _MESSAGE),
            _TOMBSTONE,
        ],
        (1, "a"),
        (2, "b"),
    ),
    StreamVector(
        name="two-tables",
        title="a table that stops keeps no other",
        records=[
            *_FIRST,
            *_snapshot(10, (7, "x"), of=_OTHER),
            (_T.topic, _FIRST[0][1], b"hello", {}),
            _row("u", 12, 7, "y", _OTHER),
        ],
        tables=[
            table(_SEEN, (1, "a"), (2, "b")),
            table(_SEEN, (7, "y"), folder="public.schema/other"),
        ],
        stopped=[stops("RecordUndecodable", 3)],
    ),
    StreamVector(
        name="no-key",
        title="the changes of a table without a key name no rows: it does not land",
        records=[_KEYLESS.change("r", {"id": 1, "text": "a"}, **_at(10))],
        stopped=[stops("SourceKeyMissing", 0)],
    ),
]
ORDER = [
    _vector(
        "sent-again",
        "a connector that starts again sends the end of what it had sent: nothing goes back",
        [
            *_FIRST,
            *(one := [_row("u", 11, 1, "A"), _row("d", 12, 2), _row("c", 13, 2, "new")]),
            *one,
            _row("u", 14, 1, "AA"),
        ],
        (1, "AA"),
        (2, "new"),
    ),
    _vector(
        "another-log",
        "a younger change at an older place is one of another log: the table stops before it",
        [*_FIRST, _row("u", 90, 1, "A"), _T.change("u", {"id": 1}, **_at(20), ts_us=2 * 10**15)],
        (1, "A"),
        (2, "b"),
        stop=stops("EventsLost", 3),
    ),
    _vector(
        "snapshot-again",
        "a new snapshot of the connector's empties the table first",
        [*_FIRST, _row("c", 11, 3, "c"), *_snapshot(50, (2, "B"), (4, "d")), _row("u", 51, 4, "D")],
        (2, "B"),
        (4, "D"),
    ),
    _vector(
        "snapshot-cut-short",
        "a first snapshot that was cut short is taken again from its beginning",
        [*_snapshot(10, (1, "a"), (2, "b")), *_snapshot(20, (1, "A"), (3, "c"))],
        (1, "A"),
        (3, "c"),
    ),
    StreamVector(
        name="no-snapshot",
        title="a table whose first record changes a row has rows that nobody sent: it stops",
        records=[_row("u", 11, 1, "A")],
        stopped=[stops("EventsLost", 0)],
    ),
    _vector(
        "goes-on-behind-a-snapshot",
        "a table that waits for a snapshot goes on where one begins",
        [
            *_FIRST,
            _pair(1, 5, "a", 11)[0],
            _row("c", 12, 9, "lost"),
            *_snapshot(30, (2, "b"), (5, "a"), (9, "lost")),
            _row("d", 31, 2),
        ],
        (5, "a"),
        (9, "lost"),
    ),
]
_MORE = f"{_SEEN} more:integer"
SCHEMAS = [
    StreamVector(
        name="column-added",
        title="a column that may be NULL and has no default goes on by itself",
        records=[*_FIRST, _with_more(11, 3)],
        tables=[table(_MORE, (1, "a", None), (2, "b", None), (3, "b", 7))],
    ),
    _vector(
        "column-added-with-a-default",
        "the source filled old rows without an event: the table stops",
        [*_FIRST, _with_more(11, 3, default=5)],
        (1, "a"),
        (2, "b"),
        stop=stops("ResnapshotNeeded", 2),
    ),
    _vector(
        "column-added-that-excludes-null",
        "so it does with a column that is never NULL",
        [*_FIRST, _with_more(11, 3, optional=False)],
        (1, "a"),
        (2, "b"),
        stop=stops("ResnapshotNeeded", 2),
    ),
    StreamVector(
        name="column-dropped",
        title="a column that is dropped stays as it was, and is NULL in new rows",
        records=[
            *_FIRST,
            MintedTable([_ID]).change("c", {"id": 3}, **_at(11)),
        ],
        tables=[table(_SEEN, (1, "a"), (2, "b"), (3, None))],
    ),
    _vector(
        "column-renamed",
        "one dropped and one added at once may be one renamed: the table stops",
        [
            *_FIRST,
            MintedTable([_ID, column("words", "string")]).change("c", {"id": 3}, **_at(11)),
        ],
        (1, "a"),
        (2, "b"),
        stop=stops("ResnapshotNeeded", 2),
    ),
    _vector(
        "type-narrowed",
        "a narrower type has cut the values that were there: the table stops",
        [*_FIRST, _NARROWER.change("c", {"id": 3, "text": "c"}, **_at(11))],
        (1, "a"),
        (2, "b"),
        stop=stops("ResnapshotNeeded", 2),
    ),
    _vector(
        "key-changed",
        "a table that gets another key stops",
        [
            *_FIRST,
            MintedTable([_ID, column("text", "string", optional=False)], keys=("text",)).change(
                "c", {"id": 3, "text": "c"}, **_at(11)
            ),
        ],
        (1, "a"),
        (2, "b"),
        stop=stops("ResnapshotNeeded", 2),
    ),
    StreamVector(
        name="column-of-a-reserved-name",
        title="a column that begins as those of the protocol do cannot land",
        records=[
            MintedTable([_ID, column("__offset", "string")]).change("r", {"id": 1}, **_at(10))
        ],
        stopped=[stops("ChangeRefused", 0)],
    ),
    _vector(
        "defaults-for-null",
        "a converter that writes a column's default for NULL is found out by the source's snapshot",
        [
            MintedTable([_ID, column("text", "string", default="x")]).change(
                "r", {"id": 1}, **_at(10)
            ),
            MintedTable([_ID, column("text", "string", default="x")]).change(
                "c", {"id": 2, "text": "x"}, **_at(11), snapshot="false"
            ),
        ],
        (1, None),
        stop=stops("SourceTypeUnsupported", 1),
    ),
]


def _malformed(name: str, bad: Record) -> StreamVector:
    good = [STRICT.change("c", {**GOOD, "id": n}, **_at(n)) for n in (1, 2)]
    columns = (
        "id:long small:short words:string must:boolean day:date data:binary real:double "
        "single:float list:string"
    )
    return StreamVector(
        name=f"malformed-{name.replace(' ', '-').lower()}",
        title=f"{name}: the table stops before it",
        records=[good[0], bad, good[1]],
        tables=[
            table(
                columns,
                (1, None, None, True, None, None, None, None, None),
                folder="public.schema/strict",
            )
        ],
        stopped=[stops("RecordUndecodable", 1, "public.schema/strict")],
    )


def _size(record: Record) -> int:
    return sum(len(part) for part in record[1:3] if part is not None)


MALFORMED_CASES = [
    _malformed(name, bad) for name, (bad, _) in MALFORMED.items() if _size(bad) < _LARGEST
]


CASES = [*OPERATIONS, *ORDER, *SCHEMAS, *MALFORMED_CASES]
