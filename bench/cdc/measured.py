"""`python -m bench cdc`: how fast, how late and with how much memory a database is mirrored."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rich.table import Table

from bench.cdc import loads, seen
from bench.cdc.following import Following, landed, mirrored
from bench.cdc.readers import OURS, RECVLOGICAL, SUBSCRIPTION, reading_rates
from bench.measuring import load, machine
from bench.options import refuse_given
from openmirror.cdc.postgresql.settings import DatabaseUrl
from standins.postgres import connected, postgres_server

_PATIENCE = 900.0
_ROWS = 1000
_BEHIND = 1_000_000
"""More transactions than any load has that comes before the one that counts."""
_AT_REST = 15.0
"""Seconds without a change, before memory at rest is read."""


class Part(StrEnum):
    """What can be measured by itself."""

    READING = "reading"
    LAG = "lag"
    BURST = "burst"
    COLD = "cold"
    MEMORY = "memory"
    LARGE = "large"


@dataclass(frozen=True)
class Seen:
    """One figure, with what it was when a connector read the database, and what is wanted."""

    name: str
    value: float
    unit: str
    before: str = ""
    wanted: str = ""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    seconds: float
    rows: int
    changes: int
    large_rows: int = 10_000_000


def cdc(
    ctx: typer.Context,
    part: Annotated[
        list[Part] | None,
        typer.Option(help="Only this part; may be repeated. Default: all of them but `large`."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=5, help="How long each load lasts.")] = 60,
    rows: Annotated[int, typer.Option(min=1000, help="Rows of the first load.")] = 1_000_000,
    quick: Annotated[
        bool, typer.Option("--quick", help="Loads of 20 s, 100,000 rows and changes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Follow a real PostgreSQL by `openmirror cdc run`, and read its log by the server's own means.

    Each part has fresh processes and databases. When tables had which transaction, their logs say
    afterwards. Beside each figure stands that of the connector which read PostgreSQL before.

    \b
    Parts:
      reading   log to change files, 8 columns: openmirror, pg_recvlogical, a subscription
      lag       from a commit to that of Delta: 100/s over 2 tables, 1,000/s over 5
      burst     200,000 changes into 10 tables, to the last Delta commit
      cold      a table of a million rows, from the program's start to Delta's commit
      memory    of the process that reads and lands, without Spark: a load, changes, at rest
      large     10,000,000 rows of 8 columns, cold; only when named

    \b
    Examples:
      python -m bench cdc --quick
      python -m bench cdc --part reading --part large
    """
    if quick:
        refuse_given(ctx, "is what --quick chooses: give one or the other", "seconds", "rows")
    sizes = Sizes(20.0, 100_000, 100_000) if quick else Sizes(seconds, rows, 1_000_000)
    about, began = Console(stderr=True, highlight=False), load()
    found: list[Seen] = []
    for one in part or [p for p in Part if p is not Part.LARGE]:
        about.print(f"measuring {one}")
        found += _MEASURES[one](sizes)
    result = {"figures": [vars(one) for one in found], "loads": [began, load()]}
    if as_json:
        typer.echo(json.dumps({**result, "machine": machine()}, indent=2))
        return
    _show(found)
    typer.echo(f"{machine()}; load average before and after: {result['loads']}")


def _reading(sizes: Sizes) -> Iterator[Seen]:
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
        rates = reading_rates(sizes.changes, Path(folder))
    yield Seen(
        "log to change files, inserts", rates.inserts[OURS], "/s", "16,813 to 28,333/s", "100,000/s"
    )
    yield Seen(
        "log to change files, updates", rates.updates[OURS], "/s", "16,813 to 28,333/s", "100,000/s"
    )
    for name in (RECVLOGICAL, SUBSCRIPTION):
        yield Seen(f"{name}, inserts", rates.inserts[name], "/s")
        yield Seen(f"{name}, updates", rates.updates[name], "/s")


def _lag(sizes: Sizes) -> Iterator[Seen]:
    for tables, per_second, before in ((2, 100, "1.3 s"), (5, 1000, "2.4 s")):
        with (
            _database(tables, _ROWS) as (connection, url, folder),
            mirrored(url, folder) as following,
        ):
            places = _ready(following, tables, _ROWS)
            loads.steady(connection, tables, _ROWS, per_second, 15)  # the JVM compiles
            done = loads.steady(connection, tables, _ROWS, per_second, sizes.seconds, _BEHIND)
            seen.wait(places, done, _PATIENCE)
            lags = seen.lags(places, done)
        name = f"lag, {per_second:,}/s over {tables} tables"
        yield Seen(f"{name}, p50", seen.share(lags, 0.5), " s")
        yield Seen(f"{name}, p95", seen.share(lags, 0.95), " s", before, before)


def _burst(_: Sizes) -> Iterator[Seen]:
    with _database(10, _ROWS) as (connection, url, folder), mirrored(url, folder) as following:
        places = _ready(following, 10, _ROWS)
        loads.steady(connection, 10, _ROWS, 100, 10)
        began = time.time()
        done = loads.burst(connection, 10, 20, _BEHIND)
        rate = 10 * _ROWS * 20 / (seen.wait(places, done, _PATIENCE) - began)
    yield Seen("burst, 200,000 into 10 tables", rate, "/s", "5,550 to 10,283/s", "3 x")


def _cold(sizes: Sizes) -> Iterator[Seen]:
    with _database(1, sizes.rows) as (_, url, folder):
        seconds = _first_load(url, folder, "t000", sizes.rows)
    yield Seen(f"{sizes.rows:,} rows, cold", seconds, " s", "49 to 92 s", "0.4 x")


def _large(sizes: Sizes) -> Iterator[Seen]:
    with _database(0, 0) as (connection, url, folder):
        loads.make_eight(connection, sizes.large_rows)
        seconds = _first_load(url, folder, loads.EIGHT, sizes.large_rows)
    yield Seen(f"{sizes.large_rows:,} rows of 8 columns, cold", seconds, " s", "", "75 s")


def _memory(sizes: Sizes) -> Iterator[Seen]:
    with _database(0, 0) as (connection, url, folder):
        loads.make_eight(connection, sizes.rows)
        with landed(url, folder) as following:
            _until(lambda: _files(following, loads.EIGHT) > 0)
            yield Seen("memory, first load", following.peak_mib, " MiB", "", "600 MiB")
            loads.update_eight(connection, sizes.changes)
            time.sleep(_AT_REST)
            yield Seen("memory, and changes", following.peak_mib, " MiB", "", "600 MiB")
            time.sleep(_AT_REST)
            yield Seen("memory, at rest", following.mib, " MiB")


_MEASURES: Mapping[Part, Callable[[Sizes], Iterator[Seen]]] = {
    Part.READING: _reading,
    Part.LAG: _lag,
    Part.BURST: _burst,
    Part.COLD: _cold,
    Part.MEMORY: _memory,
    Part.LARGE: _large,
}


@contextmanager
def _database(tables: int, rows: int) -> Iterator[tuple[psycopg.Connection, DatabaseUrl, Path]]:
    """Yield a fresh server's database with tables, and a folder."""
    with (
        postgres_server() as server,
        server.database("shop") as url,
        connected(url) as connection,
        tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder,
    ):
        loads.make(connection, tables, rows)
        yield connection, url, Path(folder)


def _first_load(url: DatabaseUrl, folder: Path, table: str, rows: int) -> float:
    """Return the seconds from a program's start to the Delta commit with all rows."""
    began = time.time()
    with mirrored(url, folder) as following:
        place = following.tables / table
        _until(lambda: seen.rows(place) >= rows)
        return seen.commit_times(place)[-1][0] - began


def _ready(following: Following, tables: int, rows: int) -> dict[str, Path]:
    """Wait until each table has its first rows; return where they are."""
    places = {name: following.tables / name for name in loads.names(tables)}
    _until(lambda: all(seen.rows(table) >= rows for table in places.values()))
    return places


def _files(following: Following, table: str) -> int:
    """Return how many change files a landing folder has."""
    return sum(1 for _ in (following.tables / table).glob("[0-9]*.parquet"))


def _until(wanted: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE
    while not wanted():
        if time.monotonic() > ends:
            raise TimeoutError("what is measured has not come")
        time.sleep(0.5)


def _show(found: list[Seen]) -> None:
    table = Table(box=None)
    for heading in ("", "seen", "before", "wanted"):
        table.add_column(heading, justify="right")
    for one in found:
        digits = 0 if one.value >= 1000 else 1
        table.add_row(one.name, f"{one.value:,.{digits}f}{one.unit}", one.before, one.wanted)
    Console(highlight=False).print(table)
