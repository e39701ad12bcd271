"""Opening an epoch: decide it, fence every other one, commit under it (ARCHITECTURE §4)."""

from __future__ import annotations

from dataclasses import replace

from openmirror.control import (
    ControlDocument,
    DecidedBatch,
    FileDigest,
    Life,
    RequestKind,
    adopted_life,
    decide,
    with_life,
)
from openmirror.layout import StorePath
from openmirror.ledger import effective
from openmirror.plan.decisions import Continue
from openmirror.plan.look import Look
from openmirror.plan.opening import continues_life_of
from openmirror.ports import CommitResult, Step, TableEngine, Transaction
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import FENCED, START, Position
from openmirror.services.documents import Documents
from openmirror.services.ledgers import read_entries
from openmirror.services.looking import Seen
from openmirror.services.parts import Parts
from openmirror.tablelog import AppId, Epoch, TableLog

_RECORDED = (CommitResult.DONE, CommitResult.SKIPPED)


def fence_others(
    parts: Parts,
    engine: TableEngine,
    table: StorePath,
    control: ControlDocument,
    opening: AppId | None,
    create: TableSchema | None,
) -> bool:
    """Close every epoch that may still have a runner somewhere, in the one log at this path.

    `opening` is the one that is about to begin; None when the table is dropped.

    False when the log was not there, changed its identity underway, or another runner was
    faster: then nothing may be committed, and the caller looks again. An epoch that never
    committed is fenced as well: its runner may be stalled just before its first commit.
    """
    log = parts.logs.read(table)
    live = [log.live[0].app_id] if isinstance(log, TableLog) and log.live else []
    identity = log.table_id if isinstance(log, TableLog) else None
    for app_id in dict.fromkeys((*control.epochs, *live)):
        if app_id == opening:
            continue
        if isinstance(log, TableLog) and log.transactions.get(app_id) == FENCED:
            continue
        if identity is None and create is None:
            return False
        schema = create if identity is None else None
        if engine.record(table, Transaction(app_id, FENCED), schema) not in _RECORDED:
            return False
        log = parts.logs.read(table)
        if not isinstance(log, TableLog) or identity not in (None, log.table_id):
            return False
        identity = log.table_id
    return True


def continue_epoch(parts: Parts, engine: TableEngine, seen: Seen, decision: Continue) -> None:
    """Go on under a new epoch at the position that the last one had just before its fence."""
    look, control = seen.look, seen.look.control
    decided = decision.digest
    if not decision.is_decided:
        if control.request and control.request.kind is RequestKind.ADOPT:
            control = with_life(control, _adopted(parts, look, decision))
        control = decide(control, decided, None, look.applied)
        control = Documents(parts.store).save_table(look.folder, control, seen.etag).value
        parts.steps(Step.DECIDED)
    if not fence_others(parts, engine, look.table, control, decided.app_id, None):
        return
    parts.steps(Step.FENCED)
    position = _position_before_fence(parts, look.table, decided)
    if position is None:
        return
    parts.steps(Step.BEFORE_COMMIT)
    engine.record(look.table, Transaction(decided.app_id, position))
    parts.steps(Step.COMMITTED)


def _adopted(parts: Parts, look: Look, decision: Continue) -> Life:
    assert isinstance(look.log, TableLog)  # only a table that is there can be adopted
    before = look.log.live or look.log.last_fenced
    there = [
        FileDigest(file.name, file.sequence, file.etag)
        for file in look.files.values()
        if not file.archived
    ]
    if look.filing.has_ledger:
        etags = {file.name: file.etag for file in look.landed}
        known = _known_before(parts, look, before)
        there = [
            replace(digest, etag=etags[digest.name]) for digest in known if digest.name in etags
        ]
    return adopted_life(look.control.life, decision.epoch, before[1] if before else START, there)


def _known_before(
    parts: Parts, look: Look, before: tuple[Epoch, Position] | None
) -> list[FileDigest]:
    """What the life before knew of its files, and its ledger if it was copied as well."""
    batches = look.control.life.batches if look.control.life else ()
    known = {digest.name: digest for batch in batches for digest in batch.files}
    if before is not None:
        entries = read_entries(parts.store, look.folder, before[0].incarnation)
        known |= effective(entries, look.filing, before[1])
    return sorted(known.values(), key=lambda digest: digest.sequence)


def _position_before_fence(
    parts: Parts, table: StorePath, decided: DecidedBatch
) -> Position | None:
    log = parts.logs.read(table)
    if not isinstance(log, TableLog):
        return None
    before = log.last_fenced
    # A replace of another life may have landed just before its fence: its rows are not ours.
    return before[1] if before and continues_life_of(decided, before[0]) else None
