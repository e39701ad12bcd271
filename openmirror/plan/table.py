"""`plan`: one pure, total function from a look to what happens next (ARCHITECTURE §4)."""

from __future__ import annotations

from datetime import datetime

from openmirror.control import BatchKind, Hold, Pinned, RequestKind
from openmirror.plan.batching import first_batch, next_batch
from openmirror.plan.decisions import (
    Continue,
    Decision,
    Drop,
    Held,
    Idle,
    Pause,
    Restore,
    Stop,
    Wait,
    Waiting,
    WaitKind,
)
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import Limits, Look, limits_of
from openmirror.plan.opening import opening_of
from openmirror.plan.ownership import not_ours
from openmirror.plan.rules import judged, still_stands, table_rules
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.sequence import START, Sequence, file_stem, next_sequence
from openmirror.tablelog import BrokenLog


def plan(look: Look, limits: Limits, now: datetime) -> Decision:
    """What to do about one table. Pure; the same look always gives the same answer."""
    limits = limits_of(look.policy, limits)
    if hold := _hold(look):
        return Held(hold)
    if look.incarnation is None:
        return _without_folder(look, limits, now)
    if refused := not_ours(look):
        return refused
    if look.log is None and look.aside is not None:
        return Restore(look.aside.path, hold=look.control.asks_for(RequestKind.UNDROP))
    opening = opening_of(look)
    if isinstance(opening, Continue):
        return opening
    rules = table_rules(look, limits, now)
    if opening.kind is BatchKind.REPLACE:
        if look.control.asks_for(RequestKind.RESEED) and (stop := _reseed_gap(look)):
            return stop
        if not isinstance(rules, Pinned):
            return _or_idle(look, rules)
        return first_batch(look, opening, rules, limits, now)
    if not isinstance(rules, Pinned):
        return rules
    if changed := applied_file_changed(look):
        return changed
    standing = look.control.problem
    if standing and still_stands(look, standing) and _is_of_whole_table(look, standing.file):
        return Pause(standing)
    return next_batch(look, opening, rules, limits, now)


def applied_file_changed(look: Look) -> Pause | None:
    """A file that was overwritten after it was applied, while it still lies in the folder."""
    if look.life is None:
        return None
    for digest in look.life.applied_files(look.applied):
        file = look.files.get(digest.sequence)
        if file is None or file.archived or is_gone(look, file):
            continue
        if file.etag != digest.etag:
            detail = f"{file.name} was overwritten after it was applied"
            return Pause(judged(look, Broken(Code.APPLIED_FILE_CHANGED, detail), file))
    return None


def is_gone(look: Look, file: LandedFile) -> bool:
    """Whether the file that had this number was moved away already: then this is another one."""
    if look.life is None or look.filing.has_ledger:
        return False  # a ledger knows files by name
    return file.sequence <= look.life.archived_through


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


def _hold(look: Look) -> Hold | None:
    """The operator's hold; what `undrop` brings back is held from the moment it is in its place."""
    request = look.control.request
    if request is None or not look.control.asks_for(RequestKind.UNDROP):
        return look.control.hold
    if look.log is not None:
        return look.control.hold or Hold(look.at, request.by, "brought back by undrop")
    return None if look.aside is not None else look.control.hold


def _without_folder(look: Look, limits: Limits, now: datetime) -> Decision:
    if look.control.asks_for(RequestKind.UNDROP) and look.log is None and look.aside is not None:
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
        return Wait(
            Waiting(
                kind=WaitKind.GRACE, since=since, detail="the landing folder is gone", until=until
            )
        )
    if look.drop_needs_yes:
        detail = "many tables would be dropped at once; `openmirror confirm-drops` allows it"
        return Wait(Waiting(kind=WaitKind.CONFIRMATION, since=since, detail=detail))
    return Drop()


def _or_idle(look: Look, stop: Stop) -> Decision:
    """A new folder without any change file has nothing to wait for or to be judged by."""
    return stop if look.files or isinstance(stop, Pause) else Idle()


def _is_of_whole_table(look: Look, file: str | None) -> bool:
    there = next((f for f in look.files.values() if f.name == file), None)
    return there is None or there.sequence <= look.applied


def _reseed_gap(look: Look) -> Pause | None:
    """A reseed needs every file from 1 on, or its skip."""
    missing = first_missing(look)
    if missing is None:
        return None
    detail = (
        f"a reseed needs {file_stem(missing)}, which is neither in the folder nor in its archive"
    )
    return Pause(judged(look, Broken(Code.RESEED_INCOMPLETE, detail)))
