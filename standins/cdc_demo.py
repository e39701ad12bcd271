"""`./dev demo --cdc`: a real PostgreSQL under load, mirrored as it changes, then compared."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import deltalake
import psycopg
from deltalake.exceptions import TableNotFoundError
from rich.console import Console
from rich.table import Table

from openmirror.cdc.postgresql.settings import DatabaseUrl
from standins.kafka.connected import through_kafka
from standins.postgres import connected, postgres_programs, postgres_server

MIRROR = "shop"
_SECONDS, _RATE = 40, 100
_PATIENCE = 300.0
_ACCOUNTS = 100_000
_KEYS = {
    "pgbench_accounts": "aid",
    "pgbench_branches": "bid",
    "pgbench_tellers": "tid",
    "history_with_key": "id",
    "carts": "id",
    "marks": "id",
}
_DDL = """
-- pgbench's own history has no key, so no change of it names a row: it is left out. This one has.
CREATE TABLE history_with_key (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO history_with_key (tid, bid, aid, delta, mtime, filler)
    VALUES (new.tid, new.bid, new.aid, new.delta, new.mtime, new.filler);
    RETURN new; END $$;
CREATE TRIGGER keep AFTER INSERT ON pgbench_history FOR EACH ROW EXECUTE FUNCTION keep();
CREATE TABLE carts (id int PRIMARY KEY, items jsonb);
CREATE TABLE marks (id int PRIMARY KEY, at timestamptz DEFAULT clock_timestamp());
"""
_CHANGES = (
    ("a column is added", "ALTER TABLE carts ADD COLUMN note text"),
    ("carts are filled", "INSERT INTO carts SELECT n, '{\"n\": 1}' FROM generate_series(1, 500) n"),
    ("keys change", "UPDATE pgbench_tellers SET tid = tid + 1000 WHERE tid <= 3"),
    ("a table is emptied", "TRUNCATE carts"),
    ("and filled again", "INSERT INTO carts SELECT n, NULL, 'new' FROM generate_series(5, 50) n"),
)


def main() -> int:
    """The demo's exit code: 1 where a table differs."""
    parser = argparse.ArgumentParser(
        prog="./dev demo --cdc",
        description="Mirror a PostgreSQL under pgbench's load; then compare every table.",
        allow_abbrev=False,
    )
    parser.add_argument("--cdc", action="store_true", help="This form of the demo.")
    parser.add_argument("--kafka", action="store_true", help="Through a broker and Kafka Connect.")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="How long the load lasts.")
    parser.add_argument("--rate", type=int, default=_RATE, help="Transactions a second.")
    parser.add_argument("--root", type=Path, help="Where to make it; default: a new folder.")
    given = parser.parse_args()
    root: Path = given.root or Path(tempfile.mkdtemp(prefix="openmirror-demo-"))
    (root / "landing").mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    with postgres_server() as server:
        console.print(f"a PostgreSQL at {server.url}, and the root {root}")
        _pgbench(server.url, "--initialize", "--quiet")
        with connected(server.url) as connection:
            connection.execute(_DDL)
            with _mirrored(console, server.url, root, through_broker=given.kafka):
                _follow(console, connection, server.url, root, given)
                equal = _compared(console, connection, root)
    console.print(f"the tables and the change files are in {root}")
    return 0 if equal else 1


def _follow(
    console: Console,
    connection: psycopg.Connection,
    url: DatabaseUrl,
    root: Path,
    given: argparse.Namespace,
) -> None:
    """The first snapshot, the load with all that happens meanwhile, and until all has landed."""
    console.print(f"the first snapshot, of {_ACCOUNTS:,} accounts")
    _until(lambda: _count(root, "pgbench_accounts") == _ACCOUNTS)
    load = f"--time={given.seconds}", f"--rate={given.rate}"
    console.print(f"{given.rate} transactions a second for {given.seconds} s")
    with _loaded(url, *load) as process:
        steps, number = list(_CHANGES), 0
        while process.poll() is None:
            number += 1
            seconds = _lag(connection, root, number)
            console.print(f"  a row is in its Delta table {seconds:.1f} s after its commit")
            if steps:
                what, statement = steps.pop(0)
                connection.execute(statement)
                console.print(f"  {what}: {statement}")
    for _, statement in steps:
        connection.execute(statement)
    console.print("the load has stopped; the last row is awaited")
    _lag(connection, root, number + 1)


def _lag(connection: psycopg.Connection, root: Path, number: int) -> float:
    """Seconds until a row that is committed now is in its Delta table."""
    connection.execute("INSERT INTO marks VALUES (%s)", (number,))
    began = time.monotonic()
    _until(lambda: any(row["id"] == number for row in _rows(root, "marks")))
    return time.monotonic() - began


def _compared(console: Console, connection: psycopg.Connection, root: Path) -> bool:
    """Print what each table holds, here and there; whether all are equal."""
    shown = Table("table", "rows", "compared with SELECT")
    equal = True
    for name, key in _KEYS.items():
        cursor = connection.cursor(row_factory=psycopg.rows.dict_row)
        wanted = cursor.execute(f"SELECT * FROM {name}").fetchall()
        # Tables land one after another: the last row of one says nothing of the others.
        same = _until(lambda: _by(key, _rows(root, name)) == _by(key, wanted), must=False)  # noqa: B023
        equal = equal and same
        shown.add_row(name, f"{len(wanted):,}", "equal" if same else "[bold]differs[/bold]")
    shown.add_row("pgbench_history", "", "left out: it has no key")
    console.print(shown)
    return equal


def _by(key: str, rows: list[dict[str, Any]]) -> dict[Any, Mapping[str, Any]]:
    return {row[key]: {name: _plain(value) for name, value in row.items()} for row in rows}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return str(value).replace("'", '"') if isinstance(value, dict) else value


def _rows(root: Path, table: str) -> list[dict[str, Any]]:
    """A table, read by another engine than the one that wrote it; empty before there is one."""
    found = _delta(root, table)
    rows = [] if found is None else found.to_pyarrow_table().to_pylist()
    return [{n: v for n, v in row.items() if not n.startswith("__")} for row in rows]


def _count(root: Path, table: str) -> int:
    found = _delta(root, table)
    return 0 if found is None else int(found.to_pyarrow_dataset().count_rows())


def _delta(root: Path, table: str) -> deltalake.DeltaTable | None:
    """None before there is one."""
    try:
        return deltalake.DeltaTable(root / "lake" / MIRROR / "Tables" / "public" / table)
    except (TableNotFoundError, OSError):
        return None


def _until(is_so: Any, *, must: bool = True) -> bool:
    until = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() > until:
            if must:
                raise RuntimeError(f"this did not happen in {_PATIENCE:.0f} s")
            return False
        time.sleep(0.2)
    return True


@contextmanager
def _mirrored(
    console: Console, url: DatabaseUrl, root: Path, *, through_broker: bool
) -> Iterator[None]:
    """`openmirror cdc run`, or `cdc follow`, as anybody runs it, until the block ends."""
    with ExitStack() as parts:
        if through_broker:
            console.print("a broker, and Kafka Connect with Debezium's connector")
            tables = [f"public.{name}" for name in _KEYS]
            topic = parts.enter_context(through_kafka(url, tables, MIRROR, root / "kafka"))
            command = ["cdc", "follow", topic]
        else:
            address = f"postgresql://{url.user}@{url.host}:{url.port}/{url.database}"
            command = ["cdc", "run", address]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "openmirror.cli", *command),
                *("--root", str(root), "--mirror", MIRROR),
            ],
            env=_with_password(url),
            stdin=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_PATIENCE)


@contextmanager
def _loaded(url: DatabaseUrl, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        _pgbench_command(url, "--client=4", "--no-vacuum", *options),
        env=_with_password(url),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _pgbench(url: DatabaseUrl, *options: str) -> None:
    command = _pgbench_command(url, *options)
    subprocess.run(command, check=True, capture_output=True, env=_with_password(url))


def _with_password(url: DatabaseUrl) -> Mapping[str, str]:
    return os.environ | {"PGPASSWORD": url.password}


def _pgbench_command(url: DatabaseUrl, *options: str) -> list[str]:
    place = [f"--host={url.host}", f"--port={url.port}", f"--username={url.user}"]
    return [str(postgres_programs() / "pgbench"), *place, *options, url.database]


if __name__ == "__main__":
    sys.exit(main())
