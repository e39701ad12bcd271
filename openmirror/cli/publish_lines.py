"""What `publish` did, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openmirror.protocol.counts import counted

if TYPE_CHECKING:
    from openmirror.cli.publish_run import PublishOutcome
    from openmirror.publishing.snapshots import SnapshotOutcome


def outcome_lines(outcome: PublishOutcome) -> Iterator[str]:
    """A line for each file or part of a snapshot, and the table's newest file."""
    if outcome.is_plan and outcome.columns.columns:
        columns = ", ".join(f"{column.name} {column.type}" for column in outcome.columns.columns)
        yield f"columns: {columns}"
    if outcome.snapshot is not None:
        yield from _snapshot_lines(outcome, outcome.snapshot)
    for sent in outcome.sent:
        if sent.was_published:
            yield f"{sent.name}: published before, passed over"
        else:
            yield f"{sent.name}: {_would(outcome, 'sent')} {sent.rows:,} rows"
    if outcome.newest:
        yield f"{outcome.table}: the newest file is {outcome.newest:020d}.parquet"


def _snapshot_lines(outcome: PublishOutcome, found: SnapshotOutcome) -> Iterator[str]:
    if found.finished is not None:
        yield (
            f"an earlier run's snapshot {found.finished.number}: {_would(outcome, 'landed')} "
            f"its changes ({found.finished.rows:,})"
        )
    of = "the first snapshot" if found.before is None else f"the last one had {found.before:,}"
    yield f"the snapshot has {found.rows:,} rows; {of}"
    made = found.differences
    yield (
        f"{_would(outcome, 'found')} {made.added:,} new, {made.changed:,} changed, "
        f"{made.deleted:,} deleted"
    )
    if found.landed is not None:
        files = f" in {counted(found.landed.files, 'file')}" if found.landed.files else ""
        yield f"landed snapshot {found.landed.number}: {found.landed.rows:,} changes{files}"
    elif not outcome.is_plan and outcome.refused is None:
        yield "nothing to send"
    if outcome.is_plan and found.doubt is not None:
        yield f"would ask first: {found.doubt.why}"


def _would(outcome: PublishOutcome, done: str) -> str:
    planned = {"sent": "would send", "landed": "would first land", "found": "would send"}
    return planned[done] if outcome.is_plan else done


def outcome_json(outcome: PublishOutcome) -> dict[str, Any]:
    """The same for programs."""
    found = outcome.snapshot
    return {
        "table": outcome.table,
        "plan": outcome.is_plan,
        "newest": str(outcome.newest),
        "refused": outcome.refused,
        "files": [
            {"name": s.name, "rows": s.rows, "publishedBefore": s.was_published}
            for s in outcome.sent
        ],
        "snapshot": found
        and {
            "number": found.landed.number if found.landed is not None else None,
            "rows": found.rows,
            "rowsBefore": found.before,
            "added": found.differences.added,
            "changed": found.differences.changed,
            "deleted": found.differences.deleted,
            "finished": found.finished.number if found.finished is not None else None,
        },
    }
