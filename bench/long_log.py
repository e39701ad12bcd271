"""`python -m bench long-log`: what a table's log costs after thousands of commits."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from rich.console import Console
from rich.table import Table

from bench.measuring import load, machine
from openmirror.deltalog import LogReplay
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.report import statuses
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.sequence import file_stem
from openmirror.reconcile.mirrors import open_mirror
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.settings import Settings
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout, user_metadata
from openmirror.table.log import BatchRecord, Epoch, TableLog
from openmirror.wiring.local import local_ports, utc_now
from openmirror.wiring.spark import local_engine

COMMITS = (50, 5_000)
ROUNDS = 9
_BEHIND_CHECKPOINT = 45
"""Direct commits make one every fifty."""
_ROWS = pa.table({"id": pa.array([1], pa.int64())})
_WARM_UP = 5
"""Commits to each table that are not counted."""
_REST = 4.0
"""Seconds: after so long the names in a local folder are not listed again."""


@dataclass(frozen=True)
class Cost:
    """Milliseconds, medians, of a table with so many commits."""

    commits: int
    read_anew: float
    """The log, by a process that has not seen it."""
    observe_anew: float
    """All that a plan depends on, by such a process."""
    observe_again: float
    """The same, in a process that goes on, right after a commit."""
    observe_at_rest: float
    """The same, some seconds after it."""
    status: float
    history: float
    """The newest 20 commits."""
    commit: float
    """A file of one row, from its landing to the end of a drain by a warm engine."""


def long_log(
    *,
    commits: Annotated[int, typer.Option(min=100, help="Of the longer log.")] = COMMITS[1],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Read, observe, show and commit to a table with 50 commits, and one with 5,000.

    Each commit has one file, a transaction and a batch record, as openmirror's have; deltalake
    makes the checkpoint, some commits before the last. Processes come and go, so all figures but
    three are of readers that have seen nothing before.

    \b
    Example:
      python -m bench long-log --commits 1000
    """
    before = load()
    found = _measured((COMMITS[0], commits))
    facts = {**machine(), "load before and after": f"{before:.1f}, {load():.1f}"}
    if as_json:
        typer.echo(json.dumps({"costs": [asdict(cost) for cost in found], "machine": facts}))
        return
    table = Table("", *(f"{cost.commits:,} commits" for cost in found), "ratio")
    for name in (field.name for field in fields(Cost) if field.name != "commits"):
        short, long = (getattr(cost, name) for cost in found)
        cells = (f"{short:.1f} ms", f"{long:.1f} ms", f"{long / short:.2f} x")
        table.add_row(name.replace("_", " "), *cells)
    Console().print(table)
    typer.echo(f"medians of {ROUNDS}; " + ", ".join(f"{k} {v}" for k, v in facts.items()))


def _measured(lengths: tuple[int, ...]) -> list[Cost]:
    with tempfile.TemporaryDirectory(prefix="openmirror-bench-") as folder:
        root = Path(folder)
        tables = [TableFolder(f"m{commits}", TablePath("", "t")) for commits in lengths]
        for commits, table in zip(lengths, tables, strict=True):
            _fill(root, table, commits)
        reading = [_reading(root, table) for table in tables]
        committing = _committing(root, tables, lengths)
        return [
            Cost(*one) for one in zip(lengths, *zip(*reading, strict=True), committing, strict=True)
        ]


def _reading(root: Path, table: TableFolder) -> tuple[float, ...]:
    """What it costs to read a table, in the order of `Cost`."""
    ports = _ports(root)
    path = observe(ports, table).observed.table
    read_anew = _median(lambda: _ports(root).logs.read(path))
    observe_anew = _median(lambda: observe(_ports(root), table))
    # A folder whose times are new is one that may have changed.
    log = root / path / "_delta_log"
    observe_again = _median(lambda: (log.touch(), observe(ports, table)))
    time.sleep(_REST)
    observe(ports, table)
    observe_at_rest = _median(lambda: observe(ports, table))
    status = _median(lambda: statuses(_ports(root), [table.mirror]))
    history = _median(lambda: LogReplay(ports.store).history(path, 20))
    return read_anew, observe_anew, observe_again, observe_at_rest, status, history


def _committing(root: Path, tables: Sequence[TableFolder], lengths: Sequence[int]) -> list[float]:
    """What a commit to each table costs, by one engine, in turns."""
    settings = Settings.load({}, {"root": root})
    ports = local_ports(settings)
    took: list[list[float]] = [[] for _ in tables]
    with local_engine(settings) as engine:
        for number in range(1, _WARM_UP + ROUNDS + 1):
            for table, commits, of_table in zip(tables, lengths, took, strict=True):
                name = f"{file_stem(commits + number)}.parquet"
                pq.write_table(_ROWS, root / layout.table_folder(table) / name)
                began = time.perf_counter()
                done = drain(ports, engine, [table.mirror], 1)
                of_table.append((time.perf_counter() - began) * 1000)
                assert not done.left_undone, done
    return [median(of_table[_WARM_UP:]) for of_table in took]


def _median(do: Callable[[], object]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        do()
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


def _ports(root: Path) -> RootPorts:
    store = LocalStore(root)
    logs = LogReplay(store)
    return RootPorts(store=store, inspector=ChangeFileInspector(store), logs=logs, clock=utc_now)


def _fill(root: Path, folder: TableFolder, commits: int) -> None:
    """A table whose files have all been applied, one a commit, the last of which is still there."""
    store = LocalStore(root)
    landing = root / layout.table_folder(folder)
    landing.mkdir(parents=True)
    pq.write_table(_ROWS, landing / f"{file_stem(commits)}.parquet")
    open_mirror(store, folder.mirror)
    ports = _ports(root)
    observed = observe(ports, folder).observed
    assert observed.incarnation is not None
    epoch = Epoch(folder, observed.incarnation, 1)
    place = root / observed.table
    write_deltalake(place, _ROWS, commit_properties=_of_batch(folder, epoch, 1))
    first = place / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    for number in range(2, commits + 1):
        lines = map(json.dumps, _actions(actions, folder, epoch, number))
        first.with_name(f"{number - 1:020d}.json").write_text("\n".join(lines))
        if number == commits - _BEHIND_CHECKPOINT:
            DeltaTable(place).create_checkpoint()
    log = ports.logs.read(observed.table)
    assert isinstance(log, TableLog)
    assert log.live == (epoch, commits)


def _of_batch(folder: TableFolder, epoch: Epoch, number: int) -> CommitProperties:
    return CommitProperties(
        custom_metadata={"userMetadata": _record(folder, epoch, number)},
        app_transactions=[Transaction(epoch.app_id, number)],
    )


def _record(folder: TableFolder, epoch: Epoch, number: int) -> str:
    record = BatchRecord(
        operation=f"{number:032x}",
        folder=str(folder),
        kind="replace" if number == 1 else "extend",
        first=number,
        last=number,
        files=1,
        rows={"inserts": 1},
        app_id=epoch.app_id,
    )
    return user_metadata.encode(record)


def _actions(
    first: list[dict[str, Any]], folder: TableFolder, epoch: Epoch, number: int
) -> Iterator[dict[str, Any]]:
    """What the commit of a later file says, in the words of the table's first commit."""
    for action in first:
        match action:
            case {"commitInfo": info}:
                yield {"commitInfo": {**info, "userMetadata": _record(folder, epoch, number)}}
            case {"txn": transaction}:
                yield {"txn": {**transaction, "version": number}}
            case {"add": added}:
                yield {"add": {**added, "path": f"{number}.parquet"}}
