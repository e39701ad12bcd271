"""`python -m bench snapshot`: the differences of two snapshots of a large table, time and memory.

Each step is a process of its own, whose greatest memory the operating system counts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from bench.measuring import load, machine
from openmirror.publishing import Publisher
from openmirror.publishing.places import zone_place
from openmirror.publishing.reading import ColumnTypes, TextOptions, find_inputs, open_input
from openmirror.publishing.snapshots import (
    SnapshotRun,
    SnapshotTable,
    publish_snapshot,
    spool,
)
from openmirror.table.layout import join

_MEBIBYTE = 1 << 20


def snapshot(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the table.")] = 10_000_000,
    changed: Annotated[float, typer.Option(help="The share of them that changes.")] = 0.01,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Publish a snapshot of a table, and then another of which a share differs.

    A third of the changes are new rows, a third are other values, a third are deletes. What is
    measured of the second: reading it into the types of the table, the comparison with the keys
    and row hashes of the first, writing plan and state, landing. Beside it stands an anti-join by
    DuckDB over both files, which have every value of both snapshots at hand, with the same limits.
    """
    loads = [load()]
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
        place = Path(folder)
        _process("make", place, rows, changed)
        found: dict[str, Any] = {"first": _process("publish", place, "first"), "loads": loads}
        loads.append(load())
        found["second"] = _process("publish", place, "second")
        loads.append(load())
        found["anti_join"] = _process("anti-join", place)
        loads.append(load())
    found |= {"rows": rows, "changed": changed, "machine": machine()}
    if as_json:
        print(json.dumps(found, indent=2))
        return
    second, joined = found["second"], found["anti_join"]
    print(f"{rows:,} rows, {second['differences']} of them different\n")
    for stage, seconds in second["stages"].items():
        print(f"{stage:12}{seconds:8.1f} s")
    print(f"{'difference':12}{second['difference']:8.1f} s   {second['memory']:,.0f} MiB at most")
    print(f"{'anti-join':12}{joined['seconds']:8.1f} s   {joined['memory']:,.0f} MiB at most")
    print(f"\n{found['machine']}\nload average, between the steps: {loads}")


def _process(step: str, *words: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.snapshots", step, *map(str, words)],
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _make(place: Path, rows: str, changed: str) -> dict[str, Any]:
    every = max(3, round(3 / float(changed)))
    values = (
        "i::BIGINT AS id, 'customer ' || (i % 100000) AS customer, "
        "['Oslo', 'Bergen', 'Trondheim', 'Molde'][1 + i % 4] AS city, "
        "((i % 100000) / 100)::DECIMAL(10, 2) AS amount, "
        "TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_seconds(i) AS at, "
        "CASE WHEN i % 3 > 0 THEN {note} || i END AS note"
    )
    other = f"CASE WHEN i % {every} = 1 THEN 'other ' ELSE 'note ' END"
    gone = int(rows) // every
    with duckdb.connect() as sql:
        sql.execute("SET memory_limit = '1GiB'")
        for name, note, first in (("first", "'note '", 0), ("second", other, gone)):
            sql.execute(
                f"COPY (SELECT {values.format(note=note)} FROM range({first}, {first} + {rows}) "
                f"AS t(i)) TO '{place / name}.parquet'"
            )
    return {}


def _publish(place: Path, name: str) -> dict[str, Any]:
    zone = place / "LandingZone"
    zone.mkdir(exist_ok=True)
    temp = place / f"temp-{name}"
    temp.mkdir()
    at = zone_place(zone)
    marks: list[tuple[str, float]] = [("open", time.monotonic())]

    def report(stage: str, _: int) -> None:
        if marks[-1][0] != stage:
            marks.append((stage, time.monotonic()))

    with Publisher(zone) as publisher:
        writer = publisher.table("t", key=["id"], source="snapshot")
        folder = join(at.path, "t")
        table = SnapshotTable(at.store, folder, at.store.incarnation(folder))
        (given,) = find_inputs(place / f"{name}.parquet")
        outcome = publish_snapshot(
            table,
            writer,
            lambda known: spool(
                [open_input(given, ColumnTypes(known=known), TextOptions())],
                known,
                temp / "spool",
                lambda rows: report("reading", rows),
            ),
            SnapshotRun(key=["id"], temp=temp, report=report, ask=lambda _: True),
        )
    marks.append(("end", time.monotonic()))
    stages = {stage: round(until - begun, 2) for (stage, begun), (_, until) in pairwise(marks)}
    found = outcome.differences
    return {
        "stages": stages,
        "difference": round(sum(stages.get(s, 0.0) for s in ("open", "reading", "comparing")), 2),
        "differences": [found.added, found.changed, found.deleted],
        "memory": _memory(),
    }


def _anti_join(place: Path) -> dict[str, Any]:
    first, second = (f"'{place / name}.parquet'" for name in ("first", "second"))
    before = time.monotonic()
    with duckdb.connect() as sql:
        sql.execute("SET memory_limit = '512MiB'; SET threads = 2")
        sql.execute(f"SET temp_directory = '{place / 'anti-join'}'")
        sql.execute("SET preserve_insertion_order = false")
        sql.execute(f"CREATE TABLE upserts AS FROM {second} EXCEPT FROM {first}")
        sql.execute(f"CREATE TABLE deletes AS SELECT id FROM {first} ANTI JOIN {second} USING (id)")
        counts = [sql.table(name).count("*").fetchall()[0][0] for name in ("upserts", "deletes")]
    return {"seconds": round(time.monotonic() - before, 2), "memory": _memory(), "found": counts}


def _memory() -> float:
    """The most that this process had of memory, in MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (_MEBIBYTE if sys.platform == "darwin" else 1 << 10), 1)


if __name__ == "__main__":
    _STEPS: dict[str, Callable[..., dict[str, Any]]] = {
        "make": lambda place, *words: _make(Path(place), *words),
        "publish": lambda place, *words: _publish(Path(place), *words),
        "anti-join": lambda place: _anti_join(Path(place)),
    }
    print(json.dumps(_STEPS[sys.argv[1]](*sys.argv[2:])))
