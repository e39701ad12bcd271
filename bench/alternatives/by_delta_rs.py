"""delta-rs: its MERGE, of files that pyarrow reads and of which the last change of a key counts."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from bench.alternatives.tasks import WORKERS, Task
from bench.workload import DELETE, KEY, MARKER


class ByDeltaRs:
    """Change files applied without Spark."""

    def apply(self, task: Task, /) -> None:
        """Tables side by side, each in one commit."""
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda table: _commit(task, table), task.tables))


def _commit(task: Task, table: str) -> None:
    files = [task.place.file(table, number) for number in range(task.first, task.last + 1)]
    changes = pa.concat_tables([pq.read_table(file) for file in files])
    path = str(task.place.delta(table))
    if task.how == "append" or not DeltaTable.is_deltatable(path):
        write_deltalake(path, changes.drop_columns([MARKER]), mode="append")
        return
    columns = {name: f"s.{name}" for name in changes.column_names if name != MARKER}
    (
        DeltaTable(path)
        .merge(
            _last_of_each_key(changes),
            predicate=f"t.{KEY} = s.{KEY}",
            source_alias="s",
            target_alias="t",
        )
        .when_matched_delete(predicate=f"s.{MARKER} = {DELETE}")
        .when_matched_update(updates=columns)
        .when_not_matched_insert(updates=columns, predicate=f"s.{MARKER} <> {DELETE}")
        .execute()
    )


def _last_of_each_key(changes: pa.Table) -> pa.Table:
    numbered = changes.select([KEY]).append_column("row", pa.array(np.arange(len(changes))))
    last = numbered.group_by(KEY).aggregate([("row", "max")])["row_max"]
    return changes.take(last)


@contextmanager
def delta_rs(_root: Path) -> Iterator[ByDeltaRs]:
    """With the settings that it comes with."""
    yield ByDeltaRs()
