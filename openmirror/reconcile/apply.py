"""Applying one batch: read, check, decide, commit once (ARCHITECTURE §3)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from openmirror.errors import NotThere, Problem
from openmirror.plan import Batch, ObservedState
from openmirror.plan.facts import LandedFile
from openmirror.plan.history import is_wanted
from openmirror.plan.rules import problem_of
from openmirror.plan.transitions.decided import decide
from openmirror.ports import (
    BadFile,
    CommitResult,
    Counts,
    Prepared,
    Step,
    TableEngine,
    Transaction,
)
from openmirror.ports.telemetry.table_operation import commit_of, identity
from openmirror.progress.tables import BatchCommitted
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.names import ETag
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.checksums import checksums_of
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.epochs import fence_others
from openmirror.reconcile.laps import Laps
from openmirror.reconcile.ledger_files import write_entry
from openmirror.reconcile.reads import Observation
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout, user_metadata
from openmirror.table.control import BatchKind, Begun, ControlDocument
from openmirror.table.layout import StorePath
from openmirror.table.log import BatchRecord, TableLog, Totals
from openmirror.table.phases import Phase

_ASKED_FOR_ONE_BY_ONE = 4
"""Files of a batch: more than so many are cheaper to list, with all that lies beside them."""


def apply_batch(
    ports: RootPorts, engine: TableEngine, seen: Observation, batch: Batch, laps: Laps
) -> Problem | None:
    """Apply a planned batch, or return the problem that its data has.

    Whatever happens underway, the caller observes the table again. `laps` has what it took to plan
    the batch, and goes on from there. Raises ConditionFailed when another runner decided first, and
    whatever the engine raises for a failed read or commit.
    """
    laps.end(Phase.PLAN)
    started = ports.clock()
    read = engine.read(batch)
    if isinstance(read, BadFile):
        if read.broken.code is Code.NO_ROW_TO_UPDATE and _is_committed(ports, batch):
            return None  # by another runner, meanwhile: what the rows were updated to may be gone
        file = next(file for file in batch.files if file.name == read.name)
        return problem_of(seen.observed, read.broken, file)
    try:
        laps.end(Phase.READ, within=read.phases)
        ports.steps(Step.FOLDED)
        # Under the ETags that were planned, so of what was read: the next line makes sure of that.
        checksums = {} if batch.is_decided else checksums_of(ports, batch, read.checksums)
        laps.end(Phase.READ)
        if is_as_planned(ports, batch):
            ports.steps(Step.CHECKED)
            laps.end(Phase.LIST)
            _decide_and_commit(ports, engine, seen, batch, read, checksums, started, laps)
    finally:
        read.release()
    return None


def _is_committed(ports: RootPorts, batch: Batch) -> bool:
    log = ports.logs.read(batch.table)
    live = log.live if isinstance(log, TableLog) else None
    return live is not None and live[0] == batch.epoch and live[1] >= batch.last


def is_as_planned(ports: RootPorts, batch: Batch) -> bool:
    """Whether what was read is what was planned: same incarnation of the folder, same ETags.

    A few files are asked for one by one: a folder may hold ten thousand others.
    """
    landing = layout.table_folder(batch.folder)
    try:
        if len(batch.files) <= _ASKED_FOR_ONE_BY_ONE:
            found = {file.path: _etag_of(ports, file) for file in batch.files}
        else:
            found = _listed(ports, batch)
    except NotThere:
        return False
    same = all(found.get(file.path) == file.etag for file in batch.files)
    return same and ports.store.incarnation(landing) == batch.epoch.incarnation


def _etag_of(ports: RootPorts, file: LandedFile) -> ETag:
    return ports.store.read(file.path, 0, 0).etag


def _listed(ports: RootPorts, batch: Batch) -> dict[StorePath, ETag]:
    found = {}
    for folder in dict.fromkeys(layout.folder_of(file.path) for file in batch.files):
        for entry in ports.store.list_folder(folder).entries:
            found[layout.join(folder, entry.name)] = entry.etag
    return found


def _decide_and_commit(
    ports: RootPorts,
    engine: TableEngine,
    seen: Observation,
    batch: Batch,
    prepared: Prepared,
    checksums: Mapping[Sequence, Checksum],
    started: datetime,
    laps: Laps,
) -> None:
    control = seen.observed.control
    if not batch.is_decided:
        now = ports.clock()
        begins = batch.begins
        control = decide(
            control,
            replace(batch.manifest.with_checksums(checksums), at=now),
            batch.frozen,
            batch.applied,
            batch.reread_through,
            prepared.counts.first_truncated,
            Begun(now, begins.position, begins.why) if begins else None,
            with_history=is_wanted(batch.policy) and bool(batch.frozen.key_columns),
        )
        control = Documents(ports.store).save_table(batch.folder, control, seen.etag).value
        ports.steps(Step.DECIDED)
    assert control.decided is not None  # just now, or by whoever decided this batch before
    batch = batch.as_of(control.decided)
    write_entry(ports.store, batch, control.decided)
    ports.steps(Step.WRITTEN_DOWN)
    laps.end(Phase.PLAN)
    if batch.kind is BatchKind.REPLACE:
        create = batch.union.schema if batch.may_create else None
        own = batch.epoch.app_id
        others = any(app_id != own for app_id in control.epochs)
        if (others or not batch.may_create) and not fence_others(
            ports, engine, batch.table, control, own, create
        ):
            return
        ports.steps(Step.FENCED)
        laps.end(Phase.COMMIT)
    batch_record = _batch_record(seen.observed, control, batch, prepared.counts, started, laps)
    ports.steps(Step.BEFORE_COMMIT)
    if not _may_alter(ports, batch):
        return
    transaction = Transaction(batch.epoch.app_id, batch.last)
    result = engine.commit(batch, prepared, transaction, user_metadata.encode(batch_record))
    ports.steps(Step.COMMITTED)
    laps.end(Phase.COMMIT)
    log = ports.logs.read(batch.table) if result is CommitResult.DONE else None
    # Delta skips a repeated transaction in silence: only the log shows whose commit it has.
    if (
        isinstance(log, TableLog)
        and log.batch_record
        and log.batch_record.operation == batch_record.operation
    ):
        _report(ports, batch, batch_record, started, laps)


def _may_alter(ports: RootPorts, batch: Batch) -> bool:
    """Whether the table still belongs to this epoch, if the batch alters it before the commit.

    Properties and types are altered without a transaction, so nothing else would keep them from a
    table that was re-created since it was observed.
    """
    if batch.kind is not BatchKind.EXTEND or not (batch.features.is_due or batch.union.widened):
        return True
    log = ports.logs.read(batch.table)
    live = log.live if isinstance(log, TableLog) else None
    return live is not None and live[0] == batch.epoch


def _batch_record(
    observed: ObservedState,
    control: ControlDocument,
    batch: Batch,
    counts: Counts,
    started: datetime,
    laps: Laps,
) -> BatchRecord:
    extends = batch.kind is BatchKind.EXTEND
    before = Totals()
    if extends:
        written = (
            observed.log.batch_record.totals
            if isinstance(observed.log, TableLog) and observed.log.batch_record
            else None
        )
        before = written or (control.applied.totals if control.applied else Totals())
    return BatchRecord(
        operation=uuid.uuid4().hex,
        folder=str(batch.folder),
        kind=batch.kind.value,
        first=batch.first,
        last=batch.last,
        files=len(batch.files),
        rows={"inserts": counts.inserts, "updates": counts.updates, "deletes": counts.deletes},
        bytes=batch.bytes,
        totals=Totals(before.operations + counts.operations, before.bytes + batch.bytes),
        landed_at=min((file.modified for file in batch.files), default=None),
        app_id=batch.epoch.app_id,
        started_at=started,
        schema_changed=extends and bool(batch.union.added or batch.union.widened),
        begun_at=laps.begun_at,
        phases=laps.phases,
    )


def _report(
    ports: RootPorts, batch: Batch, batch_record: BatchRecord, started: datetime, laps: Laps
) -> None:
    now = ports.clock()
    done = replace(batch_record, committed_at=now)
    took = laps.phases
    ports.emit(
        BatchCommitted(
            folder=batch.folder,
            kind=batch.kind,
            first=batch.first,
            last=batch.last,
            files=len(batch.files),
            inserts=batch_record.rows["inserts"],
            updates=batch_record.rows["updates"],
            deletes=batch_record.rows["deletes"],
            bytes=batch.bytes,
            duration_seconds=(now - started).total_seconds(),
            lag_seconds=done.lag_seconds,
            wait_seconds=done.wait_seconds,
            list_seconds=took[Phase.LIST],
            inspect_seconds=took[Phase.INSPECT],
            plan_seconds=took[Phase.PLAN],
            read_seconds=took[Phase.READ],
            fold_seconds=took[Phase.FOLD],
            commit_seconds=took[Phase.COMMIT],
            operation_id=identity(
                commit_of(batch.kind), batch.folder, batch.epoch.app_id, batch.first, batch.last
            ),
        )
    )
