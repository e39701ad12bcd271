"""The columns of ours in a batch: marks of deleted rows, lineage, and those of a history."""

from __future__ import annotations

from dataclasses import dataclass, field

from openmirror.plan.history import VERSIONS
from openmirror.plan.lineage import ORIGIN, lineage_of
from openmirror.plan.observed import ObservedState
from openmirror.plan.own_group import OwnGroup, with_columns
from openmirror.plan.soft_deletes import MARKS, Deletes, deletes_of
from openmirror.protocol.lineage import Lineage
from openmirror.protocol.schema import TableSchema
from openmirror.table.control import BatchKind, FrozenOptions


@dataclass(frozen=True)
class OwnColumns:
    """What of ours the rows of a batch have."""

    deletes: Deletes = field(default_factory=Deletes)
    lineage: Lineage = Lineage.NONE
    keeps_versions: bool = False
    """Whether its table is a history: deleted rows are versions that ended, and each says what
    opened it."""

    @property
    def groups(self) -> tuple[OwnGroup, ...]:
        """Those whose names are ours."""
        if self.keeps_versions:
            return (VERSIONS,)
        marks = (MARKS,) if self.deletes.soft else ()
        return (*marks, ORIGIN) if self.lineage is not Lineage.NONE else marks

    def after(self, schema: TableSchema) -> TableSchema:
        """The schema with our columns behind those that are there, once any is."""
        is_past = self.lineage is Lineage.EMPTY
        return with_columns(schema, (g for g in self.groups if not (is_past and g is ORIGIN)))


def own_columns(observed: ObservedState, rules: FrozenOptions, kind: BatchKind) -> OwnColumns:
    """Those of a batch of this kind; for one that replaces the table the policy alone counts."""
    if observed.folder.is_history:
        return OwnColumns(keeps_versions=True)
    return OwnColumns(deletes_of(observed, rules, kind), lineage_of(observed, kind))
