"""One snapshot from its inputs to the landed differences: finish, compare, ask, open, land."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from openmirror.errors import ConditionFailed
from openmirror.protocol.schema import TableSchema
from openmirror.publishing.snapshots.comparing import (
    Differences,
    Resources,
    SnapshotComparison,
    compare,
)
from openmirror.publishing.snapshots.doubts import MOST_DELETED, Doubt, doubt
from openmirror.publishing.snapshots.spooling import Spool
from openmirror.publishing.snapshots.table import (
    LandedSnapshot,
    ObservedSnapshots,
    PlanWriter,
    SnapshotTable,
)

_TRIES = 20
ReadSnapshot = Callable[[TableSchema], Spool]
"""Reads the snapshot, given the columns that the table has."""


def _silent(stage: str, rows: int) -> None:
    """Nobody listens."""


@dataclass(frozen=True, kw_only=True)
class SnapshotRun:
    """What publishing a snapshot needs besides the snapshot."""

    key: Sequence[str]
    temp: Path
    """A folder for what is compared; emptied by its owner."""
    ask: Callable[[Doubt], bool] = lambda _: False
    """Whether a person lets a doubtful snapshot be published."""
    most_deleted: float = MOST_DELETED
    resources: Resources = field(default_factory=Resources)
    report: Callable[[str, int], None] = _silent
    """Hears what is being done, and how many rows of it are."""


@dataclass(frozen=True, kw_only=True)
class SnapshotOutcome:
    """What became of a snapshot."""

    finished: LandedSnapshot | None = None
    """A plan that an earlier run had left open."""
    rows: int = 0
    """Of the snapshot."""
    before: int | None = None
    """Rows of the snapshot that it was compared with; None for a first one."""
    differences: Differences
    landed: LandedSnapshot | None = None
    """None where nothing was to be sent."""
    doubt: Doubt | None = None
    """Why nothing was sent, where a person did not allow it."""


def publish_snapshot(
    table: SnapshotTable, writer: PlanWriter, read: ReadSnapshot, run: SnapshotRun
) -> SnapshotOutcome:
    """Make the table this snapshot, by landing the differences to the last one.

    Raises what the reader, `compare` and SnapshotTable raise; then the table is what it was, or a
    plan is open that the next run finishes.
    """
    finished = None
    spooled: tuple[TableSchema, Spool] | None = None
    for turn in range(_TRIES):
        observed = table.observe(run.key)
        if observed.document.open is not None:
            finished = table.finish(observed, writer, _stage(run, "finishing"))
            continue
        table.tidy(observed.document)
        if spooled is None or spooled[0] != observed.columns:
            spooled = observed.columns, read(observed.columns)
        try:
            comparison = _compared(table, observed, spooled[1], run, turn)
        except ConditionFailed:
            continue
        with comparison:
            outcome = SnapshotOutcome(
                finished=finished,
                rows=spooled[1].rows,
                before=_rows_before(observed),
                differences=comparison.differences,
            )
            if _is_as_before(observed, comparison):
                return outcome
            if (why := _doubt(outcome, run)) is not None and not run.ask(why):
                return replace(outcome, doubt=why)
            run.report("writing", comparison.differences.total)
            opened = table.open(observed, comparison)
        if opened is not None:
            return replace(outcome, landed=table.finish(opened, writer, _stage(run, "landing")))
    raise ConditionFailed("other publishers of this table's snapshots are always faster")


def preview_snapshot(
    table: SnapshotTable | None, read: ReadSnapshot, run: SnapshotRun
) -> SnapshotOutcome:
    """What `publish_snapshot` would send; writes nothing. None is a table without a folder.

    An open plan counts as landed, since the next run lands it first.
    """
    observed = table.observe(run.key) if table is not None else None
    columns = observed.columns if observed is not None else TableSchema()
    new = read(columns)
    before = observed.document.newest if observed is not None else None
    old = table.kept_keys(before, run.temp) if table is not None and before is not None else None
    key = before.keys.names if before is not None else run.key
    with compare(new, old, key, run.temp, run.resources) as comparison:
        outcome = SnapshotOutcome(
            rows=new.rows,
            before=before.rows if before is not None else None,
            differences=comparison.differences,
        )
    if observed is not None and (plan := observed.document.open) is not None:
        outcome = replace(outcome, finished=LandedSnapshot(plan.snapshot.number, observed.left))
    return replace(outcome, doubt=_doubt(outcome, run))


def _compared(
    table: SnapshotTable, observed: ObservedSnapshots, new: Spool, run: SnapshotRun, turn: int
) -> SnapshotComparison:
    before = observed.document.current
    temp = run.temp / str(turn)
    temp.mkdir()
    old = table.kept_keys(before, temp) if before is not None else None
    run.report("comparing", new.rows)
    key = before.keys.names if before is not None else run.key
    return compare(new, old, key, temp, run.resources)


def _stage(run: SnapshotRun, stage: str) -> Callable[[int], None]:
    return lambda rows: run.report(stage, rows)


def _rows_before(observed: ObservedSnapshots) -> int | None:
    current = observed.document.current
    return current.rows if current is not None else None


def _is_as_before(observed: ObservedSnapshots, comparison: SnapshotComparison) -> bool:
    return observed.document.current is not None and comparison.differences.total == 0


def _doubt(outcome: SnapshotOutcome, run: SnapshotRun) -> Doubt | None:
    return doubt(outcome.differences, outcome.rows, outcome.before, run.most_deleted)
