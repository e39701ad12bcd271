"""When a Delta table had what a transaction wrote, by its log alone: nothing is asked meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from bench.cdc.loads import Committed


def newest(table: Path) -> int:
    """The highest transaction that a table has; -1 where there is none yet."""
    try:
        return _highest(DeltaTable(str(table)))
    except TableNotFoundError:
        return -1


def rows(table: Path) -> int:
    """How many it has; 0 where there is none yet."""
    try:
        return int(DeltaTable(str(table)).to_pyarrow_table(columns=["id"]).num_rows)
    except TableNotFoundError:
        return 0


def wait(tables: dict[str, Path], committed: Committed, seconds: float) -> float:
    """Until each has its newest transaction; the time of the last commit that was waited for."""
    ends = time.monotonic() + seconds
    for name, times in committed.times.items():
        while newest(tables[name]) < max(times):
            if time.monotonic() > ends:
                raise TimeoutError(f"{name} has {newest(tables[name])} of {max(times)}")
            time.sleep(0.5)
    return max(commit_times(tables[name])[-1][0] for name in committed.times)


def lags(tables: dict[str, Path], committed: Committed) -> list[float]:
    """Seconds from each transaction's commit to that of the first version that has it."""
    found = []
    for name, times in committed.times.items():
        versions = commit_times(tables[name])
        for number, at in sorted(times.items()):
            seen = next(when for when, highest in versions if highest >= number)
            found.append(seen - at)
    return sorted(found)


def commit_times(table: Path) -> list[tuple[float, int]]:
    """Of each version, when it was committed and the highest transaction that it has."""
    found = []
    for log in sorted((table / "_delta_log").glob("[0-9]*.json")):
        at = log.stat().st_mtime
        delta = DeltaTable(str(table), version=int(log.stem))
        found.append((at, _highest(delta)))
    return found


def share(values: list[float], part: float) -> float:
    """The value that this part of sorted values does not exceed."""
    return values[min(len(values) - 1, int(len(values) * part))]


def _highest(delta: DeltaTable) -> int:
    if "n" not in {field.name for field in delta.schema().fields}:
        return -1
    return int(pc.max(delta.to_pyarrow_table(columns=["n"])["n"]).as_py() or 0)
