"""`cdc check`: what is not met is found, until the statement that comes with it was run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import psycopg
import pytest
from typer.testing import CliRunner, Result

from openmirror.cdc.capture.preparing import check, prepare
from openmirror.cdc.capture.requirements import FindingLevel, SourceFinding
from openmirror.cdc.capture.settings import CaptureSettings
from openmirror.cli.app import app
from openmirror.errors import CannotStart
from standins.postgres import PASSWORD, PostgresServer, connected

Prepare = Callable[[psycopg.Connection, str], None]


@pytest.fixture
def owner(settings: CaptureSettings) -> Iterator[psycopg.Connection]:
    with connected(settings.url) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, text text)")
        yield connection


def run(connection: psycopg.Connection, *statements: str) -> None:
    for statement in statements:
        connection.execute(statement)  # type: ignore[call-overload]


def of_level(settings: CaptureSettings, level: FindingLevel) -> list[SourceFinding]:
    return [one for one in check(settings) if one.level is level]


def test_a_database_that_has_everything_has_no_finding_but_what_it_costs(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    (note,) = check(settings)
    assert note.level is FindingLevel.NOTE
    assert "max_slot_wal_keep_size = -1" in note.what


ERRORS: dict[str, tuple[tuple[str, ...], str]] = {
    "leaves out rows or columns of orders": (
        ("CREATE PUBLICATION {slot} FOR TABLE orders (id)",),
        "ALTER PUBLICATION",
    ),
    "leaves out rows or columns of public.orders or orders": (
        ("CREATE PUBLICATION {slot} FOR TABLE orders WHERE (id > 3)",),
        "ALTER PUBLICATION",
    ),
    "leaves out kinds of changes": (
        ("CREATE PUBLICATION {slot} FOR TABLE orders WITH (publish = 'insert, update, delete')",),
        "ALTER PUBLICATION",
    ),
    "writes by test_decoding, and pgoutput is read": (
        ("SELECT pg_create_logical_replication_slot('{slot}', 'test_decoding')",),
        "SELECT pg_drop_replication_slot",
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_a_requirement_that_is_not_met_is_found_until_its_statement_is_run(
    settings: CaptureSettings, owner: psycopg.Connection, what: str
) -> None:
    statements, remedy = ERRORS[what]
    run(owner, *(one.format(slot=settings.slot) for one in statements))
    (found,) = of_level(settings, FindingLevel.ERROR)
    assert what.partition(" or ")[0] in found.what
    assert found.remedy.startswith(remedy)
    with pytest.raises(CannotStart) as caught:
        prepare(settings, is_begun=False)
    assert found.what in str(caught.value)
    run(owner, found.remedy.partition(", or capture")[0])
    assert of_level(settings, FindingLevel.ERROR) == []


def test_all_findings_are_found_at_once(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    user = f"Reader {settings.stream}"
    run(owner, f"CREATE ROLE \"{user}\" LOGIN PASSWORD 'reads'")
    reader = replace(settings, url=replace(settings.url, user=user, password="reads"))
    found = of_level(reader, FindingLevel.ERROR)
    assert [one.remedy.partition(" ")[0] for one in found] == ["ALTER", "GRANT", "Let"]
    assert found[0].remedy == f'ALTER ROLE "{user}" REPLICATION'
    run(owner, found[0].remedy, found[1].remedy.partition(", and GRANT")[0])
    run(owner, found[2].remedy.partition(": ")[2])
    assert of_level(reader, FindingLevel.ERROR) == []
    run(owner, f'DROP PUBLICATION {settings.slot}; DROP OWNED BY "{user}"; DROP ROLE "{user}"')


def test_a_pattern_that_no_table_has_is_an_error(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    wanted = replace(settings, tables=("public.orders", "sales.*"))
    (found,) = of_level(wanted, FindingLevel.ERROR)
    assert found.what.endswith("is called sales.*")


def test_a_publication_of_all_tables_is_warned_of_where_one_has_no_key(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    run(owner, f"CREATE PUBLICATION {settings.slot} FOR ALL TABLES")
    assert of_level(settings, FindingLevel.WARNING) == []
    run(owner, "CREATE TABLE log (line text)")
    refused, left_out = of_level(settings, FindingLevel.WARNING)
    assert "refuses updates of those without a key: public.log" in refused.what
    assert left_out.what.startswith("public.log is left out")


def test_a_slot_of_another_database_is_not_taken_for_ours(
    settings: CaptureSettings, owner: psycopg.Connection, postgres: PostgresServer
) -> None:
    with postgres.database(f"{settings.stream}_other") as other, connected(other) as connection:
        run(connection, f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'pgoutput')")
        (found,) = of_level(settings, FindingLevel.ERROR)
        assert f"is of database {other.database}" in found.what
        with pytest.raises(CannotStart, match="of database"):
            prepare(settings, is_begun=True)


# --- The verbs ------------------------------------------------------------------------------------


def verb(settings: CaptureSettings, *words: str, user: str | None = None) -> Result:
    url = settings.url
    address = f"postgresql://{user or url.user}@{url.host}:{url.port}/{url.database}"
    command = ["cdc", words[0], address, *words[1:]]
    shown = CliRunner().invoke(app, command, env={"PGPASSWORD": url.password, "COLUMNS": "200"})
    assert PASSWORD not in shown.output
    return shown


def test_check_shows_findings_with_what_mends_them(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    good = verb(settings, "check")
    assert (good.exit_code, "can be captured" in good.output) == (0, True)
    bad = verb(settings, "check", "--table", "public.nothing")
    assert (bad.exit_code, "Correct --table" in bad.output) == (1, True)
    printed = json.loads(verb(settings, "check", "--table", "public.nothing", "--json").stdout)
    assert printed["data"][0]["level"] == "error"
    assert printed["data"][0].keys() == {"level", "what", "remedy"}


def test_check_of_a_database_that_cannot_be_asked_says_why(settings: CaptureSettings) -> None:
    shown = verb(settings, "check", user="nobody_here")
    assert shown.exit_code == 1
    assert "Correct the user" in shown.output


def test_drop_leaves_nothing_of_a_stream_in_its_database(
    settings: CaptureSettings, owner: psycopg.Connection
) -> None:
    nothing = verb(settings, "drop")
    assert (nothing.exit_code, "neither slot nor publication" in nothing.output) == (0, True)
    run(
        owner,
        f"SELECT pg_create_logical_replication_slot('{settings.slot}', 'pgoutput')",
        f"CREATE PUBLICATION {settings.slot} FOR TABLE orders",
    )
    refused = verb(settings, "drop")  # nobody answers the question
    assert refused.exit_code != 0
    assert f"replication slot and the publication {settings.slot}" in refused.output
    assert verb(settings, "drop", "--yes").exit_code == 0
    left = owner.execute(
        "SELECT (SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s),"
        " (SELECT count(*) FROM pg_publication)",
        (settings.slot,),
    ).fetchone()
    assert left == (0, 0)
