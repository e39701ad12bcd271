"""The change files that every alternative is given, and the rows that they must come to."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from openmirror.protocol.sequence import file_stem
from openmirror.table import layout

MIRROR = "bench"
KEY = "id"
MARKER = "__rowMarker__"
INSERT, UPDATE, DELETE = 0, 1, 2
SEED_TIMES = 10
"""A table begins with this many times the rows of one change file."""
_UPDATES, _INSERTS = 0.7, 0.2  # the rest are deletes


@dataclass
class TableWork:
    """One table: its first file fills it, the others change it; all of them have a key."""

    name: str
    appends: bool = False
    """Whether its files hold nothing but inserts of new keys."""
    files: list[pa.Table] = field(default_factory=list)
    sums: list[tuple[int, int]] = field(default_factory=list)
    """Rows and the sum of their amounts, after each file."""


@dataclass(frozen=True)
class Place:
    """One root on disk, with one mirror."""

    root: Path

    def folder(self, table: str) -> Path:
        """Where the table's change files land."""
        return self.root / layout.landing_zone(MIRROR) / table

    def file(self, table: str, sequence: int) -> Path:
        """One change file."""
        return self.folder(table) / f"{file_stem(sequence)}.parquet"

    def delta(self, table: str) -> Path:
        """The mirrored table."""
        return self.root / "lake" / MIRROR / "Tables" / "dbo" / table

    def publish(self, work: TableWork, first: int, last: int) -> None:
        """Land these files of a table, by their sequences, as careful publishers do."""
        folder = self.folder(work.name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "_metadata.json").write_text(json.dumps({"keyColumns": [KEY]}))
        for sequence in range(first, last + 1):
            staged = folder / "_staged"
            pq.write_table(work.files[sequence - 1], staged)
            staged.rename(self.file(work.name, sequence))


def make_work(name: str, *, files: int, rows: int, seed: int, appends: bool = False) -> TableWork:
    """A seed file and so many change files of so many rows: 70/20/10 updates, inserts, deletes."""
    draw = random.Random(f"{seed} {name}")
    amounts: dict[int, int] = {}
    work = TableWork(name, appends)
    following = 0
    for number in range(files + 1):
        changes: list[tuple[int, int, int]] = []
        for _ in range(rows if number else rows * SEED_TIMES):
            chance = draw.random()
            amount = draw.randrange(1_000_000)
            if number == 0 or appends or not amounts or _UPDATES <= chance < _UPDATES + _INSERTS:
                changes.append((INSERT, following, amount))
                amounts[following] = amount
                following += 1
            elif chance < _UPDATES:
                key = draw.randrange(following)
                changes.append((UPDATE, key, amount))
                amounts[key] = amount
            else:
                key = draw.randrange(following)
                changes.append((DELETE, key, 0))
                amounts.pop(key, None)
        work.files.append(_arrow(draw, changes))
        work.sums.append((len(amounts), sum(amounts.values())))
    return work


def check(table: Path, expected: tuple[int, int]) -> None:
    """Raise unless a table has as many rows, and the same sum, as it must have."""
    from deltalake import DeltaTable, QueryBuilder

    query = QueryBuilder().register("t", DeltaTable(str(table)))
    totals = pa.table(
        query.execute("SELECT count(*) AS rows, sum(amount) AS total FROM t").read_all()
    )
    found = totals.to_pylist()[0]
    if (found["rows"], found["total"]) != expected:
        raise RuntimeError(f"{table} has {found}, expected rows and total are {expected}")


def _arrow(draw: random.Random, changes: list[tuple[int, int, int]]) -> pa.Table:
    markers, keys, amounts = zip(*changes, strict=True)
    texts = [f"{draw.randrange(10**9):x}" for _ in changes]
    return pa.table(
        {
            MARKER: pa.array(markers, pa.int32()),
            KEY: pa.array(keys, pa.int64()),
            "amount": pa.array(amounts, pa.int64()),
            "customer": pa.array(texts, pa.string()),
            "city": pa.array([text[:2] for text in texts], pa.string()),
            "price": pa.array([amount / 100 for amount in amounts], pa.float64()),
            "at": pa.array(
                [amount * 1_000_000 for amount in amounts], pa.timestamp("us", tz="UTC")
            ),
        }
    )
