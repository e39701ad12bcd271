"""What is known of a table's keys: whether each is in one row at most.

Marker 0 adds a row whatever is there, so a table may have a key twice, and an update then changes
both rows (PROTOCOL §5.2). Where no key is, rows may be replaced by their keys, which is cheaper
than a MERGE. Nothing but the log says so: each commit of ours says of itself what it keeps, and any
other that changes data ends it.
"""

from __future__ import annotations

from datetime import timedelta

from openmirror.plan.decisions import Batch
from openmirror.plan.features import CHANGE_DATA_FEED, DELETION_VECTORS, is_on
from openmirror.plan.maintenance_steps import TableFiles
from openmirror.plan.observed import ObservedState, TablePolicy
from openmirror.plan.rules import frozen_rules
from openmirror.plan.soft_deletes import marks
from openmirror.table.control import BatchKind
from openmirror.table.log import ANY_VERSION, BatchRecord, TableLog

_STEPS = 4
"""A check reads the keys alone, so that it may be of so many times the bytes of other steps."""
_CHECKED_AGAIN = timedelta(hours=1)


def unique_after(batch: Batch, inserts: int) -> int | None:
    """What a batch says of the keys after it, as `BatchRecord.unique_after` has it.

    Updates, upserts and deletes leave a key in no more rows than it was in, and in one where it was
    in none; only `inserts` (marker 0) add to what is there. Keys of another type are other keys,
    and where deleted rows stay, a key has its live row and those.
    """
    if not batch.frozen.key_columns or inserts or batch.union.widened:
        return None
    if batch.soft is not None or batch.hardens or batch.is_of_history:
        return None
    return ANY_VERSION if batch.kind is BatchKind.REPLACE else batch.unique_at


def has_unique_keys(
    before: bool, version: int, record: BatchRecord | None, *, changes_data: bool
) -> bool:
    """Whether keys are unique after a commit: `before` it, by what it says, and by what it does.

    Its runner wrote the record beforehand, and may have been overtaken: the record then speaks of
    an older version than the one that it followed, of which only `before` knows.
    """
    if record is None or record.unique_after is None:
        return before and not changes_data
    return record.unique_after in (ANY_VERSION, version - 1) or before


def unique_at(observed: ObservedState) -> int | None:
    """The version of the log that was observed, if keys are unique there; else None."""
    log, known = observed.log, observed.control.maintenance
    if not isinstance(log, TableLog) or observed.folder.is_history:
        return None
    checked = known.keys if known else None
    # A check holds for the very version that it read, until a batch says it on.
    is_checked = checked is not None and checked.unique and checked.version == log.version
    return log.version if log.has_unique_keys or is_checked else None


def keys_of(observed: ObservedState) -> tuple[str, ...]:
    """The columns by which rows of the table are matched; none before its first batch."""
    frozen = frozen_rules(observed)
    return frozen.key_columns if frozen else ()


def check_is_due(observed: ObservedState, files: TableFiles) -> bool:
    """Whether it is worth asking a table itself: where its batches would gain by the answer.

    It is asked of a table with deletion vectors whose last batch had nothing but updates. An
    operator who asked for maintenance gets it of a table of any size.
    """
    log, control = observed.log, observed.control
    if not isinstance(log, TableLog) or not isinstance(observed.policy, TablePolicy):
        return False
    if log.version != files.version or not keys_of(observed) or observed.folder.is_history:
        return False
    if unique_at(observed) is not None:
        return False
    if not is_on(log, DELETION_VECTORS) or is_on(log, CHANGE_DATA_FEED) or marks(log):
        return False
    rows = log.batch_record.rows if log.batch_record else {}
    if not rows.get("updates") or rows.get("inserts") or rows.get("deletes"):
        return False
    known = control.maintenance
    if known and known.asked:
        return True
    if known and known.keys and observed.at - known.keys.at < _CHECKED_AGAIN:
        return False
    return files.bytes <= _STEPS * observed.policy.maintenance.step_bytes
