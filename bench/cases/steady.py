"""A publisher of a large file a second, through `openmirror up`: how far behind is the table?"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.alternatives import OPENMIRROR
from bench.cases.program import Commits, up
from bench.cases.running import Counted, Running
from bench.figures import Measured
from bench.workload import Place, Totals, check, declare

NAME = "up"
TITLE = "A file a second through `openmirror up`"
_TABLE = "readings"
_EVERY = 1.0
_PATIENCE = 600.0
_KINDS = 4
"""Different amounts, so that a file of 625,000 rows is 1 MB."""


def run(running: Running) -> Measured:
    """The time from landing to commit, the backlog, and how long one large file takes."""
    scale, counted = running.scale, Counted(NAME)
    place = Place(running.folder / "up", NAME)
    staged = running.folder / "up-staged"
    staged.mkdir()
    count = scale.up_warm_up + scale.up_seconds
    sizes = [scale.up_rows] * count + [scale.up_large_file]
    running.say(f"{NAME}: writing {len(sizes)} files")
    files, totals = _write(staged, sizes)
    bytes_each = files[0].stat().st_size
    declare(place.folder(_TABLE))
    commits = Commits(place.delta(_TABLE))
    with up(place.root, running.folder / "up.log") as program:
        running.say(f"{NAME}: warming up")
        _every_second(place, files, range(1, scale.up_warm_up + 1))
        program.wait(commits, scale.up_warm_up, _PATIENCE)
        running.say(f"{NAME}: a file a second, for {scale.up_seconds} s")
        landed = _every_second(place, files, range(scale.up_warm_up + 1, count + 1))
        program.wait(commits, count, _PATIENCE)
        running.say(f"{NAME}: one large file")
        at = _land(place, files, count + 1)
        counted.add("one large file", OPENMIRROR, program.wait(commits, count + 1, _PATIENCE) - at)
    check(place.delta(_TABLE), totals)
    times = [(at, commits.when(sequence) or 0.0) for sequence, at in landed.items()]
    lags = [committed - at for at, committed in times]
    for part in (50, 95):
        counted.add(f"landed to committed, p{part}", OPENMIRROR, float(np.percentile(lags, part)))
    waiting = backlog(times)
    counted.add("files that wait, at most", OPENMIRROR, max(waiting), "files")
    counted.add("growth of the backlog", OPENMIRROR, growth(waiting), "files")
    words = (
        f"{scale.up_rows:,} inserted rows, 3 columns and {bytes_each / 1e6:.2f} MB a file, for "
        f"{scale.up_seconds} s after {scale.up_warm_up} files that do not count; then a file of "
        f"{scale.up_large_file:,} rows"
    )
    return Measured(NAME, TITLE, words, counted.figures)


def backlog(files: Sequence[tuple[float, float]]) -> list[int]:
    """At each landing, how many files have landed, this one among them, and are not committed.

    `files` are times of landing and of commit, in their order.
    """
    return [
        sum(committed > now for _, committed in files[: number + 1])
        for number, (now, _) in enumerate(files)
    ]


def growth(waiting: Sequence[int]) -> float:
    """How many files more wait in the last third of a run than in the one before it."""
    third = max(1, len(waiting) // 3)
    amid, last = waiting[-2 * third : -third] or waiting[:third], waiting[-third:]
    return sum(last) / len(last) - sum(amid) / len(amid)


def _every_second(place: Place, files: Sequence[Path], sequences: range) -> dict[int, float]:
    """When each of these files landed."""
    landed, began = {}, time.monotonic()
    for number, sequence in enumerate(sequences):
        time.sleep(max(0.0, began + number * _EVERY - time.monotonic()))
        landed[sequence] = _land(place, files, sequence)
    return landed


def _land(place: Place, files: Sequence[Path], sequence: int) -> float:
    """Land a file that is written already; when that was."""
    file = files[sequence - 1]
    os.utime(file)
    file.rename(place.file(_TABLE, sequence))
    return time.time()


def _write(folder: Path, sizes: Sequence[int]) -> tuple[list[Path], Totals]:
    """So many rows in each file, and what all of them come to."""
    draw = np.random.default_rng(0)
    files, totals, first = [], Totals(0, 0, 0, 0), 0
    for number, rows in enumerate(sizes):
        keys = np.arange(first, first + rows)
        amounts = draw.integers(0, _KINDS, rows) * 250_000
        seconds = np.full(rows, number, np.int64) * 1_000_000
        table = pa.table(
            {
                "id": keys,
                "amount": amounts,
                "at": pa.array(seconds, pa.timestamp("us", tz="UTC")),
            }
        )
        files.append(folder / str(number))
        pq.write_table(table, files[-1], compression="zstd")
        totals += Totals.of(keys, amounts)
        first += rows
    return files, totals
