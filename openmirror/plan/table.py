"""`plan`: one pure, total function from a look to what happens next (ARCHITECTURE §4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from openmirror.control import BatchKind, DecidedBatch, FileDigest, Hold, Pinned, RequestKind
from openmirror.plan.cut import check_file, cut_batch, merge_file
from openmirror.plan.decisions import (
    Apply,
    Batch,
    Continue,
    Decision,
    Drop,
    Held,
    Idle,
    Pause,
    Reset,
    Restore,
    Stop,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Limits, Look, MirrorPolicy
from openmirror.plan.rules import judged, still_stands, table_rules
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import SchemaUnion, TableSchema, union_schema
from openmirror.protocol.sequence import START, Position, Sequence, next_sequence, position_after
from openmirror.tablelog import BrokenLog, Epoch, TableLog


def plan(look: Look, limits: Limits, now: datetime) -> Decision:
    """What to do about one table. Pure; the same look always gives the same answer."""
    if hold := _hold(look):
        return Held(hold)
    if look.incarnation is None:
        return _without_folder(look, limits, now)
    if refused := _not_ours(look):
        return refused
    if look.log is None and look.aside is not None:
        return Restore(look.aside.path, hold=_asks(look, RequestKind.UNDROP))
    opening = _opening(look)
    if isinstance(opening, Continue):
        return opening
    rules = table_rules(look, limits, now)
    if opening.kind is BatchKind.REPLACE:
        if _asks(look, RequestKind.RESEED) and (stop := _reseed_gap(look)):
            return stop
        if not isinstance(rules, Pinned):
            return _or_idle(look, rules)
        return _first_batch(look, opening, rules, limits, now)
    if not isinstance(rules, Pinned):
        return rules
    if changed := applied_file_changed(look):
        return changed
    standing = look.control.problem
    if standing and still_stands(look, standing) and _is_of_whole_table(look, standing.file):
        return Pause(standing)
    return _next_batch(look, opening, rules, limits, now)


def applied_file_changed(look: Look) -> Pause | None:
    """A file that was overwritten after it was applied, while it still lies in the folder."""
    if look.life is None:
        return None
    for batch in look.life.batches:
        if batch.last > look.applied:
            continue
        for digest in batch.files:
            file = look.files.get(digest.sequence)
            if file is None or file.archived or file.sequence <= look.life.archived_through:
                continue
            if file.etag != digest.etag:
                detail = f"{file.name} was overwritten after it was applied"
                return Pause(judged(look, Broken(Code.APPLIED_FILE_CHANGED, detail), file))
    return None


def _hold(look: Look) -> Hold | None:
    """The operator's hold; what `undrop` brings back is held from the moment it is in its place."""
    request = look.control.request
    if request is None or request.kind is not RequestKind.UNDROP:
        return look.control.hold
    if look.log is not None:
        return look.control.hold or Hold(look.at, request.by, "brought back by undrop")
    return None if look.aside is not None else look.control.hold


def _asks(look: Look, kind: RequestKind) -> bool:
    return look.control.request is not None and look.control.request.kind is kind


def _or_idle(look: Look, stop: Stop) -> Decision:
    """A new folder without any change file has nothing to wait for or to be judged by."""
    return stop if look.files or isinstance(stop, Pause) else Idle()


def _is_of_whole_table(look: Look, file: str | None) -> bool:
    there = next((f for f in look.files.values() if f.name == file), None)
    return there is None or there.sequence <= look.applied


def _without_folder(look: Look, limits: Limits, now: datetime) -> Decision:
    if _asks(look, RequestKind.UNDROP) and look.log is None and look.aside is not None:
        return Restore(look.aside.path, hold=True)
    if look.control.hold:
        return Held(look.control.hold)
    if isinstance(look.log, BrokenLog):
        return Pause(judged(look, Broken(Code.TABLE_LOG_BROKEN, look.log.reason)))
    if look.log is None or look.folder not in look.log.owners:
        return Idle()
    since = look.control.missing_since or now
    until = since + limits.drop_grace
    if now < until or look.control.missing_since is None:
        return Wait(Waiting(WaitKind.GRACE, since, "the landing folder is gone", until=until))
    if look.drop_needs_yes:
        detail = "many tables would be dropped at once; `openmirror confirm-drops` allows it"
        return Wait(Waiting(WaitKind.CONFIRMATION, since, detail))
    return Drop(look.log.live[0] if look.log.live else None)


def _not_ours(look: Look) -> Pause | None:
    """Whether the Delta path belongs to somebody else (ARCHITECTURE §6)."""
    if look.rival is not None:
        detail = f"{look.rival} maps to the same table {look.name}"
        return Pause(judged(look, Broken(Code.TABLE_NAME_COLLISION, detail)))
    for log in (look.log, look.aside):
        if isinstance(log, BrokenLog):
            return Pause(judged(look, Broken(Code.TABLE_LOG_BROKEN, f"{log.path}: {log.reason}")))
        if log is None or look.folder in log.owners or _asks(look, RequestKind.ADOPT):
            continue
        if not log.owners:
            detail = f"{log.path} holds a Delta table that this mirror did not write"
            return Pause(judged(look, Broken(Code.TABLE_NOT_OURS, detail)))
        owner = min(log.owners)
        detail = f"{log.path} belongs to the landing folder {owner}"
        return Pause(judged(look, Broken(Code.TABLE_NAME_COLLISION, detail)))
    return None


@dataclass(frozen=True)
class _Opening:
    """Which epoch the next batch belongs to, and the batch itself where it is decided."""

    kind: BatchKind
    epoch: Epoch
    decided: DecidedBatch | None = None


def _opening(look: Look) -> _Opening | Continue:
    """The epoch that comes next; the rules that `tests/simulation` proves (ARCHITECTURE §4)."""
    assert look.incarnation is not None
    log = look.log if isinstance(look.log, TableLog) else None
    decided = look.control.decided
    ours = decided is not None and _is_of_this_life(look, decided)
    in_log = decided is not None and log is not None and decided.app_id in log.transactions
    in_use = max((epoch.number for epoch in log.epochs), default=0) if log else 0
    fresh = Epoch(look.folder, look.incarnation, max(look.control.epoch, in_use) + 1)
    if _asks(look, RequestKind.RESEED):
        return _Opening(BatchKind.REPLACE, fresh)
    live = look.live
    recut = False
    if decided and ours and decided.kind is not BatchKind.EXTEND and not in_log:
        if decided.kind is BatchKind.CONTINUE:
            holder = (log.live or log.last_fenced) if log else None
            if holder and continues_life_of(decided, holder[0]):
                continues = Epoch.parse(decided.continues or "")
                return Continue(decided.epoch, continues or decided.epoch, is_decided=True)
            # Another life's replace landed before its fence: there is nothing to go on from.
        elif is_as_decided(look, decided):
            return _Opening(decided.kind, decided.epoch, decided)
        # Only another replace may follow a replace that was decided and not done.
        return _Opening(BatchKind.REPLACE, fresh)
    if decided and ours and live and _is_next_of(decided, *live):
        if is_as_decided(look, decided):
            return _Opening(decided.kind, decided.epoch, decided)
        recut = True
    if live:
        if recut or look.control.epoch != live[0].number or _asks(look, RequestKind.ADOPT):
            return Continue(fresh, live[0], is_decided=False)
        return _Opening(BatchKind.EXTEND, live[0])
    if log is not None and (before := _goes_on(look, log)):
        return Continue(fresh, before, is_decided=False)
    return _Opening(BatchKind.REPLACE, fresh)


def continues_life_of(decided: DecidedBatch, epoch: Epoch) -> bool:
    """Whether the rows that this epoch left are the ones that a decided continue goes on from."""
    lives = (decided.epoch, Epoch.parse(decided.continues or ""))
    return any(e and (e.folder, e.incarnation) == (epoch.folder, epoch.incarnation) for e in lives)


def _is_of_this_life(look: Look, decided: DecidedBatch) -> bool:
    epoch = decided.epoch
    return (epoch.folder, epoch.incarnation) == (look.folder, look.incarnation)


def _is_next_of(decided: DecidedBatch, live: Epoch, applied: Position) -> bool:
    extends = decided.kind is BatchKind.EXTEND and decided.app_id == live.app_id
    return extends and decided.last > applied


def is_as_decided(look: Look, decided: DecidedBatch) -> bool:
    """Whether every file of a decided batch still has the content it was decided with."""
    there = [look.files.get(digest.sequence) for digest in decided.files]
    return all(
        file is not None and (file.name, file.etag) == (digest.name, digest.etag)
        for file, digest in zip(there, decided.files, strict=True)
    )


def _goes_on(look: Look, log: TableLog) -> Epoch | None:
    """The epoch whose rows a table without a live epoch of this life keeps under a new one."""
    before = log.live or log.last_fenced
    if before is None or _asks(look, RequestKind.ADOPT):
        return before[0] if before else None
    if log.live is None and (before[0].folder, before[0].incarnation) == (
        look.folder,
        look.incarnation,
    ):
        return before[0]
    return None


def _reseed_gap(look: Look) -> Pause | None:
    """A reseed needs every file from 1 on, or its skip."""
    missing = first_missing(look)
    if missing is None:
        return None
    detail = f"a reseed needs {missing:020d}, which is neither in the folder nor in its archive"
    return Pause(judged(look, Broken(Code.RESEED_INCOMPLETE, detail)))


def first_missing(look: Look) -> Sequence | None:
    """The first number up to the applied one that is neither there nor skipped."""
    assert look.life is not None
    sequence = next_sequence(START)
    while sequence <= look.applied:
        if sequence not in look.files:
            skip = look.life.skipped(sequence, None)
            if skip is None:
                return sequence
            sequence = skip.last
        sequence = Sequence(sequence + 1)
    return None


def _first_batch(
    look: Look, opening: _Opening, rules: Pinned, limits: Limits, now: datetime
) -> Decision:
    batch = _batch(look, opening, rules, START, TableSchema(), limits, now)
    if not isinstance(batch, Batch):
        return batch
    if not batch.union.schema.columns:
        since = min(file.modified for file in batch.files)
        return Wait(Waiting(WaitKind.SCHEMA, since, "no file has a typed column yet"))
    return Reset(batch)


def _next_batch(
    look: Look, opening: _Opening, rules: Pinned, limits: Limits, now: datetime
) -> Decision:
    assert isinstance(look.log, TableLog)
    batch = _batch(look, opening, rules, look.applied, look.log.schema, limits, now)
    return Apply(batch) if isinstance(batch, Batch) else batch


def _batch(
    look: Look,
    opening: _Opening,
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
    assert isinstance(look.policy, MirrorPolicy)  # table_rules has refused anything else
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
        type_change=look.policy.type_change,
        applied=look.applied,
        may_create=look.log is None and look.aside is None,
        is_decided=opening.decided is not None,
    )


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


def reads_from(look: Look) -> Position:
    """The position behind which the next batch begins: what a look must inspect."""
    if isinstance(look.log, BrokenLog):
        return look.applied
    opening = _opening(look)
    replaces = isinstance(opening, _Opening) and opening.kind is BatchKind.REPLACE
    return START if replaces else look.applied


def decided_files(look: Look) -> tuple[FileDigest, ...]:
    """Files of a decided batch that comes next: none once it is applied or given up."""
    opening = None if isinstance(look.log, BrokenLog) else _opening(look)
    decided = opening.decided if isinstance(opening, _Opening) else None
    return decided.files if decided else ()


def needs_archive(look: Look) -> bool:
    """Whether a number is missing in the folder that the archive may hold."""
    return next(_missing(look), None) is not None


def _missing(look: Look) -> Iterator[Sequence]:
    decided = look.control.decided
    if decided is not None and look.incarnation and _is_of_this_life(look, decided):
        yield from (d.sequence for d in decided.files if d.sequence not in look.files)
    after = reads_from(look)
    following = next_sequence(after)
    if look.life is not None and following <= look.life.archived_through:
        yield following  # what lies in the folder under this number came again, if anything does
    elif following not in look.files and (after < look.applied or _ahead(look, after)):
        yield following


def _ahead(look: Look, after: Position) -> bool:
    return any(sequence > after for sequence in look.files)
