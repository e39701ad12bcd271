"""`python -m bench cdc`: lag, backlog and snapshot, of both ways in turn."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bench.cdc import loads, seen
from bench.cdc.following import by_hand, ours
from bench.cdc.idle import BUSY, IDLE, IdleCost, idle_cost
from bench.cdc.landing import landed_per_second
from bench.measuring import load, machine
from bench.options import refuse_given
from openmirror.cdc.capture.settings import DatabaseUrl
from standins.postgres import connected, postgres_server

_PATIENCE = 600.0
_ROWS = 1000
_BEHIND = 1_000_000
"""More transactions than any load has that comes before the one that counts."""
Follow = Callable[[DatabaseUrl, Path], AbstractContextManager[Path]]


@dataclass(frozen=True)
class LagOfLoad:
    """Seconds from commits of a steady load to those of the Delta tables."""

    per_second: int
    tables: int
    p50: float
    p95: float


@dataclass(frozen=True, kw_only=True)
class Followed:
    """What one way did with everything."""

    lags: list[LagOfLoad]
    burst: float
    """Changes a second into ten tables, from the first commit to the last one's Delta commit."""
    snapshot: float
    """Seconds from the start of the program to a Delta table with all rows."""


def cdc(
    ctx: typer.Context,
    seconds: Annotated[float, typer.Option(min=5, help="How long each load lasts.")] = 60,
    rows: Annotated[int, typer.Option(min=1000, help="Rows of the snapshot.")] = 1_000_000,
    quick: Annotated[
        bool, typer.Option("--quick", help="Loads of 20 s, 100,000 rows: about five minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Follow a real PostgreSQL by `openmirror cdc run`, and by what one would write by hand.

    By hand: a loop that takes the new records of the same Debezium every second, keeps the last
    change of each key by a window, and MERGEs it into each table. It is not exact. Each way has
    fresh processes and databases; when tables had which transaction, their logs say afterwards.

    \b
      lag        100 changes/s over 2 tables, 1,000/s over 5; trigger 1 s
      burst      200,000 changes in few transactions over 10 tables, to the last Delta commit
      snapshot   a table of a million rows, cold: from the program's start to Delta
      landing    change records of a spool to change files, 8 and 24 columns (ours alone)
      idle       a batch of 5 tables beside 200 that have nothing new, and without (ours alone)

    \b
    Examples:
      python -m bench cdc --quick
      python -m bench cdc --seconds 120 --json > cdc.json
    """
    if quick:
        refuse_given(ctx, "is what --quick chooses: give one or the other", "seconds", "rows")
        seconds, rows = 20.0, 100_000
    about, began = Console(stderr=True, highlight=False), load()
    ways: dict[str, Follow] = {
        "openmirror": lambda url, place: ours(url, place, "1s"),
        "by hand": by_hand,
    }
    found = {}
    for name, follow in ways.items():
        about.print(f"{name}: lag, burst, snapshot")
        found[name] = _followed(follow, seconds, rows)
    about.print("openmirror: landing")
    landing = {columns: landed_per_second(columns) for columns in (8, 24)}
    about.print("openmirror: idle tables")
    idle = idle_cost()
    result = {
        "ways": {name: asdict(one) for name, one in found.items()},
        "landing": landing,
        "idle": asdict(idle),
        "loads": [began, load()],
        "machine": machine(),
    }
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    _show(found["openmirror"], found["by hand"], landing, idle, result)


def _followed(follow: Follow, seconds: float, rows: int) -> Followed:
    lags = [_lag(follow, 2, 100, seconds), _lag(follow, 5, 1000, seconds)]
    return Followed(lags=lags, burst=_burst(follow), snapshot=_snapshot(follow, rows))


@contextmanager
def _database(tables: int, rows: int) -> Iterator[tuple[Any, DatabaseUrl, Path]]:
    """A fresh server with tables, and a folder."""
    with (
        postgres_server() as server,
        server.database("shop") as url,
        connected(url) as connection,
        tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder,
    ):
        loads.make(connection, tables, rows)
        yield connection, url, Path(folder)


def _ready(tables: dict[str, Path], rows: int) -> None:
    ends = time.monotonic() + _PATIENCE
    while not all(seen.rows(table) >= rows for table in tables.values()):
        if time.monotonic() > ends:
            raise TimeoutError("the snapshot has not come")
        time.sleep(1)


def _lag(follow: Follow, tables: int, per_second: int, seconds: float) -> LagOfLoad:
    with (
        _database(tables, _ROWS) as (connection, url, folder),
        follow(url, folder) as lake,
    ):
        places = {name: lake / name for name in loads.names(tables)}
        _ready(places, _ROWS)
        loads.steady(connection, tables, _ROWS, per_second, 15)  # the JVM compiles
        done = loads.steady(connection, tables, _ROWS, per_second, seconds, _BEHIND)
        seen.wait(places, done, _PATIENCE)
        found = seen.lags(places, done)
    return LagOfLoad(per_second, tables, seen.share(found, 0.5), seen.share(found, 0.95))


def _burst(follow: Follow) -> float:
    with _database(10, _ROWS) as (connection, url, folder), follow(url, folder) as lake:
        places = {name: lake / name for name in loads.names(10)}
        _ready(places, _ROWS)
        loads.steady(connection, 10, _ROWS, 100, 10)
        began = time.time()
        done = loads.burst(connection, 10, 20, _BEHIND)
        return 10 * _ROWS * 20 / (seen.wait(places, done, _PATIENCE) - began)


def _snapshot(follow: Follow, rows: int) -> float:
    with _database(1, rows) as (_, url, folder):
        began = time.time()
        with follow(url, folder) as lake:
            _ready({"t000": lake / "t000"}, rows)
            return max(at for at, _ in seen.commit_times(lake / "t000")) - began


def _show(
    mine: Followed, other: Followed, landing: dict[int, float], idle: IdleCost, result: Any
) -> None:
    table = Table(box=None)
    for heading in ("", "openmirror", "by hand", "ratio"):
        table.add_column(heading, justify="right")
    for one, two in zip(mine.lags, other.lags, strict=True):
        name = f"{one.per_second}/s over {one.tables} tables"
        for part in ("p50", "p95"):
            a, b = getattr(one, part), getattr(two, part)
            table.add_row(f"{name}, lag {part}", f"{a:.1f} s", f"{b:.1f} s", f"{a / b:.2f}")
    table.add_row(
        "burst into 10 tables",
        f"{mine.burst:,.0f}/s",
        f"{other.burst:,.0f}/s",
        f"{mine.burst / other.burst:.2f}",
    )
    ratio = f"{mine.snapshot / other.snapshot:.2f}"
    table.add_row("snapshot, cold", f"{mine.snapshot:.1f} s", f"{other.snapshot:.1f} s", ratio)
    for columns, rate in landing.items():
        table.add_row(f"landing, {columns} columns", f"{rate:,.0f}/s", "", "")
    for name, seconds, calls, ratio in (
        (f"a batch of {BUSY} tables alone", idle.alone, idle.calls_alone, ""),
        (f"beside {IDLE} idle ones", idle.beside, idle.calls_beside, idle.beside / idle.alone),
    ):
        shown = f"{seconds * 1000:.0f} ms, {calls:.0f} calls"
        table.add_row(name, shown, "", f"{ratio:.2f}" if ratio else "")
    Console(highlight=False).print(table)
    typer.echo(f"{result['machine']}; load average before and after: {result['loads']}")
