"""The order of a table's files: by their own names, or by the ledger (INTERNALS §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import LedgerView, ObservedState, PartitionView
from openmirror.plan.partitions import merged, runs_of
from openmirror.protocol.naming_scheme import ParsedName, read_name
from openmirror.protocol.sequence import FENCED, START, Position, Sequence
from openmirror.table.control import BatchKind, IncarnationRecord, ManifestEntry
from openmirror.table.log import TableLog

UNORDERED = Sequence(0)
"""Stands for a number until the ledger gives one."""


@dataclass(frozen=True)
class Rereading:
    """What a table that is read once more from its beginning needs besides its folder."""

    replaces: bool
    """Whether nothing of it counts as applied."""
    archived: tuple[LandedFile, ...]
    """Everything in the archive folder."""
    through: Position
    """Up to this number files were applied before."""
    recorded: Mapping[str, ManifestEntry]
    """Their ledger entries, by file name."""


def in_order(
    observed: ObservedState, used: frozenset[str] = frozenset(), reread: Rereading | None = None
) -> ObservedState:
    """The observed state with every file under its number in the table's order.

    `used` names files whose name lies in the archive as well: they came again.
    """
    if not observed.naming.has_ledger:
        return replace(observed, files=_by_name(observed.landed))
    record = observed.record
    assert record is not None  # only a folder that is there has files
    known = _known(observed, record, replaces=reread is not None and reread.replaces)
    recorded = _still_to_read(reread, known)
    files, reused = _taken(observed, known, recorded, reread, used)
    remaining = _unordered(observed, {**known, **recorded}, reread)
    skipped, remaining = _parted(
        remaining, lambda f: record.skipped_file(f.name, f.etag) is not None
    )
    reused_now, remaining = _parted(remaining, lambda f: f.name in used)
    counted = {} if reread is not None and reread.replaces else dict(record.partitions)
    for entry in (*known.values(), *recorded.values()):
        count(observed, entry, counted)
    if observed.naming.is_numbered:
        behind, remaining = _parted(
            remaining, lambda f: (f.number or 0) <= counted.get(f.partition, 0)
        )
        reused_now += behind
        runs, partitions = runs_of(record, remaining, counted, skipped, _applied(observed, record))
        ordered = merged(runs)
    else:
        ordered = iter(sorted(remaining, key=lambda f: (f.modified, f.name)))
        partitions = _found_by_time(observed)
    last = max((ordered_through(observed), *files, *(d.sequence for d in recorded.values())))
    for number, file in enumerate(ordered, start=last + 1):
        files[Sequence(number)] = replace(file, sequence=Sequence(number))
    view = LedgerView(
        tuple(partitions),
        (*reused, *reused_now),
        tuple(skipped),
        reread_through=_reread_through(files, recorded, reread),
        is_read=bool(recorded),
    )
    return replace(observed, files=dict(sorted(files.items())), ledger=view)


def _unordered(
    observed: ObservedState, in_order: Mapping[str, ManifestEntry], reread: Rereading | None
) -> list[LandedFile]:
    """Files that get their number now; archived ones only where no ledger has them."""
    remaining = [file for file in observed.landed if file.name not in in_order]
    if reread is not None:
        there = {file.name for file in observed.landed}
        known = there | in_order.keys() | reread.recorded.keys()
        remaining += [file for file in reread.archived if file.name not in known]
    return remaining


def _reread_through(
    files: Mapping[Sequence, LandedFile],
    recorded: Mapping[str, ManifestEntry],
    reread: Rereading | None,
) -> Position:
    """Up to which number files are read that were applied before."""
    read_before = [number for number, file in files.items() if file.archived]
    read_before += [entry.sequence for entry in recorded.values()]
    if reread is not None and reread.through != FENCED:
        read_before.append(Sequence(reread.through))
    return Position(max(read_before, default=START))


def _parted(
    files: Iterable[LandedFile], is_such: Callable[[LandedFile], bool]
) -> tuple[list[LandedFile], list[LandedFile]]:
    such: list[LandedFile] = []
    others: list[LandedFile] = []
    for file in files:
        (such if is_such(file) else others).append(file)
    return such, others


def ordered_through(observed: ObservedState) -> Position:
    """Up to which number the order is final; between two epochs none is live."""
    if observed.live:
        return observed.live[1]
    log = observed.log if isinstance(observed.log, TableLog) else None
    decided = observed.control.decided
    if log is None or log.last_fenced is None:
        return START
    if decided and decided.kind is BatchKind.REPLACE and decided.app_id not in log.transactions:
        return START
    epoch, position = log.last_fenced
    same = (epoch.folder, epoch.incarnation) == (observed.folder, observed.incarnation)
    return position if same else START


def applied_before(observed: ObservedState) -> Position:
    """Up to which number the ledger's files count as applied, by whatever epoch.

    A batch that is decided counts as well: it may land while this is read. Where another
    incarnation has the table by now, the log has forgotten it: then the control document has the
    number, and where that was lost as well, the ledger is believed to its end.
    """
    record, decided = observed.record, observed.control.decided
    assert record is not None
    if in_order := ordered_through(observed):
        return Position(max(in_order, record.reseeding_until, record.known_through))
    log = observed.log if isinstance(observed.log, TableLog) else None
    if decided in record.batches and (log is None or decided.app_id not in log.transactions):
        record = replace(record, batches=tuple(b for b in record.batches if b != decided))
        return Position(max(record.reseeding_until, record.known_through))
    return Position(max(record.reseeding_until, record.known_through)) or FENCED


def _by_name(landed: Iterable[LandedFile]) -> dict[Sequence, LandedFile]:
    files: dict[Sequence, LandedFile] = {}
    for file in landed:
        twin = files.get(file.sequence)
        files[file.sequence] = replace(file, twin=twin.name) if twin else file
    return dict(sorted(files.items()))


def _known(
    observed: ObservedState, record: IncarnationRecord, *, replaces: bool
) -> dict[str, ManifestEntry]:
    """Files that have a number for good: applied ones, and those of the decided batch."""
    through = START if replaces else ordered_through(observed)
    known = [*record.applied_files(through)]
    decided = observed.control.decided
    if (
        decided
        and decided.kind is not BatchKind.CONTINUE
        and decided.epoch.folder == observed.folder
    ):
        undone = decided.last > through and decided.epoch.incarnation == observed.incarnation
        is_next = decided.kind is BatchKind.REPLACE if replaces else True
        known += decided.files if undone and is_next else ()
    return {file.name: file for file in known}


def _still_to_read(
    reread: Rereading | None, known: Mapping[str, ManifestEntry]
) -> dict[str, ManifestEntry]:
    if reread is None:
        return {}
    last = max((file.sequence for file in known.values()), default=0)
    return {n: f for n, f in reread.recorded.items() if n not in known and f.sequence > last}


def _taken(
    observed: ObservedState,
    known: Mapping[str, ManifestEntry],
    recorded: Mapping[str, ManifestEntry],
    reread: Rereading | None,
    used: frozenset[str],
) -> tuple[dict[Sequence, LandedFile], list[LandedFile]]:
    """Files at the numbers that they have already, and those that only have a used name."""
    there = {file.name: file for file in observed.landed}
    archived = {file.name: file for file in reread.archived} if reread else {}
    files: dict[Sequence, LandedFile] = {}
    reused: list[LandedFile] = []
    for name, entry in {**known, **recorded}.items():
        file = there.get(name)
        # What was applied is what lies in the archive, where there is one of this name.
        if file and file.etag != entry.etag and (name in used or name in archived):
            reused.append(file)
            file = None
        file = file or archived.get(name)
        if file is not None:
            files[entry.sequence] = replace(file, sequence=entry.sequence)
    return files, reused


def count(observed: ObservedState, entry: ManifestEntry, counted: dict[str, Sequence]) -> None:
    """Raise the highest number of its own that is known of the file's partition."""
    partition, number = number_of(observed, entry.name)
    if number is not None:
        counted[partition] = Sequence(max(number, counted.get(partition, 0)))


def _applied(observed: ObservedState, record: IncarnationRecord) -> dict[str, Sequence]:
    """How far each partition's own numbers are in the table; what is only decided is not."""
    applied, through = dict(record.partitions), ordered_through(observed)
    for entry in record.applied_files(through):
        count(observed, entry, applied)
    return applied


def number_of(observed: ObservedState, name: str) -> tuple[str, Sequence | None]:
    """A file's partition, and its own number there."""
    parsed = read_name(observed.naming, name)
    return (parsed.partition, parsed.number) if isinstance(parsed, ParsedName) else ("", None)


def _found_by_time(observed: ObservedState) -> list[PartitionView]:
    if not observed.naming.partitioned:
        return []
    return [PartitionView(name, None) for name in sorted({f.partition for f in observed.landed})]
