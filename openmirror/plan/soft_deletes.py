"""Whether a table's deletes are soft, whose `_deleted_at` is, and what may not be (PROTOCOL §5.8).

The table's own log says whether rows may be marked in it, whatever mirroring.json says now: nothing
but an operator's word, or a replace of all rows, makes deletes hard again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from openmirror.plan.decisions import Pause
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.plan.history import taken_name, with_history_columns
from openmirror.plan.observed import DeletePolicy, ObservedState, TablePolicy
from openmirror.plan.rules import problem_of
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import DELETED_AT, SoftDeletes
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.table.control import BatchKind, FrozenOptions
from openmirror.table.log import TableLog

PROPERTY = "openmirror.delete"
"""Of a table that has a column `_deleted_at` of ours: `soft`."""
_COLUMN = Column(DELETED_AT, ColumnType("timestamp"))
_TIMES = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True)
class Deletes:
    """How a batch deletes."""

    soft: SoftDeletes | None = None
    """None where deleted rows are removed."""
    hardens: bool = False
    """Whether it ends soft deletes: the column goes, and with it every row that is marked."""
    keeps_versions: bool = False
    """Whether its table is a history, in which deleted rows are versions that ended."""

    def before(self, table: TableSchema) -> TableSchema:
        """The table's schema as the batch finds it."""
        if not self.hardens:
            return table
        return TableSchema(tuple(c for c in table.columns if c.name != DELETED_AT))

    def after(self, schema: TableSchema) -> TableSchema:
        """The schema with our columns behind those that are there, once any is."""
        if self.keeps_versions:
            return with_history_columns(schema)
        if self.soft is None or not schema.columns or schema.find(DELETED_AT):
            return schema
        return TableSchema((*schema.columns, _COLUMN))


def deletes_of(observed: ObservedState, rules: FrozenOptions, kind: BatchKind) -> Deletes:
    """How a batch of this kind deletes; for one that replaces the table the policy alone counts."""
    if observed.folder.is_history:
        return Deletes(keeps_versions=True)
    policy, log = observed.policy, observed.log
    if not rules.key_columns or not isinstance(policy, TablePolicy):
        return Deletes()
    is_soft = isinstance(log, TableLog) and kind is not BatchKind.REPLACE and marks(log)
    if policy.delete is DeletePolicy.HARD and is_soft and observed.control.hard_deletes:
        return Deletes(hardens=True)
    if policy.delete is DeletePolicy.SOFT or is_soft:
        return Deletes(SoftDeletes(policy.deleted_at))
    return Deletes()


def marks(log: TableLog) -> bool:
    """Whether rows of a table may be marked as deleted."""
    return log.properties.get(PROPERTY) == DeletePolicy.SOFT.value


def with_soft_deletes(
    features: TableFeatures, deletes: Deletes, log: TableLog | None
) -> TableFeatures:
    """With what says so in the table's log; `log` is None where the table is created."""
    if deletes.soft is None or (log is not None and marks(log)):
        return features
    properties = (*features.properties, (PROPERTY, DeletePolicy.SOFT.value))
    return replace(features, properties=properties)


def foreign_column(observed: ObservedState, deletes: Deletes, kind: BatchKind) -> Pause | None:
    """A table that is to mark rows in a column that its publisher made."""
    log = observed.log
    if deletes.soft is None or kind is BatchKind.REPLACE or not isinstance(log, TableLog):
        return None
    if marks(log) or log.schema.find(DELETED_AT) is None:
        return None
    detail = (
        f"the table has a column {DELETED_AT!r} of its publisher, and its deletes are to be soft"
    )
    remedy = (
        "Set delete to hard for this table in mirroring.json; or have the publisher call its "
        "column something else, in a folder that is made again."
    )
    return Pause(problem_of(observed, Broken(Code.COLUMN_NAME_RESERVED, detail, remedy)))


def reserved_column(observed: ObservedState, file: LandedFile, deletes: Deletes) -> Pause | None:
    """A file with a column that has the name of ours."""
    if deletes.keeps_versions and file.facts:
        return taken_name(observed, file.facts.schema, file)
    found = file.facts.schema.find(DELETED_AT) if file.facts and deletes.soft else None
    if found is None:
        return None
    detail = f"the column {found.name!r} has the name of the one that says when a row was deleted"
    return Pause(problem_of(observed, Broken(Code.COLUMN_NAME_RESERVED, detail), file))


def wrong_time_column(
    observed: ObservedState, file: LandedFile, schema: TableSchema, deletes: Deletes
) -> Pause | None:
    """A file after which the column that is to say when rows were deleted is none, or no time.

    `schema` is the table's after it. Were such a file taken, its deletes would have other times
    for good.
    """
    name = deletes.soft.time_column if deletes.soft else None
    if name is None or not schema.columns:
        return None
    column = None if fold_case(name) == DELETED_AT else schema.find(name)
    if column is not None and column.type in _TIMES:
        return None
    is_ = f"is of type {column.type}, not a time" if column else "is no column of the table"
    times = [c.name for c in schema.columns if c.type in _TIMES and c.name != DELETED_AT]
    there = f"its times are {', '.join(map(repr, times))}" if times else "it has no times"
    detail = f"mirroring.json: deletedAt names {name!r}, which {is_} with this file; {there}"
    return Pause(problem_of(observed, Broken(Code.MIRROR_SETTINGS_INVALID, detail), file))


def unmet(observed: ObservedState) -> Iterator[str]:
    """What the policy asks of deletes that an operator must confirm first, in words."""
    policy, log = observed.policy, observed.log
    if not isinstance(policy, TablePolicy) or not isinstance(log, TableLog) or not marks(log):
        return
    if policy.delete is DeletePolicy.HARD and not observed.control.hard_deletes:
        yield (
            "delete: the table goes on marking rows, because hard deletes remove for good those "
            "that are marked: `openmirror confirm-hard-deletes` allows it"
        )
