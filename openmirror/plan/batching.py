"""Making a batch: the one that was decided, or the longest run of good files."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from openmirror.plan.beginning import beginning_of
from openmirror.plan.cut import adapted, check_file, cut_batch, merge_file
from openmirror.plan.decisions import (
    Apply,
    Batch,
    Beginning,
    Decision,
    Idle,
    Pause,
    Replace,
    Stop,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures, features_of, features_of_new
from openmirror.plan.history import NEW_HISTORY, VERSIONS, rows_of_current
from openmirror.plan.observed import Limits, ObservedState, TablePolicy
from openmirror.plan.opening import Opening
from openmirror.plan.own_columns import OwnColumns, own_columns
from openmirror.plan.own_group import (
    foreign_column,
    reserved_column,
    taken_name,
    with_columns,
    with_properties,
)
from openmirror.plan.rules import problem_of
from openmirror.plan.soft_deletes import wrong_time_column
from openmirror.plan.times import counted_from
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import SchemaUnion, TableSchema, union_schema
from openmirror.protocol.sequence import START, Position, next_sequence, position_after
from openmirror.table.control import BatchKind, DecidedBatch, FrozenOptions
from openmirror.table.log import TableLog


def first_batch(
    observed: ObservedState, opening: Opening, rules: FrozenOptions, limits: Limits, now: datetime
) -> Decision:
    """The batch that opens a table, or replaces it."""
    before = TableSchema()
    if observed.folder.is_history:
        begins = None if opening.decided else beginning_of(observed)
        if begins is not None:
            return _begun(observed, opening, rules, begins)
        # What it has of earlier incarnations stays.
        before = observed.log.schema if isinstance(observed.log, TableLog) else before
    batch = _batch(observed, opening, rules, START, before, limits, now)
    if not isinstance(batch, Batch):
        return batch
    if not batch.union.schema.columns:
        since = min(counted_from(observed, file) for file in batch.files)
        return Wait(
            Waiting(kind=WaitKind.SCHEMA, since=since, detail="no file has a typed column yet")
        )
    return Replace(batch)


def _begun(
    observed: ObservedState, opening: Opening, rules: FrozenOptions, begins: Beginning
) -> Decision:
    """The batch without files by which a history begins with the rows of its current table."""
    current = observed.current.log if observed.current else None
    assert isinstance(current, TableLog)
    assert isinstance(observed.policy, TablePolicy)
    before = observed.log.schema if isinstance(observed.log, TableLog) else TableSchema()
    own = own_columns(observed, rules, opening.kind)
    rows = rows_of_current(current.schema, begins)
    if taken := taken_name(observed, rows, own.groups):
        return taken
    union = union_schema(before, rows)
    if not isinstance(union, Broken):
        union = union_schema(before, with_columns(union.schema, (VERSIONS,)))
    if isinstance(union, Broken):
        return Pause(problem_of(observed, replace(union, remedy=NEW_HISTORY)))
    return Replace(
        Batch(
            folder=observed.folder,
            table=observed.table,
            kind=opening.kind,
            epoch=opening.epoch,
            first=next_sequence(START),
            last=begins.position,
            files=(),
            frozen=rules,
            union=union,
            policy=observed.policy,
            features=_features(observed, opening, union, own),
            applied=observed.applied,
            may_create=observed.log is None,
            begins=begins,
        )
    )


def next_batch(
    observed: ObservedState, opening: Opening, rules: FrozenOptions, limits: Limits, now: datetime
) -> Decision:
    """The batch that comes next in the live epoch."""
    assert isinstance(observed.log, TableLog)
    batch = _batch(observed, opening, rules, observed.applied, observed.log.schema, limits, now)
    return Apply(batch) if isinstance(batch, Batch) else batch


def _batch(
    observed: ObservedState,
    opening: Opening,
    rules: FrozenOptions,
    after: Position,
    table: TableSchema,
    limits: Limits,
    now: datetime,
) -> Batch | Stop | Idle:
    own = own_columns(observed, rules, opening.kind)
    if foreign := foreign_column(observed, own.groups, rules, opening.kind):
        return foreign
    table = own.deletes.before(table)
    leaves_more = False
    if opening.decided:
        exact = _as_decided(observed, opening.decided, rules, table, limits, now, own)
        if not isinstance(exact, tuple):
            return exact
        files, union = exact
        first, last = opening.decided.first, opening.decided.last
    else:
        cut = cut_batch(observed, rules, after, table, limits, now, own)
        if not cut.files:
            return cut.stop or Idle()
        files, union, leaves_more = cut.files, cut.union, cut.leaves_more
        first, last = next_sequence(after), position_after(files[-1].sequence)
    assert isinstance(observed.policy, TablePolicy)  # table_rules has refused anything else
    return Batch(
        folder=observed.folder,
        table=observed.table,
        kind=opening.kind,
        epoch=opening.epoch,
        first=first,
        last=last,
        files=files,
        frozen=rules,
        union=union,
        policy=observed.policy,
        features=_features(observed, opening, union, own),
        applied=observed.applied,
        may_create=observed.log is None and observed.retained is None,
        is_decided=opening.decided is not None,
        reread_through=observed.ledger.reread_through,
        soft=own.deletes.soft,
        hardens=own.deletes.hardens,
        lineage=own.lineage,
        leaves_more=leaves_more,
    )


def _features(
    observed: ObservedState, opening: Opening, union: SchemaUnion, own: OwnColumns
) -> TableFeatures:
    policy, log = observed.policy, observed.log
    assert isinstance(policy, TablePolicy)
    if opening.kind is BatchKind.REPLACE or not isinstance(log, TableLog):
        return with_properties(features_of_new(policy, union.schema), own.groups, None)
    known = observed.control.maintenance
    live_bytes = known.found.bytes if known and known.found else 0
    return with_properties(features_of(policy, union, log, live_bytes), own.groups, log)


def _as_decided(
    observed: ObservedState,
    decided: DecidedBatch,
    rules: FrozenOptions,
    table: TableSchema,
    limits: Limits,
    now: datetime,
    own: OwnColumns,
) -> tuple[tuple[LandedFile, ...], SchemaUnion] | Stop:
    files = tuple(observed.files[manifest.sequence] for manifest in decided.files)
    schema = table
    taken: list[LandedFile] = []
    for found in files:
        stop = check_file(observed, found, rules, limits, now)
        if stop := stop or reserved_column(observed, found, own.groups):
            return stop
        file = adapted(observed, rules, schema, found)
        merged = merge_file(observed, schema, file)
        if isinstance(merged, Pause):
            return merged
        if wrong := wrong_time_column(observed, file, merged, own.deletes):
            return wrong
        schema = own.after(merged)
        taken.append(file)
    union = union_schema(table, schema)
    assert not isinstance(union, Broken)  # schema was merged from table step by step
    return tuple(taken), union
