"""`cdc check`: what is not met is found, until the statement that comes with it was run."""

from __future__ import annotations

import json
from dataclasses import replace

import psycopg
import pytest
from typer.testing import CliRunner, Result

from openmirror.cdc.postgresql.asking import DatabaseFacts, ask
from openmirror.cdc.postgresql.connecting import DatabaseConnection, opened
from openmirror.cdc.postgresql.preparing import bring_publication, check, prepare
from openmirror.cdc.postgresql.requirements import (
    Choice,
    FindingLevel,
    SourceFinding,
    choice,
    findings,
)
from openmirror.cdc.postgresql.settings import StreamSettings
from openmirror.cdc.postgresql.standbys import is_synchronous_standby
from openmirror.cli.app import app
from openmirror.errors import CannotStart
from standins.postgres import PASSWORD, PostgresServer, connected
from tests.cdc.postgresql.roles import as_reader


@pytest.fixture
def orders(owner: psycopg.Connection) -> psycopg.Connection:
    """The owner of a database with one table that can be mirrored."""
    owner.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
    return owner


def run(connection: psycopg.Connection, *statements: str) -> None:
    for statement in statements:
        connection.execute(statement)


def of_level(settings: StreamSettings, level: FindingLevel) -> list[SourceFinding]:
    return [one for one in check(settings) if one.level is level]


def left_out(settings: StreamSettings) -> dict[str, SourceFinding]:
    """Warnings by the table that each begins with."""
    return {one.what.partition(" ")[0]: one for one in of_level(settings, FindingLevel.WARNING)}


def test_a_database_that_has_everything_has_no_finding_but_what_it_costs(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    (note,) = check(settings)
    assert note.level is FindingLevel.NOTE
    assert "max_slot_wal_keep_size = -1" in note.what


def test_a_slot_of_another_plugin_is_found_until_it_is_dropped(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'test_decoding')")
    (found,) = of_level(settings, FindingLevel.ERROR)
    assert "writes by test_decoding, and pgoutput is read" in found.what
    assert found.remedy.startswith("SELECT pg_drop_replication_slot")
    with pytest.raises(CannotStart) as caught:
        prepare(settings)
    assert found.what in str(caught.value)
    run(orders, found.remedy.partition(", or read")[0])
    assert of_level(settings, FindingLevel.ERROR) == []


def test_all_findings_are_found_at_once(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    with as_reader(settings, orders, "", "Reader") as reader:
        found = of_level(reader, FindingLevel.ERROR)
        assert [one.remedy.partition(" ")[0] for one in found] == ["ALTER", "", "Let"]
        assert found[0].remedy == f'ALTER ROLE "{reader.url.user}" REPLICATION'
        assert "no table to mirror" in found[1].what
        run(orders, found[0].remedy, left_out(reader)["public.orders"].remedy)
        run(orders, found[2].remedy.partition(": ")[2])
        assert of_level(reader, FindingLevel.ERROR) == []
        assert left_out(reader) == {}


def test_a_table_that_lacks_a_right_is_left_out_until_its_statements_are_run(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, 'CREATE SCHEMA "Far.off"; CREATE TABLE "Far.off"."T" (id int PRIMARY KEY)')
    run(orders, f"CREATE PUBLICATION {settings.slot} FOR TABLE orders")
    with as_reader(settings, orders) as reader:
        run(orders, f"GRANT SELECT ON orders TO {reader.url.user}")
        assert [table.title for table in prepare(reader).tables] == ["public.orders"]
        (found,) = left_out(reader).values()
        assert "may not read it, and the publication" in found.what
        for statement in found.remedy.split(". "):
            run(orders, statement.partition(": ")[2] or statement)
        assert left_out(reader) == {}
        assert len(prepare(reader).tables) == 2


@pytest.mark.parametrize("part", ["(id)", "WHERE (id > 3)"])
def test_a_table_of_which_a_publication_sends_a_part_is_left_out_or_mended(
    settings: StreamSettings, orders: psycopg.Connection, part: str
) -> None:
    run(orders, "CREATE TABLE carts (id int PRIMARY KEY)")
    run(orders, f"CREATE PUBLICATION {settings.slot} FOR TABLE carts, orders {part}")
    # We mend it ourselves.
    assert of_level(settings, FindingLevel.ERROR) == []
    assert left_out(settings) == {}
    with as_reader(settings, orders) as reader:
        run(orders, f"GRANT SELECT ON orders, carts TO {reader.url.user}")
        assert [table.title for table in prepare(reader).tables] == ["public.carts"]
        (found,) = left_out(reader).values()
        assert "leaves out rows or columns of it" in found.what
        run(orders, found.remedy.partition(": ")[2])
        assert left_out(reader) == {}


def test_a_table_of_somebody_else_is_left_out_of_a_publication_that_is_ours(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    with as_reader(settings, orders) as reader:
        user = reader.url.user
        run(orders, f"CREATE TABLE own (id int PRIMARY KEY); ALTER TABLE own OWNER TO {user}")
        run(orders, f"GRANT SELECT ON orders TO {user}")
        (found,) = of_level(reader, FindingLevel.ERROR)
        assert "may not publish these tables" in found.what
        run(orders, f"GRANT CREATE ON DATABASE {settings.url.database} TO {user}")
        prepared = prepare(reader)
        assert [table.title for table in prepared.tables] == ["public.own"]
        with opened(reader.url, reader.slot) as connection:
            bring_publication(connection, reader, prepared)
        run(orders, left_out(reader)["public.orders"].remedy.partition(": ")[2])
        assert len(prepare(reader).tables) == 2


def test_a_publication_of_somebody_else_must_send_every_change(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, f"CREATE PUBLICATION {settings.slot} FOR TABLE orders WITH (publish = 'insert')")
    # We could change it ourselves.
    assert of_level(settings, FindingLevel.ERROR) == []
    with as_reader(settings, orders) as reader:
        run(orders, f"GRANT SELECT ON orders TO {reader.url.user}")
        (found,) = of_level(reader, FindingLevel.ERROR)
        assert "does not send every change" in found.what
        run(orders, found.remedy.partition(": ")[2])
        assert of_level(reader, FindingLevel.ERROR) == []


# --- Tables ---------------------------------------------------------------------------------------

UNFIT = {
    "keyless": ("CREATE TABLE {} (id int)", "no primary key"),
    "late": ("CREATE TABLE {} (id int PRIMARY KEY DEFERRABLE)", "DEFERRABLE"),
    "late_full": (
        "CREATE TABLE {} (id int PRIMARY KEY DEFERRABLE); ALTER TABLE {} REPLICA IDENTITY FULL",
        "DEFERRABLE",
    ),
    "nothing": (
        "CREATE TABLE {} (id int PRIMARY KEY); ALTER TABLE {} REPLICA IDENTITY NOTHING",
        "NOTHING",
    ),
    "other_index": (
        "CREATE TABLE {} (id int PRIMARY KEY, n int NOT NULL, CONSTRAINT n UNIQUE (n));"
        " ALTER TABLE {} REPLICA IDENTITY USING INDEX n",
        "an index of other columns",
    ),
    "generated": (
        "CREATE TABLE {} (id int, g int GENERATED ALWAYS AS (id) STORED PRIMARY KEY)",
        "does not send g of its primary key",
    ),
    "unlogged": ("CREATE UNLOGGED TABLE {} (id int PRIMARY KEY)", "unlogged"),
    "parts": (
        "CREATE TABLE {} (id int PRIMARY KEY) PARTITION BY LIST (id);"
        " CREATE TABLE leaf PARTITION OF {} DEFAULT",
        "its partitions (public.leaf) are left out",
    ),
    "far": (
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
        " CREATE FOREIGN TABLE {} (id int) SERVER s",
        "foreign table",
    ),
}
"""Statements that make a table which cannot be mirrored, and words of the reason."""


def test_a_table_that_cannot_be_mirrored_is_named_with_the_reason(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    for name, (statements, _) in UNFIT.items():
        run(orders, statements.replace("{}", name))
    found = left_out(settings)
    assert found.keys() == {f"public.{name}" for name in UNFIT}
    for name, (_, words) in UNFIT.items():
        assert words in found[f"public.{name}"].what
    prepared = prepare(settings)
    assert [table.title for table in prepared.tables] == ["public.orders"]
    assert prepared.left_out.keys() == found.keys()


def test_the_statement_beside_the_reason_mends_it(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    for name in ("nothing", "other_index", "unlogged"):
        run(orders, UNFIT[name][0].replace("{}", name))
    for one in left_out(settings).values():
        run(orders, one.remedy)
    assert left_out(settings) == {}


def test_an_index_of_the_keys_own_columns_may_be_the_identity(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(
        orders,
        "CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b) INCLUDE (c))",
        "CREATE UNIQUE INDEX t_i ON t (b, a); ALTER TABLE t REPLICA IDENTITY USING INDEX t_i",
    )
    assert left_out(settings) == {}


def test_names_that_no_mirror_can_have_are_found(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    for name in ("_x", "a/b", "..", "Same", "same"):
        run(orders, f'CREATE TABLE "{name}" (id int PRIMARY KEY)')
    found = left_out(settings)
    assert found.keys() == {"public._x", "public.a/b", "public...", "public.same"}
    assert "public.Same only by case" in found["public.same"].what
    assert 'ALTER TABLE public."a/b" RENAME' in found["public.a/b"].remedy
    excluded = replace(settings, excluded=tuple(found))
    assert left_out(excluded) == {}
    without_same = replace(settings, excluded=("public.Same", "public._x", "*.a/b", "public..."))
    assert left_out(without_same) == {}


def test_of_names_that_differ_by_case_a_stream_keeps_the_one_it_has(
    settings: StreamSettings, orders: psycopg.Connection, reader: DatabaseConnection
) -> None:
    run(orders, 'CREATE TABLE same (id int PRIMARY KEY); CREATE TABLE "Same" (id int PRIMARY KEY)')
    facts = ask(reader, settings.slot)
    oids = {table.title: table.oid for table in facts.tables}
    for kept, other in (("public.same", "public.Same"), ("public.Same", "public.same")):
        chosen = choice(settings, facts, {oids[kept]})
        assert kept in [table.title for table in chosen.tables]
        assert [one.table for one in chosen.left_out] == [other]


def test_views_are_named_only_if_somebody_asks_for_them(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, "CREATE VIEW v AS SELECT 1; CREATE MATERIALIZED VIEW m AS SELECT 1")
    assert left_out(settings) == {}
    wanted = replace(settings, tables=("public.orders", "public.v", "public.m"))
    assert left_out(wanted).keys() == {"public.v", "public.m"}


def test_a_partition_that_was_named_alone_is_named(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, "CREATE TABLE t (id int PRIMARY KEY) PARTITION BY LIST (id)")
    run(orders, "CREATE TABLE t1 PARTITION OF t DEFAULT")
    found = left_out(replace(settings, tables=("public.orders", "public.t1")))
    assert found["public.t1"].what.endswith("it is a partition of public.t")


def test_of_a_parent_only_its_own_rows_are_mirrored(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, "CREATE TABLE child (PRIMARY KEY (id)) INHERITS (orders)")
    notes = [one.what for one in of_level(settings, FindingLevel.NOTE)]
    assert any("inherit from public.orders: only the parents' own rows" in one for one in notes)
    assert len(prepare(settings).tables) == 2


def test_children_that_cannot_be_mirrored_are_found_and_not_published_with_their_parent(
    settings: StreamSettings, orders: psycopg.Connection, reader: DatabaseConnection
) -> None:
    run(
        orders,
        "CREATE TABLE keyless () INHERITS (orders); INSERT INTO keyless VALUES (1)",
        "CREATE UNLOGGED TABLE brief (PRIMARY KEY (id)) INHERITS (orders)",
    )
    assert left_out(settings).keys() == {"public.keyless", "public.brief"}
    bring_publication(reader, settings, prepare(settings))
    run(orders, "UPDATE orders SET text = 'new'")
    run(orders, "DROP TABLE brief", f"DROP PUBLICATION {settings.slot}")
    # Without ONLY, a publication gets the children too.
    run(orders, f"CREATE PUBLICATION {settings.slot} FOR TABLE orders")
    with as_reader(settings, orders) as user:
        run(orders, f"GRANT SELECT ON orders, keyless TO {user.url.user}")
        harm, _ = of_level(user, FindingLevel.WARNING)
    assert harm.what.endswith("must not have: public.keyless")
    assert left_out(settings).keys() == {"public.keyless"}  # taken out by its owner
    with pytest.raises(psycopg.Error, match="replica identity"):
        run(orders, "UPDATE orders SET text = 'newer'")
    run(orders, harm.remedy.partition(": ")[2], "UPDATE orders SET text = 'newer'")


def test_columns_that_are_not_mirrored_are_named(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(
        orders,
        "CREATE TABLE t (id int PRIMARY KEY, g int GENERATED ALWAYS AS (id) STORED, r regclass)",
    )
    prepared = prepare(settings)
    assert prepared.left_out.keys() == {"public.t.g", "public.t"}
    assert "regclass" in prepared.left_out["public.t"]
    without = replace(settings, without_columns=("public.t.g", "public.t.r"))
    assert left_out(without) == {}
    wrong = replace(settings, as_text=("public.nothing.a",))
    assert any("public.nothing.a" in one.what for one in of_level(wrong, FindingLevel.WARNING))


def test_row_level_security_that_hides_rows_is_found(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, "ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    run(orders, f"CREATE PUBLICATION {settings.slot} FOR TABLE orders")
    assert of_level(settings, FindingLevel.WARNING) == []
    with as_reader(settings, orders) as reader:
        run(orders, f"GRANT SELECT ON orders TO {reader.url.user}")
        (found,) = of_level(reader, FindingLevel.WARNING)
        assert "row-level security" in found.what
        assert "public.orders" in found.what
        run(orders, found.remedy)
        assert of_level(reader, FindingLevel.WARNING) == []


def test_a_pattern_that_no_table_has_is_an_error(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    wanted = replace(settings, tables=("public.orders", "sales.*"), excluded=("public.nothing",))
    (found,) = of_level(wanted, FindingLevel.ERROR)
    assert found.what.endswith("is called sales.*")
    (found,) = of_level(wanted, FindingLevel.WARNING)
    assert found.remedy == "Correct --exclude"


def test_a_publication_of_all_tables_is_warned_of_where_it_harms(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    run(orders, f"CREATE PUBLICATION {settings.slot} FOR ALL TABLES")
    assert of_level(settings, FindingLevel.WARNING) == []
    run(orders, "CREATE TABLE log (line text)")
    harm, left = of_level(settings, FindingLevel.WARNING)
    assert harm.what.startswith("the server refuses UPDATE and DELETE")
    assert harm.what.endswith("must not have: public.log")
    assert harm.remedy.startswith("DROP PUBLICATION")
    assert left.what.startswith("public.log is left out")


# --- The server -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("", False),
        ("*", True),
        ("openmirror_shop", True),
        ("a, OpenMirror_Shop", True),
        ('"openmirror_shop"', True),
        ('FIRST 2 (a, "openmirror_shop")', True),
        ("first 1 (*)", True),
        ("ANY 1 (a, b)", False),
        ("any 2(a,openmirror_shop,b)", True),
        ("2 (a, *)", True),
        ("2 (a, openmirror_shop2)", False),
        ('"*"', True),
        ('"a,openmirror_shop"', False),
        ('"say ""openmirror_shop"""', False),
        ("openmirror", False),
        ('FIRST 1 ("FIRST 1 (*)")', False),
    ],
)
def test_it_is_known_whose_standby_a_stream_would_be(setting: str, expected: bool) -> None:
    assert is_synchronous_standby(setting, "openmirror_shop") is expected


def of_server(
    settings: StreamSettings, reader: DatabaseConnection, **changed: object
) -> tuple[SourceFinding, ...]:
    facts = ask(reader, settings.slot)
    server = replace(facts.server, **changed)  # type: ignore[arg-type]
    found: DatabaseFacts = replace(facts, server=server)
    chosen: Choice = choice(settings, found)
    every = findings(settings, found, chosen)
    return tuple(one for one in every if one.level is FindingLevel.ERROR)


LACKS: tuple[tuple[dict[str, object], str, str], ...] = (
    ({"version": 130009}, "is PostgreSQL 13, and 14 or later", "Upgrade"),
    ({"is_standby": True}, "is a standby", "the primary's address"),
    ({"wal_level": "replica"}, "wal_level = replica", "wal_level = logical, then restart"),
    ({"encoding": "EUC_TW"}, "encoding EUC_TW", "UTF8"),
    ({"synchronous_names": "ANY 1 (*)"}, "every commit", "synchronous_standby_names"),
    ({"slots": 20, "most_slots": 20}, "no free replication slot", "max_replication_slots"),
    ({"senders": 20, "most_senders": 20}, "no free process", "max_wal_senders"),
)


def test_what_a_server_lacks_is_an_error(
    settings: StreamSettings, orders: psycopg.Connection, reader: DatabaseConnection
) -> None:
    assert of_server(settings, reader) == ()
    for changed, what, remedy in LACKS:
        (found,) = of_server(settings, reader, **changed)
        assert what in found.what
        assert remedy in found.remedy


def test_a_slot_of_another_database_is_not_taken_for_ours(
    settings: StreamSettings, orders: psycopg.Connection, postgres: PostgresServer
) -> None:
    with postgres.database(f"{settings.stream}_other") as other, connected(other) as connection:
        run(connection, f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'pgoutput')")
        (found,) = of_level(settings, FindingLevel.ERROR)
        assert f"is of database {other.database}" in found.what
        with pytest.raises(CannotStart, match="of database"):
            prepare(settings)


# --- The verbs ------------------------------------------------------------------------------------


def verb(settings: StreamSettings, *words: str, user: str | None = None) -> Result:
    url = settings.url
    address = f"postgresql://{user or url.user}@{url.host}:{url.port}/{url.database}"
    command = ["cdc", words[0], address, *words[1:]]
    shown = CliRunner().invoke(app, command, env={"PGPASSWORD": url.password, "COLUMNS": "200"})
    assert PASSWORD not in shown.output
    return shown


def test_check_shows_findings_with_what_mends_them(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    good = verb(settings, "check")
    assert (good.exit_code, "can be mirrored" in good.output) == (0, True)
    bad = verb(settings, "check", "--table", "public.nothing")
    assert (bad.exit_code, "Correct --table" in bad.output) == (1, True)
    printed = json.loads(verb(settings, "check", "--table", "public.nothing", "--json").stdout)
    assert printed["data"][0]["level"] == "error"
    assert printed["data"][0].keys() == {"level", "what", "remedy"}
    run(orders, "CREATE TABLE log (line text, r regclass, id int)")
    assert "public.log is left out" in verb(settings, "check").output
    assert "public.log" not in verb(settings, "check", "--exclude", "public.log").output
    run(orders, "ALTER TABLE log ADD PRIMARY KEY (id)")
    assert "regclass" in verb(settings, "check").output
    without = verb(settings, "check", "--without-column", "public.log.r")
    assert "regclass" not in without.output


def test_check_of_a_database_that_cannot_be_asked_says_why(settings: StreamSettings) -> None:
    shown = verb(settings, "check", user="nobody_here")
    assert shown.exit_code == 1
    assert "Correct the user" in shown.output


def test_drop_leaves_nothing_of_a_stream_in_its_database(
    settings: StreamSettings, orders: psycopg.Connection
) -> None:
    nothing = verb(settings, "drop")
    assert (nothing.exit_code, "neither slot nor publication" in nothing.output) == (0, True)
    run(
        orders,
        f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'pgoutput')",
        f"CREATE PUBLICATION {settings.slot} FOR TABLE orders",
    )
    refused = verb(settings, "drop")  # nobody answers the question
    assert refused.exit_code != 0
    assert f"replication slot and the publication {settings.slot}" in refused.output
    assert verb(settings, "drop", "--yes").exit_code == 0
    left = orders.execute(
        "SELECT (SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s),"
        " (SELECT count(*) FROM pg_publication)",
        (settings.slot,),
    ).fetchone()
    assert left == (0, 0)
