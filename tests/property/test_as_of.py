"""The version that `as-of` names is the interpreter's table, until it is cleaned away.

Random histories by batches of any size, with OPTIMIZE in between, read by deltalake. What VACUUM
or a clean-up of the log has taken away is called gone, and all else still is what it was.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from openmirror.deltalog import PastReplay
from openmirror.operate.as_of import UpTo, as_of
from openmirror.plan.as_of import AsOf, GoneWhat
from openmirror.plan.decisions import Apply, Replace
from openmirror.plan.maintenance_steps import Compact
from openmirror.ports import CommitResult
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.reconciliation import reconcile
from openmirror.spark.transacting import fresh_session
from openmirror.table import layout
from tests.property.histories import History, random_history
from tests.zone import EVERY_PATH, MIRROR, Mirror, Paths, bag, read_delta

SMALL = {"keys": 30, "files": 6, "rows": 50}
CHECKPOINTED = 2
"""After so many batches Delta writes a checkpoint, which the log is cleaned up to."""
_OPTIMIZE = Compact(below=1 << 30, written=1 << 30, files=2, bytes=1)


class Passing:
    """A history that is applied batch by batch, and what its table was after each file."""

    def __init__(self, mirror: Mirror, seed: int) -> None:
        self.mirror, self.name = mirror, f"t{seed}"
        self.draw = random.Random(seed)
        self.history = random_history(seed, **SMALL)
        self.ends: list[int] = []
        """Where batches ended."""
        mirror.zone.metadata(self.name, self.history.metadata)
        for number, file in enumerate(self.history.files, start=1):
            mirror.zone.put(self.name, number, file)
        while (last := self._next_batch()) is not None:
            self.ends.append(last)
            if len(self.ends) == CHECKPOINTED:
                self._checkpoint()
            if self.draw.random() < 0.4:
                table = mirror.observed(self.name).table
                assert mirror.engine.maintain(table, _OPTIMIZE) is CommitResult.DONE

    def _next_batch(self) -> int | None:
        mirror = self.mirror
        limits = replace(mirror.ports.limits, batch_files=self.draw.choice([1, 1, 2, 3]))
        ports = replace(mirror.ports, limits=limits)
        decision = reconcile(ports, mirror.engine, mirror.table(self.name)).decision
        return decision.batch.last if isinstance(decision, Apply | Replace) else None

    def after(self, count: int) -> list[Any]:
        """What the interpreter says of so many files."""
        whole = self.history
        files, changes = whole.files[:count], whole.changes[:count]
        return bag(History(whole.seed, whole.key_columns, files, changes).expected_rows())

    def as_of(self, number: int) -> AsOf:
        mirror = self.mirror
        reader = PastReplay(mirror.ports.store)
        asked = UpTo(sequence=Sequence(number))
        return as_of(mirror.ports, reader, mirror.table(self.name), asked).as_of

    def check(self) -> Iterator[tuple[int, AsOf]]:
        """Every number, in any order: where a version is named, deltalake reads from it what the
        interpreter says; the others are given back."""
        numbers = list(range(1, len(self.history.files) + 1))
        self.draw.shuffle(numbers)
        for number in numbers:
            answer = self.as_of(number)
            if not answer.is_exact:
                yield number, answer
                continue
            assert answer.found is not None
            got = bag(read_delta(self.mirror.delta_path(self.name), answer.found.version))
            assert got == self.after(number), f"seed {self.history.seed}, file {number}"

    def check_all_there(self) -> None:
        missed = dict(self.check())
        assert missed.keys() == set(range(1, len(self.history.files) + 1)) - set(self.ends)
        for number, answer in missed.items():
            nearest = [v and v.run.position for v in (answer.before, answer.after)]
            before = max((end for end in self.ends if end < number), default=None)
            assert nearest == [before, min(end for end in self.ends if end > number)]

    def clean_the_log(self) -> None:
        """As Delta does it: everything before a checkpoint goes."""
        log = self.mirror.delta_path(self.name) / "_delta_log"
        version = min(int(path.name[:20]) for path in log.glob("*.checkpoint*.parquet"))
        for path in log.glob("*.json"):
            if int(path.stem) < version:
                path.unlink()

    def _checkpoint(self) -> None:
        spark = self.mirror.spark
        logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
        logs.forTable(spark._jsparkSession, str(self.mirror.delta_path(self.name))).checkpoint()

    def vacuum(self) -> None:
        session = fresh_session(self.mirror.spark)
        session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        session.conf.set("spark.databricks.delta.vacuum.logging.enabled", "true")
        # Or 10,000 tasks list the one folder.
        session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
        session.sql(f"VACUUM delta.`{self.mirror.delta_path(self.name)}` RETAIN 0 HOURS").collect()


@pytest.mark.parametrize(
    ("seed", "vectors"), [pytest.param(157, False, marks=pytest.mark.soak), (113, True)]
)
def test_the_version_that_is_named_is_the_interpreters_table_until_it_is_cleaned_away(
    mirror: Mirror, seed: int, vectors: bool
) -> None:
    path = mirror.zone.root / layout.mirror_settings(MIRROR)
    path.write_text(json.dumps({"openmirror": {"deletionVectors": vectors}}))
    # Small tables are written again whole: vectors come of a MERGE.
    paths = Paths(small_table=0) if vectors else EVERY_PATH
    table = Passing(Mirror(mirror.zone, mirror.spark, paths=paths), seed)
    assert len(table.ends) > 2
    table.check_all_there()

    table.clean_the_log()
    lost = dict(table.check())
    assert {a.gone.what for n, a in lost.items() if n < min(table.ends) and a.gone} <= {
        GoneWhat.LOG
    }
    table.vacuum()
    gone = {
        number: answer.found.gone
        for number, answer in table.check()
        if answer.found is not None and answer.found.gone is not None
    }
    assert gone, "this history shows files that are deleted"
    for number, why in gone.items():
        assert why.what is GoneWhat.LOG or why.since is not None, number
    assert table.as_of(table.ends[-1]).is_exact
