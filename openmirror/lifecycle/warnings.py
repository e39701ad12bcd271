"""What stands beside a table's status: holds, drops, requests, retries, slips and skips."""

from __future__ import annotations

from collections.abc import Iterator

from openmirror.control import Skip
from openmirror.errors import MOST_ATTEMPTS, Notice
from openmirror.lifecycle.stages import dropped, is_dropped
from openmirror.lifecycle.words import Warn, Word, iso
from openmirror.plan import Decision, Look
from openmirror.plan.decisions import Pause
from openmirror.plan.facts import LandedFile
from openmirror.plan.features import unmet
from openmirror.plan.look import TablePolicy
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import METADATA_FILE
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Position, file_stem
from openmirror.tablelog import TableLog


def warnings(look: Look, decision: Decision, position: Position) -> Iterator[Warn]:
    """What goes on beside the status, most pressing first."""
    control = look.control
    if control.hold:
        yield Warn(
            Word.HELD,
            f"held since {iso(control.hold.since)} by {_who(control.hold.by, control.hold.why)}",
            "`openmirror resume` lets it go on.",
        )
    if is_dropped(look):
        stage = dropped(look)
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
    yield from _skips_by_name(look)


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
        detail = f"{again[0].name}{more}: used before; never read, never moved"
        yield Notice(Code.SEQUENCE_REUSED, detail, again[0].name)
    if look.control.rebuilt:
        detail = f"the control document was lost, and made anew on {iso(look.control.rebuilt)}"
        yield Notice(Code.CONTROL_DOCUMENT_REBUILT, detail)
    if isinstance(look.policy, TablePolicy) and isinstance(look.log, TableLog):
        for detail in unmet(look.policy, look.log):
            yield Notice(Code.TABLE_SETTING_UNMET, detail)


def _reused(look: Look, position: Position) -> list[LandedFile]:
    """Files under numbers that are archived, or were applied without them."""
    life = look.life
    if look.filing.has_ledger:
        return list(look.ledger.reused)
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
        if skip.name is not None or skip.partition is not None:
            continue
        file = look.files.get(skip.first) if skip.etag is not None else None
        if skip.last <= position or (
            skip.etag is not None and (not file or file.etag != skip.etag)
        ):
            continue
        what = file.name if file else f"{_numbers(skip)}, as far as missing,"
        yield _passed_over(what, skip, file.name if file else None)


def _skips_by_name(look: Look) -> Iterator[Warn]:
    """Files and partitions' numbers that are passed over where the table has a ledger."""
    if look.life is None:
        return
    for file in look.ledger.skipped:
        if skip := look.life.skipped_file(file.name, file.etag):
            yield _passed_over(file.name, skip, file.name)
    for view in look.ledger.partitions:
        for skip in look.life.skips:
            if skip.partition == view.name and skip.last > (view.applied or 0):
                where = f" of {view.name}" if view.name else ""
                yield _passed_over(f"{_numbers(skip)}{where}, as far as missing,", skip, None)


def _numbers(skip: Skip) -> str:
    first = file_stem(skip.first)
    return first if skip.last == skip.first else f"{first} to {file_stem(skip.last)}"


def _passed_over(what: str, skip: Skip, file: str | None) -> Warn:
    return Warn(
        Word.SKIPPED,
        f"{what} is passed over since {iso(skip.at)}, by {_who(skip.by, skip.why)}",
        "A file that is replaced later, or comes in time, is read.",
        file,
    )


def _noticed(notice: Notice) -> Warn:
    return Warn(notice.code, notice.detail, notice.solution, notice.file)


def _who(by: str, why: str) -> str:
    return f"{by}: {why}" if why else by
