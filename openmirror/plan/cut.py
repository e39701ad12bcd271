"""Cutting the next batch: consecutive files up to a limit, a gap, a wait or a problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from openmirror.errors import TEXT_REMEDY
from openmirror.plan.beginning import overwritten_meanwhile
from openmirror.plan.decisions import Pause, Stop, Wait, Waiting, WaitKind
from openmirror.plan.facts import Completeness, LandedFile
from openmirror.plan.history import NEW_HISTORY
from openmirror.plan.observed import (
    Limits,
    ObservedState,
    PartitionView,
    TablePolicy,
    TypeChange,
    WholeFloats,
    ZonelessTimestamps,
)
from openmirror.plan.own_columns import OwnColumns
from openmirror.plan.own_group import reserved_column
from openmirror.plan.rules import problem_of, still_holds
from openmirror.plan.soft_deletes import wrong_time_column
from openmirror.plan.times import counted_from
from openmirror.protocol.counts import counted
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.schema import (
    ColumnType,
    SchemaUnion,
    TableSchema,
    in_table,
    union_schema,
    with_whole_floats,
)
from openmirror.protocol.sequence import FENCED, Position, Sequence, file_stem, next_sequence
from openmirror.table.control import FrozenOptions, IncarnationRecord


@dataclass(frozen=True)
class Cut:
    """Files that can be applied together, and what stops the table behind them."""

    files: tuple[LandedFile, ...]
    union: SchemaUnion
    stop: Stop | None
    leaves_more: bool = False
    """Whether the limits end it, with files behind it."""


def pending(
    observed: ObservedState, record: IncarnationRecord, after: Position
) -> Iterator[LandedFile | Sequence]:
    """What must be applied next, in order: files, or a number that is missing before one.

    Skipped numbers and skipped files are passed over; nothing comes behind a stop.
    """
    stop = record.stops_after
    end = stop.sequence if stop else FENCED
    ahead = [sequence for sequence in observed.files if after < sequence <= end]
    sequence = next_sequence(after)
    last = max(ahead, default=sequence - 1)
    while sequence <= last:
        file = observed.files.get(sequence)
        if file is None:
            covering = record.skipped(sequence, None)
            if covering is None:
                yield sequence
                return
            # A skip may cover millions of numbers: step over it, not through it.
            nearest = min(other for other in ahead if other > sequence)
            sequence = Sequence(min(covering.last + 1, nearest))
            continue
        if record.skipped(sequence, file.etag) is None:
            yield file
        sequence = Sequence(sequence + 1)


def cut_batch(
    observed: ObservedState,
    rules: FrozenOptions,
    after: Position,
    table: TableSchema,
    limits: Limits,
    now: datetime,
    own: OwnColumns,
) -> Cut:
    """The longest run of good files after a position, within the limits (ARCHITECTURE §3).

    A table's first files go together up to the first that has a typed column, however many.
    """
    assert observed.record is not None  # only a folder that is there is cut
    files: list[LandedFile] = []
    schema, rows, size = table, 0, 0
    stop: Stop | None = None
    passed: dict[str, Wait] = {}
    leaves_more = False
    overwritten = overwritten_meanwhile(observed)
    for item in pending(observed, observed.record, after):
        if not isinstance(item, LandedFile):
            stop = _gap(observed, item)
            break
        sequence_group = sequence_group_of(observed, item)
        if sequence_group in passed:
            continue
        if item.facts is None and (files or passed):
            leaves_more = bool(files)
            break  # the observation did not need to inspect further than a batch
        if item.sequence in overwritten:
            detail = f"{item.name} was overwritten after the current table had applied it"
            stop = _pause(observed, item, Code.APPLIED_FILE_CHANGED, detail)
            break
        stop = check_file(observed, item, rules, limits, now)
        if isinstance(stop, Wait) and _may_pass(observed, item):
            passed[sequence_group] = stop
            stop = None
            continue
        if stop := stop or reserved_column(observed, item, own.groups):
            break
        item = adapted(observed, rules, schema, item)
        assert item.facts is not None
        merged = merge_file(observed, schema, item)
        if isinstance(merged, Pause):
            stop = merged
            break
        if stop := wrong_time_column(observed, item, merged, own.deletes):
            break
        rows, size = rows + item.facts.rows, size + item.size
        # Without a typed column there would be no table, and nothing would ever be applied.
        has_limits = schema.columns or observed.naming.has_ledger
        if files and has_limits and limits.are_passed_by(len(files) + 1, rows, size):
            leaves_more = True
            break
        files.append(item)
        schema = own.after(merged)
    union = union_schema(table, schema)
    assert not isinstance(union, Broken)  # schema was merged from table step by step
    if passed:
        # What was passed over comes later: a number is given to what is applied.
        first = next_sequence(after)
        files = [replace(file, sequence=Sequence(first + i)) for i, file in enumerate(files)]
    if not files and stop is None:
        stop = min(passed.values(), key=_end, default=None) or _gap_of_a_partition(observed)
    return Cut(tuple(files), union, stop, leaves_more)


def _end(wait: Wait) -> datetime:
    """When a wait ends at the latest: the table must be reconciled for the first that does."""
    return wait.waiting.until or datetime.max.replace(tzinfo=UTC)


def sequence_group_of(observed: ObservedState, file: LandedFile) -> str:
    """What a file that is not ready holds up: its partition, itself, or the whole table."""
    if not observed.naming.has_ledger:
        return ""
    return file.partition if observed.naming.is_numbered else file.name


def _may_pass(observed: ObservedState, file: LandedFile) -> bool:
    """Whether others go on while this file waits: not those that are read once more."""
    until = observed.ledger.reread_through
    return observed.naming.has_ledger and file.sequence > until


def check_file(
    observed: ObservedState, file: LandedFile, rules: FrozenOptions, limits: Limits, now: datetime
) -> Stop | None:
    """What stops the table at this file, before its data is read."""
    recorded = observed.control.problem
    if recorded and recorded.file == file.name and still_holds(observed, recorded):
        return Pause(recorded)
    if file.is_folder:
        return _pause(observed, file, Code.NOT_A_FILE, f"{file.name} is a folder")
    if file.twin:
        return _pause(observed, file, Code.SEQUENCE_TWICE, f"{file.twin} has the same number")
    facts = file.facts
    if facts is None:
        raise ValueError(f"{file.path} was not inspected by the observation")
    if facts.needs_quiet_period and facts.completeness is not Completeness.INCOMPLETE:
        # Before anything else of it is checked: what is wrong may be that half of it is missing.
        until = counted_from(observed, file) + limits.quiet_period
        if observed.at < until:
            detail = "text does not say where it ends; it is read once it is left alone"
            return _not_ready(observed, file, WaitKind.QUIET_PERIOD, detail, until)
    if facts.completeness is Completeness.BROKEN:
        broken = facts.broken or Broken(Code.FILE_UNREADABLE, facts.reason)
        return Pause(problem_of(observed, broken, file))
    if facts.completeness is Completeness.INCOMPLETE:
        until = counted_from(observed, file) + limits.incomplete_grace
        if now >= until:
            return _pause(observed, file, Code.FILE_INCOMPLETE, facts.reason)
        return _not_ready(observed, file, WaitKind.INCOMPLETE, facts.reason, until)
    if facts.broken:
        return Pause(problem_of(observed, facts.broken, file))
    missing = [name for name in rules.key_columns if facts.schema.find(name) is None]
    if missing and facts.rows:
        detail = f"no values in key column {missing[0]!r}"
        if facts.unsplit_header is None:
            return _pause(observed, file, Code.KEY_COLUMN_MISSING, detail)
        detail = f"{detail}: {facts.unsplit_header}"
        return _pause(observed, file, Code.KEY_COLUMN_MISSING, detail, TEXT_REMEDY)
    return None


def _not_ready(
    observed: ObservedState, file: LandedFile, kind: WaitKind, detail: str, until: datetime
) -> Wait:
    """A wait for this file, by its own number: its number in a ledger is not decided yet."""
    has_ledger = observed.naming.has_ledger
    number = file.number if has_ledger else file.sequence
    partition = file.partition if has_ledger and number is not None else None
    return Wait(
        Waiting(
            kind=kind,
            since=counted_from(observed, file),
            detail=detail,
            sequence=number,
            until=until,
            file=file.name,
            partition=partition,
        )
    )


def adapted(
    observed: ObservedState, rules: FrozenOptions, schema: TableSchema, file: LandedFile
) -> LandedFile:
    """The file with the types that the table's policy has its columns read in."""
    facts, policy = file.facts, observed.policy
    takes_whole = isinstance(policy, TablePolicy) and policy.whole_floats is WholeFloats.INTEGER
    # Text declares its types: there the publisher's Int64 takes `7.0`.
    if facts is None or not takes_whole or rules.text is not None:
        return file
    taken = with_whole_floats(facts.schema, schema)
    if taken == facts.schema:
        return file
    return replace(file, facts=replace(facts, schema=taken, needs_conversion=True))


def merge_file(
    observed: ObservedState, schema: TableSchema, file: LandedFile
) -> TableSchema | Pause:
    """The table's schema once this file is in it."""
    assert file.facts is not None
    merged = union_schema(schema, in_table(file.facts.schema, schema, _zoneless(observed.policy)))
    if isinstance(merged, Broken):
        if observed.folder.is_history:  # a folder that is made again makes no new history
            merged = replace(merged, remedy=NEW_HISTORY)
        return Pause(problem_of(observed, merged, file))
    stops = (
        not isinstance(observed.policy, Broken) and observed.policy.type_change is TypeChange.STOP
    )
    if merged.widened and stops:
        column, wide = merged.widened[0]
        return _pause(
            observed,
            file,
            Code.SCHEMA_MERGE_FAILURE,
            f"Type mismatch for column '{column.name}'. Incoming type: '{wide}', existing type: "
            f"'{column.type}'; typeChange is set to stop",
        )
    return merged.schema


def _zoneless(policy: TablePolicy | Broken) -> ColumnType:
    ntz = isinstance(policy, TablePolicy) and policy.zoneless is ZonelessTimestamps.NTZ
    return ColumnType("timestamp_ntz" if ntz else "timestamp")


def _gap(observed: ObservedState, sequence: Sequence) -> Wait:
    after = [file for number, file in observed.files.items() if number > sequence]
    return Wait(
        Waiting(
            kind=WaitKind.GAP,
            since=min(counted_from(observed, file) for file in after),
            sequence=sequence,
            detail=f"{file_stem(sequence)} is missing; {_later(len(after))}",
        )
    )


def _gap_of_a_partition(observed: ObservedState) -> Wait | None:
    gaps = [gap for view in observed.ledger.partitions if (gap := gap_of(observed, view))]
    if not gaps:
        return None
    first = min(gaps, key=lambda gap: gap.since)
    more = counted(len(gaps) - 1, "other partition waits", "other partitions wait")
    others = f"; {more} as well" if len(gaps) > 1 else ""
    return Wait(replace(first, detail=first.detail + others))


def gap_of(observed: ObservedState, partition: PartitionView) -> Waiting | None:
    """The wait of a partition that lacks one of its own numbers."""
    if partition.missing is None:
        return None
    where = f" in {partition.name}" if partition.name else ""
    return Waiting(
        kind=WaitKind.GAP,
        since=min(counted_from(observed, file) for file in partition.waiting),
        sequence=partition.missing,
        detail=f"{file_stem(partition.missing)} is missing{where}; "
        f"{_later(len(partition.waiting))}",
        partition=partition.name,
    )


def _later(count: int) -> str:
    return f"{counted(count, 'later file waits', 'later files wait')} for it"


def _pause(
    observed: ObservedState, file: LandedFile, code: Code, detail: str, remedy: str | None = None
) -> Pause:
    return Pause(problem_of(observed, Broken(code, detail, remedy), file))
