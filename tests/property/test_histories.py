"""Whatever a publisher writes, however it is cut, repeated and spread over workers: one result."""

from __future__ import annotations

import json
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from openmirror.plan import Batch
from openmirror.plan.decisions import Idle, Wait, WaitKind
from openmirror.plan.maintenance_steps import MaintenanceStep
from openmirror.ports import BadFile, CommitResult, Prepared, Transaction
from openmirror.protocol.lineage import DECIDED_AT, Lineage
from openmirror.protocol.rows import DELETED_AT, SoftDeletes
from openmirror.protocol.rules import Code
from openmirror.protocol.schema import TableSchema
from openmirror.reconcile.reading_ahead import ReadingAhead
from openmirror.spark.engine import SparkEngine
from openmirror.table import layout
from openmirror.table.control import BatchKind
from tests.property.histories import DECIDED, History, random_history
from tests.property.traits import EVERY_TRAIT, traits
from tests.zone import MIRROR, Mirror, Paths, Zone, bag

PATHS = (
    Paths(checksums=True),
    Paths(small_batch=1, checksums=True),
    Paths(small_table=0),
    Paths(small_batch=0),
    Paths(direct=False),
    Paths(small_batch=0, copies=False),
)
"""Every quicker path, those of batches that are not small, those without the replace of whole
tables, Spark's own way of copies, what it commits of batches that are folded here, and its own way
of rows that it holds."""


class Recording:
    """A TableEngine that remembers every batch it committed, to commit it again later.

    Batches take turns in which of the quicker paths are open to them.
    """

    def __init__(self, mirror: Mirror) -> None:
        store = mirror.ports.store
        self._engines = [paths.engine(mirror.spark, mirror.zone.root, store) for paths in PATHS]
        self.committed: list[tuple[Batch, Transaction, str]] = []

    def _of(self, batch: Batch) -> SparkEngine:
        return self._engines[batch.last % len(PATHS)]

    def read(self, batch: Batch) -> Prepared | BadFile:
        return self._of(batch).read(batch)

    def commit(
        self, batch: Batch, prepared: Prepared, transaction: Transaction, batch_record: str
    ) -> CommitResult:
        self.committed.append((batch, transaction, batch_record))
        return self._of(batch).commit(batch, prepared, transaction, batch_record)

    def commit_without_rows(
        self, table: Any, transaction: Transaction, create: TableSchema | None = None
    ) -> CommitResult:
        return self._engines[0].commit_without_rows(table, transaction, create)

    def maintain(self, table: Any, step: MaintenanceStep) -> CommitResult:
        return self._engines[0].maintain(table, step)

    def replay(self, batch: Batch, transaction: Transaction, batch_record: str) -> None:
        prepared = self._of(batch).read(batch)
        if isinstance(prepared, BadFile):  # rows that it updated may have been deleted since
            assert prepared.broken.code is Code.NO_ROW_TO_UPDATE
            return
        self._of(batch).commit(batch, prepared, transaction, batch_record)
        prepared.release()


def _publish(zone: Zone, table: str, history: History) -> None:
    zone.metadata(table, history.metadata)
    for number, file in enumerate(history.files, start=1):
        zone.put(table, number, file)


def check(
    mirror: Mirror,
    seeds: list[int],
    soft: SoftDeletes | None = None,
    lineage: Lineage = Lineage.NONE,
    **kind: int,
) -> None:
    """Publish one table a seed, drain them side by side, replay a prefix, compare.

    Tables of even seeds have deletion vectors, so that their rows may be replaced where they lie.
    `kind` is what `random_history` takes beside its seed.
    """
    marked = {f"dbo.t{seed}": {"deletionVectors": True} for seed in seeds if seed % 2 == 0}
    asked: dict[str, object] = {"tables": marked}
    if soft is not None:
        asked["delete"] = "soft"
    if lineage is Lineage.WRITTEN:
        asked["lineage"] = True
    settings = mirror.zone.root / layout.mirror_settings(MIRROR)
    settings.write_text(json.dumps({"openmirror": asked}))
    draw = random.Random(seeds[0])
    engine = mirror.engine = Recording(mirror)
    histories = {f"t{seed}": random_history(seed, **kind) for seed in seeds}
    for table, history in histories.items():
        _publish(mirror.zone, table, history)

    def drain(table: str, files: int) -> object:
        worker = Mirror(mirror.zone, mirror.spark, replace(mirror.ports.limits, batch_files=files))
        worker.engine = engine
        if histories[table].seed % 2:
            worker.engine = ReadingAhead(worker.ports, engine, 1, ahead)
        return worker.reconcile_until_idle(table)

    with (
        ThreadPoolExecutor(draw.choice([1, 2, 3])) as workers,
        ThreadPoolExecutor(draw.choice([1, 2])) as ahead,
    ):
        sizes = [draw.choice([1, 2, 3, 100]) for _ in seeds]
        decisions = dict(zip(histories, workers.map(drain, histories, sizes), strict=True))

    for table, history in histories.items():
        expected = history.expected(soft, lineage)
        if not expected.columns:
            decision = decisions[table]
            assert isinstance(decision, Wait), (history.seed, decision)
            assert decision.waiting.kind is WaitKind.SCHEMA
            continue
        assert isinstance(decisions[table], Idle), (history.seed, decisions[table])
        mine = [item for item in engine.committed if str(item[0].folder.path) == table]
        before = mirror.versions(table)
        for item in mine[: draw.randint(0, min(2, len(mine)))]:
            assert item[0].kind in (BatchKind.EXTEND, BatchKind.REPLACE)
            engine.replay(*item)
        assert mirror.versions(table) == before, f"seed {history.seed}: a replay was committed"
        got = bag(map(with_decided, mirror.rows(table)))
        again = f"replay with: random_history({history.seed}, **{kind})"
        assert got == bag(history.expected_rows(soft, lineage)), again


def with_decided(row: dict[str, Any]) -> dict[str, Any]:
    """A row with `DECIDED` for the time of its batch; times of publishers are much older."""
    recent = datetime(2025, 1, 1, tzinfo=UTC)
    times = {name: row.get(name) for name in (DELETED_AT, DECIDED_AT)}
    of_batch = [n for n, at in times.items() if at is not None and at.replace(tzinfo=UTC) > recent]
    return {**row, **dict.fromkeys(of_batch, DECIDED)}


_CHOSEN = [48, 16, 38, 109, 134, 227, 242, 257]
"""Short ones that show every trait, behind one whose batches take many ways; the soak takes any."""
_VERSIONED = [4, 7, 8, 10]
_EXTENDED = [6, 15]


def _seeds(count: int, start: int) -> list[int]:
    return list(range(start, start + count))


def _seeds_of_this_run(chosen: list[int]) -> list[int]:
    start = os.environ.get("OPENMIRROR_SEED")
    sys.stdout.write(f"OPENMIRROR_SEED={start or 'unset'}\n")
    return _seeds(25, int(start)) if start else chosen


def test_the_chosen_histories_show_every_trait() -> None:
    seen = set().union(*(traits(random_history(seed)) for seed in _CHOSEN))
    assert seen >= EVERY_TRAIT, EVERY_TRAIT - seen


def test_random_histories_give_what_the_interpreter_gives(mirror: Mirror) -> None:
    check(mirror, _seeds_of_this_run(_CHOSEN))
    commits = mirror.zone.root.glob("lake/**/_delta_log/*.json")
    assert any("replaceOnCond" in commit.read_text() for commit in commits), "no row was replaced"


def test_random_histories_of_versioned_tables_give_what_the_interpreter_gives(
    mirror: Mirror,
) -> None:
    check(mirror, _seeds_of_this_run(_VERSIONED), versioned=True)


def test_random_histories_with_truncates_and_partial_updates_give_what_the_interpreter_gives(
    mirror: Mirror,
) -> None:
    check(mirror, _seeds_of_this_run(_EXTENDED), extended=True)


@pytest.mark.soak
@pytest.mark.parametrize("kind", [{}, {"versioned": True}, {"extended": True}], ids=str)
@pytest.mark.parametrize("block", range(12))
def test_many_random_histories(mirror: Mirror, block: int, kind: dict[str, bool]) -> None:
    start = int(os.environ.get("OPENMIRROR_SEED", str(random.SystemRandom().randrange(10**9))))
    sys.stdout.write(f"OPENMIRROR_SEED={start}\n")
    check(mirror, _seeds(25, start + 25 * block), **kind)
