"""`python -m bench`: openmirror beside a loop written by hand, on the same files in one run."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bench.cdc.measured import cdc
from bench.decoding import decoding
from bench.event_filter import event_filter
from bench.measuring import Measured, load, machine, medians, run_in_fresh_process
from bench.publishing import publishing
from bench.serving import serving
from bench.snapshots import snapshot
from bench.text import text
from bench.version_columns import versioned

OURS, BY_HAND = "bench.mirrored", "bench.byhand"


def bench(
    ctx: typer.Context,
    runs: Annotated[int, typer.Option(min=1, help="How often all is measured; medians count.")] = 3,
    commits: Annotated[int, typer.Option(min=1, help="Warm commits of a kind in each run.")] = 5,
    tables: Annotated[int, typer.Option(min=1, help="Tables of the throughput test.")] = 16,
    files: Annotated[int, typer.Option(min=1, help="Change files of each of them.")] = 10,
    rows: Annotated[int, typer.Option(min=10, help="Changes in each file.")] = 1000,
    workers: Annotated[int, typer.Option(min=1, help="Tables applied at once, on both sides.")] = 2,
    by_hand_files: Annotated[
        int,
        typer.Option(
            min=1,
            help="Files of each table that the loop by hand is given in the throughput test; "
            "each costs it a whole MERGE, so its rate hardly depends on how many they are.",
        ),
    ] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="One run, 3 commits, 4 tables: under 3 minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Measure openmirror beside what one would write by hand, and print the ratios.

    By hand means: for each change file, keep the last change of every key by a window, then one
    MERGE, with the default settings of Spark and Delta Lake. Both sides get the same files, the
    same machine and turns in a fresh process each; the tables that they make are compared with
    what the files say. Four things are measured:

    \b
      cold start   from the start of a process to its first commit
      warm MERGE   one file of updates, inserts and deletes, in a process that has done it before
      warm append  one file that only inserts (by hand: a plain append)
      throughput   rows a second over many tables with many files

    Ratios of one run mean something even on a machine that does other things; seconds do not.
    A run that was recorded is in bench/README.md.

    \b
    Examples:
      python -m bench --quick
      python -m bench --runs 5 --json > bench.json
    """
    if ctx.invoked_subcommand is not None:
        return
    if quick:
        runs, commits, tables = 1, min(commits, 3), min(tables, 4)
    about = Console(stderr=True, highlight=False)
    found: dict[str, list[Measured]] = {OURS: [], BY_HAND: []}
    loads = [load()]
    started = time.monotonic()
    plan = {"commits": commits, "tables": tables, "rows": rows, "workers": workers}
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
        for run in range(runs):
            for module, most_files in ((OURS, files), (BY_HAND, min(files, by_hand_files))):
                about.print(f"run {run + 1} of {runs}: {module}")
                place = Path(folder) / f"{module}-{run}"
                place.mkdir()
                full = {**plan, "files": most_files, "seed": run}
                log = Path(folder) / f"{module}-{run}.log"
                found[module].append(run_in_fresh_process(module, full, place, log))
                loads.append(load())
    took = time.monotonic() - started
    result = {
        "machine": machine(),
        "load": [round(value, 1) for value in loads],
        "seconds": round(took, 1),
        "runs": runs,
        "plan": {**plan, "files": files, "by_hand_files": min(files, by_hand_files)},
        "ours": [asdict(run) for run in found[OURS]],
        "by_hand": [asdict(run) for run in found[BY_HAND]],
    }
    if as_json:
        print(json.dumps(result, indent=2))
        return
    show(medians(found[OURS]), medians(found[BY_HAND]), result)


def show(ours: Measured, by_hand: Measured, result: dict[str, Any]) -> None:
    """The table that a person reads."""
    table = Table(title=f"medians of {result['runs']} runs")
    table.add_column("")
    for name in ("openmirror", "by hand", "times as fast"):
        table.add_column(name, justify="right")
    for label, mine, other in (
        ("cold start to first commit", ours.cold_start, by_hand.cold_start),
        ("warm MERGE of one file", ours.merge, by_hand.merge),
        ("warm append of one file", ours.append, by_hand.append),
    ):
        table.add_row(label, f"{mine:.2f} s", f"{other:.2f} s", f"{other / mine:.1f} x")
    rates = ours.throughput, by_hand.throughput
    ratio = f"{rates[0] / rates[1]:.1f} x"
    table.add_row("throughput", *(f"{rate:,.0f} rows/s" for rate in rates), ratio)
    console = Console(highlight=False)
    console.print(table)
    for name, value in result["machine"].items():
        console.print(f"{name}: {value}", soft_wrap=True)
    console.print(", ".join(f"{name} {value}" for name, value in result["plan"].items()))
    loads = ", ".join(map(str, result["load"]))
    console.print(f"load average, before and after each process: {loads}", soft_wrap=True)
    console.print(f"took {result['seconds']} s; every table was checked against its files")


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.callback(invoke_without_command=True)(bench)
app.command()(event_filter)
app.command()(decoding)
app.command()(cdc)
app.command()(serving)
app.command()(versioned)
app.command()(publishing)
app.command()(snapshot)
app.command()(text)

if __name__ == "__main__":
    app(prog_name="python -m bench")
