"""Whether rows say which change wrote them last (PROTOCOL §5.10)."""

from __future__ import annotations

from openmirror.plan.observed import ObservedState, TablePolicy
from openmirror.plan.own_group import OwnGroup
from openmirror.protocol.lineage import LINEAGE, Lineage
from openmirror.protocol.schema import Column, ColumnType
from openmirror.table.control import BatchKind
from openmirror.table.log import TableLog

_TYPES = ("string", "long", "long", "timestamp", "string")
ORIGIN = OwnGroup(
    columns=tuple(Column(n, ColumnType(t)) for n, t in zip(LINEAGE, _TYPES, strict=True)),
    property="openmirror.lineage",
    value="true",
    what="one that says which change wrote a row",
    asked_by="its rows are to have lineage",
    without="Set lineage to false",
)
"""What a table has whose rows have lineage, or had."""


def lineage_of(observed: ObservedState, kind: BatchKind) -> Lineage:
    """What a batch of this kind writes; for one that replaces the table the policy alone counts."""
    policy, log = observed.policy, observed.log
    if isinstance(policy, TablePolicy) and policy.lineage:
        return Lineage.WRITTEN
    stays = isinstance(log, TableLog) and kind is not BatchKind.REPLACE and ORIGIN.are_in(log)
    return Lineage.EMPTY if stays else Lineage.NONE
