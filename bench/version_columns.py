"""`python -m bench versioned`: what a version column costs a commit, beside files without one."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

from bench.alternatives.mirrored import Mirrored
from bench.measuring import WARM_UP, load, machine
from bench.workload import KEY, MARKER, MIRROR, Place, Totals, check
from openmirror import wiring
from openmirror.protocol.rows import Change, ChangeFile, Marker, apply_file, empty_table
from openmirror.settings import Settings

VERSION_COLUMN = "seq"
_SEED_TIMES = 10
"""A table begins with this many times the rows of a file."""
_LATE = 0.3
"""The share of changes that come after a newer one of the same key."""


def versioned(
    commits: Annotated[int, typer.Option(min=1, help="Warm commits of each table.")] = 7,
    rows: Annotated[int, typer.Option(min=100, help="Changes in each file.")] = 5000,
    non_foldable: Annotated[
        float, typer.Option(min=0, max=1, help="The share of keys that are non-foldable.")
    ] = 0.01,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Commit the same kind of files to a table without a version column, and to versioned ones.

    Each file changes a table of ten times its rows: upserts and deletes of random keys, of which
    some are older than what the table has. In the third table some keys have an older update
    after a delete, so that they go through the interpreter. Tables take turns in one process;
    each is checked against the interpreter. Ratios are of medians.
    """
    loads = [load()]
    kinds = {
        "unversioned": (False, 0.0),
        "versioned": (True, 0.0),
        "non_foldable": (True, non_foldable),
    }
    times: dict[str, list[float]] = {name: [] for name in kinds}
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
        place = Place(Path(folder))
        works = {
            name: _work(name, WARM_UP + commits, rows, is_versioned, share)
            for name, (is_versioned, share) in kinds.items()
        }
        settings = Settings.load({}, {"root": place.root, "driver_memory": "3g"})
        ports = wiring.local_ports(settings)
        with wiring.locked(settings), wiring.local_engine(settings) as engine:
            ours = Mirrored(ports, engine)
            for sequence in range(1, WARM_UP + commits + 2):
                for name, (is_versioned, _) in kinds.items():
                    place.publish(name, sequence, works[name].files[sequence - 1])
                    if is_versioned:
                        metadata = {"keyColumns": [KEY], "ConditionalUpdateColumn": VERSION_COLUMN}
                        path = place.folder(name) / "_metadata.json"
                        path.write_text(json.dumps(metadata))
                    before = time.monotonic()
                    ours.commit(MIRROR, name)
                    times[name].append(time.monotonic() - before)
        for name, work in works.items():
            check(place.delta(name), work.totals)
    loads.append(load())
    medians = {name: median(taken[1 + WARM_UP :]) for name, taken in times.items()}
    result = {"machine": machine(), "load": loads, "seconds": medians, "rows": rows}
    if as_json:
        print(json.dumps(result, indent=2))
        return
    _show(medians, commits, rows, non_foldable, loads)


def _show(
    medians: dict[str, float], commits: int, rows: int, non_foldable: float, loads: list[float]
) -> None:
    table = Table("commit of one file", title=f"medians of {commits} commits")
    table.add_column("seconds", justify="right")
    table.add_column("ratio", justify="right")
    for name, seconds in medians.items():
        ratio = seconds / medians["unversioned"]
        table.add_row(name, f"{seconds:.2f} s", f"{ratio:.2f} x")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"{rows:,} changes to {rows * _SEED_TIMES:,} rows; {non_foldable:.0%} non-foldable keys"
    )
    console.print(f"load average before and after: {loads[0]:.1f}, {loads[1]:.1f}")


@dataclass(frozen=True)
class _Work:
    files: list[pa.Table]
    totals: Totals
    """What they come to."""


def _work(name: str, files: int, rows: int, is_versioned: bool, non_foldable: float) -> _Work:
    """A file that fills the table, and files of changes; what must come of them."""
    draw, written = random.Random(name), []
    expected = empty_table([KEY], VERSION_COLUMN if is_versioned else None)
    for number in range(files + 1):
        changes = list(
            _changes(draw, number, rows, non_foldable) if number else _seed(rows * _SEED_TIMES)
        )
        apply_file(expected, ChangeFile((KEY, "amount"), [_as_change(*row) for row in changes]))
        written.append(_arrow(changes))
    keys, amounts = (
        np.array([int(str(row[column])) for row in expected.rows]) for column in (KEY, "amount")
    )
    return _Work(written, Totals.of(keys, amounts))


_Row = tuple[Marker, int, int, int]
"""Marker, key, version and amount."""


def _seed(rows: int) -> Iterator[_Row]:
    for key in range(rows):
        yield Marker.INSERT, key, 0, key


def _changes(draw: random.Random, number: int, rows: int, non_foldable: float) -> Iterator[_Row]:
    now, keys = number * 10, rows * _SEED_TIMES
    left = rows
    while left > 0:
        key, amount = draw.randrange(keys), draw.randrange(1_000_000)
        seq = now - draw.randrange(30) if draw.random() < _LATE else now
        if draw.random() < non_foldable:
            yield Marker.DELETE, key, seq, 0
            yield Marker.UPSERT, key, seq - 5, amount
            left -= 2
            continue
        yield (Marker.DELETE if draw.random() < 0.1 else Marker.UPSERT), key, seq, amount
        left -= 1


def _as_change(marker: Marker, key: int, seq: int, amount: int) -> Change:
    return Change(marker, {KEY: key, VERSION_COLUMN: seq, "amount": amount})


def _arrow(changes: list[_Row]) -> pa.Table:
    markers, keys, versions, amounts = zip(*changes, strict=True)
    return pa.table(
        {
            MARKER: pa.array([marker.value for marker in markers], pa.int32()),
            KEY: pa.array(keys, pa.int64()),
            VERSION_COLUMN: pa.array(versions, pa.int64()),
            "amount": pa.array(amounts, pa.int64()),
            "text": pa.array([f"{amount:x}" for amount in amounts]),
        }
    )
