"""The tables of a soak: what is published of each, and the rows that must come of it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bench.workload import DELETE, INSERT, KEY, MARKER, UPDATE, UPSERT, Place


class Row(NamedTuple):
    """What a table has of one key."""

    amount: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How the files of a table change it."""

    name: str
    keys: int
    """There are never more: keys below this number."""
    files: str
    """What its files do, in words."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = False
    """Whether its first file has every key, with texts that make the table a large one."""
    deletes_every: int = 0
    """Files only insert, and each of that number only deletes; 0: every file does all."""
    deletes: float = 1.0
    """Which part of the rows such a file deletes."""


def kinds(seed_rows: int) -> tuple[Kind, ...]:
    """Five tables, of all ways in which a commit changes a table's files.

    A small one is written again whole by each commit; a large one has its rows marked, or is added
    to; to others files are added until a MERGE takes some or all of them out.
    """
    return (
        Kind(name="rewritten", keys=2_000, files="upserts, deletes and inserts"),
        Kind(
            name="marked",
            keys=seed_rows,
            files="upserts, deletes and inserts into a large table with deletion vectors",
            settings={"deletionVectors": True},
            seeded=True,
        ),
        Kind(
            name="appended", keys=20_000, files="inserts, then a delete of all", deletes_every=400
        ),
        Kind(
            name="clustered",
            keys=20_000,
            files="inserts into a clustered table, then a delete of half",
            settings={"clustering": [KEY]},
            deletes_every=150,
            deletes=0.5,
        ),
        Kind(
            name="thinned",
            keys=10_000,
            files="inserts, then a delete of a third by deletion vectors",
            settings={"deletionVectors": True},
            deletes_every=40,
            deletes=0.3,
        ),
    )


_CHANGES = 40
"""Rows of a file."""
_WIDE = 60


class SoakTable:
    """One table folder, and the rows that its files come to."""

    def __init__(self, place: Place, kind: Kind, seed: str) -> None:
        self.name = kind.name
        self.path = place.delta(kind.name)
        self.landed: dict[int, float] = {}
        """When each sequence landed, by the wall clock."""
        self.rows: dict[int, Row] = {}
        self._place = place
        self._kind = kind
        self._draw = random.Random(seed)
        self._next_key = 0

    @property
    def sequence(self) -> int:
        """Of the newest file."""
        return len(self.landed)

    def land(self) -> None:
        """The next file."""
        sequence = self.sequence + 1
        changes = list(self._changes(sequence))
        for marker, key, row in changes:
            if marker == DELETE:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row
        self._place.publish(self.name, sequence, _arrow(changes))
        self.landed[sequence] = time.time()

    def check(self) -> str:
        """What is wrong with the table's rows, by a reader that is not Spark; empty if nothing."""
        found = _read(self.path)
        if found.num_rows != len(self.rows):
            return f"{self.name} has {found.num_rows:,} rows, expected are {len(self.rows):,}"
        columns = (found[name].to_pylist() for name in (KEY, "amount", "text"))
        rows = {key: Row(amount, text) for key, amount, text in zip(*columns, strict=True)}
        wrong = [
            key for key in self.rows.keys() | rows.keys() if rows.get(key) != self.rows.get(key)
        ]
        return f"{self.name} is wrong in {len(wrong):,} keys, as {min(wrong)}" if wrong else ""

    def _changes(self, sequence: int) -> Iterable[tuple[int, int, Row]]:
        kind = self._kind
        if sequence == 1 and kind.seeded:
            return [(INSERT, key, self._row(_WIDE)) for key in range(kind.keys)]
        if not kind.deletes_every:
            return [self._any_change() for _ in range(_CHANGES)]
        if sequence % kind.deletes_every == 0:
            gone = self._draw.sample(sorted(self.rows), int(len(self.rows) * kind.deletes))
            return [(DELETE, key, self._row()) for key in gone]
        return [(INSERT, key, self._row()) for key in self._absent()]

    def _any_change(self) -> tuple[int, int, Row]:
        """Of one key; whether a file has a key twice is left to chance."""
        key, chance = self._draw.randrange(self._kind.keys), self._draw.random()
        marker = DELETE if chance < 0.2 else UPDATE if chance < 0.5 else UPSERT
        return marker, key, self._row(_WIDE if self._kind.seeded else 16)

    def _absent(self) -> list[int]:
        """The next keys that the table does not have, going round."""
        found: list[int] = []
        for _ in range(self._kind.keys):
            if len(found) == _CHANGES:
                break
            if self._next_key not in self.rows:
                found.append(self._next_key)
            self._next_key = (self._next_key + 1) % self._kind.keys
        return found

    def _row(self, width: int = 16) -> Row:
        return Row(
            self._draw.randrange(1_000_000), f"{self._draw.getrandbits(4 * width):0{width}x}"
        )


def _arrow(changes: Iterable[tuple[int, int, Row]]) -> pa.Table:
    changes = list(changes)
    return pa.table(
        {
            KEY: pa.array([key for _, key, _ in changes], pa.int64()),
            "amount": pa.array([row.amount for *_, row in changes], pa.int64()),
            "text": pa.array([row.text for *_, row in changes], pa.string()),
            MARKER: pa.array([marker for marker, *_ in changes], pa.int32()),
        }
    )


def _read(table: Path) -> pa.Table:
    from deltalake import DeltaTable, QueryBuilder

    query = QueryBuilder().register("t", DeltaTable(str(table)))
    return pa.table(query.execute(f"SELECT {KEY}, amount, text FROM t").read_all())
