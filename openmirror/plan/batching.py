"""Making a batch: the one that was decided, or the longest run of good files."""

from __future__ import annotations

from datetime import datetime

from openmirror.control import BatchKind, DecidedBatch, Pinned
from openmirror.plan.cut import check_file, cut_batch, merge_file
from openmirror.plan.decisions import (
    Apply,
    Batch,
    Decision,
    Idle,
    Pause,
    Reset,
    Stop,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import TableFeatures, features_of, features_of_new
from openmirror.plan.look import Limits, Look, TablePolicy
from openmirror.plan.opening import Opening
from openmirror.protocol.rules import Broken
from openmirror.protocol.schema import SchemaUnion, TableSchema, union_schema
from openmirror.protocol.sequence import START, Position, next_sequence, position_after
from openmirror.tablelog import TableLog


def first_batch(
    look: Look, opening: Opening, rules: Pinned, limits: Limits, now: datetime
) -> Decision:
    """The batch that opens a table, or replaces it."""
    batch = _batch(look, opening, rules, START, TableSchema(), limits, now)
    if not isinstance(batch, Batch):
        return batch
    if not batch.union.schema.columns:
        since = min(file.modified for file in batch.files)
        return Wait(
            Waiting(kind=WaitKind.SCHEMA, since=since, detail="no file has a typed column yet")
        )
    return Reset(batch)


def next_batch(
    look: Look, opening: Opening, rules: Pinned, limits: Limits, now: datetime
) -> Decision:
    """The batch that comes next in the live epoch."""
    assert isinstance(look.log, TableLog)
    batch = _batch(look, opening, rules, look.applied, look.log.schema, limits, now)
    return Apply(batch) if isinstance(batch, Batch) else batch


def _batch(
    look: Look,
    opening: Opening,
    rules: Pinned,
    after: Position,
    table: TableSchema,
    limits: Limits,
    now: datetime,
) -> Batch | Stop | Idle:
    if opening.decided:
        exact = _as_decided(look, opening.decided, rules, table, limits, now)
        if not isinstance(exact, tuple):
            return exact
        files, union = exact
        first, last = opening.decided.first, opening.decided.last
    else:
        cut = cut_batch(look, rules, after, table, limits, now)
        if not cut.files:
            return cut.stop or Idle()
        files, union = cut.files, cut.union
        first, last = next_sequence(after), position_after(files[-1].sequence)
    assert isinstance(look.policy, TablePolicy)  # table_rules has refused anything else
    return Batch(
        folder=look.folder,
        table=look.table,
        kind=opening.kind,
        epoch=opening.epoch,
        first=first,
        last=last,
        files=files,
        pinned=rules,
        union=union,
        policy=look.policy,
        features=_features(look, opening, union),
        applied=look.applied,
        may_create=look.log is None and look.aside is None,
        is_decided=opening.decided is not None,
        again_through=look.ledger.again_through,
    )


def _features(look: Look, opening: Opening, union: SchemaUnion) -> TableFeatures:
    assert isinstance(look.policy, TablePolicy)
    if opening.kind is BatchKind.REPLACE or not isinstance(look.log, TableLog):
        return features_of_new(look.policy, union.schema)
    return features_of(look.policy, union, look.log)


def _as_decided(
    look: Look,
    decided: DecidedBatch,
    rules: Pinned,
    table: TableSchema,
    limits: Limits,
    now: datetime,
) -> tuple[tuple[LandedFile, ...], SchemaUnion] | Stop:
    files = tuple(look.files[digest.sequence] for digest in decided.files)
    schema = table
    for file in files:
        if stop := check_file(look, file, rules, limits, now):
            return stop
        merged = merge_file(look, schema, file)
        if isinstance(merged, Pause):
            return merged
        schema = merged
    union = union_schema(table, schema)
    assert not isinstance(union, Broken)  # schema was merged from table step by step
    return files, union
