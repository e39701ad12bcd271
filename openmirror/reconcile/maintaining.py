"""One step of maintenance of one table: survey, decide, write it down, act, write down the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from openmirror.errors import (
    AccessDenied,
    ConditionFailed,
    NotThere,
    Unavailable,
    is_of_one_place,
    words_of,
)
from openmirror.plan import plan
from openmirror.plan.maintaining import how_long_kept, may_maintain, removal_due
from openmirror.plan.maintenance import plan_maintenance
from openmirror.plan.maintenance_steps import (
    MaintenanceStep,
    Nothing,
    RemoveMarked,
    TableFiles,
    Vacuum,
)
from openmirror.plan.observed import ObservedState, TablePolicy
from openmirror.plan.soft_deletes import marks
from openmirror.plan.transitions.maintained import (
    Survey,
    Underway,
    began,
    broken_off,
    changed_nothing,
    ended,
    failed,
    kind_of,
    removed_marked,
    survey_failed,
    surveyed,
    with_maintenance,
)
from openmirror.ports import Absent, CommitResult, Step, TableEngine
from openmirror.progress.tables import MaintenanceFailed, TableMaintained
from openmirror.protocol.names import ETag, TableFolder
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.reads import Observation
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table.control import ControlDocument, Maintenance, StepKind
from openmirror.table.log import BrokenLog, TableLog

MOST_TRIES = 20


def survey(ports: RootPorts, observed: ObservedState) -> Survey | BrokenLog | None:
    """The table's files, and the step that is worth doing; None where there is no table.

    Costs as much as the table has files. BrokenLog where no batch would notice: what says which
    files a table has, an observation passes over. Raises ConditionFailed when the log is another
    one each time it is read.
    """
    log, policy = observed.log, observed.policy
    if not isinstance(log, TableLog) or not isinstance(policy, TablePolicy):
        return None
    try:
        found = ports.data_files.data_files(observed.table)
    except NotThere as error:  # each time: a part of a checkpoint, say
        return BrokenLog(log.path, str(error))
    if not isinstance(found, TableFiles):
        return found
    files = replace(found, clustering=log.clustering)
    kept, known = how_long_kept(observed), observed.control.maintenance or Maintenance()
    now = ports.clock()
    step = plan_maintenance(files, known, policy.maintenance, kept, now)
    return Survey(files=files, step=step, policy=policy.maintenance, kept=kept, at=now)


def maintain_table(ports: RootPorts, engine: TableEngine, folder: TableFolder) -> bool:
    """Do at most one step; returns whether the table is to be reconciled again at once.

    The caller has the table's worker and its lease. What is to be done is written into the control
    document under the ETag of the observation that it rests on: so nobody has decided a batch since
    then. Raises what an observation raises, and what `disposition_of` calls fatal.
    """
    seen = observe(ports, folder)
    observed = seen.observed
    decision = plan(observed, ports.limits, observed.at)
    if (removal := removal_due(observed, decision)) is not None:
        return _removed(ports, engine, seen, removal)
    if not may_maintain(observed, decision):
        return False
    found = survey(ports, observed)
    if found is None:
        return False
    if isinstance(found, BrokenLog):
        why, at = f"{found.path}: {found.reason}", ports.clock()
        _write_down(ports, folder, lambda known: survey_failed(known, why, at))
        ports.emit(MaintenanceFailed(folder, StepKind.SURVEY, why[:500]))
        return False
    step = found.step
    control = with_maintenance(observed.control, lambda known: surveyed(known, found))
    if not isinstance(step, Nothing):
        control = with_maintenance(control, lambda known: began(known, step, found.at))
    try:
        Documents(ports.store).save_table(folder, control, seen.etag)
    except ConditionFailed:
        return True
    if isinstance(step, Nothing):
        return False
    ports.steps(Step.MAINTAINING)
    underway = _underway(observed, control)
    return _carried_out(ports, engine, observed, step, found, underway)


def _removed(
    ports: RootPorts, engine: TableEngine, seen: Observation, removal: RemoveMarked
) -> bool:
    """Remove marked rows, without a survey: no file says how many it has."""
    now = ports.clock()
    control = with_maintenance(seen.observed.control, lambda known: began(known, removal, now))
    try:
        saved = Documents(ports.store).save_table(seen.observed.folder, control, seen.etag).etag
    except ConditionFailed:
        return True
    ports.steps(Step.MAINTAINING)
    underway = _underway(seen.observed, control)
    if _has_changed(ports, seen.observed, saved):
        _write_down(ports, seen.observed.folder, lambda known: broken_off(known, underway))
        return True
    return _carried_out(ports, engine, seen.observed, removal, None, underway)


def _has_changed(ports: RootPorts, observed: ObservedState, saved: ETag | Absent) -> bool:
    """Whether anybody has written the document since, or the table is another one.

    This step deletes rows, and no fence stops it. While its runner stalls, an operator may say that
    marked rows are to stay, or a publisher may come with a column of that name.
    """
    if Documents(ports.store).table(observed.folder).etag != saved:
        return True
    log = ports.logs.read(observed.table)
    before = observed.log
    assert isinstance(before, TableLog)  # or nothing would be due
    return not isinstance(log, TableLog) or log.live != before.live or not marks(log)


def _underway(observed: ObservedState, control: ControlDocument) -> Underway:
    """The step that `control` says has begun, and what `observed` had before."""
    before, known = observed.control.maintenance, control.maintenance
    assert known is not None
    return Underway(known.steps, before.begun if before else None)


def _carried_out(
    ports: RootPorts,
    engine: TableEngine,
    observed: ObservedState,
    step: MaintenanceStep,
    found: Survey | None,
    underway: Underway,
) -> bool:
    """`found` is the survey that the step came of, if any."""
    began_at = found.at if found else ports.clock()
    folder = observed.folder
    try:
        result = engine.maintain(observed.table, step)
    except (ConditionFailed, NotThere):
        result = CommitResult.CONFLICT
    except (Unavailable, AccessDenied):
        _write_down(ports, folder, lambda known: broken_off(known, underway))
        raise
    except Exception as error:
        if not is_of_one_place(error):
            raise
        # It stops no batch: the table stays as it is, and is maintained later.
        why = words_of(error)
        kind = kind_of(step)
        _write_down(ports, folder, lambda known: failed(known, kind, underway, why, ports.clock()))
        ports.emit(MaintenanceFailed(folder, kind, why[:500]))
        return isinstance(step, RemoveMarked)  # the files have nothing to do with it
    ports.steps(Step.MAINTAINED)
    if result is not CommitResult.DONE:
        _write_down(ports, folder, lambda known: broken_off(known, underway))
        return True
    at = ports.clock()
    if found and not isinstance(step, Vacuum) and not _has_moved(ports, observed, found):
        _write_down(ports, folder, lambda known: changed_nothing(known, found, underway, at))
        return True
    if isinstance(step, RemoveMarked):
        removal = step
        _write_down(ports, folder, lambda known: removed_marked(known, removal, underway))
    elif found is not None:
        _write_down(ports, folder, lambda known: ended(known, found, underway, at))
    ports.emit(_maintained(observed, step, found, at - began_at))
    if isinstance(step, Vacuum) and step.full:
        ports.data_files.swept(observed.table, step.through)
    return True


def _maintained(
    observed: ObservedState, step: MaintenanceStep, found: Survey | None, took: timedelta
) -> TableMaintained:
    known = observed.control.maintenance or Maintenance()
    files = surveyed(known, found).found if found else None
    return TableMaintained(
        folder=observed.folder,
        step=kind_of(step),
        files=step.files,
        bytes=step.bytes,
        duration_seconds=took.total_seconds(),
        live_files=files.files if files else None,
        live_bytes=files.bytes if files else None,
        deleted_rows=files.rows_deleted if files else None,
        dead_files=files.dead_files if files else None,
        dead_bytes=files.dead_bytes if files else None,
    )


def _has_moved(ports: RootPorts, observed: ObservedState, found: Survey) -> bool:
    log = ports.logs.read(observed.table)
    return not isinstance(log, TableLog) or log.version != found.files.version


def _write_down(
    ports: RootPorts, folder: TableFolder, change: Callable[[Maintenance], Maintenance]
) -> None:
    """What came of a step, whatever else was written meanwhile.

    A process that dies before leaves a step that has begun and not ended, as one that stalls does.
    """
    documents = Documents(ports.store)
    for _ in range(MOST_TRIES):
        stored = documents.table(folder)
        try:
            documents.save_table(folder, with_maintenance(stored.value, change), stored.etag)
        except ConditionFailed:
            continue
        return
    raise ConditionFailed(f"{folder} changed under {MOST_TRIES} tries in a row")
