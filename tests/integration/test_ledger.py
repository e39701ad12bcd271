"""A table whose files are found by their time, in partitions, by real Spark."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openmirror.operate import requests
from openmirror.plan.decisions import Idle
from openmirror.ports import Step
from openmirror.reconcile.ledger_files import read_entries
from openmirror.runtime.sweeping import clean
from openmirror.table.ledger import effective
from tests.zone import MIRROR, Mirror, bag

TABLE = "found"
NOON = 1_750_000_000


class Gone(BaseException):
    """A runner that goes on no more: nothing of the product may catch it."""


def gone_at_writing_down(step: Step) -> None:
    if step is Step.WRITTEN_DOWN:
        raise Gone


class Found:
    """A publisher that says which second each of its files is from."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.rows: dict[str, list[dict[str, Any]]] = {}
        mirror.zone.metadata(
            TABLE,
            {
                "keyColumns": ["id"],
                "isUpsertDefaultRowMarker": True,
                "fileDetectionStrategy": "LastUpdateTimeFileDetection",
                "isPartitionEnabled": True,
            },
        )

    def land(self, name: str, second: int, *ids: int) -> None:
        """A file of upserts; each row says which file was the last to have it."""
        path = self.mirror.zone.folder(TABLE) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows[name] = [{"id": number, "by": name} for number in ids]
        staged = path.with_name("_" + path.name)
        pq.write_table(pa.Table.from_pylist(self.rows[name]), staged)
        os.utime(staged, (NOON + second, NOON + second))
        staged.rename(path)

    def in_order(self, *names: str) -> list[Any]:
        """What the table holds once these files were applied, one after the other."""
        held = {row["id"]: row for name in names for row in self.rows[name]}
        return bag(held.values())

    @property
    def written_down(self) -> list[str]:
        observed = self.mirror.observed(TABLE)
        assert observed.incarnation is not None
        entries = read_entries(self.mirror.ports.store, observed.folder, observed.incarnation)
        return list(effective(entries, observed.naming, observed.applied))


def test_the_order_that_a_dead_runner_wrote_down_is_kept_and_each_file_applied_once(
    mirror: Mirror,
) -> None:
    found = Found(mirror)
    found.land("Year=2024/b.parquet", 1, 1, 2, 3)
    found.land("Year=2024/a.parquet", 1, 2, 3)
    found.land("Year=2025/Region=North/c.parquet", 0, 1, 3, 4)
    with pytest.raises(Gone):
        mirror.with_steps(gone_at_writing_down).reconcile_until_idle(TABLE)
    assert mirror.observed(TABLE).log is None
    found.land("Year=2025/Region=South/late.parquet", -5, 2, 4)
    found.land("d.parquet", 2, 4, 5)

    assert isinstance(mirror.reconcile_until_idle(TABLE), Idle)
    order = [
        "Year=2025/Region=North/c.parquet",
        "Year=2024/a.parquet",
        "Year=2024/b.parquet",
        "Year=2025/Region=South/late.parquet",
        "d.parquet",
    ]
    assert found.written_down == order
    assert bag(mirror.rows(TABLE)) == found.in_order(*order)

    clean(mirror.ports, [MIRROR])
    requests.reseed(mirror.ports, mirror.table(TABLE), requests.Operator("somebody"))
    assert isinstance(mirror.reconcile_until_idle(TABLE), Idle)
    assert found.written_down == order
    assert bag(mirror.rows(TABLE)) == found.in_order(*order)
