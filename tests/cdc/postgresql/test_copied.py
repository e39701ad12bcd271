"""Rows of COPY, in every form that its CSV has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from openmirror.cdc.postgresql.copied import copied_rows
from openmirror.cdc.postgresql.pgoutput import MalformedMessage
from openmirror.cdc.postgresql.shapes import ShapeColumn, TableShape
from openmirror.cdc.postgresql.types import TEXT
from openmirror.cdc.postgresql.values import ValueRefused
from standins.postgres import PostgresServer
from tests.cdc.postgresql.server_texts import Sent, sent_by
from tests.harness.examples import examples


@pytest.fixture(scope="module")
def sent(postgres: PostgresServer) -> Iterator[Sent]:
    with postgres.database("copied_rows") as url, sent_by(url) as sent:
        yield sent


def _texts(count: int, keys: int = 0) -> TableShape:
    columns = tuple(
        ShapeColumn(name=f"c{n}", at=n, type=25, modifier=-1, reading=TEXT, is_key=n < keys)
        for n in range(count)
    )
    names = tuple(c.name for c in columns[:keys])
    return TableShape(
        relation=1, schema="s", name="t", sent=count, is_full=False, columns=columns, keys=names
    )


def _rows(piece: bytes, count: int) -> list[tuple[str | None, ...]]:
    table = copied_rows(piece, _texts(count), "UTF8")
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (b"", []),
        (b"\n", [None]),
        (b'\n\n""\n\n', [None, None, "", None]),
        (b'"\n"\n', ["\n"]),
        (b'"a\r\nb"\n"\r"\n', ["a\r\nb", "\r"]),
        (b'"\\."\n\\\\.\n\\N\n', ["\\.", "\\\\.", "\\N"]),
        (b'"a""b"\n""""\n', ['a"b', '"']),
        (b" a \nNULL\n", [" a ", "NULL"]),
        (b"\xef\xbb\xbf\n\xef\xbb\xbfx\n", ["\ufeff", "\ufeffx"]),
        (b'"\xef\xbb\xbf,"\n', ["\ufeff,"]),
        (b'",,\n,"\n', [",,\n,"]),
    ],
)
def test_one_column(piece: bytes, expected: list[str | None]) -> None:
    assert _rows(piece, 1) == [(value,) for value in expected]


def test_several_columns() -> None:
    assert _rows(b'1,\n2,""\n,"a\nb"\n,\n', 2) == [
        ("1", None), ("2", ""), (None, "a\nb"), (None, None)
    ]  # fmt: skip


@pytest.mark.parametrize("piece", [b"a,b\nc\n", b"a,b,c\n", b"a,b", b'a,"b\n', b'a,"b""\n'])
def test_other_bytes_are_no_rows(piece: bytes) -> None:
    with pytest.raises(MalformedMessage):
        copied_rows(piece, _texts(2), "UTF8")


def test_a_key_is_never_null() -> None:
    with pytest.raises(MalformedMessage, match=r"NULL in key column s\.t\.c0"):
        copied_rows(b"a,b\n,b\n", _texts(2, keys=1), "UTF8")


def test_the_first_row_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueRefused) as refused:
        copied_rows(b"a,b\nc,\xff\n\xff,d\n", _texts(2), "UTF8")
    assert (refused.value.row, refused.value.column) == (1, "c1")


_HOSTILE = st.one_of(
    st.none(),
    st.text(st.sampled_from('",\\.\n\r\t N\ufeffé'), max_size=8),
    st.sampled_from(["", "\\.", "NULL", "\ufeff", "x" * 70_000]),
)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_texts_come_as_they_are(sent: Sent, count: int) -> None:
    sent.run("DROP TABLE IF EXISTS h")
    columns = ", ".join(f"c{n} text" for n in range(count))
    sent.run(f"CREATE TABLE h (n int PRIMARY KEY, {columns})")
    names = ", ".join(f"c{n}" for n in range(count))

    @drawn(max_examples=examples(8), deadline=None)
    @given(st.lists(st.tuples(*[_HOSTILE] * count), min_size=1, max_size=20))
    def check(rows: list[tuple[str | None, ...]]) -> None:
        sent.run("DELETE FROM h")
        with sent.connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO h VALUES (%s{', %s' * count})",
                [(n, *row) for n, row in enumerate(rows)],
            )
        piece = sent.copied(f"SELECT {names} FROM h ORDER BY n")
        assert _rows(piece, count) == rows

    check()


def test_a_table_of_1600_columns(sent: Sent) -> None:
    columns = ", ".join(f"c{n} smallint" for n in range(1, 1600))
    sent.run(f"CREATE TABLE wide (id int PRIMARY KEY, {columns})")
    sent.run("INSERT INTO wide (id, c1, c1599) VALUES (1, 2, 3), (2, NULL, 4)")
    table = copied_rows(sent.copied("SELECT * FROM wide"), sent.shape("wide"), "UTF8")
    assert (table.num_columns, table.num_rows) == (1600, 2)
    assert table.select(["id", "c1", "c2", "c1599"]).to_pylist() == [
        {"id": 1, "c1": 2, "c2": None, "c1599": 3},
        {"id": 2, "c1": None, "c2": None, "c1599": 4},
    ]


def test_texts_of_a_database_in_another_encoding(postgres: PostgresServer) -> None:
    with postgres.connect() as connection:
        connection.execute(
            "CREATE DATABASE west ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    try:
        with sent_by(replace(postgres.url, database="west"), "WIN1252") as sent:
            sent.run("CREATE TABLE t (id int PRIMARY KEY, v text)")
            sent.run("INSERT INTO t VALUES (1, U&'\\20AC \\00E9'), (2, 'plain')")
            shape = sent.shape("t")
            table = copied_rows(sent.copied("SELECT * FROM t"), shape, "WIN1252")
            assert table.column("v").to_pylist() == ["€ é", "plain"]
            sent.run("SELECT pg_drop_replication_slot('west')")
    finally:
        with postgres.connect() as connection:
            connection.execute("DROP DATABASE west WITH (FORCE)")
