"""What is particular to a history: its policy, its own columns, and tables that can have none."""

from __future__ import annotations

from dataclasses import replace

from openmirror.plan.decisions import Pause
from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import DeletePolicy, HistoryPolicy, ObservedState, TablePolicy
from openmirror.plan.rules import problem_of
from openmirror.protocol.names import fold_case
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.rows import DELETED_AT
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import START, Position
from openmirror.protocol.versions import HISTORY_COLUMNS
from openmirror.table.control import FrozenOptions
from openmirror.table.log import BrokenLog, TableLog

_OURS = {fold_case(column.name): column for column in HISTORY_COLUMNS}
NEW_HISTORY = (
    "Move the folder of the history's Delta table away: it then begins anew from now. Or set "
    "history to none for this table in mirroring.json."
)
"""The remedy of a history that cannot take what its current table can."""
_REMEDY_NONE = "set history to none for this table in mirroring.json"


def policy_of_history(policy: TablePolicy) -> TablePolicy:
    """The policy of a table's history: what says how files are read is the same."""
    return replace(
        policy,
        delete=DeletePolicy.HARD,
        deleted_at=None,
        purge_after=None,
        change_data_feed=None,
        clustering=None,
    )


def is_wanted(policy: TablePolicy | Broken) -> bool:
    """Whether a table is to have a history."""
    return isinstance(policy, TablePolicy) and policy.history is HistoryPolicy.SCD2


def is_stopped(observed: ObservedState) -> bool:
    """Whether this is a history that is not wanted any more: it stays as it is."""
    policy = observed.policy
    return observed.folder.is_history and isinstance(policy, TablePolicy) and not is_wanted(policy)


def without_history(observed: ObservedState, rules: FrozenOptions) -> Pause | None:
    """A table that can have no history, by its options."""
    if not observed.folder.is_history:
        return None
    if not rules.key_columns:
        detail = "a history needs keyColumns: without them no row has versions"
        remedy = f"Declare keyColumns in _metadata.json, or {_REMEDY_NONE}."
        return Pause(problem_of(observed, Broken(Code.KEY_COLUMNS_UNDECLARED, detail, remedy)))
    if NamingScheme(rules.detection, rules.partitioned).has_ledger:
        detail = "a table whose files are in partitions, or found by their time, has no history"
        remedy = (
            f"{_REMEDY_NONE.capitalize()}; enableDeltaChangeDataFeed keeps what its commits change."
        )
        return Pause(problem_of(observed, Broken(Code.MIRROR_SETTINGS_INVALID, detail, remedy)))
    return None


def with_history_columns(schema: TableSchema) -> TableSchema:
    """The schema with our columns behind those that are there, once any is."""
    if not schema.columns:
        return schema
    missing = (column for column in HISTORY_COLUMNS if schema.find(column.name) is None)
    return TableSchema((*schema.columns, *missing))


def rows_of_current(schema: TableSchema, *, is_soft: bool) -> TableSchema:
    """The columns of a current table that its publisher sends."""
    ours = {DELETED_AT} if is_soft else set()
    return TableSchema(tuple(column for column in schema.columns if column.name not in ours))


def taken_name(
    observed: ObservedState, schema: TableSchema, file: LandedFile | None = None
) -> Pause | None:
    """A publisher's columns of which one has the name of one of ours."""
    taken = next((name for name in schema.names if fold_case(name) in _OURS), None)
    if taken is None:
        return None
    detail = f"the column {taken!r} has the name of one that a history has"
    remedy = (
        "Have the publisher call its column something else, in a file of the same name or a folder "
        f"that is made again; or {_REMEDY_NONE}."
    )
    return Pause(problem_of(observed, Broken(Code.COLUMN_NAME_RESERVED, detail, remedy), file))


def changed_by_others(observed: ObservedState) -> Pause | None:
    """A history that somebody else has written to, so that it lacks a column of ours."""
    log = observed.log
    if not observed.folder.is_history or not isinstance(log, TableLog) or not log.schema.columns:
        return None
    wrong = [c.name for c in HISTORY_COLUMNS if log.schema.find(c.name) != c]
    if not wrong:
        return None
    detail = f"{log.path} has no column {wrong[0]!r} of ours: something else has changed it"
    remedy = (
        "Restore the table to the version before, by RESTORE TABLE or from a backup; or move its "
        "folder away: the history then begins anew from now."
    )
    return Pause(problem_of(observed, Broken(Code.TABLE_NOT_OURS, detail, remedy)))


def kept_through(
    observed: ObservedState, frozen: FrozenOptions | None, log: TableLog | BrokenLog | None
) -> Position | None:
    """How far files may leave the folder for its history, whose `log` this is; None: all may.

    `observed` is of the current table. A history that is refused reads nothing.
    """
    if not is_wanted(observed.policy) or frozen is None or not frozen.key_columns:
        return None
    if observed.naming.has_ledger:
        return None
    live = log.live if isinstance(log, TableLog) else None
    if live is None or live[0].incarnation != observed.incarnation:
        return START
    return live[1] if live[0].folder == observed.folder.history else START
