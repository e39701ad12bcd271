"""Which version of a table holds exactly the files up to a sequence, or stood at a time.

Each batch is one commit, whose transaction names the incarnation and the last sequence. Commits of
maintenance leave rows as they are, so a batch's version and those up to the next one that changes
rows hold the same: a *run*. What somebody else has changed is in every version after it, until the
table is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from openmirror.protocol.names import Incarnation
from openmirror.protocol.sequence import FENCED, Position
from openmirror.table.control import BatchKind
from openmirror.table.log import BatchRecord, Epoch
from openmirror.table.past import Past, PastCommit

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Versions one after another that hold the same rows."""

    first: int
    last: int
    at: datetime
    """When the first of them was committed."""
    incarnation: Incarnation
    position: Position
    """They hold exactly the files up to this one."""
    through: int
    """And up to this number nothing else was ever read: what follows was passed over."""
    changed: PastCommit | None = None
    """The first commit of somebody else that changed rows of this table, where there was one."""
    lacks_marked: bool = False
    """Whether rows that were marked long ago are removed, as `purgeAfter` says."""

    @property
    def is_exact(self) -> bool:
        """Whether nobody else changed a row."""
        return self.changed is None


class GoneWhat(StrEnum):
    """What of a version is not there any more."""

    LOG = "log"
    FILES = "files"


@dataclass(frozen=True, kw_only=True)
class Gone:
    """Why a version cannot be read any more."""

    what: GoneWhat
    since: datetime | None
    """For files: when the first of them was deleted, where the log says so. For a log: of when the
    oldest version is that it can still say the files of."""
    files: int = 0
    example: str | None = None


@dataclass(frozen=True, kw_only=True)
class PastVersion:
    """One version of a table, and what it holds."""

    version: int
    run: Run
    gone: Gone | None = None
    """Why it cannot be read, if so."""


@dataclass(frozen=True, kw_only=True)
class AsOf:
    """Which version was asked for."""

    found: PastVersion | None = None
    """The one that holds what was asked for."""
    before: PastVersion | None = None
    """Without it: the last one that holds less."""
    after: PastVersion | None = None
    """Without it: the first one that holds more."""
    gone: Gone | None = None
    """Why nobody can say more of what was asked for."""
    oldest: PastVersion | None = None
    """The oldest version that can be read, where the one that was asked for cannot."""

    @property
    def is_exact(self) -> bool:
        """Whether a version that can be read holds exactly what was asked for."""
        found = self.found
        return found is not None and found.gone is None and found.run.is_exact


def runs_of(past: Past) -> tuple[Run, ...]:
    """Every run of the log, oldest first."""
    runs: list[Run] = []
    run: Run | None = None
    before = -1
    for commit in past.commits:
        # Nobody knows what happened in versions that cannot be read.
        run = _after(run if commit.version == before + 1 else None, commit)
        before = commit.version
        if run is None:
            continue
        if runs and runs[-1].first == run.first:
            runs.pop()
        runs.append(run)
    records = {commit.version: commit.batch_record for commit in past.commits}
    return tuple(
        replace(run, through=_through(run, runs[number:], records))
        for number, run in enumerate(runs, start=1)
    )


def _after(run: Run | None, commit: PastCommit) -> Run | None:
    """The run that a commit goes on with, or begins; None while no file of ours is in the table."""
    stands = _position_in(commit)
    if stands is None:
        if run is None:
            return None
        if not commit.changes_rows:
            return replace(run, last=commit.version)
        begun = replace(run, first=commit.version, last=commit.version, at=commit.at)
        if commit.removes_marked:
            return replace(begun, lacks_marked=True)
        return replace(begun, changed=run.changed or commit)
    incarnation, position = stands
    is_anew = commit.batch_record is not None and commit.batch_record.kind == BatchKind.REPLACE
    kept = run if run is not None and not is_anew else None
    is_same = kept is not None and (kept.incarnation, kept.position) == (incarnation, position)
    if kept is not None and is_same and not commit.changes_rows:
        return replace(kept, last=commit.version)  # an epoch that goes on from another one
    return Run(
        first=commit.version,
        last=commit.version,
        at=commit.at,
        incarnation=incarnation,
        position=position,
        through=position,
        changed=kept.changed if kept else None,
        lacks_marked=kept.lacks_marked if kept else False,
    )


def _position_in(commit: PastCommit) -> tuple[Incarnation, Position] | None:
    """The incarnation and position that a commit's own transaction gives the table.

    A fence gives none: the rows are still those of the epoch that it closes.
    """
    for app_id, position in commit.transactions.items():
        epoch = Epoch.parse(app_id)
        if epoch is not None and position != FENCED:
            return epoch.incarnation, position
    return None


def _through(run: Run, later: Sequence[Run], records: Mapping[int, BatchRecord | None]) -> int:
    """Up to which number a run has all that was ever read: what the next batch passed over."""
    place = run.incarnation, run.position
    following = next((r for r in later if (r.incarnation, r.position) != place), None)
    record = records.get(following.first) if following else None
    if record is None or record.kind != BatchKind.EXTEND or record.files != 1:
        return run.position
    return record.last - 1 if record.first == run.position + 1 else run.position


def at_sequence(past: Past, incarnation: Incarnation, sequence: int) -> AsOf:
    """The version that holds exactly the files of an incarnation up to this number.

    Where several do, the newest of those that can be read: a reseed applies the same files again.
    """
    runs = [run for run in runs_of(past) if run.incarnation == incarnation]
    same = [run for run in runs if run.position <= sequence <= run.through]
    if same:
        found = _best(past, same)
        return _with_oldest(past, AsOf(found=found))
    below = [run for run in runs if run.position < sequence]
    above = [run for run in runs if run.position > sequence]
    before = _best(past, _nearest(below, max))
    after = _best(past, _nearest(above, min))
    is_lost = before is None and after is not None and _has_lost_earlier(past, after.run)
    return _with_oldest(
        past, AsOf(before=before, after=after, gone=_log_gone(past) if is_lost else None)
    )


def _has_lost_earlier(past: Past, first: Run) -> bool:
    """Whether what was before a run may have stood in a part of the log that is gone.

    Not where the table was made by that run's own commit: of that incarnation nothing was before.
    """
    made = next((commit for commit in past.commits if commit.version == first.first), None)
    record = made.batch_record if made else None
    made_it = record is not None and record.kind == BatchKind.REPLACE
    return not past.begins_with_the_table and not made_it


def at_time(past: Past, moment: datetime) -> AsOf:
    """The last version that was committed at or before a moment.

    A version counts as no older than those before it, whatever its writer's clock showed.
    """
    latest: int | None = None
    newest_time: datetime | None = None
    for commit in past.commits:
        newest_time = commit.at if newest_time is None else max(newest_time, commit.at)
        if newest_time > moment:
            break
        latest = commit.version
    runs = runs_of(past)
    after = next((run for run in runs if latest is None or run.first > latest), None)
    held = next((r for r in runs if latest is not None and r.first <= latest <= r.last), None)
    if held is not None and latest is not None:
        version = latest if latest in past.readable else _version_of(past, held)
        return _with_oldest(past, AsOf(found=_past_version(past, held, version)))
    gone = None if past.begins_with_the_table else _log_gone(past)
    later = _best(past, [after] if after else [])
    return _with_oldest(past, AsOf(after=later, gone=gone))


def _nearest(runs: Sequence[Run], pick: Callable[[Iterable[Position]], Position]) -> Sequence[Run]:
    if not runs:
        return ()
    position = pick(run.position for run in runs)
    return [run for run in runs if run.position == position]


def _best(past: Past, runs: Sequence[Run]) -> PastVersion | None:
    """Of runs that hold the same files: an exact one, one that can be read, the newest."""
    if not runs:
        return None

    def worth(run: Run) -> tuple[bool, bool, bool, int]:
        is_there = _version_of(past, run) in past.readable
        return run.is_exact, is_there, not run.lacks_marked, run.last

    run = max(runs, key=worth)
    return _past_version(past, run, _version_of(past, run))


def _version_of(past: Past, run: Run) -> int:
    """The version of a run to read: the last, whose files leave the table the latest."""
    versions = range(run.last, run.first - 1, -1)
    return next((version for version in versions if version in past.readable), run.last)


def _past_version(past: Past, run: Run, version: int) -> PastVersion:
    return PastVersion(version=version, run=run, gone=why_gone(past, version))


def why_gone(past: Past, version: int) -> Gone | None:
    """Why a version cannot be read; None for one that can."""
    if version in past.readable:
        return None
    if version not in past.rebuilt:
        return _log_gone(past)
    files = [file for file in past.gone if file.is_needed_at(version)]
    first = min(files, key=lambda file: (past.deleted_at(file) or _NEVER, file.path))
    return Gone(
        what=GoneWhat.FILES,
        since=past.deleted_at(first),
        files=len(files),
        example=first.path,
    )


def _log_gone(past: Past) -> Gone:
    oldest = min(past.rebuilt, default=None)
    at = next((commit.at for commit in past.commits if commit.version == oldest), None)
    return Gone(what=GoneWhat.LOG, since=at)


def _with_oldest(past: Past, answer: AsOf) -> AsOf:
    """The answer with the oldest version that can be read, where it names none that can."""
    if answer.found is not None and answer.found.gone is None:
        return answer
    for run in runs_of(past):
        versions = range(run.first, run.last + 1)
        version = next((v for v in versions if v in past.readable), None)
        if version is not None:
            return replace(answer, oldest=_past_version(past, run, version))
    return answer
