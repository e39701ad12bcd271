"""What a survey, and each step of maintenance, leaves in a control document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from openmirror.plan.maintenance import dead_after, dead_since, small
from openmirror.plan.maintenance_steps import (
    UNBOUNDED,
    Compact,
    MaintenancePolicy,
    MaintenanceStep,
    Nothing,
    Purge,
    RemoveMarked,
    TableFiles,
    Vacuum,
    total_bytes,
)
from openmirror.table.control import (
    FORGOTTEN_STEP,
    ControlDocument,
    FilesFound,
    Maintenance,
    MaintenanceAsked,
    StepBegun,
    StepDone,
    StepFailed,
    StepKind,
)


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The files of a table, and what came of them."""

    files: TableFiles
    step: MaintenanceStep | Nothing
    policy: MaintenancePolicy
    kept: timedelta | None
    at: datetime


def with_maintenance(
    control: ControlDocument, change: Callable[[Maintenance], Maintenance]
) -> ControlDocument:
    """The document with what a survey or a step leaves of its maintenance."""
    return replace(control, maintenance=change(control.maintenance or Maintenance()))


def kind_of(step: MaintenanceStep) -> StepKind:
    """How control documents and events call it."""
    match step:
        case Compact():
            return StepKind.COMPACT
        case Purge():
            return StepKind.PURGE
        case Vacuum():
            return StepKind.VACUUM
        case RemoveMarked():
            return StepKind.REMOVE_MARKED


def surveyed(known: Maintenance, survey: Survey) -> Maintenance:
    """With a copy of what was found. Where nothing is to be done, the request is fulfilled."""
    files, step = survey.files, survey.step
    if known.failed and known.failed.kind is StepKind.SURVEY:
        known = replace(known, failed=None)
    after = known.vacuumed_through
    dead = [file for file in files.dead if after is None or file.removed_at >= after]
    found = FilesFound(
        at=survey.at,
        version=files.version,
        files=len(files.live),
        bytes=files.bytes,
        small_files=len(small(files, survey.policy)),
        rows_deleted=sum(file.deleted for file in files.live),
        dead_files=len(dead),
        dead_bytes=total_bytes(dead),
        due=None if isinstance(step, Nothing) else kind_of(step),
        remark=step.remark if isinstance(step, Nothing) else "",
    )
    since = known.dead_since
    if survey.kept is not None:
        since = dead_since(files, known, survey.kept, survey.at)
    asked = None if isinstance(step, Nothing) else known.asked
    # The time to the first sweep begins with the first survey.
    swept = known.swept_at or survey.at
    return replace(known, found=found, again=False, dead_since=since, asked=asked, swept_at=swept)


def with_compaction_unknown(known: Maintenance, at: datetime) -> Maintenance:
    """Of a document that has forgotten what had begun: a compaction may be stalled, and land.

    No runner has its number, so none ends it.
    """
    begun = StepBegun(kind=StepKind.COMPACT, at=at, bound=UNBOUNDED, number=FORGOTTEN_STEP)
    return replace(known, begun=begun)


def began(known: Maintenance, step: MaintenanceStep, at: datetime) -> Maintenance:
    """With a step that is about to be done.

    What an earlier compaction was that never ended is kept: it may be stalled, and land.
    """
    bound = max(step.bound, known.begun.bound if known.begun else 0)
    number = known.steps + 1
    begun = StepBegun(kind=kind_of(step), at=at, bound=bound, number=number)
    return replace(known, steps=number, begun=begun)


@dataclass(frozen=True)
class Underway:
    """A step that a runner has begun."""

    number: int
    before: StepBegun | None
    """What had begun before it, and had not ended."""


def ended(known: Maintenance, survey: Survey, underway: Underway, at: datetime) -> Maintenance:
    """With a step that ended well; the files are to be surveyed again."""
    step = survey.step
    assert not isinstance(step, Nothing)
    done = StepDone(
        at=at,
        seconds=round((at - survey.at).total_seconds(), 3),
        files=step.files,
        bytes=step.bytes,
    )
    after = replace(known, again=True, failed=None)
    if not isinstance(step, Vacuum):
        left = _still_begun(step, underway.before)
        return replace(after, compacted=done, begun=_begun_after(known, underway, left))
    assert survey.kept is not None
    is_asked_for = step.full and known.asked is not None and known.asked.full
    left = None if is_asked_for else _still_begun(step, underway.before)
    asked = replace(known.asked, full=False) if known.asked and step.full else known.asked
    return replace(
        after,
        begun=_begun_after(known, underway, left),
        vacuumed=done,
        asked=asked,
        vacuumed_through=step.through,
        dead_since=dead_after(step, survey.files, survey.kept, survey.at),
        swept_at=at if step.full else known.swept_at,
    )


def removed_marked(known: Maintenance, step: RemoveMarked, underway: Underway) -> Maintenance:
    """With marked rows that are gone; an earlier step that has not ended is as it was."""
    left = _begun_after(known, underway, underway.before)
    return replace(known, again=True, removed_through=step.before, failed_removal=None, begun=left)


def broken_off(known: Maintenance, underway: Underway) -> Maintenance:
    """With a step that lost to another commit: nothing of it landed, or can."""
    return replace(known, begun=_begun_after(known, underway, underway.before))


def changed_nothing(
    known: Maintenance, survey: Survey, underway: Underway, at: datetime
) -> Maintenance:
    """With a compaction that Delta found no work for: as one that left what it was to put together.

    An earlier one that has not ended may still land.
    """
    begun = broken_off(known, underway).begun
    return replace(ended(known, survey, underway, at), begun=begun)


def failed(
    known: Maintenance, kind: StepKind, underway: Underway, error: str, at: datetime
) -> Maintenance:
    """With a step of a kind that ended in an error."""
    known = replace(known, begun=_begun_after(known, underway, underway.before))
    if kind is StepKind.REMOVE_MARKED:
        return replace(known, failed_removal=_once_more(known.failed_removal, kind, error, at))
    return replace(known, failed=_once_more(known.failed, kind, error, at))


def survey_failed(known: Maintenance, error: str, at: datetime) -> Maintenance:
    """With files that could not be read: no step has begun.

    Steps that failed before it did not do so because of that.
    """
    kind = known.failed.kind if known.failed else StepKind.SURVEY
    return replace(known, failed=_once_more(known.failed, kind, error, at))


def _once_more(
    before: StepFailed | None, kind: StepKind | None, error: str, at: datetime
) -> StepFailed:
    count = before.count + 1 if before else 1
    return StepFailed(count=count, at=at, error=error[:500], kind=kind)


def asked_for(known: Maintenance | None, at: datetime, by: str, *, full: bool) -> Maintenance:
    """With an operator's request, in place of an earlier one."""
    asked = MaintenanceAsked(at=at, by=by, full=full)
    return replace(known or Maintenance(), asked=asked, failed=None, failed_removal=None)


def _begun_after(
    known: Maintenance, underway: Underway, left: StepBegun | None
) -> StepBegun | None:
    """What has begun and not ended once this step has: `left` of what was before it.

    Another runner may have begun a step meanwhile; it carries the bound of this one.
    """
    is_last = known.begun is not None and known.begun.number == underway.number
    return left if is_last else known.begun


def _still_begun(step: MaintenanceStep, before: StepBegun | None) -> StepBegun | None:
    """An earlier compaction that may still land, after this step.

    It cannot once a later one has taken all files below its bound: of any two of them at least one
    is gone then, and Delta refuses a compaction of which a file is gone.
    """
    if before is None or not before.bound:
        return None
    is_covered = isinstance(step, Compact) and before.bound <= step.bound < UNBOUNDED
    return None if is_covered else before
