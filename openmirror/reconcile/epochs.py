"""Opening an epoch: decide it, fence every other one, commit under it (ARCHITECTURE §4)."""

from __future__ import annotations

from openmirror.plan.decisions import Continue
from openmirror.plan.observed import ObservedState
from openmirror.plan.opening import continues_incarnation_of, with_known_position
from openmirror.plan.transitions.adopted import adopted, before_adoption
from openmirror.plan.transitions.decided import decide
from openmirror.ports import CommitResult, Step, TableEngine, Transaction
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import FENCED, Position
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.reads import Observation
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table.control import ControlDocument, DecidedBatch, RequestKind
from openmirror.table.layout import StorePath
from openmirror.table.ledger import LedgerEntry
from openmirror.table.log import AppId, TableLog


def fence_others(
    ports: RootPorts,
    engine: TableEngine,
    table: StorePath,
    control: ControlDocument,
    opening: AppId | None,
    create: TableSchema | None,
) -> bool:
    """Fence every epoch that may still have a runner somewhere, in the one log at this path.

    `opening` is the epoch that is about to begin; None when the table is dropped. `create` is the
    schema to create a missing table with; None where a missing table is no table of ours.

    False when the log was not there, changed its identity meanwhile, or another runner was
    faster: then nothing may be committed, and the caller observes the table again. An epoch that
    never committed is fenced as well: its runner may be stalled just before its first commit.
    """
    log = ports.logs.read(table)
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
        result = engine.commit_without_rows(table, Transaction(app_id, FENCED), schema)
        if result is not CommitResult.DONE:
            return False
        log = ports.logs.read(table)
        if not isinstance(log, TableLog) or identity not in (None, log.table_id):
            return False
        identity = log.table_id
    return True


def continue_epoch(
    ports: RootPorts, engine: TableEngine, seen: Observation, decision: Continue
) -> None:
    """Go on under a new epoch at the position that the last one had just before its fence."""
    observed, control = seen.observed, seen.observed.control
    decided = decision.manifest
    if not decision.is_decided:
        if control.asks_for(RequestKind.ADOPT):
            control = adopted(observed, decision.epoch, _entries_before(ports, observed))
        control = decide(control, decided, None, observed.applied)
        control = Documents(ports.store).save_table(observed.folder, control, seen.etag).value
        ports.steps(Step.DECIDED)
    if not fence_others(ports, engine, observed.table, control, decided.app_id, None):
        return
    ports.steps(Step.FENCED)
    position = _position_before_fence(ports, observed.table, control, decided)
    if position is None:
        return
    ports.steps(Step.BEFORE_COMMIT)
    engine.commit_without_rows(observed.table, Transaction(decided.app_id, position))
    ports.steps(Step.COMMITTED)


def _entries_before(ports: RootPorts, observed: ObservedState) -> list[LedgerEntry]:
    """The ledger of the incarnation that an adoption continues, if it was copied as well."""
    before = before_adoption(observed)
    if before is None or not observed.naming.has_ledger:
        return []
    return read_entries(ports.store, observed.folder, before[0].incarnation)


def _position_before_fence(
    ports: RootPorts, table: StorePath, control: ControlDocument, decided: DecidedBatch
) -> Position | None:
    log = ports.logs.read(table)
    if not isinstance(log, TableLog):
        return None
    before = with_known_position(log, control).last_fenced
    # A replace of another incarnation may have landed just before its fence: not our rows.
    return before[1] if before and continues_incarnation_of(decided, before[0]) else None
