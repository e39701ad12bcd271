"""Row messages become change rows: against a reader that takes them one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from openmirror.cdc.postgresql import changes as module
from openmirror.cdc.postgresql.changes import ChangeRows, change_rows
from openmirror.cdc.postgresql.pgoutput import UNCHANGED, TupleValue, row_message
from openmirror.cdc.postgresql.shapes import ShapeColumn, TableShape
from openmirror.cdc.postgresql.types import TEXT, TextForm, TypeReading
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StopCode
from standins.postgres import PostgresServer
from tests.cdc.postgresql.server_texts import Sent, sent_by
from tests.harness.examples import examples

_RELATION = (77).to_bytes(4, "big")
_Row = Sequence[TupleValue]


def _shape(is_full: bool = False, left_out: str = "") -> TableShape:
    """A table of `k`, `a`, `b` and `l`, which is left out."""
    integer = TypeReading(ColumnType("integer"), TextForm.INTEGER)
    readings = {"a": TEXT, "k": integer, "b": TEXT, "n": integer}
    columns = tuple(
        ShapeColumn(name=name, at=at, type=25, modifier=-1, reading=reading, is_key=name == "k")
        for at, (name, reading) in enumerate(readings.items())
        if name not in left_out
    )
    return TableShape(
        relation=77, schema="public", name="t", sent=4, is_full=is_full, columns=columns,
        keys=("k",),
    )  # fmt: skip


def _tuple(row: _Row) -> bytes:
    content = len(row).to_bytes(2, "big")
    for value in row:
        if isinstance(value, bytes):
            content += b"t" + len(value).to_bytes(4, "big") + value
        else:
            content += b"n" if value is None else b"u"
    return content


def _insert(row: _Row) -> bytes:
    return b"I" + _RELATION + b"N" + _tuple(row)


def _update(row: _Row, old: _Row | None = None, kind: bytes = b"K") -> bytes:
    before = b"" if old is None else kind + _tuple(old)
    return b"U" + _RELATION + before + b"N" + _tuple(row)


def _delete(old: _Row, kind: bytes = b"K") -> bytes:
    return b"D" + _RELATION + kind + _tuple(old)


def _key(key: bytes) -> _Row:
    return [None, key, None, None]


def _read(messages: Sequence[bytes], shape: TableShape | None = None, **how: bool) -> ChangeRows:
    settings = {"while_loading": False, **how}
    return change_rows(messages, shape or _shape(), "UTF8", **settings)  # type: ignore[arg-type]


def _rows(found: ChangeRows) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in found.table.to_pylist()]


def test_each_kind_of_message() -> None:
    found = _read(
        [
            _insert([b"x", b"1", None, b"7"]),
            _update([b"y", b"1", b"", b"8"]),
            _update([b"y", b"2", b"", b"8"], _key(b"1")),
            _delete(_key(b"2")),
            b"T",
        ]
    )
    assert _rows(found) == [
        ("x", 1, None, 7, 4),
        ("y", 1, "", 8, 4),
        (None, 1, None, None, 2),
        ("y", 2, "", 8, 4),
        (None, 2, None, None, 2),
        (None, None, None, None, 100),
    ]
    assert found.table.column_names == ["a", "k", "b", "n", ROW_MARKER_COLUMN]
    assert found.table.schema.field(ROW_MARKER_COLUMN).type == pa.int32()
    assert found.source_row.to_pylist() == [0, 1, 2, 2, 3, 4]
    assert found.source_row.type == pa.int64()
    assert found.ops.to_pylist() == ["c", "u", "d", "u", "d", "t"]
    assert found.stop is None


def test_no_messages_are_no_rows() -> None:
    found = _read([])
    assert (found.table.num_rows, len(found.source_row), len(found.ops)) == (0, 0, 0)
    assert found.table.schema.field("k").type == pa.int32()
    assert _read([b"T"]).table.num_rows == 1


def test_values_that_the_log_leaves_out_are_a_partial_update() -> None:
    found = _read(
        [
            _insert([b"x", b"1", b"y", b"1"]),
            _update([UNCHANGED, b"1", b"z", b"2"]),
            _update([UNCHANGED, b"1", UNCHANGED, b"3"]),
            _delete(_key(b"1")),
            b"T",
        ]
    )
    assert [row[-1] for row in _rows(found)] == ["4", '101 ["a"]', '101 ["a", "b"]', "2", "100"]
    assert found.table.column("a").to_pylist() == ["x", None, None, None, None]
    # What is left out of the mirror is of no concern.
    without = _read([_update([UNCHANGED, b"1", b"z", b"2"])], _shape(left_out="a"))
    assert _rows(without) == [(1, "z", 2, 4)]


def test_a_whole_old_row_has_the_values_that_are_left_out() -> None:
    found = _read(
        [
            _update([UNCHANGED, b"1", b"z", None], [b"large", b"1", b"o", b"9"], b"O"),
            _update([UNCHANGED, b"2", b"z", None], [b"large", b"1", b"o", b"9"], b"O"),
            _delete([b"large", b"2", b"z", None], b"O"),
        ],
        _shape(is_full=True),
    )
    assert _rows(found) == [
        ("large", 1, "z", None, 4),
        (None, 1, None, None, 2),
        ("large", 2, "z", None, 4),
        (None, 2, None, None, 2),
    ]


def test_a_key_that_is_stored_apart_comes_with_its_old_key() -> None:
    # The server sends the old key of a large key, though no key changes.
    found = _read([_update([b"x", UNCHANGED, b"y", b"1"], _key(b"5"))])
    assert _rows(found) == [("x", 5, "y", 1, 4)]
    missing = _read([_insert([b"x", b"1", b"y", b"1"]), _update([b"x", UNCHANGED, b"y", b"1"])])
    assert missing.stop is not None
    assert (missing.stop[0], missing.stop[1].code) == (1, StopCode.VALUE_UNAVAILABLE)


def test_a_changed_key_that_leaves_values_out_waits_for_a_load() -> None:
    messages = [
        _insert([b"x", b"1", b"y", b"1"]),
        _update([UNCHANGED, b"2", b"y", b"1"], _key(b"1")),
        _insert([b"x", b"3", b"y", b"1"]),
    ]
    found = _read(messages, name_keys=True)
    assert found.table.column("k").to_pylist() == [1]
    assert found.stop is not None
    at, stop = found.stop
    assert (at, stop.code) == (1, StopCode.VALUE_UNAVAILABLE)
    assert "public.t.a" in stop.detail
    assert "(key k=2)" in stop.detail
    assert "`ALTER TABLE public.t REPLICA IDENTITY FULL`" in stop.remedy
    loading = _read(messages, while_loading=True)
    assert loading.stop is None
    assert [(row[1], row[-1]) for row in _rows(loading)] == [
        (1, "4"), (1, "2"), (2, '101 ["a"]'), (3, "4")
    ]  # fmt: skip


def test_rows_end_before_the_first_value_that_cannot_be_read() -> None:
    messages = [
        _insert([b"x", b"1", None, b"1"]),
        _update([b"x", b"3", None, b"1"], _key(b"2")),
        # The later column has the earlier row that cannot be read.
        _update([b"y", b"5", None, b"bad"], _key(b"4")),
        _insert([b"\xff", b"6", None, b"1"]),
    ]
    found = _read(messages, name_keys=True)
    assert found.table.column("k").to_pylist() == [1, 2, 3]
    assert found.source_row.to_pylist() == [0, 1, 1]
    assert found.ops.to_pylist() == ["c", "d", "u"]
    assert found.stop is not None
    at, stop = found.stop
    assert (at, stop.code) == (2, StopCode.SOURCE_VALUE_INVALID)
    assert "column public.t.n has" in stop.detail
    assert stop.detail.endswith("(key k=5)")
    unnamed = _read(messages)
    assert unnamed.stop is not None
    assert "key" not in unnamed.stop[1].detail
    text = _read([messages[3]])
    assert text.stop is not None
    assert text.stop[1].remedy == "`--without-column public.t.a`"
    key = _read([_insert([b"x", b"?", None, None])])
    assert key.stop is not None
    assert key.stop[1].remedy == "`--as-text public.t.k`"


def test_a_row_from_before_the_key_stops_its_table() -> None:
    rows = [b"T", _insert([b"x", b"1", None, None]), _insert([b"x", None, None, None])]
    found = _read(rows)
    assert found.stop is not None
    assert (found.stop[0], found.stop[1].code) == (2, StopCode.RESNAPSHOT_NEEDED)
    assert found.table.num_rows == 2


def test_pieces_are_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [_insert([b"x" * n, str(n).encode(), None, None]) for n in range(20)]
    messages[9] = _update([UNCHANGED, b"9", None, None])
    whole = _read(messages)
    monkeypatch.setattr(module, "_PIECE_BYTES", 100)
    parts = _read(messages)
    assert parts.table.column("a").num_chunks > 5
    assert parts.table.equals(whole.table)
    assert parts.source_row.equals(whole.source_row)
    assert parts.ops.equals(whole.ops)
    messages[15] = _insert([b"x", b"bad", None, None])
    stopped = _read(messages)
    assert stopped.stop is not None
    assert (stopped.stop[0], stopped.table.num_rows) == (15, 15)


_VALUE = st.none() | st.sampled_from([b"", b"x", b"yy", b"\x00\xc3\xa9"[1:], b"t\0\0\0\1x"])
_LARGE = _VALUE | st.just(UNCHANGED)
_NUMBER = st.none() | st.sampled_from([b"1", b"-22", b"bad"])
_KEYS = st.sampled_from([b"1", b"2", b"33"])


@dataclass
class _Slow:
    """Rows by the words of the log's rules, one message at a time."""

    shape: TableShape
    while_loading: bool

    def read(self, messages: Sequence[bytes]) -> tuple[list[tuple[object, ...]], int | None]:
        rows: list[tuple[object, ...]] = []
        for at, message in enumerate(messages):
            found = self._rows(message)
            if found is None:
                return rows, at
            rows += [(at, *row) for row in found]
        return rows, None

    def _rows(self, message: bytes) -> list[tuple[object, ...]] | None:
        if message == b"T":
            return [("t", None, None, None, None, "100")]
        parsed = row_message(message)
        old, new = parsed.old, list(parsed.new or ())
        delete = [] if old is None else [("d", None, int(self._text(old[1])), None, None, "2")]
        if not new:
            return list(delete)
        for at in range(4):
            if new[at] is UNCHANGED and old is not None and (parsed.old_kind == "O" or at == 1):
                new[at] = old[at]
        is_changed = old is not None and old[1] != new[1]
        absent = [name for at, name in enumerate("akbn") if new[at] is UNCHANGED]
        if absent and (parsed.operation == "I" or (is_changed and not self.while_loading)):
            return None
        if new[3] == b"bad":
            return None
        marker = f"101 {list(absent)}".replace("'", '"') if absent else "4"
        a, k, b, n = (None if v is UNCHANGED or v is None else v.decode() for v in new)
        operation = "c" if parsed.operation == "I" else "u"
        row = (operation, a, int(k or 0), b, None if n is None else int(n), marker)
        return [*(delete if is_changed else []), row]

    @staticmethod
    def _text(value: TupleValue) -> bytes:
        assert isinstance(value, bytes)
        return value


@st.composite
def _messages(draw: st.DrawFn, is_full: bool) -> list[bytes]:
    def row(*, is_new: bool) -> _Row:
        large = _LARGE if is_new else _VALUE
        number = _NUMBER if is_new else st.none() | st.just(b"1")
        return [draw(large), draw(_KEYS), draw(large), draw(number)]

    def old() -> _Row:
        return row(is_new=False) if is_full else _key(draw(_KEYS))

    kind = b"O" if is_full else b"K"
    found = []
    for _ in range(draw(st.integers(0, 12))):
        operation = draw(st.sampled_from("IUUUDT"))
        if operation == "I":
            found.append(_insert([draw(_VALUE), draw(_KEYS), draw(_VALUE), draw(_NUMBER)]))
        elif operation == "U":
            before = old() if draw(st.booleans()) else None
            found.append(_update(row(is_new=True), before, kind))
        elif operation == "D":
            found.append(_delete(old(), kind))
        else:
            found.append(b"T")
    return found


@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize("while_loading", [False, True])
def test_all_at_once_is_as_one_by_one(is_full: bool, while_loading: bool) -> None:
    @drawn(max_examples=examples(30), deadline=None)
    @given(_messages(is_full))
    def check(messages: list[bytes]) -> None:
        shape = _shape(is_full)
        expected, stopped = _Slow(shape, while_loading).read(messages)
        found = _read(messages, shape, while_loading=while_loading)
        rows = [
            (at, op, *row[:-1], str(row[-1]))
            for at, op, row in zip(
                found.source_row.to_pylist(), found.ops.to_pylist(), _rows(found), strict=True
            )
        ]
        assert rows == expected
        assert (None if found.stop is None else found.stop[0]) == stopped
        found.table.validate(full=True)

    check()


@pytest.fixture(scope="module")
def sent(postgres: PostgresServer) -> Iterator[Sent]:
    with postgres.database("changes_of_a_server") as url, sent_by(url) as sent:
        yield sent


_STATEMENTS = [
    "INSERT INTO t VALUES (1, repeat('x', 9000), 1.0, 'a'), (2, 'short', 2, NULL)",
    "UPDATE t SET n = n + 1",
    "UPDATE t SET id = id + 10",
    "UPDATE t SET big = big || 'y' WHERE id = 11",
    "UPDATE t SET id = 5, note = 'moved' WHERE id = 12",
    "INSERT INTO t SELECT g, repeat(g::text, 4000), g, '' FROM generate_series(20, 40) g",
    "UPDATE t SET note = NULL WHERE id % 3 = 0",
    "DELETE FROM t WHERE id % 2 = 0",
    "INSERT INTO t VALUES (1, NULL, NULL, E'\\\\\\n')",
]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL", "USING INDEX t_pkey"])
def test_changes_of_a_server_give_its_rows(sent: Sent, identity: str) -> None:
    sent.run("DROP TABLE IF EXISTS t")
    sent.run("CREATE TABLE t (id int PRIMARY KEY, big text, n numeric(9,1), note text)")
    sent.run("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    sent.run(f"ALTER TABLE t REPLICA IDENTITY {identity}")
    for statement in _STATEMENTS:
        sent.run(statement)
    messages, shape = sent.rows_of_log("t")
    assert shape.is_full is (identity == "FULL")
    found = change_rows(messages, shape, "UTF8", while_loading=True)
    assert found.stop is None
    rows: dict[object, dict[str, object]] = {}
    for row in found.table.to_pylist():
        marker = str(row.pop(ROW_MARKER_COLUMN))
        key = row["id"]
        if marker == "2":
            del rows[key]
        elif marker == "4":
            rows[key] = row
        else:
            assert marker == '101 ["big"]'
            assert identity != "FULL"
            rows.setdefault(key, row).update({"n": row["n"], "note": row["note"]})
    expected = sent.connection.execute("SELECT id, n, note FROM t").fetchall()
    assert sorted(({**row, "big": None} for row in rows.values()), key=str) == sorted(
        ({**row, "big": None} for row in expected), key=str
    )
    if identity == "FULL":
        whole = sent.connection.execute("SELECT * FROM t").fetchall()
        assert sorted(rows.values(), key=str) == sorted(whole, key=str)


def test_a_large_key_of_a_server(sent: Sent) -> None:
    sent.run("DROP TABLE IF EXISTS large")
    sent.run("CREATE TABLE large (k text PRIMARY KEY, v int)")
    sent.run("ALTER TABLE large ALTER k SET STORAGE EXTERNAL")
    sent.run("INSERT INTO large VALUES (repeat('k', 2500), 1)")
    sent.run("UPDATE large SET v = 2")
    sent.run("UPDATE large SET k = k || 'x'")
    sent.run("DELETE FROM large")
    messages, shape = sent.rows_of_log("large")
    assert row_message(messages[1]).new == (UNCHANGED, b"2")
    found = change_rows(messages, shape, "UTF8", while_loading=False)
    assert found.stop is None
    k, longer = "k" * 2500, "k" * 2500 + "x"
    assert _rows(found) == [
        (k, 1, 4), (k, 2, 4), (k, None, 2), (longer, 2, 4), (longer, None, 2)
    ]  # fmt: skip
