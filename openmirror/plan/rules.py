"""The rules of one table: what `_metadata.json` declares against its frozen options."""

from __future__ import annotations

from datetime import datetime

from openmirror.errors import Problem, problem_from
from openmirror.plan.decisions import Pause, Stop, Wait, Waiting, WaitKind
from openmirror.plan.facts import LandedFile
from openmirror.plan.file_format import both_formats, text_of
from openmirror.plan.observed import Limits, ObservedState
from openmirror.plan.times import counted_from
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken, Code
from openmirror.table.control import FrozenOptions, RequestKind


def problem_of(observed: ObservedState, broken: Broken, file: LandedFile | None = None) -> Problem:
    """The problem of a broken rule, bound to everything that was observed when it was found."""
    return problem_from(
        broken,
        file=file.name if file else None,
        etag=file.etag if file else None,
        incarnation=observed.incarnation,
        metadata_etag=observed.metadata_etag,
        settings_etag=observed.policy_etag,
    )


FOUND_BY_APPLYING = frozenset(
    {
        Code.ROW_MARKER_INVALID,
        Code.NO_ROW_TO_UPDATE,
        Code.KEY_COLUMNS_UNDECLARED,
        Code.FILE_UNREADABLE,
        Code.VALUE_INVALID,
        Code.APPLY_FAILED,
    }
)
"""Problems that no observation can see: what was found holds until something has changed."""


def still_holds(observed: ObservedState, problem: Problem) -> bool:
    """Whether a recorded problem that no observation can see still holds (INTERNALS §2).

    Every other problem is found anew by each plan, so that it ends with its cause.
    """
    return problem.code in FOUND_BY_APPLYING and what_changed(observed, problem) is None


def what_changed(observed: ObservedState, problem: Problem) -> str | None:
    """Which of the things that a problem is bound to has changed; None when nothing has."""
    if problem.incarnation != observed.incarnation:
        return "the folder was made again" if observed.incarnation else "the folder is gone"
    if problem.file is not None:
        there = next((file for file in observed.files.values() if file.name == problem.file), None)
        if there is None:
            return "the file is gone"
        if there.etag != problem.etag:
            return "the file was replaced"
    if problem.metadata_etag != observed.metadata_etag:
        return "_metadata.json was changed"
    if problem.settings_etag != observed.policy_etag:
        return "mirroring.json was changed"
    return None


def table_rules(observed: ObservedState, limits: Limits, now: datetime) -> FrozenOptions | Stop:
    """Keys, default marker and detection that this table is applied by (PROTOCOL §4.4)."""
    if isinstance(observed.policy, Broken):
        return Pause(problem_of(observed, observed.policy))
    frozen = frozen_rules(observed)
    metadata = observed.metadata
    if isinstance(metadata, Broken):
        return Pause(problem_of(observed, metadata))
    if metadata is None:
        if (before := _frozen_before(observed)) is not None:
            return before
        if wait := _metadata_wait(observed, limits, now):
            return wait
    if broken := both_formats(observed):
        return Pause(problem_of(observed, broken))
    if metadata is None:
        return FrozenOptions(text=text_of(observed))
    if broken := changed_options(metadata, frozen):
        return Pause(problem_of(observed, broken))
    if broken := _keyless(metadata):
        return Pause(problem_of(observed, broken))
    return FrozenOptions(
        key_columns=metadata.key_columns,
        detection=metadata.detection,
        default_marker=metadata.default_marker,
        partitioned=metadata.partitioned,
        text=text_of(observed),
        version_column=metadata.version_column,
    )


def _keyless(metadata: TableMetadata) -> Broken | None:
    """An option that matches rows by key, on a table without key columns."""
    needs = {
        "isUpsertDefaultRowMarker": metadata.default_marker is not Marker.INSERT,
        "ConditionalUpdateColumn": metadata.version_column is not None,
    }
    wanting = [option for option, is_set in needs.items() if is_set]
    if metadata.key_columns or not wanting:
        return None
    return Broken(Code.KEY_COLUMNS_UNDECLARED, f"{wanting[0]} needs keyColumns")


def frozen_rules(observed: ObservedState) -> FrozenOptions | None:
    """The options that this incarnation's first apply froze; None before it.

    A reseed begins anew, so what is declared now holds: it is the remedy for changed keys.
    """
    if observed.control.asks_for(RequestKind.RESEED):
        return _frozen_of_current(observed)
    return _frozen_before(observed)


def _frozen_before(observed: ObservedState) -> FrozenOptions | None:
    own = observed.record.frozen if observed.record else None
    return own or _frozen_of_current(observed)


def _frozen_of_current(observed: ObservedState) -> FrozenOptions | None:
    """What holds for a history that has applied nothing yet: the options of its current table."""
    if observed.current is None or observed.incarnation is None:
        return None
    return observed.current.control.record_of(observed.incarnation).frozen


def _metadata_wait(observed: ObservedState, limits: Limits, now: datetime) -> Wait | None:
    first = min((counted_from(observed, f) for f in observed.files.values()), default=None)
    if first is None or now >= first + limits.metadata_grace:
        return None
    return Wait(
        Waiting(
            kind=WaitKind.METADATA,
            since=first,
            until=first + limits.metadata_grace,
            detail="no _metadata.json yet; without it this becomes a table without key columns",
        )
    )


def changed_options(metadata: TableMetadata, frozen: FrozenOptions | None) -> Broken | None:
    """What a declaration changes of options that were frozen (PROTOCOL §4.4); None for nothing."""
    if frozen is None:
        return None
    if frozen.key_columns and _folded(metadata.key_columns) != _folded(frozen.key_columns):
        return Broken(
            Code.KEY_COLUMNS_CHANGED,
            f"keyColumns is {list(metadata.key_columns)}, but rows were matched by "
            f"{list(frozen.key_columns)} so far",
        )
    for option, now, then in (
        ("fileDetectionStrategy", metadata.detection.value, frozen.detection.value),
        ("isUpsertDefaultRowMarker", metadata.default_marker.name, frozen.default_marker.name),
        ("isPartitionEnabled", str(metadata.partitioned), str(frozen.partitioned)),
        ("ConditionalUpdateColumn", repr(metadata.version_column), repr(frozen.version_column)),
    ):
        if fold_case(now) != fold_case(then):
            return Broken(Code.PINNED_OPTION_CHANGED, f"{option} was {then} and is now {now}")
    return None


def _folded(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(fold_case(name) for name in names)
