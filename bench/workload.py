"""The change files that every alternative is given, and the rows that they must come to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from openmirror.protocol.sequence import file_stem
from openmirror.table import layout

MIRROR = "bench"
KEY = "id"
MARKER = "__rowMarker__"
INSERT, UPDATE, DELETE, UPSERT = 0, 1, 2, 4
_ABSENT = -1
_FACTOR = 9973
"""Weighs amounts by their keys, so that two rows which swapped amounts are noticed."""


@dataclass(frozen=True)
class Mix:
    """What the rows of a change file are; those that are neither new nor deletes change rows."""

    name: str
    new: float
    """The share of rows with a new key."""
    deletes: float
    new_marker: int = INSERT
    known_marker: int = UPDATE


MIXED = Mix("mixed", new=0.2, deletes=0.1)
UPSERTS = Mix("upserts only", new=0.2, deletes=0.0, new_marker=UPSERT, known_marker=UPSERT)
CHANGES = Mix("upserts of known keys", new=0.0, deletes=0.0, known_marker=UPSERT)
DELETES = Mix("deletes only", new=0.0, deletes=1.0)
INSERTS = Mix("inserts only", new=1.0, deletes=0.0)


@dataclass(frozen=True)
class Totals:
    """What is compared of a table."""

    rows: int
    keys: int
    amounts: int
    weighed: int

    @classmethod
    def of(cls, keys: npt.NDArray[np.int64], amounts: npt.NDArray[np.int64]) -> Self:
        """Of rows, by their columns."""
        weighed = int((keys % _FACTOR * amounts).sum())
        return cls(len(keys), int(keys.sum()), int(amounts.sum()), weighed)

    def __add__(self, other: Totals) -> Totals:
        """Of two parts of a table."""
        return Totals(
            self.rows + other.rows,
            self.keys + other.keys,
            self.amounts + other.amounts,
            self.weighed + other.weighed,
        )


class Source:
    """One table of a publisher: makes its change files, and knows what they come to."""

    def __init__(self, seed: str) -> None:
        self._draw = np.random.default_rng([*seed.encode()])
        self._amounts = np.empty(0, np.int32)
        self._following = 0

    def changes(
        self, rows: int, mix: Mix = INSERTS, within: tuple[int, int] | None = None
    ) -> pa.Table:
        """The next file. Known keys are drawn from all there ever were, or are those `within`.

        `within` is the first key and one past the last; their rows come in this order.
        """
        new, deleted = self._kinds(rows, mix)
        following = self._following + np.cumsum(new)
        if within is None:
            known = (self._draw.random(rows) * (following - new)).astype(np.int64)
        else:
            known = np.resize(np.arange(*within), rows)
        keys = np.where(new, following - 1, known)
        amounts = self._draw.integers(0, 1_000_000, rows, np.int32)
        self._following = int(following[-1])
        self._remember(keys, np.where(deleted, _ABSENT, amounts).astype(np.int32))
        markers = np.where(deleted, DELETE, np.where(new, mix.new_marker, mix.known_marker))
        return _arrow(keys, amounts, self._draw.integers(0, 1_000_000_000, rows), markers)

    @property
    def rows(self) -> int:
        """How many keys there ever were."""
        return self._following

    def totals(self) -> Totals:
        """What a table has that was given all files until now, in order."""
        keys = np.flatnonzero(self._amounts[: self._following] != _ABSENT)
        return Totals.of(keys, self._amounts[keys].astype(np.int64))

    def _kinds(self, rows: int, mix: Mix) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        chance = self._draw.random(rows)
        if not self._following:
            return np.ones(rows, bool), np.zeros(rows, bool)
        return chance < mix.new, chance >= 1 - mix.deletes

    def _remember(self, keys: npt.NDArray[np.int64], amounts: npt.NDArray[np.int32]) -> None:
        if self._following > len(self._amounts):
            room = np.full(max(self._following, 2 * len(self._amounts)), _ABSENT, np.int32)
            room[: len(self._amounts)] = self._amounts
            self._amounts = room
        self._amounts[keys] = amounts  # of a key that comes twice the last one stays


@dataclass(frozen=True)
class Place:
    """One mirror below a root on disk."""

    root: Path
    mirror: str = MIRROR

    def folder(self, table: str) -> Path:
        """Where the table's change files land."""
        return self.root / layout.landing_zone(self.mirror) / table

    def file(self, table: str, sequence: int) -> Path:
        """One change file."""
        return self.folder(table) / f"{file_stem(sequence)}.parquet"

    def delta(self, table: str) -> Path:
        """The mirrored table."""
        return self.root / "lake" / self.mirror / "Tables" / "dbo" / table

    def settings(self, **tables: dict[str, object]) -> None:
        """Write settings of single tables, as `mirroring.json` has them, before any file lands."""
        file = self.root / layout.mirror_settings(self.mirror)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"openmirror": {"tables": tables}}))

    def publish(self, table: str, sequence: int, changes: pa.Table) -> None:
        """Land a change file, as careful publishers do."""
        publish([self], table, sequence, changes)


def publish(places: Iterable[Place], table: str, sequence: int, changes: pa.Table) -> None:
    """Land the same bytes in several places."""
    written = pa.BufferOutputStream()
    pq.write_table(changes, written)
    content = written.getvalue()
    for place in places:
        folder = place.folder(table)
        declare(folder)
        staged = folder / "_staged"
        staged.write_bytes(content)
        staged.rename(place.file(table, sequence))


def declare(folder: Path) -> None:
    """Make a table's folder with its metadata, unless it is there."""
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / "_metadata.json").write_text(json.dumps({"keyColumns": [KEY]}))


def check(table: Path, expected: Totals, rows: str = "true") -> None:
    """Raise RuntimeError unless a table has the rows that it must have; Spark is not asked.

    `rows` says which ones count, in SQL.
    """
    from deltalake import DeltaTable, QueryBuilder
    from deltalake.exceptions import DeltaError

    try:
        query = QueryBuilder().register("t", DeltaTable(str(table)))
    except DeltaError as error:
        raise RuntimeError(f"{table} cannot be read: {error}") from error
    words = (
        f"SELECT count(*) AS rows, sum({KEY}) AS keys, sum(amount) AS amounts, "
        f"sum({KEY} % {_FACTOR} * amount) AS weighed FROM t WHERE {rows}"
    )
    found = Totals(**pa.table(query.execute(words).read_all()).to_pylist()[0])
    if found != expected:
        raise RuntimeError(f"{table} has {found}, expected are {expected}")


def _arrow(
    keys: npt.NDArray[np.int64],
    amounts: npt.NDArray[np.int32],
    texts: npt.NDArray[np.int64],
    markers: npt.NDArray[np.int64],
) -> pa.Table:
    customers = pc.cast(pa.array(texts), pa.string())
    return pa.table(
        {
            KEY: pa.array(keys),
            "amount": pa.array(amounts.astype(np.int64)),
            "customer": customers,
            "city": pc.utf8_slice_codeunits(customers, 0, 2),
            "price": pa.array(amounts / 100),
            "at": pa.array(amounts * np.int64(1_000_000), pa.timestamp("us", tz="UTC")),
            MARKER: pa.array(markers, pa.int32()),
        }
    )
