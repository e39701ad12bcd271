"""Opening an epoch: decide it, fence every other one, commit under it (ARCHITECTURE §4)."""

from __future__ import annotations

from openmirror.control import ControlDocument, DecidedBatch, RequestKind
from openmirror.layout import StorePath
from openmirror.ledger import LedgerEntry
from openmirror.plan.decisions import Continue
from openmirror.plan.look import Look
from openmirror.plan.opening import continues_life_of
from openmirror.plan.transitions.adopted import adopted, before_adoption
from openmirror.plan.transitions.decided import decide
from openmirror.ports import CommitResult, Step, TableEngine, Transaction
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import FENCED, Position
from openmirror.services.documents import Documents
from openmirror.services.ledgers import read_entries
from openmirror.services.looking import Seen
from openmirror.services.parts import Parts
from openmirror.tablelog import AppId, TableLog


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
        if engine.record(table, Transaction(app_id, FENCED), schema) is not CommitResult.DONE:
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
        if control.asks_for(RequestKind.ADOPT):
            control = adopted(look, decision.epoch, _entries_before(parts, look))
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


def _entries_before(parts: Parts, look: Look) -> list[LedgerEntry]:
    """The ledger of the life that an adoption goes on from, if it was copied as well."""
    before = before_adoption(look)
    if before is None or not look.filing.has_ledger:
        return []
    return read_entries(parts.store, look.folder, before[0].incarnation)


def _position_before_fence(
    parts: Parts, table: StorePath, decided: DecidedBatch
) -> Position | None:
    log = parts.logs.read(table)
    if not isinstance(log, TableLog):
        return None
    before = log.last_fenced
    # A replace of another life may have landed just before its fence: its rows are not ours.
    return before[1] if before and continues_life_of(decided, before[0]) else None
