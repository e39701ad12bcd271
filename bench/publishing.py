"""`python -m bench publishing`: the library beside pyarrow that writes the same rows to Parquet."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from bench.measuring import load, machine
from openmirror.publishing import BatchLimits, Publisher, PublisherOptions

_BATCH = 100_000
"""Rows of one Arrow batch, as readers of databases give them."""


def publishing(
    rows: Annotated[int, typer.Option(min=1000, help="Rows of one run.")] = 4_000_000,
    file_rows: Annotated[int, typer.Option(min=1000, help="Rows of one file.")] = 1_000_000,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each; medians count.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Publish Arrow batches into a folder, and write them with pyarrow to files of the same rows.

    pyarrow's files are plain: no marker, no footer, no staging, no fsync. Inserts have no marker
    column either, upserts have one. All three take turns in one process.
    """
    batches = [_batch(start) for start in range(0, rows, _BATCH)]
    loads = [load()]
    ways: dict[str, Callable[[Path], None]] = {
        "pyarrow": lambda folder: _plain(folder, batches, file_rows),
        "inserts": lambda folder: _published(folder, batches, file_rows, "insert"),
        "upserts": lambda folder: _published(folder, batches, file_rows, "upsert"),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as root:
        for run in range(runs + 1):
            for name, write in ways.items():
                folder = Path(root) / f"{name}-{run}"
                folder.mkdir()
                before = time.monotonic()
                write(folder)
                taken = time.monotonic() - before
                if run:  # the first warms up
                    rates[name].append(rows / taken)
                for file in folder.rglob("*.parquet"):
                    file.unlink()
    loads.append(load())
    medians = {name: median(found) for name, found in rates.items()}
    ratios = {name: rate / medians["pyarrow"] for name, rate in medians.items()}
    result = {"machine": machine(), "load": loads, "rows_per_second": medians, "ratio": ratios}
    if as_json:
        print(json.dumps(result, indent=2))
        return
    table = Table("", title=f"{rows:,} rows in files of {file_rows:,}, medians of {runs} runs")
    table.add_column("rows/s", justify="right")
    table.add_column("ratio", justify="right")
    for name, rate in medians.items():
        table.add_row(name, f"{rate:,.0f}", f"{ratios[name]:.2f} x")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"load average before and after: {loads[0]:.1f}, {loads[1]:.1f}")


def _batch(start: int) -> pa.RecordBatch:
    """A key, two numbers, a text of many values, one of few, and a time."""
    draw = np.random.default_rng(start)
    keys = np.arange(start, start + _BATCH)
    return pa.record_batch(
        {
            "id": keys,
            "amount": draw.integers(0, 1_000_000, _BATCH),
            "price": draw.random(_BATCH),
            "name": pa.array([f"customer {key}" for key in keys]),
            "city": pa.array(
                np.array(["Oslo", "Rome", "Riga", "Bern"])[draw.integers(0, 4, _BATCH)]
            ),
            "at": pa.array(keys * 1_000_000, pa.timestamp("us", "UTC")),
        }
    )


def _plain(folder: Path, batches: list[pa.RecordBatch], file_rows: int) -> None:
    for number, table in enumerate(_tables(batches, file_rows), start=1):
        pq.write_table(table, folder / f"{number:020d}.parquet")


def _tables(batches: list[pa.RecordBatch], file_rows: int) -> Iterator[pa.Table]:
    whole = pa.Table.from_batches(batches)
    for start in range(0, whole.num_rows, file_rows):
        yield whole.slice(start, file_rows)


def _published(folder: Path, batches: list[pa.RecordBatch], file_rows: int, method: str) -> None:
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    options = PublisherOptions(limits=BatchLimits(rows=file_rows, size=1 << 40, seconds=None))
    with Publisher(folder, options=options).table("T", key=["id"]) as table:
        getattr(table, method)(reader)
