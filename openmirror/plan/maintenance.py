"""One step of maintenance at a time: from a table's files and a policy to what is worth doing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from math import ceil

from openmirror.plan.maintenance_steps import (
    MIB,
    Compact,
    LiveFile,
    MaintenancePolicy,
    MaintenanceStep,
    Nothing,
    Purge,
    TableFiles,
    Vacuum,
    full_cube,
)
from openmirror.table.control import FORGOTTEN_STEP, Maintenance, StepBegun, StepKind

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_SWEEP = timedelta(days=30)
"""How often files that no version of the log names are deleted: what killed writers left."""


def plan_maintenance(
    files: TableFiles,
    known: Maintenance,
    policy: MaintenancePolicy,
    kept: timedelta | None,
    now: datetime,
) -> MaintenanceStep | Nothing:
    """The next step that is worth doing, or none.

    `kept` is how long the table keeps removed files, None where that cannot be read. An operator
    who asked gets what is smaller than the bounds, too.
    """
    asked = known.asked is not None
    vacuum = _vacuum(files, known, policy, kept, now)
    if isinstance(vacuum, Vacuum) and _has_the_turn(known):
        return vacuum
    step = (
        _clustering(files, policy, asked) if files.clustering else _compaction(files, policy, asked)
    )
    if isinstance(step, (Compact, Purge)):
        if not _is_as_before(step, known):
            return step
        # However that comes: it would be done for ever.
        step = Nothing(remark="a compaction left the files that it was to put together")
    return vacuum if isinstance(vacuum, Vacuum) or not step.remark else step


def _has_the_turn(known: Maintenance) -> bool:
    """Whether VACUUM comes before a compaction, as the last step was one: a table that always has
    small files would never have its dead ones deleted."""
    compacted, vacuumed, failed = known.compacted, known.vacuumed, known.failed
    if failed is not None and failed.kind is not StepKind.VACUUM:
        return True  # or no file is ever deleted while one cannot be read
    return known.again and bool(compacted and (not vacuumed or vacuumed.at < compacted.at))


def _is_as_before(step: Compact | Purge, known: Maintenance) -> bool:
    done = known.compacted
    return known.again and done is not None and (done.files, done.bytes) == (step.files, step.bytes)


def dead_since(
    files: TableFiles, known: Maintenance, kept: timedelta, now: datetime
) -> datetime | None:
    """Before when no file was removed that is not deleted yet; None when there is no such file.

    A checkpoint names removed files only for as long as they are kept; so what is known stays
    known, and of a log that is older than that something is taken to be dead.
    """
    after = known.vacuumed_through
    seen = (file.removed_at for file in files.dead if after is None or file.removed_at >= after)
    oldest = min(seen, default=None)
    before = known.dead_since
    if after is None and before is None and files.since and files.since < now - kept:
        before = files.since
    found = known.found
    if before is None and found and found.at < now - kept and found.version < files.version:
        before = found.at  # what left the table right behind the last survey is named no more
    return min(filter(None, (oldest, before)), default=None)


def dead_after(
    vacuum: Vacuum, files: TableFiles, kept: timedelta, now: datetime
) -> datetime | None:
    """`dead_since` once this VACUUM is done."""
    if vacuum.through < now - kept - _HOUR:
        return vacuum.through  # what the log no longer names may lie between
    left = (file.removed_at for file in files.dead if file.removed_at >= vacuum.through)
    return min(left, default=None)


def small(files: TableFiles, policy: MaintenancePolicy) -> list[LiveFile]:
    """Files that are small, the smallest first: two of them are no more than one step takes."""
    return sorted(
        file
        for file in files.live
        if file.size < policy.small_bytes and 2 * file.rows <= policy.step_rows
    )


def _compaction(
    files: TableFiles, policy: MaintenancePolicy, asked: bool
) -> Compact | Purge | Nothing:
    together = _together(files, policy, asked)
    marked = [file for file in files.live if file.deleted]
    worst = [file for file in marked if asked or file.share > policy.deleted_rows]
    if together is not None:
        # A table that always has small files would never have its deleted rows purged.
        freed = sum(file.size * file.share for file in worst if file.size >= together.below)
        if freed <= together.bytes:
            return together
    if not worst:
        return Nothing()
    size, rows = sum(file.size for file in marked), sum(file.rows for file in marked)
    if len(marked) == 1 or (size <= policy.step_bytes and rows <= policy.step_rows):
        return Purge(files=len(marked), bytes=size, written=policy.written_bytes)
    return _worst_first(marked, policy)


def _together(files: TableFiles, policy: MaintenancePolicy, asked: bool) -> Compact | None:
    """The small files that are worth being one."""
    found = small(files, policy)
    sizes = [file.size for file in found]
    count = _worth_together(sizes, policy.step_bytes)
    if count <= (1 if asked else policy.small_files):
        return None
    count = _within(found[:count], policy.step_rows)
    return Compact(
        below=sizes[count - 1] + 1,
        written=policy.written_bytes,
        files=count,
        bytes=sum(sizes[:count]),
    )


def _worth_together(sizes: Sequence[int], most: int) -> int:
    """How many of these files, the smallest first, are worth being one.

    The largest of them is no larger than all others together: so the bytes of a table that grows
    are not written again and again, but as often as it doubles. Equal ones are taken together,
    because OPTIMIZE cannot be given one of two.
    """
    best = 0
    for count, total in enumerate(accumulate(sizes), start=1):
        if total > most and best > 1:
            break
        ends = count == len(sizes) or sizes[count] > sizes[count - 1]
        if ends and (2 * sizes[count - 1] <= total or sizes[count - 1] <= MIB):
            best = count
    return best


def _within(files: Sequence[LiveFile], most: int) -> int:
    """How many of these files have at most so many rows together; two at least, and with one of a
    size all others of that size. OPTIMIZE chooses by size alone, and so takes more where files of
    one table differ much in rows a byte."""
    ends = [
        (count, rows)
        for count, rows in enumerate(accumulate(file.rows for file in files), start=1)
        if count > 1 and (count == len(files) or files[count].size > files[count - 1].size)
    ]
    return max((count for count, rows in ends if rows <= most), default=ends[0][0])


def _worst_first(marked: Sequence[LiveFile], policy: MaintenancePolicy) -> Compact:
    """As many of the files with the largest shares as one step takes, and two at least."""
    files = sorted(marked, key=lambda file: file.share, reverse=True)
    totals, rows = accumulate(f.size for f in files), accumulate(f.rows for f in files)
    fits = (
        s <= policy.step_bytes and r <= policy.step_rows for s, r in zip(totals, rows, strict=True)
    )
    count = max(2, sum(fits))
    share = files[count].share if count < len(files) else 0.0
    taken = [file for file in files if file.share > share]
    if len(taken) < 2:
        # Of files with the same share it takes all or none.
        share = max((f.share for f in files if f.share < files[1].share), default=0.0)
        taken = [file for file in files if file.share > share]
    return Compact(
        below=0,
        # OPTIMIZE leaves a file alone that no other fits beside.
        written=max(policy.step_bytes, sum(file.size for file in taken)),
        share=min(share, 1.0 - 1e-9),
        files=len(taken),
        bytes=sum(file.size for file in taken),
    )


def _clustering(
    files: TableFiles, policy: MaintenancePolicy, asked: bool
) -> Compact | Purge | Nothing:
    """OPTIMIZE of a clustered table takes every file that is in no full cube, whatever its size,
    and none that is laid out by other columns."""
    live = [f for f in files.live if f.cube is None or f.laid_out_by == files.clustering]
    purge = _purge_of_cubes(live, policy, asked)
    cubes: dict[str | None, float] = {}
    for file in live:
        cubes[file.cube] = cubes.get(file.cube, 0) + file.size_that_counts
    partial = {
        cube for cube, size in cubes.items() if cube is None or size < full_cube(policy.step_bytes)
    }
    loose = [file for file in live if file.cube in partial]
    if None not in partial & cubes.keys() or len(loose) <= (1 if asked else policy.small_files):
        return purge
    size = sum(file.size for file in loose)
    if isinstance(purge, Purge):
        freed = sum(file.size - file.size_that_counts for file in live if file.cube not in partial)
        if freed > size:
            return purge
    step = Compact(
        below=policy.small_bytes,
        written=policy.written_bytes,
        cube=policy.step_bytes,
        files=len(loose),
        bytes=size,
    )
    return _unless_too_much(step, policy, asked)


def _purge_of_cubes(
    live: Sequence[LiveFile], policy: MaintenancePolicy, asked: bool
) -> Compact | Purge | Nothing:
    """REORG lays the files with deleted rows out as one cube; of a single cube it takes none, which
    is laid out anew once half of its rows are deleted."""
    marked = [file for file in live if file.deleted]
    is_worth = any(asked or file.share > policy.deleted_rows for file in marked)
    cubes = {file.cube for file in marked}
    if not is_worth or (len(cubes) == 1 and None not in cubes):
        return Nothing()
    size = sum(file.size for file in marked)
    step = Purge(files=len(marked), bytes=size, written=policy.written_bytes)
    return _unless_too_much(step, policy, asked)


def _unless_too_much(
    step: Compact | Purge, policy: MaintenancePolicy, asked: bool
) -> Compact | Purge | Nothing:
    """A clustered table has all of it done at once: what is more than two steps waits for an
    operator."""
    if asked or step.bytes <= 2 * policy.step_bytes:
        return step
    what = "clustering" if isinstance(step, Compact) else "purging deleted rows"
    return Nothing(
        remark=f"{what} has {step.bytes} bytes to lay out at once, more than twice stepBytes: "
        "`openmirror maintain` does it"
    )


def _vacuum(
    files: TableFiles,
    known: Maintenance,
    policy: MaintenancePolicy,
    kept: timedelta | None,
    now: datetime,
) -> Vacuum | Nothing:
    if kept is None:
        return Nothing(remark="how long removed files are kept cannot be read: see the property")
    asked, since = known.asked, dead_since(files, known, kept, now)
    wants_full = bool(asked and asked.full)
    # Killed writers leave files of no version, also where none is ever removed.
    sweeps = wants_full or is_sweep_due(known, now)
    portion = portion_of(len(files.dead), policy, kept)
    enough = kept + (timedelta() if asked else portion)
    if not sweeps and (since is None or now - since < enough):
        return Nothing()
    stalled = _stalled(known)
    if stalled is not None and not (wants_full or files.names_all_dead):
        began = f"{stalled.at:%Y-%m-%d %H:%M}"
        what = f"a compaction that began {began} may be stalled"
        if stalled.number == FORGOTTEN_STEP:
            what = f"the document of before {began} may have known a stalled compaction"
        return Nothing(
            remark=f"VACUUM would have to list the folder, and {what}: "
            "`openmirror maintain --full` once every runner of then has ended"
        )
    since = since or now - kept
    full = sweeps or not files.names_all_dead
    behind = timedelta() if wants_full else now - since - portion
    hours = max(ceil(kept / _HOUR), int(behind / _HOUR))
    through = now - timedelta(hours=hours)
    dead = [file for file in files.dead if file.removed_at < through]
    return Vacuum(
        hours=hours,
        through=through,
        full=full,
        files=len(dead),
        bytes=sum(file.size for file in dead),
    )


def is_sweep_due(known: Maintenance, now: datetime) -> bool:
    """Whether files of no version are to be searched for: nobody has done so for long, and no
    stalled compaction has some that it may yet commit."""
    return _stalled(known) is None and now - (known.swept_at or now) > _SWEEP


def _stalled(known: Maintenance) -> StepBegun | None:
    """A compaction that has begun and not ended: no version names its files yet, one day may."""
    return known.begun if known.begun and known.begun.bound else None


def portion_of(dead: int, policy: MaintenancePolicy, kept: timedelta) -> timedelta:
    """How much time one VACUUM catches up with: as long as it takes for `step_files` to be removed,
    as fast as it went lately, but between an hour and a day."""
    pace = kept * (policy.step_files / dead) if dead > policy.step_files else _DAY
    return min(_DAY, max(_HOUR, pace))
