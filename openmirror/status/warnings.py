"""The warnings of a table: holds, drops, requests, retries, slips and skips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from openmirror.errors import MOST_ATTEMPTS, Notice
from openmirror.plan import Decision, ObservedState, features, soft_deletes
from openmirror.plan.cleanup import ARCHIVE_RETENTION
from openmirror.plan.decisions import Pause
from openmirror.plan.facts import LandedFile
from openmirror.plan.file_format import assumed
from openmirror.plan.history import is_stopped
from openmirror.plan.observed import TablePolicy, UnexpectedName
from openmirror.plan.read_rules import Fractions
from openmirror.plan.stopping import stop_of
from openmirror.plan.times import is_ahead
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import METADATA_FILE
from openmirror.protocol.rules import Code
from openmirror.protocol.sequence import Position, file_stem
from openmirror.status.maintenance import behind
from openmirror.status.stages import dropped, is_dropped
from openmirror.status.words import Warn, Word, at_second, by_whom, held_since
from openmirror.table.control import BeginReason, RequestKind, Skip
from openmirror.table.log import TableLog


def warnings(observed: ObservedState, decision: Decision, position: Position) -> Iterator[Warn]:
    """What goes on beside the status, most pressing first."""
    control = observed.control
    if hold := control.hold:
        yield Warn(
            Word.HELD,
            held_since(hold),
            "`openmirror resume` lets it go on.",
        )
    yield from _held_with_its_mirror(observed)
    if is_dropped(observed):
        stage = dropped(observed)
        at = f" on {at_second(stage.at)}" if stage.at else ""
        until = f"until {at_second(stage.until)}" if stage.until else "until its retention ends"
        yield Warn(
            Word.DROPPED,
            f"dropped{at}, because its folder was deleted; it can be brought back {until}",
            "`openmirror undrop` brings it back, held; a new folder of this name replaces it.",
        )
    if control.request:
        request = control.request
        stop = stop_of(observed) if request.kind is RequestKind.RESEED else None
        through = f" through {stop.sequence}" if stop else ""
        yield Warn(
            Word.REQUESTED,
            f"{request.kind.value}{through} asked for on {at_second(request.at)} by "
            f"{by_whom(request.by, request.why)}; the runner carries it out when it next runs",
            "Nothing to do while a runner is on; else `openmirror drain` or the Spark job.",
        )
    if (stop := stop_of(observed)) and not control.request:
        yield Warn(
            Word.REQUESTED,
            f"being rebuilt through {stop.sequence}, as asked for on {at_second(stop.at)} by "
            f"{by_whom(stop.by, stop.why)}; it is held there",
            "Once it is there, `openmirror resume` lets it go on.",
        )
    if control.maintenance and (asked := control.maintenance.asked):
        yield Warn(
            Word.REQUESTED,
            f"maintenance asked for on {at_second(asked.at)} by {asked.by}; the runner carries it "
            "out once the table has nothing to do",
            "Nothing to do while a runner is on; else `openmirror drain` or the Spark job.",
        )
    if allowed := control.hard_deletes:
        yield Warn(
            Word.REQUESTED,
            f"hard deletes confirmed on {at_second(allowed.at)} by "
            f"{by_whom(allowed.by, allowed.why)}; the marked rows go once the table has nothing "
            "to do, and the column with the next batch",
            "Nothing to do; `delete: soft` in mirroring.json keeps what is marked from then on.",
        )
    if control.failures and not isinstance(decision, Pause):
        failures = control.failures
        yield Warn(
            Word.RETRYING,
            f"attempt {failures.count} of {MOST_ATTEMPTS} failed on {at_second(failures.at)}: "
            f"{failures.error}",
            "It is tried again by itself; after the last attempt the table pauses.",
            failures.files[0].name if failures.files else None,
        )
    yield from _of_history(observed)
    yield from (_noticed(notice) for notice in _notices(observed, position))
    yield from behind(observed)
    yield from _skips(observed, position)
    yield from _skips_by_name(observed)


def _held_with_its_mirror(observed: ObservedState) -> Iterator[Warn]:
    """The holds that a table shares with others of its mirror."""
    mirror = observed.folder.mirror
    if hold := observed.mirror_hold:
        yield Warn(
            Word.HELD,
            f"the whole mirror is {held_since(hold)}",
            f"`openmirror resume --mirror {mirror}` lets it go on.",
        )
    if isinstance(observed.policy, TablePolicy) and not observed.policy.mounted:
        yield Warn(
            Word.HELD,
            "not among the mountedTables of mirroring.json; stays as it is, and is not dropped",
            "Name it in mountedTables of mirroring.json, or leave mountedTables out.",
        )


def _of_history(observed: ObservedState) -> Iterator[Warn]:
    """A history that is not written to any more, or lacks versions of before it began anew."""
    if is_stopped(observed) and isinstance(observed.log, TableLog):
        yield Warn(
            Word.HISTORY_STOPPED,
            "mirroring.json asks for no history any more; it stays as it is",
            "Set history to scd2 to have it go on; or delete its Delta table and its control "
            "document, if nobody needs it.",
        )
    begun = observed.control.begun
    if begun is not None and begun.why in _BEGUN_ANEW:
        yield Warn(
            Word.HISTORY_BEGUN_ANEW,
            f"{_BEGUN_ANEW[begun.why]}: it began anew on {at_second(begun.at)} with the rows that "
            f"were there at {file_stem(begun.position)}; versions of before may be missing",
            "Nothing to do; `openmirror reseed` begins it anew once more, and ends this warning.",
        )


_BEGUN_ANEW = {
    BeginReason.LOST: "its Delta table was gone",
    BeginReason.GAP: "files that it needed were gone, or overwritten",
}


def _notices(observed: ObservedState, position: Position) -> Iterator[Notice]:
    """What `Code` calls warnings: slips of a publisher that stop nothing."""
    if isinstance(observed.metadata, TableMetadata) and observed.metadata.repairs:
        detail = "; ".join(observed.metadata.repairs)
        yield Notice(Code.METADATA_REPAIRED, detail, METADATA_FILE)
    ahead = [file for file in observed.landed if is_ahead(observed, file)]
    if ahead:
        farthest = max(ahead, key=lambda file: file.modified)
        more = f", and that of {len(ahead) - 1} more" if len(ahead) > 1 else ""
        time = at_second(farthest.modified)
        detail = f"the time of {farthest.name}, {time}{more}, lies in the future"
        yield Notice(Code.FILE_TIME_AHEAD, detail, farthest.name)
    if isinstance(observed.metadata, TableMetadata) and observed.metadata.misspelt:
        detail = "; ".join(observed.metadata.misspelt)
        yield Notice(Code.METADATA_KEY_UNKNOWN, detail, METADATA_FILE)
    if by := assumed(observed):
        yield Notice(Code.FILE_FORMAT_ASSUMED, by)
    yield from never_read(observed)
    junk = [name for name in observed.unexpected_names if not name.may_hold_changes]
    yield from _by_reason(Code.FILE_NAME_INVALID, junk)
    yield from _overwrites(observed)
    again = _reused(observed, position)
    if again:
        more = f", and {len(again) - 1} more" if len(again) > 1 else ""
        detail = f"{again[0].name}{more}: used before; never read, never moved"
        yield Notice(Code.SEQUENCE_REUSED, detail, again[0].name)
    if observed.control.rebuilt:
        detail = (
            f"the control document was lost, and made anew on {at_second(observed.control.rebuilt)}"
        )
        yield Notice(Code.CONTROL_DOCUMENT_REBUILT, detail)
    if missing := observed.control.unregistered:
        detail = f"its catalog does not have it since {at_second(missing.since)}: {missing.reason}"
        yield Notice(Code.CATALOG_REGISTRATION_FAILED, detail)
    policy = observed.policy
    is_accepted = isinstance(policy, TablePolicy) and policy.fractions is Fractions.TRUNCATE
    if observed.record and (truncated := observed.record.truncated) and not is_accepted:
        yield Notice(Code.FRACTIONS_TRUNCATED, truncated.detail, truncated.file)
    if isinstance(policy, TablePolicy) and isinstance(observed.log, TableLog):
        for detail in (*features.unmet(policy, observed.log), *soft_deletes.unmet(observed)):
            yield Notice(Code.TABLE_SETTING_UNMET, detail)


def never_read(observed: ObservedState) -> tuple[Notice, ...]:
    """What lies in the folder like changes that were sent, and is never read."""
    sent = [name for name in observed.unexpected_names if name.may_hold_changes]
    return tuple(_by_reason(Code.FILE_NEVER_READ, sent))


def _by_reason(code: Code, names: Iterable[UnexpectedName]) -> Iterator[Notice]:
    """One notice for each reason: a publisher that is wrong once is wrong throughout."""
    alike: dict[str, list[str]] = {}
    for unexpected in names:
        alike.setdefault(unexpected.reason, []).append(unexpected.name)
    for reason, found in alike.items():
        more = f", like {len(found) - 1} more" if len(found) > 1 else ""
        yield Notice(code, f"never read{more}: {reason}", found[0])


def _overwrites(observed: ObservedState) -> Iterator[Notice]:
    """Applied files that were written over and stopped nothing, as long as archives are kept."""
    record = observed.record
    for code, found, how in (
        (Code.FILE_REWRITTEN, record and record.rewritten, "with the same bytes, or touched"),
        (Code.OVERWRITE_IGNORED, record and record.ignored, "by something that is ignored"),
    ):
        if found and observed.at < found.at + ARCHIVE_RETENTION:
            times = f"; {found.count} times so far" if found.count > 1 else ""
            on = at_second(found.at)
            detail = f"{found.file} was applied, and on {on} written over {how}{times}"
            yield Notice(code, detail, found.file)


def _reused(observed: ObservedState, position: Position) -> list[LandedFile]:
    """Files under numbers that are archived, or were applied without them."""
    record = observed.record
    if observed.folder.is_history:
        return []  # its current table says it, which knows all that was read
    if observed.naming.has_ledger:
        return list(observed.ledger.reused)
    if record is None or position > observed.applied:
        return []  # between two epochs manifests and position do not belong together
    read = {manifest.sequence for batch in record.batches for manifest in batch.files}
    # A rebuilt document has no manifests: then only the number of the archived file shows it.
    forgotten = observed.control.rebuilt is not None
    return [
        file
        for file in observed.files.values()
        if not file.archived
        and (
            file.sequence <= record.archived_through
            or (
                not forgotten
                and file.sequence <= position
                and file.sequence not in read
                and not record.skipped(file.sequence, file.etag)
            )
        )
    ]


def _skips(observed: ObservedState, position: Position) -> Iterator[Warn]:
    """Skips that still pass over something: those that lie behind the table are history."""
    for skip in observed.record.skips if observed.record else ():
        if skip.name is not None or skip.partition is not None:
            continue
        file = observed.files.get(skip.first) if skip.etag is not None else None
        if skip.last <= position or (
            skip.etag is not None and (not file or file.etag != skip.etag)
        ):
            continue
        what = file.name if file else f"{_numbers(skip)}, as far as missing,"
        yield _passed_over(what, skip, file.name if file else None)


def _skips_by_name(observed: ObservedState) -> Iterator[Warn]:
    """Files and partitions' numbers that are passed over where the table has a ledger."""
    if observed.record is None:
        return
    for file in observed.ledger.skipped:
        if skip := observed.record.skipped_file(file.name, file.etag):
            yield _passed_over(file.name, skip, file.name)
    for view in observed.ledger.partitions:
        for skip in observed.record.skips:
            if skip.partition == view.name and skip.last > (view.applied or 0):
                where = f" of {view.name}" if view.name else ""
                yield _passed_over(f"{_numbers(skip)}{where}, as far as missing,", skip, None)


def _numbers(skip: Skip) -> str:
    first = file_stem(skip.first)
    return first if skip.last == skip.first else f"{first} to {file_stem(skip.last)}"


def _passed_over(what: str, skip: Skip, file: str | None) -> Warn:
    return Warn(
        Word.SKIPPED,
        f"{what} is passed over since {at_second(skip.at)}, by {by_whom(skip.by, skip.why)}",
        "A file that is replaced later, or comes in time, is read.",
        file,
    )


def _noticed(notice: Notice) -> Warn:
    return Warn(notice.code, notice.detail, notice.solution, notice.file)
