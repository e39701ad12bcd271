"""Differences of two fingerprints: which are harmless, and which mean that rows are read again.

Each statement runs in a real server, between two readings of its catalogue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened
from openmirror.cdc.postgresql.definitions import ReplicaIdentity
from openmirror.cdc.postgresql.fingerprints import (
    Fingerprint,
    TablePrint,
    parsed,
    stale_rows,
    strange_rows,
)
from openmirror.cdc.postgresql.pgoutput import Relation, RelationColumn
from openmirror.cdc.postgresql.readings import read_arrangement, read_catalogue
from openmirror.cdc.postgresql.settings import DatabaseUrl
from standins.postgres import PostgresServer, connected

_PUBLICATION = "p"
_TABLE = """
    CREATE TABLE t (id int PRIMARY KEY, a text, v varchar(5), n numeric(10,2), m mood, ms mood[],
        d positive, c pair, r timestamp, i int, other int UNIQUE NOT NULL);
    INSERT INTO t VALUES (1, 'a', 'v', 1, 'glad', '{sad}', 1, '(1,x)', now(), 1, 1);
    ALTER PUBLICATION p SET TABLE t
"""
_TYPES = """
    CREATE TYPE mood AS ENUM ('glad', 'sad');
    CREATE DOMAIN positive AS int DEFAULT 3;
    CREATE TYPE pair AS (x int, y text);
    CREATE PUBLICATION p
"""
HARMLESS = (
    "ALTER TABLE t ADD new int",
    "ALTER TABLE t ADD new int; ALTER TABLE t ALTER new SET DEFAULT 5",
    "ALTER TABLE t DROP a",
    "ALTER TABLE t ALTER a SET DEFAULT 'x'",
    "ALTER TABLE t ALTER a SET NOT NULL",
    "ALTER TABLE t ALTER a SET STORAGE EXTERNAL",
    "ALTER TABLE t ALTER a SET STATISTICS 500",
    "ALTER TABLE t ALTER v TYPE varchar(50)",
    "ALTER TABLE t ALTER v TYPE varchar",
    "ALTER TABLE t ALTER v TYPE text",
    "ALTER TABLE t ALTER a TYPE varchar",
    "ALTER TABLE t ALTER n TYPE numeric(12,2)",
    "ALTER TABLE t REPLICA IDENTITY FULL",
    "ALTER TABLE t ADD CHECK (i > 0)",
    "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE t SET (fillfactor = 50)",
    "CREATE INDEX ON t (a)",
    "REINDEX TABLE t",
    "ALTER TABLE t RENAME CONSTRAINT t_pkey TO other_name",
    "GRANT SELECT (a) ON t TO pg_monitor",
    "COMMENT ON COLUMN t.a IS 'x'",
    "ANALYZE t",
    "TRUNCATE t",
    "VACUUM FULL t",
    "CLUSTER t USING t_pkey",
    "ALTER TYPE mood ADD VALUE 'calm'",
    "ALTER TYPE mood RENAME TO moods",
    "ALTER TYPE pair RENAME ATTRIBUTE x TO z",
    "ALTER DOMAIN positive ADD CHECK (VALUE > 0)",
    "ALTER DOMAIN positive SET DEFAULT 9",
    "CREATE TABLE child () INHERITS (t)",
)
_NEW = "'new' was added with a value"
_REWRITTEN = "rewritten"
_LABELS = "other labels or attributes"
STALE = {
    "ALTER TABLE t ADD new int DEFAULT 5": _NEW,
    "ALTER TABLE t ADD new int DEFAULT 5; ALTER TABLE t ALTER new DROP DEFAULT": _NEW,
    "ALTER TABLE t ADD new positive": _NEW,
    "ALTER TABLE t ADD new float DEFAULT random()": _REWRITTEN,
    "ALTER TABLE t ADD new serial": _REWRITTEN,
    "ALTER TABLE t ADD new int GENERATED ALWAYS AS IDENTITY": _REWRITTEN,
    "ALTER TABLE t ADD new int GENERATED ALWAYS AS (id + 1) STORED": _REWRITTEN,
    "ALTER TABLE t DROP a; ALTER TABLE t ADD a text": "'a' was dropped, and added again",
    "ALTER TABLE t RENAME a TO b": "'a' was renamed to 'b'",
    "ALTER TABLE t ALTER i TYPE bigint": _REWRITTEN,
    "ALTER TABLE t ALTER i TYPE int USING i + 1": _REWRITTEN,
    "ALTER TABLE t ALTER i TYPE oid USING i::oid": "'i' has another type",
    "ALTER TABLE t ALTER r TYPE timestamptz": "type|rewritten",
    "ALTER TABLE t ALTER v TYPE varchar(3)": _REWRITTEN,
    "ALTER TABLE t ALTER n TYPE numeric(10,1)": _REWRITTEN,
    'ALTER TABLE t ALTER a TYPE text COLLATE "C"': "'a' has another collation",
    "ALTER TABLE t DROP CONSTRAINT t_pkey": "its key was",
    "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (other)": "its key was",
    "ALTER TABLE t RENAME TO u": "it was called",
    "CREATE SCHEMA IF NOT EXISTS elsewhere; ALTER TABLE t SET SCHEMA elsewhere": "it was called",
    "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'": _LABELS,
    "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy';"
    "ALTER TYPE mood RENAME VALUE 'happy' TO 'glad'": _LABELS,
    "ALTER TYPE pair ADD ATTRIBUTE z int": _LABELS,
    "ALTER TYPE pair DROP ATTRIBUTE y": _LABELS,
    "ALTER PUBLICATION p DROP TABLE t": "its publication was changed",
    "ALTER PUBLICATION p DROP TABLE t; ALTER PUBLICATION p ADD TABLE t": "publication was changed",
    "ALTER PUBLICATION p SET (publish = 'insert')": "its publication was changed",
    "ALTER PUBLICATION p SET (publish = 'insert'); ALTER PUBLICATION p SET (publish = 'insert, "
    "update, delete, truncate')": "its publication was changed",
    "ALTER PUBLICATION p SET TABLE t WHERE (id > 1)": "its publication was changed",
}


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[DatabaseUrl]:
    with postgres.database(f"prints_{uuid4().hex[:8]}") as found:
        yield found


@pytest.fixture(scope="module")
def owner(url: DatabaseUrl) -> Iterator[psycopg.Connection]:
    with connected(url) as connection:
        yield connection


@pytest.fixture(scope="module")
def reader(url: DatabaseUrl) -> Iterator[DatabaseConnection]:
    with opened(url, "prints") as connection:
        yield connection


@pytest.fixture
def oid(owner: psycopg.Connection) -> Iterator[int]:
    """A fresh table of fresh types."""
    owner.execute("CREATE SCHEMA made")
    owner.execute("CREATE SCHEMA elsewhere")
    owner.execute("SET search_path = made")
    _run(owner, _TYPES)
    _run(owner, _TABLE)
    row = owner.execute("SELECT 't'::regclass::oid::bigint").fetchone()
    assert row is not None
    yield row[0]
    owner.execute("DROP PUBLICATION p")
    owner.execute("DROP SCHEMA made, elsewhere CASCADE")


def _run(owner: psycopg.Connection, statements: str) -> None:
    for statement in statements.split(";"):
        if statement.strip():
            owner.execute(statement)


def _print(reader: DatabaseConnection, oid: int) -> TablePrint:
    return parsed(read_catalogue(reader, _PUBLICATION, (oid,)).tables[oid])


@pytest.mark.parametrize("statements", HARMLESS)
def test_no_row_is_another_one_after(
    statements: str, owner: psycopg.Connection, reader: DatabaseConnection, oid: int
) -> None:
    before = _print(reader, oid)
    _run(owner, statements)
    assert stale_rows(before, _print(reader, oid), before.numbers) is None


@pytest.mark.parametrize("statements", STALE)
def test_rows_are_read_again_after(
    statements: str, owner: psycopg.Connection, reader: DatabaseConnection, oid: int
) -> None:
    before = _print(reader, oid)
    _run(owner, statements)
    why = stale_rows(before, _print(reader, oid), before.numbers)
    assert why is not None
    assert re.search(STALE[statements], why), why


def test_a_missing_value_that_is_put_into_the_rows_changes_none(
    owner: psycopg.Connection, reader: DatabaseConnection, oid: int
) -> None:
    owner.execute("ALTER TABLE t ADD new int DEFAULT 5")
    before = _print(reader, oid)
    owner.execute("VACUUM FULL t")
    after = _print(reader, oid)
    assert before.file_node != after.file_node
    assert stale_rows(before, after, before.numbers) is None


def test_a_reading_lacks_tables_that_are_gone_or_are_none(
    owner: psycopg.Connection, reader: DatabaseConnection, oid: int
) -> None:
    owner.execute("DROP TABLE t")
    owner.execute("CREATE VIEW v AS SELECT 1")
    row = owner.execute("SELECT 'v'::regclass::oid::bigint").fetchone()
    assert row is not None
    assert not read_catalogue(reader, _PUBLICATION, (oid, row[0], 1)).tables


def test_a_reading_sees_what_has_ended_and_nothing_else(
    url: DatabaseUrl, owner: psycopg.Connection, reader: DatabaseConnection, oid: int
) -> None:
    with connected(url) as other:
        other.autocommit = False
        row = other.execute("SELECT txid_current()").fetchone()
        assert row is not None
        assert not read_catalogue(reader, _PUBLICATION, ()).snapshot.sees(row[0])
        other.rollback()
        assert read_catalogue(reader, _PUBLICATION, ()).snapshot.sees(row[0])


@pytest.mark.parametrize(
    "statements",
    [
        "CREATE TABLE made.more (id int PRIMARY KEY)",
        "DROP TABLE t",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t DROP CONSTRAINT t_pkey",
        "ALTER TABLE t REPLICA IDENTITY FULL",
        "GRANT SELECT ON t TO pg_monitor",
        "ALTER PUBLICATION p DROP TABLE t",
        "ALTER PUBLICATION p SET (publish = 'insert')",
    ],
)
def test_the_arrangement_of_tables_is_another_one_after(
    statements: str, owner: psycopg.Connection, reader: DatabaseConnection, oid: int
) -> None:
    before = read_arrangement(reader, _PUBLICATION)
    owner.execute("INSERT INTO t (id, other) VALUES (7, 7)")
    owner.execute("ANALYZE t")
    assert read_arrangement(reader, _PUBLICATION) == before
    _run(owner, statements)
    assert read_arrangement(reader, _PUBLICATION) != before


def _relation(*columns: tuple[str, int], name: str = "t") -> Relation:
    sent = tuple(RelationColumn(column, kind, -1, is_key=False) for column, kind in columns)
    return Relation(1, "public", name, ReplicaIdentity.DEFAULT, sent)


def _made(**columns: tuple[int, int]) -> TablePrint:
    found = [[number, name, kind, -1, False, "", 0, 7] for name, (number, kind) in columns.items()]
    document = {"schema": "public", "name": "t", "node": 1, "keys": [1], "texts": {}, "sent": []}
    return parsed(Fingerprint(json.dumps({**document, "columns": found})))


def test_rows_of_a_known_definition_are_not_strange() -> None:
    before, now = _made(id=(1, 23), a=(2, 25)), _made(id=(1, 23), a=(2, 25), b=(3, 25))
    for sent in ((("id", 23), ("a", 25)), (("id", 23), ("a", 25), ("b", 25)), (("id", 23),)):
        assert strange_rows(_relation(*sent), [before, now]) is None


@pytest.mark.parametrize(
    ("relation", "why"),
    [
        (_relation(("id", 23), ("a", 25), name="u"), "it was called public.u"),
        (_relation(("a", 25), ("id", 23)), "'id' had another name"),
        (_relation(("id", 23), ("a", 1043)), "'a' had another type"),
        (_relation(("id", 23), ("a", 25), ("c", 25)), "'c' was there"),
    ],
)
def test_rows_of_a_definition_between_two_readings_are_strange(
    relation: Relation, why: str
) -> None:
    found = strange_rows(relation, [_made(id=(1, 23), a=(2, 25))])
    assert found is not None
    assert why in found
