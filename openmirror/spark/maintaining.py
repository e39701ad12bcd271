"""Steps of maintenance, by the SQL that open-source Delta and Databricks have in common.

How much a statement takes is session state of Delta's. Where a runtime does not know a setting, or
has the table itself, it takes more or less than was planned, and no row is another one.
"""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import SparkSession

from openmirror.plan.maintenance_steps import (
    Compact,
    MaintenanceStep,
    Purge,
    RemoveMarked,
    Vacuum,
    full_cube,
)
from openmirror.protocol.rows import DELETED_AT
from openmirror.spark.frames import micros, quoted
from openmirror.spark.transacting import USER_METADATA
from openmirror.table.user_metadata import REMOVES_MARKED

_OPTIMIZE = "spark.databricks.delta.optimize"
_CUBES = f"{_OPTIMIZE}.clustering.mergeStrategy.minCubeSize"
_VACUUM = "spark.databricks.delta.vacuum"
_TASKS = "8"
"""They wait for storage, not for a core."""


def maintain(session: SparkSession, table: str, step: MaintenanceStep) -> None:
    """Do one step; raises what Delta raises. The session is one of its own, and carries nothing."""
    if isinstance(step, RemoveMarked) and not _has_marks(session, table):
        return
    for key, value in _settings(step).items():
        session.conf.set(key, value)
    session.sql(_statement(f"delta.{quoted(table)}", step)).collect()


def _settings(step: MaintenanceStep) -> dict[str, str]:
    match step:
        case Compact(below=below, written=written, share=share, cube=cube):
            taken = {
                f"{_OPTIMIZE}.minFileSize": str(below),
                f"{_OPTIMIZE}.maxFileSize": str(written),
                f"{_OPTIMIZE}.maxDeletedRowsRatio": str(share),
            }
            if cube is not None:
                taken |= {
                    f"{_CUBES}.threshold": str(full_cube(cube)),
                    f"{_CUBES}.targetCubeSize": str(cube),
                }
            return taken
        case RemoveMarked():
            return {USER_METADATA: REMOVES_MARKED}
        case Purge(written=written):
            return {f"{_OPTIMIZE}.maxFileSize": str(written)}
        case Vacuum():
            return {
                f"{_VACUUM}.parallelDelete.enabled": "true",
                f"{_VACUUM}.parallelDelete.parallelism": _TASKS,
                # By default 10,000 tasks list a folder, which is one here: a minute of nothing.
                "spark.sql.sources.parallelPartitionDiscovery.parallelism": _TASKS,
                # Or the hours are passed over, and all is deleted at once that may be.
                f"{_VACUUM}.retentionWindowIgnore.enabled": "false",
                # What a VACUUM did stands in the log, whoever runs it.
                f"{_VACUUM}.logging.enabled": "true",
                # Never less than the table's own property says.
                "spark.databricks.delta.retentionDurationCheck.enabled": "true",
            }
    assert_never(step)


def _has_marks(session: SparkSession, table: str) -> bool:
    """Whether the column is there: a runner that died before its first batch left none."""
    return DELETED_AT in session.read.format("delta").load(table).columns


def _statement(table: str, step: MaintenanceStep) -> str:
    match step:
        case Compact():
            return f"OPTIMIZE {table}"
        case RemoveMarked(before=before):
            at = f"TIMESTAMP_MICROS({micros(before)})"
            return f"DELETE FROM {table} WHERE {quoted(DELETED_AT)} < {at}"
        case Purge():
            return f"REORG TABLE {table} APPLY (PURGE)"
        case Vacuum(hours=hours, full=full):
            return f"VACUUM {table} {'FULL' if full else 'LITE'} RETAIN {hours} HOURS"
    assert_never(step)
