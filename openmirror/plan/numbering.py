"""Which file has which place: by its own name, or by the ledger (ARCHITECTURE §13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from openmirror.control import BatchKind, FileDigest, Life
from openmirror.plan.facts import LandedFile
from openmirror.plan.look import LedgerView, Look, PartitionView
from openmirror.plan.partitions import merged, runs_of
from openmirror.protocol.filing import FiledAs, read_name
from openmirror.protocol.sequence import FENCED, START, Position, Sequence
from openmirror.tablelog import TableLog

UNPLACED = Sequence(0)
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
    recorded: Mapping[str, FileDigest]
    """What the ledger says of them, by name."""


def placed(look: Look, used: frozenset[str] = frozenset(), again: Rereading | None = None) -> Look:
    """The look with every file at its place.

    `used` names files whose name lies in the archive as well: they came again.
    """
    if not look.filing.has_ledger:
        return replace(look, files=_by_name(look.landed))
    life = look.life
    assert life is not None  # only a folder that is there has files
    known = _known(look, life, replaces=again is not None and again.replaces)
    recorded = _still_to_read(again, known)
    files, reused = _taken(look, known, recorded, again, used)
    rest = _unplaced(look, {**known, **recorded}, again)
    skipped, rest = _parted(rest, lambda f: life.skipped_file(f.name, f.etag) is not None)
    again_there, rest = _parted(rest, lambda f: f.name in used)
    counted = {} if again is not None and again.replaces else dict(life.partitions)
    for digest in (*known.values(), *recorded.values()):
        count(look, digest, counted)
    if look.filing.is_numbered:
        behind, rest = _parted(rest, lambda f: (f.number or 0) <= counted.get(f.partition, 0))
        again_there += behind
        runs, partitions = runs_of(life, rest, counted, skipped, _applied(look, life))
        ordered = merged(runs)
    else:
        ordered = iter(sorted(rest, key=lambda f: (f.modified, f.name)))
        partitions = _found_by_time(look)
    last = max((placed_through(look), *files, *(d.sequence for d in recorded.values())))
    for number, file in enumerate(ordered, start=last + 1):
        files[Sequence(number)] = replace(file, sequence=Sequence(number))
    view = LedgerView(
        tuple(partitions),
        (*reused, *again_there),
        tuple(skipped),
        again_through=_again_through(files, recorded, again),
        is_read=bool(recorded),
    )
    return replace(look, files=dict(sorted(files.items())), ledger=view)


def _unplaced(
    look: Look, placed: Mapping[str, FileDigest], again: Rereading | None
) -> list[LandedFile]:
    """Files that get their place now; archived ones only where no ledger knows them."""
    rest = [file for file in look.landed if file.name not in placed]
    if again is not None:
        there = {file.name for file in look.landed}
        known = there | placed.keys() | again.recorded.keys()
        rest += [file for file in again.archived if file.name not in known]
    return rest


def _again_through(
    files: Mapping[Sequence, LandedFile],
    recorded: Mapping[str, FileDigest],
    again: Rereading | None,
) -> Position:
    """Up to which number files are read that were applied before."""
    read_before = [number for number, file in files.items() if file.archived]
    read_before += [digest.sequence for digest in recorded.values()]
    if again is not None and again.through != FENCED:
        read_before.append(Sequence(again.through))
    return Position(max(read_before, default=START))


def _parted(
    files: Iterable[LandedFile], is_such: Callable[[LandedFile], bool]
) -> tuple[list[LandedFile], list[LandedFile]]:
    such: list[LandedFile] = []
    others: list[LandedFile] = []
    for file in files:
        (such if is_such(file) else others).append(file)
    return such, others


def placed_through(look: Look) -> Position:
    """Up to which number files have their place for good: between two epochs none is live."""
    if look.live:
        return look.live[1]
    log = look.log if isinstance(look.log, TableLog) else None
    decided = look.control.decided
    if log is None or log.last_fenced is None:
        return START
    if decided and decided.kind is BatchKind.REPLACE and decided.app_id not in log.transactions:
        return START
    epoch, position = log.last_fenced
    same = (epoch.folder, epoch.incarnation) == (look.folder, look.incarnation)
    return position if same else START


def applied_before(look: Look) -> Position:
    """Up to which number the ledger tells of files that were applied, by whatever epoch.

    A batch that is decided counts as well: it may land while this is read. Where another life has
    the table by now, the log has forgotten it: then the control document tells, and where that was
    lost as well, the ledger is believed to its end.
    """
    life, decided = look.life, look.control.decided
    assert life is not None
    if placed := placed_through(look):
        return Position(max(placed, life.reseeding_until, life.known_through))
    log = look.log if isinstance(look.log, TableLog) else None
    if decided in life.batches and (log is None or decided.app_id not in log.transactions):
        life = replace(life, batches=tuple(b for b in life.batches if b != decided))
        return Position(max(life.reseeding_until, life.known_through))
    return Position(max(life.reseeding_until, life.known_through)) or FENCED


def _by_name(landed: Iterable[LandedFile]) -> dict[Sequence, LandedFile]:
    files: dict[Sequence, LandedFile] = {}
    for file in landed:
        twin = files.get(file.sequence)
        files[file.sequence] = replace(file, twin=twin.name) if twin else file
    return dict(sorted(files.items()))


def _known(look: Look, life: Life, *, replaces: bool) -> dict[str, FileDigest]:
    """Files that have a number for good: applied ones, and those of the decided batch."""
    through = START if replaces else placed_through(look)
    known = [*life.applied_files(through)]
    decided = look.control.decided
    if decided and decided.kind is not BatchKind.CONTINUE and decided.epoch.folder == look.folder:
        undone = decided.last > through and decided.epoch.incarnation == look.incarnation
        is_next = decided.kind is BatchKind.REPLACE if replaces else True
        known += decided.files if undone and is_next else ()
    return {file.name: file for file in known}


def _still_to_read(
    again: Rereading | None, known: Mapping[str, FileDigest]
) -> dict[str, FileDigest]:
    if again is None:
        return {}
    last = max((file.sequence for file in known.values()), default=0)
    return {n: f for n, f in again.recorded.items() if n not in known and f.sequence > last}


def _taken(
    look: Look,
    known: Mapping[str, FileDigest],
    recorded: Mapping[str, FileDigest],
    again: Rereading | None,
    used: frozenset[str],
) -> tuple[dict[Sequence, LandedFile], list[LandedFile]]:
    """Files at the numbers that they have already, and those that only have a used name."""
    there = {file.name: file for file in look.landed}
    archived = {file.name: file for file in again.archived} if again else {}
    files: dict[Sequence, LandedFile] = {}
    reused: list[LandedFile] = []
    for name, digest in {**known, **recorded}.items():
        file = there.get(name)
        # What was applied is what lies in the archive, where there is one of this name.
        if file and file.etag != digest.etag and (name in used or name in archived):
            reused.append(file)
            file = None
        file = file or archived.get(name)
        if file is not None:
            files[digest.sequence] = replace(file, sequence=digest.sequence)
    return files, reused


def count(look: Look, digest: FileDigest, counted: dict[str, Sequence]) -> None:
    """Raise the highest number of its own that is known of the file's partition."""
    partition, number = number_of(look, digest.name)
    if number is not None:
        counted[partition] = Sequence(max(number, counted.get(partition, 0)))


def _applied(look: Look, life: Life) -> dict[str, Sequence]:
    """How far each partition's own numbers are in the table; what is only decided is not."""
    applied, through = dict(life.partitions), placed_through(look)
    for digest in life.applied_files(through):
        count(look, digest, applied)
    return applied


def number_of(look: Look, name: str) -> tuple[str, Sequence | None]:
    """A file's partition, and its own number there."""
    filed = read_name(look.filing, name)
    return (filed.partition, filed.number) if isinstance(filed, FiledAs) else ("", None)


def _found_by_time(look: Look) -> list[PartitionView]:
    if not look.filing.partitioned:
        return []
    return [PartitionView(name, None) for name in sorted({f.partition for f in look.landed})]
