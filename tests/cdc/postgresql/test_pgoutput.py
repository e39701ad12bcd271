"""Messages of the log, recorded from a real server."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from openmirror.cdc.postgresql.changes import change_rows
from openmirror.cdc.postgresql.definitions import ReplicaIdentity
from openmirror.cdc.postgresql.pgoutput import (
    EPOCH_US,
    UNCHANGED,
    BeginMessage,
    CommitMessage,
    KeepAlive,
    LogData,
    LogicalMessage,
    MalformedMessage,
    Origin,
    Relation,
    RelationColumn,
    RowMessage,
    Truncate,
    TypeName,
    parse_frame,
    parse_message,
    row_message,
)
from openmirror.cdc.postgresql.shapes import TableShape, shape_of
from standins.postgres import PostgresServer
from tests.cdc.postgresql.server_texts import NOTHING, sent_by
from tests.harness.examples import examples

_ROWS = (b"I", b"U", b"D")
_HISTORY = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE other (id int PRIMARY KEY);
CREATE TABLE t (id int PRIMARY KEY, "käse" text, m mood);
ALTER TABLE t ALTER "käse" SET STORAGE EXTERNAL;
INSERT INTO t VALUES (1, 'x', 'ok'), (2, NULL, NULL), (3, repeat('y', 9000), 'sad');
UPDATE t SET "käse" = '' WHERE id = 1;
UPDATE t SET id = 10 WHERE id = 1;
UPDATE t SET m = 'ok' WHERE id = 3;
DELETE FROM t WHERE id = 2;
SELECT pg_logical_emit_message(true, 'openmirror', 'märk');
SELECT pg_logical_emit_message(false, '', '');
TRUNCATE t, other RESTART IDENTITY CASCADE;
ALTER TABLE t REPLICA IDENTITY FULL;
INSERT INTO t VALUES (1, 'x', 'ok');
UPDATE t SET m = 'sad';
SELECT pg_replication_origin_create('elsewhere');
SELECT pg_replication_origin_session_setup('elsewhere');
DELETE FROM t;
"""


@pytest.fixture(scope="module")
def recorded(postgres: PostgresServer) -> Iterator[list[bytes]]:
    with postgres.database("recorded_messages") as url, sent_by(url) as sent:
        for statement in _HISTORY.strip().split("\n"):
            sent.run(statement)
        sent.run("SELECT pg_replication_origin_session_reset()")
        sent.run("SELECT pg_replication_origin_drop('elsewhere')")
        yield sent.log()


def _shape(recorded: list[bytes], identity: ReplicaIdentity) -> TableShape:
    relations = [parse_message(m, "UTF8") for m in recorded if m[:1] == b"R"]
    [relation] = {r for r in relations if r.name == "t" and r.identity is identity}
    columns = tuple(RelationColumn(c.name, 25, -1, c.name == "id") for c in relation.columns)
    simple = Relation(relation.oid, "public", "t", ReplicaIdentity.DEFAULT, columns)
    shape = shape_of(simple, None, {}, as_text=NOTHING, without=NOTHING)
    assert isinstance(shape, TableShape)
    return shape


def test_every_kind_of_message_is_read(recorded: list[bytes]) -> None:
    parsed = [row_message(m) if m[:1] in _ROWS else parse_message(m, "UTF8") for m in recorded]
    kinds = {type(one) for one in parsed}
    assert kinds == {
        BeginMessage,
        CommitMessage,
        Origin,
        Relation,
        TypeName,
        Truncate,
        LogicalMessage,
        RowMessage,
    }
    relations = [one for one in parsed if isinstance(one, Relation) and one.name == "t"]
    first, full = relations[0], relations[-1]
    assert [(c.name, c.is_key) for c in first.columns] == [
        ("id", True), ("käse", False), ("m", False)
    ]  # fmt: skip
    assert (first.schema, first.identity) == ("public", ReplicaIdentity.DEFAULT)
    assert full.identity is ReplicaIdentity.FULL
    assert all(c.is_key for c in full.columns)
    assert next(one.name for one in parsed if isinstance(one, TypeName)) == "mood"
    [truncate] = [one for one in parsed if isinstance(one, Truncate)]
    assert len(truncate.relations) == 2
    assert (truncate.cascade, truncate.restart_identity) == (True, True)
    [origin] = [one for one in parsed if isinstance(one, Origin)]
    assert origin.name == "elsewhere"


def test_a_transaction_says_where_and_when_it_ends(recorded: list[bytes]) -> None:
    begin, commit = (parse_message(recorded[at], "UTF8") for at in (0, -1))
    assert isinstance(begin, BeginMessage)
    assert isinstance(commit, CommitMessage)
    assert 0 < begin.final < commit.commit < commit.end
    assert begin.ts_us > EPOCH_US
    assert 0 < begin.xid < 2**32


def test_marks_of_ours_and_of_others(recorded: list[bytes]) -> None:
    own, other = [parse_message(m, "UTF8") for m in recorded if m[:1] == b"M"]
    assert isinstance(own, LogicalMessage)
    assert isinstance(other, LogicalMessage)
    assert (own.is_transactional, own.prefix, own.content) == (
        True, "openmirror", "märk".encode()
    )  # fmt: skip
    assert (other.is_transactional, other.prefix, other.content) == (False, "", b"")


def test_rows_value_by_value(recorded: list[bytes]) -> None:
    rows = [row_message(m) for m in recorded if m[:1] in _ROWS]
    assert [(r.operation, r.old_kind, r.old, r.new and r.new[:2]) for r in rows] == [
        ("I", None, None, (b"1", b"x")),
        ("I", None, None, (b"2", None)),
        ("I", None, None, (b"3", b"y" * 9000)),
        ("U", None, None, (b"1", b"")),
        ("U", "K", (b"1", None, None), (b"10", b"")),
        ("U", None, None, (b"3", UNCHANGED)),
        ("D", "K", (b"2", None, None), None),
        ("I", None, None, (b"1", b"x")),
        ("U", "O", (b"1", b"x", b"ok"), (b"1", b"x")),
        ("D", "O", (b"1", b"x", b"sad"), None),
    ]


def _read(message: bytes) -> object:
    return row_message(message) if message[:1] in _ROWS else parse_message(message, "UTF8")


def test_a_message_that_is_cut_anywhere_is_refused(recorded: list[bytes]) -> None:
    # The long text is one kind of byte: its cuts are alike.
    short = {m for m in recorded if len(m) < 1000}
    assert len(short) > 30
    for message in short:
        _read(message)
        for end in range(len(message)):
            with pytest.raises(MalformedMessage):
                _read(message[:end])
        with pytest.raises(MalformedMessage):
            _read(message + b"\0")


def test_a_row_that_is_cut_anywhere_is_refused_among_others(recorded: list[bytes]) -> None:
    shape = _shape(recorded, ReplicaIdentity.DEFAULT)
    rows = [m for m in recorded if m[:1] in _ROWS and len(m) < 1000 and m[5:6] != b"O"]
    assert change_rows(rows, shape, "UTF8", while_loading=False).stop is None
    for message in rows:
        for end in range(len(message)):
            for rest in ([], [rows[0]]):
                with pytest.raises(MalformedMessage):
                    change_rows([rows[0], message[:end], *rest], shape, "UTF8", while_loading=False)
        with pytest.raises(MalformedMessage):
            change_rows([message + b"n"], shape, "UTF8", while_loading=False)


def test_a_relation_of_other_columns_is_refused(recorded: list[bytes]) -> None:
    shape = _shape(recorded, ReplicaIdentity.DEFAULT)
    row = next(m for m in recorded if m[:1] == b"I")
    other = row[:1] + (5).to_bytes(4, "big") + row[5:]
    full = next(m for m in recorded if m[5:6] == b"O")
    binary = row.replace(b"t\0\0\0\x011", b"b\0\0\0\x011")
    for message in (other, full, binary, b"T\0", b"", b"X" + row[1:]):
        with pytest.raises(MalformedMessage, match=r"message 1 of public\.t"):
            change_rows([row, message], shape, "UTF8", while_loading=False)


@pytest.mark.parametrize("kind", "AEKPScpbr")
def test_streams_and_two_phase_messages_are_refused_by_name(kind: str) -> None:
    with pytest.raises(MalformedMessage, match="does not exist in protocol version 1"):
        parse_message(kind.encode() + bytes(30), "UTF8")


@pytest.mark.parametrize("message", [b"", b"Z", b"\xff", b"I\0\0\0\1N\0\0"])
def test_other_bytes_are_no_message(message: bytes) -> None:
    with pytest.raises(MalformedMessage):
        parse_message(message, "UTF8")


def test_frames() -> None:
    data = struct.pack(">cQQq", b"w", 1, 2**63 + 5, -1) + b"payload"
    assert parse_frame(data) == LogData(1, 2**63 + 5, EPOCH_US - 1, b"payload")
    alive = struct.pack(">cQqB", b"k", 7, 3, 1)
    assert parse_frame(alive) == KeepAlive(7, EPOCH_US + 3, True)
    for frame in (b"", b"x", data[:24], alive[:-1], alive + b"\0", alive[:-1] + b"\2"):
        with pytest.raises(MalformedMessage):
            parse_frame(frame)


def test_names_that_are_no_text_keep_their_bytes() -> None:
    message = b"Y" + (7).to_bytes(4, "big") + b"\0" + b"a\xff\0"
    assert parse_message(message, "UTF8") == TypeName(7, "pg_catalog", "a\udcff")
    assert parse_message(message, "WIN1252") == TypeName(7, "pg_catalog", "aÿ")


@drawn(max_examples=examples(80), deadline=None)
@given(st.data())
def test_damaged_messages_are_refused_or_read(recorded: list[bytes], data: st.DataObject) -> None:
    shape = _shape(recorded, ReplicaIdentity.DEFAULT)
    short = [m for m in recorded if len(m) < 1000]
    message = bytearray(data.draw(st.sampled_from(short)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(message) - 1))
        message[at] = data.draw(st.sampled_from(b"\0\1\2\x7f\xffINKOUDTntub") | st.integers(0, 255))
    damaged = bytes(message)
    try:
        parsed = _read(damaged)
    except MalformedMessage:
        parsed = None
    if damaged[:1] not in _ROWS:
        return
    try:
        found = change_rows([damaged], shape, "UTF8", while_loading=True)
    except MalformedMessage:
        fits = (
            isinstance(parsed, RowMessage)
            and parsed.relation == shape.relation
            and parsed.old_kind != "O"
            and all(len(row) == 3 for row in (parsed.old, parsed.new) if row is not None)
        )
        assert not fits
    else:
        assert isinstance(parsed, RowMessage)
        assert found.table.num_rows or found.stop
