"""Columns of ours that come together: whose their names are, and what may not be.

Each group has a property of the table, so that its own log says whose they are, whatever
mirroring.json says now: no file may bring a column of such a name, and none that a publisher made
is ever written into.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from openmirror.plan.decisions import Pause
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures
from openmirror.plan.observed import ObservedState
from openmirror.plan.rules import problem_of
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import Column, TableSchema
from openmirror.table.control import BatchKind, FrozenOptions
from openmirror.table.log import TableLog


@dataclass(frozen=True, kw_only=True)
class OwnGroup:
    """Columns that no file has."""

    columns: tuple[Column, ...]
    property: str
    value: str
    """Of the property, in a table that has them."""
    what: str
    """What they are, behind "the name of"."""
    asked_by: str
    """What of mirroring.json asks for them, in words."""
    without: str
    """How mirroring.json does not, in words."""

    def are_in(self, log: TableLog) -> bool:
        """Whether the table's columns of these names are ours, and always will be."""
        return log.properties.get(self.property) == self.value


def with_columns(schema: TableSchema, groups: Iterable[OwnGroup]) -> TableSchema:
    """A schema with these behind its columns, once it has any."""
    if not schema.columns:
        return schema
    for group in groups:
        missing = tuple(one for one in group.columns if schema.find(one.name) is None)
        schema = TableSchema((*schema.columns, *missing)) if missing else schema
    return schema


def with_properties(
    features: TableFeatures, groups: Iterable[OwnGroup], log: TableLog | None
) -> TableFeatures:
    """With what says so in the table's log; `log` is None where the table is created."""
    due = tuple((g.property, g.value) for g in groups if log is None or not g.are_in(log))
    return replace(features, properties=(*features.properties, *due)) if due else features


def foreign_column(
    observed: ObservedState,
    groups: Iterable[OwnGroup],
    rules: FrozenOptions,
    kind: BatchKind,
) -> Pause | None:
    """A table that is to have columns of ours where its publisher made, or declared, one."""
    log = observed.log
    for group in groups:
        declared = rules.version_column or ""
        if TableSchema(group.columns).find(declared):
            return _pause(observed, group, f"ConditionalUpdateColumn names {declared!r}")
        if kind is BatchKind.REPLACE or not isinstance(log, TableLog) or group.are_in(log):
            continue
        found = next((one.name for one in group.columns if log.schema.find(one.name)), None)
        if found is not None:
            return _pause(observed, group, f"the table has a column {found!r} of its publisher")
    return None


def _pause(observed: ObservedState, group: OwnGroup, wrong: str) -> Pause:
    detail = f"{wrong}, and {group.asked_by}"
    remedy = (
        f"{group.without} for this table in mirroring.json; or have the publisher call its column "
        "something else, in a folder that is made again."
    )
    return Pause(problem_of(observed, Broken(Code.COLUMN_NAME_RESERVED, detail, remedy)))


def reserved_column(
    observed: ObservedState, file: LandedFile, groups: Iterable[OwnGroup]
) -> Pause | None:
    """A file with a column that has the name of one of ours."""
    return taken_name(observed, file.facts.schema, groups, file) if file.facts else None


def taken_name(
    observed: ObservedState,
    schema: TableSchema,
    groups: Iterable[OwnGroup],
    file: LandedFile | None = None,
) -> Pause | None:
    """A publisher's columns, of a file or of all its table, of which one has a name of ours."""
    for group in groups:
        ours = TableSchema(group.columns)
        taken = next((name for name in schema.names if ours.find(name)), None)
        if taken is not None:
            detail = f"the column {taken!r} has the name of {group.what}"
            return Pause(problem_of(observed, Broken(Code.COLUMN_NAME_RESERVED, detail), file))
    return None
