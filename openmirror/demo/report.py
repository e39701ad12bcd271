"""The end of the demo: figures, a query, the comparison, and what to try next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import openmirror
from openmirror.cli.console import short
from openmirror.demo.checking import Comparison
from openmirror.demo.progress import Tracker
from openmirror.demo.scope import Scope
from openmirror.protocol.sequence import file_stem
from openmirror.status import TableStatus
from openmirror.table import layout


def greet(console: Console, root: Path, scope: Scope, how: Iterable[str]) -> None:
    """What is going to happen, and how files are mirrored."""
    history = f"{_date(scope.history_from)} to {_date(scope.days_from - timedelta(days=1))}"
    days = f"{_date(scope.days_from)} to {_date(scope.until)}"
    for line in (
        "Real flights from New York in 2013, mirrored into Delta Lake as they happen:",
        f"a publisher in a process of its own loads {history},",
        f"then {days} day by day: scheduled flights are inserts,",
        "departures and arrivals updates, cancellations deletes.",
        *how,
        "In the end every table is compared with one computed without openmirror.",
        f"Folder: {root}",
        "",
    ):
        console.print(line, markup=False, soft_wrap=True)


def _date(day: date) -> str:
    return f"{day.day} {day:%B}"


def figures(
    statuses: Iterable[TableStatus], verdicts: Iterable[Comparison], tracker: Tracker
) -> Table:
    """One line for each table: how it stands and how fast it was."""
    rows = {verdict.table: verdict.rows for verdict in verdicts}
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("table", "status"):
        shown.add_column(name, no_wrap=True)
    for name in ("rows", "applied", "changes", "lag (p95)", "changes/s"):
        shown.add_column(name, justify="right", no_wrap=True)
    for status in statuses:
        table = status.name.table
        figures = tracker.figures(table)
        speed = figures.throughput
        shown.add_row(
            table,
            status.status.value,
            f"{rows[table]:,}",
            str(status.applied),
            f"{figures.changes:,}",
            f"{short(figures.lag(0.5))} ({short(figures.lag(0.95))})",
            f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}",
        )
    return shown


def answer(result: pa.Table) -> Table:
    """The result of a query."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for field in result.schema:
        is_text = pa.types.is_string(field.type) or pa.types.is_string_view(field.type)
        shown.add_column(field.name, justify="left" if is_text else "right")
    for row in result.to_pylist():
        shown.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in row.values()))
    return shown


def show_verdicts(console: Console, verdicts: Iterable[Comparison]) -> None:
    """A line for each table: whether it holds what it must."""
    for verdict in verdicts:
        good = not verdict.difference
        line = Text("✔ " if good else "✘ ", style="green" if good else "red")
        result = "every row as computed from the source" if good else verdict.difference
        console.print(line.append(f"{verdict.table:<9}{verdict.rows:>9,} rows  {result}", style=""))


def lies_in(console: Console, root: Path) -> None:
    """Where everything is."""
    console.print(
        f"Everything stays in {root}: `landing` is what was published, `lake` the tables.",
        markup=False,
        soft_wrap=True,
    )


def next_steps(console: Console, root: Path, mirror: str) -> None:
    """Where everything lies, and commands that work as they stand."""
    where = shlex.quote(str(root))
    openmirror = command()
    lines = (
        ("how every table stands", f"{openmirror} status --root {where}"),
        ("what happened to one", f"{openmirror} history dbo.flights --root {where} --limit 10"),
        ("be the publisher", _publish_by_hand(root, mirror)),
        ("apply what has come", f"{openmirror} drain --root {where}"),
        ("go on mirroring", f"{openmirror} up --root {where}"),
        ("hold a table", f"{openmirror} pause dbo.airlines --root {where}"),
        ("let it go on", f"{openmirror} resume dbo.airlines --root {where}"),
    )
    lies_in(console, root)
    console.print("Try next:")
    for what, line in lines:
        # Whole lines, however narrow the terminal: they are there to be copied.
        console.print(f"  [dim]# {what}[/]", soft_wrap=True)
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _publish_by_hand(root: Path, mirror: str) -> str:
    """A command that writes the next change file of airlines."""
    file = root / layout.landing_zone(mirror) / "airlines" / f"{file_stem(3)}.parquet"
    to = str(file).replace("'", "''")
    code = (
        "import duckdb; duckdb.sql('''copy (select 'UA' as carrier, 'My Airline' as name, "
        f"1 as __rowMarker__) to '{to}' ''')"
    )
    is_plain = shlex.quote(str(file)) == str(file)
    quoted = f'"{code}"' if is_plain else shlex.quote(code)
    return f"{shlex.quote(sys.executable)} -c {quoted}"


def command() -> str:
    """How this very installation is called."""
    script = Path(openmirror.__file__).parent.parent / "dev"
    if not script.is_file():
        return "openmirror"
    here = Path.cwd()
    return "./dev openmirror" if script.parent == here else f"{shlex.quote(str(script))} openmirror"
