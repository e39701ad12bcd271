"""Statements of ranges, against the server: nothing twice, nothing left out, in key order."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import psycopg
import pytest

from openmirror.cdc.postgresql.connecting import DatabaseConnection
from openmirror.cdc.postgresql.copying import RowConnection
from openmirror.cdc.postgresql.ranges import RangeAim, SourceRows, literal, narrowed
from openmirror.cdc.postgresql.settings import StreamSettings

AIM = RangeAim(seconds=2.0, bytes=32 << 20)


@pytest.fixture
def rows(settings: StreamSettings) -> Iterator[RowConnection]:
    connection = RowConnection(settings.url, settings.slot, 10.0)
    yield connection
    connection.close()


def _source(rows: RowConnection, owner: psycopg.Connection, table: str) -> SourceRows:
    found = owner.execute(
        "SELECT c.oid::bigint, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
        (table,),
    ).fetchone()
    assert found is not None
    oid, schema, name = found
    keys = rows.key_columns(oid)
    columns = tuple(key.name for key in keys)
    return SourceRows(schema=schema, name=name, columns=columns, keys=keys, encoding="UTF8")


def _copied(reader: DatabaseConnection, statement: bytes) -> list[tuple[bytes, ...]]:
    with reader.cursor().copy(statement) as copy:
        text = b"".join(bytes(data) for data in copy).decode("latin-1")
    rows = csv.reader(io.StringIO(text, newline=""))
    return [tuple(field.encode("latin-1") for field in row) for row in rows]


KEYS = {
    "numbers": ("n bigint", "SELECT i FROM generate_series(-20, 20) i"),
    "floats": (
        "f float8",
        "SELECT x::float8 FROM unnest(ARRAY['NaN', 'Infinity', '-Infinity', '0', '1e-310', '0.1',"
        " '0.30000000000000004', '123456789.123456789', '-0.1']) x",
    ),
    "texts": (
        "t text",
        r"""SELECT x FROM unnest(ARRAY['', ' ', '''', '\', '\\', 'a,b', '"', 'a"b', E'a\nb', E'\r',
        'NULL', '\.', 'é', 'E', 'e', 'ê', '%s', '%', '$1']) x""",
    ),
    "padded": ("c char(5)", "SELECT chr(64 + i) FROM generate_series(1, 20) i"),
    "bytes": ("b bytea", "SELECT decode(md5(i::text), 'hex') FROM generate_series(1, 20) i"),
    "composite": (
        "a int, b text, c date",
        "SELECT i % 3, chr(65 + i % 5), date '2024-01-01' + i FROM generate_series(1, 50) i",
    ),
    "domain": ("d of_text", "SELECT chr(64 + i) FROM generate_series(1, 20) i"),
    "enum": ('e "Size"', """SELECT x::"Size" FROM unnest(ARRAY['s', 'm', 'xl', 'l']) x"""),
    "case": ("c citext", "SELECT x FROM unnest(ARRAY['a', 'B', 'c', 'D', 'e']) x"),
    "mixed": (
        "n int, c citext, m int",
        "SELECT i % 2, CASE WHEN i % 3 = 0 THEN 'A' ELSE 'b' END || i, i"
        " FROM generate_series(1, 40) i",
    ),
    "hashed": (
        "h hstore, n int",
        "SELECT hstore('k', (i % 4)::text), i FROM generate_series(1, 20) i",
    ),
    "bits": (
        "b bit(8), v varbit",
        "SELECT i::bit(8), i::bit(4)::varbit FROM generate_series(1, 9) i",
    ),
    "spans": (
        "t timestamptz, i interval",
        "SELECT now() - i * interval '1.5 s', i * interval '1 d' FROM generate_series(1, 20) i",
    ),
    "arrays": ("a text[]", "SELECT ARRAY[i::text, NULL, 'a,\"b'] FROM generate_series(1, 20) i"),
    "quoted": ('"A ""b" int, "%s" int', "SELECT i % 4, i FROM generate_series(1, 20) i"),
}


@pytest.mark.parametrize("name", KEYS)
def test_ranges_have_each_key_once_in_the_order_of_its_index(
    rows: RowConnection, reader: DatabaseConnection, owner: psycopg.Connection, name: str
) -> None:
    columns, values = KEYS[name]
    owner.execute(
        "CREATE EXTENSION citext; CREATE EXTENSION hstore;"
        "CREATE DOMAIN of_text AS varchar(9) CHECK (VALUE <> 'Z');"
        "CREATE TYPE \"Size\" AS ENUM ('s', 'm', 'l', 'xl')"
    )
    keys = ", ".join(part.strip().rsplit(" ", 1)[0] for part in columns.split(","))
    owner.execute(f'CREATE TABLE "The ""t" ({columns}, PRIMARY KEY ({keys}))'.encode())
    owner.execute(f'INSERT INTO "The ""t" {values}'.encode())
    everything = owner.execute(f'SELECT {keys} FROM "The ""t" ORDER BY {keys}'.encode()).rowcount
    source = _source(rows, owner, '"The ""t"')
    (high,) = _copied(reader, source.highest_key())
    found: list[tuple[bytes, ...]] = []
    while not found or found[-1] != high:
        piece = _copied(reader, source.range(found[-1] if found else None, high, 3))
        assert piece
        assert len(piece) <= 3
        found += piece
    assert len(found) == len(set(found)) == everything
    whole = _copied(reader, source.range(None, high, 1000))
    assert found == whole
    again = _copied(reader, source.these(found[2:4]))
    assert sorted(again) == sorted(found[2:4])
    assert len(_copied(reader, source.range(None, found[2], 1000))) == 3


def test_a_key_that_a_domain_would_refuse_today_is_still_a_bound(
    rows: RowConnection, reader: DatabaseConnection, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE DOMAIN of_text AS text")
    owner.execute("CREATE TABLE t (k of_text PRIMARY KEY)")
    owner.execute("INSERT INTO t VALUES ('a'), ('b')")
    owner.execute("ALTER DOMAIN of_text ADD CHECK (VALUE <> 'a') NOT VALID")
    source = _source(rows, owner, "t")
    assert _copied(reader, source.range((b"a",), (b"b",), 9)) == [(b"b",)]


def test_an_index_gives_the_range_also_without_statistics(
    rows: RowConnection, reader: DatabaseConnection, owner: psycopg.Connection
) -> None:
    owner.execute("CREATE TABLE t (a int, b int, c text, PRIMARY KEY (b, a))")
    owner.execute("INSERT INTO t SELECT i % 7, i, 'x' FROM generate_series(1, 5000) i")
    source = _source(rows, owner, "t")
    select = source.range((b"1000", b"6"), (b"5000", b"2"), 10)
    plain = select.removeprefix(b"COPY (").removesuffix(b") TO STDOUT (FORMAT csv)")
    reader.execute("SET enable_seqscan = off; SET enable_sort = off")
    plan = "\n".join(row["QUERY PLAN"] for row in reader.execute(b"EXPLAIN " + plain))
    assert "Index" in plan
    assert "Sort" not in plan


def test_literals_do_not_depend_on_settings(owner: psycopg.Connection) -> None:
    text = b"it's \\ a \\'; DROP TABLE x; --"
    for setting in ("on", "off"):
        owner.execute(f"SET standard_conforming_strings = {setting}")
        assert owner.execute(b"SELECT %b" % literal(text)).fetchone() == (text.decode(),)


@pytest.mark.parametrize(
    ("rows", "seconds", "size", "expected"),
    [
        (10_000, 0.1, 1 << 20, 40_000),
        (10_000, 4.0, 1 << 20, 5_000),
        (10_000, 0.1, 64 << 20, 5_000),
        (1_900_000, 1.0, 1 << 20, 2_000_000),
        (1, 100.0, 1 << 30, 1),
        (0, 1.0, 0, 10_000),
    ],
)
def test_ranges_aim_at_time_and_bytes(rows: int, seconds: float, size: int, expected: int) -> None:
    assert AIM.next_limit(10_000, rows, seconds, size) == expected


def test_a_cancelled_range_is_halved() -> None:
    assert narrowed(10_000, 9_000) == 5_000
    assert narrowed(10_000, 100) == 100
    assert narrowed(10_000, 0) == 625
    assert narrowed(1, 0) == 1
