"""Where a table is in its life, told from one look and its plan: what `status` shows.

Pure. The words of `status` are Fabric's, so that publishers and dashboards made for it keep
working; what Fabric has no word for (waits, holds, warnings) stands beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from openmirror.control import Hold, RequestKind
from openmirror.errors import MOST_ATTEMPTS, Notice, Problem
from openmirror.plan import Decision, Look
from openmirror.plan.decisions import (
    Continue,
    Drop,
    Held,
    Idle,
    Pause,
    Reset,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import MirrorPolicy
from openmirror.plan.rules import still_stands
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import METADATA_FILE, TableFolder, TableName
from openmirror.protocol.partner import Partner
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import START, Position
from openmirror.tablelog import BrokenLog, TableLog, Totals


class FabricStatus(StrEnum):
    """A table's status in Fabric's own words."""

    INITIALIZED = "Initialized"
    SNAPSHOTTING = "Snapshotting"
    REPLICATING = "Replicating"
    RESEEDING = "Reseeding"
    STOPPED = "Stopped"
    FAILED = "Failed"


class Word(StrEnum):
    """Codes of status alone: nobody broke a rule, so `Code` has none for them."""

    HELD = "Held"
    DROPPED = "Dropped"
    RETRYING = "Retrying"
    REQUESTED = "Requested"
    SKIPPED = "Skipped"
    LANDING_ZONE_UNREADABLE = "LandingZoneUnreadable"
    TABLE_UNREADABLE = "TableUnreadable"


@dataclass(frozen=True)
class Trouble:
    """What stops a table, and what to do about it."""

    code: str
    detail: str
    solution: str
    file: str | None = None
    since: datetime | None = None


@dataclass(frozen=True)
class Warn:
    """What an operator should know, while the table does what its status says."""

    code: str
    detail: str
    solution: str
    file: str | None = None


@dataclass(frozen=True)
class Initialized:
    """The folder is there, and nothing in it has to be applied yet."""


@dataclass(frozen=True)
class Snapshotting:
    """The first batch of this life is pending or being applied; a former table still stands."""


@dataclass(frozen=True)
class Replicating:
    """Changes are applied as they come, and there may be none just now."""


@dataclass(frozen=True)
class Reseeding:
    """The table is built again from its files, and has not come as far as it was before."""

    until: Position
    waiting: Waiting | None = None


@dataclass(frozen=True)
class Waits:
    """Changes go on by themselves once what is waited for has come."""

    waiting: Waiting


@dataclass(frozen=True)
class OnHold:
    """An operator holds the table; nothing happens to it until it is resumed."""

    hold: Hold


@dataclass(frozen=True)
class Paused:
    """A problem stops the table until what is wrong has changed."""

    problem: Problem


@dataclass(frozen=True)
class Dropped:
    """The folder is gone and the table moved aside; until its retention ends it can come back."""

    at: datetime | None
    until: datetime | None
    """None when the control document does not know, or mirroring.json cannot be read."""


@dataclass(frozen=True)
class Unreadable:
    """Something that every look at the table needs cannot be read; nothing else is known."""

    trouble: Trouble


Lifecycle = (
    Initialized
    | Snapshotting
    | Replicating
    | Reseeding
    | Waits
    | OnHold
    | Paused
    | Dropped
    | Unreadable
)


def lifecycle(look: Look, decision: Decision) -> Lifecycle:
    """Where this table is in its life; a reseed that waits is still a reseed."""
    match decision:
        case Held(hold):
            return OnHold(hold)
        case Pause(problem):
            return Paused(problem)
    if _is_dropped(look):
        return _dropped(look)
    waiting = _waiting(look, decision)
    position = position_of(look, decision)
    until = look.life.reseeding_until if look.life else START
    # A replace that is decided and not done starts from nothing, whatever readers still see.
    reached = START if isinstance(decision, Reset) else position
    if _asks(look, RequestKind.RESEED):
        return Reseeding(max(until, position), waiting)
    if reached < until:
        return Reseeding(until, waiting)
    if waiting:
        return Waits(waiting)
    if position > START:
        return Replicating()
    return Initialized() if isinstance(decision, Idle) or not look.files else Snapshotting()


def fabric_status(stage: Lifecycle) -> FabricStatus:
    """The one of Fabric's words that says it best: waiting replicates, held has stopped."""
    match stage:
        case Initialized():
            return FabricStatus.INITIALIZED
        case Snapshotting():
            return FabricStatus.SNAPSHOTTING
        case Replicating() | Waits():
            return FabricStatus.REPLICATING
        case Reseeding():
            return FabricStatus.RESEEDING
        case OnHold() | Dropped():
            return FabricStatus.STOPPED
        case Paused() | Unreadable():
            return FabricStatus.FAILED


def position_of(look: Look, decision: Decision) -> Position:
    """How far the table that readers see is applied, from this life of its folder.

    Between two epochs no epoch is live; then the one before its fence still says it.
    """
    log = look.log or look.aside
    before = (log.live or log.last_fenced) if isinstance(log, TableLog) else None
    if before is None:
        return START
    epoch, position = before
    same = epoch.folder == look.folder and look.incarnation in (None, epoch.incarnation)
    return position if same or isinstance(decision, Continue) else START


QUIET_WAITS = frozenset({WaitKind.SCHEMA, WaitKind.GRACE})
"""Waits that leave nothing undone that was sent."""


def settled(decision: Decision) -> bool:
    """Whether `drain` may leave a table so and exit 0."""
    match decision:
        case Pause():
            return False
        case Wait(waiting):
            return waiting.kind in QUIET_WAITS
    return True


@dataclass(frozen=True)
class WaitingFor:
    """What a table waits for, with the file's name where it is there."""

    waiting: Waiting
    file: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableStatus:
    """Everything that status says of one table."""

    folder: TableFolder
    name: TableName
    stage: Lifecycle
    totals: Totals = Totals()
    synced_at: datetime | None = None
    applied: Position = START
    pending_files: int = 0
    waiting_for: WaitingFor | None = None
    problem: Trouble | None = None
    warnings: tuple[Warn, ...] = ()
    lag_seconds: float = 0.0
    partner: Partner | None = None

    @property
    def status(self) -> FabricStatus:
        """Fabric's word."""
        return fabric_status(self.stage)

    @property
    def needs_attention(self) -> bool:
        """Whether `drain` ends with exit code 3 because of this table."""
        if self.waiting_for and self.waiting_for.waiting.kind not in QUIET_WAITS:
            return True
        return isinstance(self.stage, Paused | Unreadable)


def needs_attention(tables: Iterable[TableStatus]) -> bool:
    """Whether some table is paused or waits; held tables, `schema` and `grace` waits aside."""
    return any(table.needs_attention for table in tables)


def is_listed(look: Look) -> bool:
    """Whether there is a table to speak of: a folder, or a table of that folder, here or aside.

    A control document alone is a memory: its folder is gone, and its dropped table as well.
    """
    control = look.control
    if look.incarnation or control.hold or isinstance(look.log, BrokenLog) or _is_dropped(look):
        return True
    return isinstance(look.log, TableLog) and look.folder in look.log.owners


def table_status(look: Look, decision: Decision, partner: Partner | None = None) -> TableStatus:
    """What status says of a table that was looked at, and for which `decision` was planned."""
    position = position_of(look, decision)
    pending = _pending(look, position)
    totals, synced_at = _metrics(look, decision)
    oldest = min((file.modified for file in pending), default=look.at)
    return TableStatus(
        folder=look.folder,
        name=look.name,
        stage=lifecycle(look, decision),
        totals=totals,
        synced_at=synced_at,
        applied=position,
        pending_files=len(pending),
        waiting_for=_waiting_for(look, decision),
        problem=_trouble(look, decision),
        warnings=tuple(_warnings(look, decision, position)),
        lag_seconds=max(0.0, (look.at - oldest).total_seconds()),
        partner=partner,
    )


def to_json(tables: Iterable[TableStatus]) -> dict[str, object]:
    """What `status --json` prints: a contract, so nothing is renamed or left out."""
    return {"data": [_table_json(table) for table in tables]}


def iso(moment: datetime) -> str:
    """A time as ISO 8601 in UTC, with Z."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def message_of(trouble: Trouble) -> str:
    """The problem as one text, for readers that know Fabric's two fields only."""
    where = f"{trouble.file}: " if trouble.file and trouble.file not in trouble.detail else ""
    return f"{where}{trouble.detail.rstrip('.')}. {trouble.solution}"


def _asks(look: Look, kind: RequestKind) -> bool:
    return look.control.request is not None and look.control.request.kind is kind


def _is_dropped(look: Look) -> bool:
    if look.incarnation is not None or look.log is not None or look.aside is None:
        return False
    # Tables aside are found by their name, which another folder may have had as well.
    owned = isinstance(look.aside, TableLog) and look.folder in look.aside.owners
    return owned or look.control.dropped is not None


def _dropped(look: Look) -> Dropped:
    at = look.control.dropped.at if look.control.dropped else None
    if at is None or not isinstance(look.policy, MirrorPolicy):
        return Dropped(at, None)
    return Dropped(at, at + look.policy.retention)


def _waiting(look: Look, decision: Decision) -> Waiting | None:
    match decision:
        case Wait(waiting):
            return waiting
        case Drop():
            detail = "the landing folder is gone; the runner's next visit moves the table aside"
            return Waiting(WaitKind.GRACE, look.control.missing_since or look.at, detail)
    return None


def _waiting_for(look: Look, decision: Decision) -> WaitingFor | None:
    waiting = _waiting(look, decision)
    if waiting is None:
        return None
    file = look.files.get(waiting.sequence) if waiting.sequence is not None else None
    return WaitingFor(waiting, file.name if file else None)


def _trouble(look: Look, decision: Decision) -> Trouble | None:
    standing = look.control.problem
    match decision:
        case Pause(problem):
            # A plan judges anew each time; when it began is in the control document.
            known = standing.since if standing and problem.same_as(standing) else None
            since = problem.since or known or look.at
        case Held() if standing and still_stands(look, standing):
            problem, since = standing, standing.since or look.at
        case _:
            return None
    return Trouble(problem.code.value, problem.detail, problem.solution, problem.file, since)


def _pending(look: Look, position: Position) -> list[LandedFile]:
    life = look.life
    return [
        file
        for file in look.files.values()
        if file.sequence > position
        and not file.archived
        and not (life and life.skipped(file.sequence, file.etag))
    ]


def _metrics(look: Look, decision: Decision) -> tuple[Totals, datetime | None]:
    known = look.control.applied
    log = look.log or look.aside
    if isinstance(log, TableLog) and log.note:
        # A path may hold another folder's table; its figures are not this folder's.
        if look.folder in log.owners or isinstance(decision, Continue):
            return log.note.totals, log.note.committed_at or (known.at if known else None)
    return (known.totals, known.at) if known else (Totals(), None)


def _warnings(look: Look, decision: Decision, position: Position) -> Iterator[Warn]:
    """What goes on beside the status, most pressing first."""
    control = look.control
    if control.hold:
        yield Warn(
            Word.HELD,
            f"held since {iso(control.hold.since)} by {_who(control.hold.by, control.hold.why)}",
            "`openmirror resume` lets it go on.",
        )
    if _is_dropped(look):
        stage = _dropped(look)
        at = f" on {iso(stage.at)}" if stage.at else ""
        until = f"until {iso(stage.until)}" if stage.until else "until its retention ends"
        yield Warn(
            Word.DROPPED,
            f"dropped{at}, because its folder was deleted; it can be brought back {until}",
            "`openmirror undrop` brings it back, held; a new folder of this name replaces it.",
        )
    if control.request:
        request = control.request
        yield Warn(
            Word.REQUESTED,
            f"{request.kind.value} asked for on {iso(request.at)} by "
            f"{_who(request.by, request.why)}; the runner carries it out at its next visit",
            "Nothing to do while a runner is on; else `openmirror drain` or the Spark job.",
        )
    if control.failures and not isinstance(decision, Pause):
        failures = control.failures
        yield Warn(
            Word.RETRYING,
            f"attempt {failures.count} of {MOST_ATTEMPTS} failed on {iso(failures.at)}: "
            f"{failures.error}",
            "It is tried again by itself; after the last attempt the table pauses.",
            failures.files[0].name if failures.files else None,
        )
    yield from (_noticed(notice) for notice in _notices(look, position))
    yield from _skips(look, position)


def _notices(look: Look, position: Position) -> Iterator[Notice]:
    """What `Code` calls warnings: slips of a publisher that stop nothing."""
    if isinstance(look.metadata, TableMetadata) and look.metadata.repairs:
        detail = "; ".join(look.metadata.repairs)
        yield Notice(Code.METADATA_REPAIRED, detail, METADATA_FILE)
    for oddity in look.oddities:
        yield Notice(Code.FILE_NAME_INVALID, f"never read: {oddity.reason}", oddity.name)
    again = _reused(look, position)
    if again:
        more = f", and {len(again) - 1} more" if len(again) > 1 else ""
        detail = f"{again[0].name}{more}: a number that was passed before; never read, never moved"
        yield Notice(Code.SEQUENCE_REUSED, detail, again[0].name)
    if look.control.rebuilt:
        detail = f"the control document was lost, and made anew on {iso(look.control.rebuilt)}"
        yield Notice(Code.CONTROL_DOCUMENT_REBUILT, detail)


def _reused(look: Look, position: Position) -> list[LandedFile]:
    """Files under numbers that are archived, or were applied without them."""
    life = look.life
    if life is None or position > look.applied:
        return []  # between two epochs digests and position do not belong together
    read = {digest.sequence for batch in life.batches for digest in batch.files}
    # A document made anew knows no digests: then only the archive's own number tells.
    forgotten = look.control.rebuilt is not None
    return [
        file
        for file in look.files.values()
        if not file.archived
        and (
            file.sequence <= life.archived_through
            or (
                not forgotten
                and file.sequence <= position
                and file.sequence not in read
                and not life.skipped(file.sequence, file.etag)
            )
        )
    ]


def _skips(look: Look, position: Position) -> Iterator[Warn]:
    """Skips that still pass over something: those that lie behind the table are history."""
    for skip in look.life.skips if look.life else ():
        file = look.files.get(skip.first) if skip.etag is not None else None
        if skip.last <= position or (
            skip.etag is not None and (not file or file.etag != skip.etag)
        ):
            continue
        numbers = f"{skip.first:020d}"
        if skip.last != skip.first:
            numbers += f" to {skip.last:020d}"
        what = file.name if file else f"{numbers}, as far as missing,"
        yield Warn(
            Word.SKIPPED,
            f"{what} is passed over since {iso(skip.at)}, by {_who(skip.by, skip.why)}",
            "A file that is replaced later, or comes in time, is read.",
            file.name if file else None,
        )


def _noticed(notice: Notice) -> Warn:
    return Warn(notice.code, notice.detail, notice.solution, notice.file)


def _who(by: str, why: str) -> str:
    return f"{by}: {why}" if why else by


def _table_json(table: TableStatus) -> dict[str, object]:
    problem = table.problem
    return {
        "sourceSchemaName": table.name.schema,
        "sourceTableName": table.name.table,
        "status": table.status.value,
        "metrics": {
            "processedBytes": table.totals.bytes,
            "processedRows": table.totals.operations,
            "lastSyncDateTime": iso(table.synced_at) if table.synced_at else None,
        },
        "error": {"errorCode": problem.code, "message": message_of(problem)} if problem else None,
        "openmirror": {
            "appliedSequence": str(table.applied),
            "pendingFiles": table.pending_files,
            "waitingFor": _waiting_json(table.waiting_for) if table.waiting_for else None,
            "problem": _problem_json(problem) if problem else None,
            "warnings": [
                {"code": w.code, "file": w.file, "detail": w.detail, "solution": w.solution}
                for w in table.warnings
            ],
            "lagSeconds": table.lag_seconds,
        },
    }


def _waiting_json(waiting_for: WaitingFor) -> dict[str, object]:
    waiting = waiting_for.waiting
    shown: dict[str, object] = {"kind": waiting.kind.value}
    if waiting.sequence is not None:
        shown["sequence"] = str(waiting.sequence)
    if waiting_for.file is not None:
        shown["file"] = waiting_for.file
    shown["since"] = iso(waiting.since)
    if waiting.until is not None:
        shown["until"] = iso(waiting.until)
    return shown


def _problem_json(problem: Trouble) -> dict[str, object]:
    return {
        "code": problem.code,
        "file": problem.file,
        "detail": problem.detail,
        "solution": problem.solution,
        "since": iso(problem.since) if problem.since else None,
    }
