"""`validate`: checks a table folder by the rules of the plan, and finds all mistakes at once.

The rules are called for one file after another; only a plan stops at the first mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from openmirror.errors import SOLUTIONS, NotThere
from openmirror.plan import Limits, ObservedState, plan
from openmirror.plan.cut import adapted, check_file, merge_file
from openmirror.plan.decisions import Pause, Stop, Wait, WaitKind
from openmirror.plan.facts import FileFacts, LandedFile
from openmirror.plan.file_format import assumed, text_of
from openmirror.plan.observed import TablePolicy, UnexpectedName, read_rules
from openmirror.plan.ordering import in_order
from openmirror.plan.own_columns import own_columns
from openmirror.plan.own_group import reserved_column
from openmirror.plan.read_rules import ReadRules
from openmirror.plan.rules import frozen_rules, table_rules
from openmirror.plan.soft_deletes import wrong_time_column
from openmirror.plan.times import is_ahead
from openmirror.plan.transitions.incarnations import with_record
from openmirror.ports import Entry, FileStore, Inspector, RowReader
from openmirror.protocol.marker_rules import MarkerRules, shown
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import (
    ARCHIVE_FOLDER,
    METADATA_FILE,
    Incarnation,
    TableFolder,
    TableName,
    TablePath,
)
from openmirror.protocol.naming_scheme import NamingScheme
from openmirror.protocol.rules import WARNINGS, Broken, Code
from openmirror.protocol.schema import TableSchema
from openmirror.protocol.sequence import LAST_SEQUENCE, START, Sequence, file_stem, next_sequence
from openmirror.reconcile.landed_files import list_landed, with_landed
from openmirror.status import at_second
from openmirror.status.warnings import warnings
from openmirror.table.control import (
    BatchKind,
    ControlDocument,
    FrozenOptions,
    IncarnationRecord,
    RequestKind,
    Skip,
)
from openmirror.table.layout import StorePath, join, name_of
from openmirror.table.log import TableLog


@dataclass(frozen=True)
class Validated:
    """What was checked, and what is wrong with it."""

    findings: tuple[FolderFinding, ...]
    folder: TableFolder | None = None
    """The table folder of a mirror; None for one that lies in no landing zone."""
    seen: ObservedState | None = None
    """What the mirror observes of it; None where none was ever at work on it."""


@dataclass(frozen=True)
class FolderFinding:
    """One thing that is not as the protocol wants it."""

    rule: str
    """The code of the problem that a mirror would show, or the kind of its wait."""
    detail: str
    remedy: str
    file: str | None = None
    stops: bool = True
    """Whether the table would stop or wait here; else a mirror goes on."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """A table folder with everything that its findings come from."""

    findings: tuple[FolderFinding, ...]
    metadata: TableMetadata | Broken | None
    naming: NamingScheme
    files: tuple[LandedFile, ...]
    """Its change files by name, with their facts where there is something to inspect."""
    unexpected: tuple[UnexpectedName, ...]
    archived: tuple[LandedFile, ...] | None
    """None where no mirror ever moved a file away."""


def validate_folder(
    store: FileStore,
    inspector: Inspector,
    rows: RowReader,
    folder: StorePath,
    limits: Limits | None = None,
    seen: ObservedState | None = None,
) -> list[FolderFinding]:
    """Everything that is wrong in one table folder, wherever below the store's root it lies.

    `seen` is what the folder's own mirror observes of it, where it has one: then files are checked
    against the table and the options that are there, and those that are applied are left out.
    Reads only. Raises NotThere when there is no such folder.
    """
    return list(examine_folder(store, inspector, rows, folder, limits, seen).findings)


def examine_folder(
    store: FileStore,
    inspector: Inspector,
    rows: RowReader,
    folder: StorePath,
    limits: Limits | None = None,
    seen: ObservedState | None = None,
) -> Examined:
    """The same as `validate_folder`, together with what was examined."""
    frozen = frozen_rules(seen) if seen is not None else None
    observed = _observe(store, folder, frozen)
    if seen is not None:
        observed = replace(observed, policy=seen.policy)
    archived = _archived(store, observed)
    observed = _in_order(observed, archived or (), frozen)
    # Whoever asks is done with writing: nothing is waited for.
    limits = replace(limits or Limits(), quiet_period=timedelta(), metadata_grace=timedelta())
    check = _Check(
        inspector=inspector,
        rows=rows,
        observed=observed,
        limits=limits,
        archived=archived,
        seen=seen,
    )
    found = list(check.findings())
    known = {(finding.rule, finding.file) for finding in found}
    known |= {(finding.rule, None) for finding in found}
    of_mirror = _of_mirror(seen, limits) if seen is not None else ()
    found += [more for more in of_mirror if (more.rule, more.file) not in known]
    return Examined(
        findings=tuple(found),
        metadata=observed.metadata,
        naming=observed.naming,
        files=tuple(_with_facts(inspector, file, observed) for file in observed.landed),
        unexpected=observed.unexpected_names,
        archived=archived,
    )


def _with_facts(inspector: Inspector, file: LandedFile, observed: ObservedState) -> LandedFile:
    """A file with its facts, which an inspector remembers from the check before."""
    if file.is_folder or file.twin:
        return file
    entry = Entry(file.name, False, file.size, file.modified, file.etag)
    return replace(file, facts=inspector.inspect(file.path, entry, text_of(observed)))


def _of_mirror(seen: ObservedState, limits: Limits) -> Iterator[FolderFinding]:
    """What only the mirror knows: problems of the table as a whole, holds, names used before."""
    decision = plan(seen, limits, seen.at)
    if isinstance(decision, Pause):
        yield _stopped(decision)
    for warn in warnings(seen, decision, seen.applied):
        yield FolderFinding(warn.code, warn.detail, warn.solution, warn.file, stops=False)


def _observe(store: FileStore, folder: StorePath, frozen: FrozenOptions | None) -> ObservedState:
    """The observed state of a folder by itself: no table yet, and these options."""
    listing = store.list_folder(folder)
    metadata, etag = None, None
    if any(entry.name == METADATA_FILE and not entry.is_folder for entry in listing.entries):
        content = store.read(join(folder, METADATA_FILE))
        metadata = parse_metadata(content.data) if content.data.strip() else None
        etag = content.etag
    observed = ObservedState(
        folder=TableFolder("", TablePath("", name_of(folder))),
        name=TableName("", name_of(folder)),
        table=folder,
        at=listing.at,
        incarnation=_RECORD,
        control=with_record(
            ControlDocument(folder=folder), IncarnationRecord(incarnation=_RECORD, frozen=frozen)
        ),
        metadata=metadata,
        metadata_etag=etag,
    )
    return with_landed(store, folder, listing, observed)


_RECORD = Incarnation("validated")


def _archived(store: FileStore, observed: ObservedState) -> tuple[LandedFile, ...] | None:
    """What a mirror has applied and moved away; None where none has ever done so."""
    try:
        return list_landed(store, join(observed.table, ARCHIVE_FOLDER), observed.naming).files
    except NotThere:
        return None


def _in_order(
    observed: ObservedState, archived: Iterable[LandedFile], frozen: FrozenOptions | None
) -> ObservedState:
    """Every file at its place, as if nothing were missing before it."""
    applied: dict[str, Sequence] = {}
    for file in archived:
        if file.number is not None:
            applied[file.partition] = max(file.number, applied.get(file.partition, file.number))
    given_up = tuple(
        Skip(
            first=next_sequence(START),
            last=LAST_SEQUENCE,
            by="",
            at=observed.at,
            why="",
            partition=partition,
        )
        for partition in {file.partition for file in observed.landed}
    )
    record = IncarnationRecord(
        incarnation=_RECORD,
        skips=given_up,
        partitions=applied,
        frozen=frozen,
    )
    used = frozenset(file.name for file in archived)
    return in_order(replace(observed, control=with_record(observed.control, record)), used)


@dataclass(frozen=True, kw_only=True)
class _Check:
    inspector: Inspector
    rows: RowReader
    observed: ObservedState
    limits: Limits
    archived: tuple[LandedFile, ...] | None
    seen: ObservedState | None = None

    def findings(self) -> Iterator[FolderFinding]:
        metadata = self.observed.metadata
        for odd in self.observed.unexpected_names:
            if odd.may_hold_changes:
                # A mirror goes on, but not with this: what was sent would be missing for good.
                yield replace(_found(Code.FILE_NEVER_READ, odd.reason, odd.name), stops=True)
            else:
                yield _found(Code.FILE_NAME_INVALID, odd.reason, odd.name)
        if metadata is None and frozen_rules(self.observed) is None:
            yield FolderFinding(
                WaitKind.METADATA,
                f"no {METADATA_FILE}, or an empty one: a table without key columns, which takes "
                "only inserts",
                f"Write {METADATA_FILE} with keyColumns before the first change file.",
                METADATA_FILE,
                stops=False,
            )
        if isinstance(metadata, TableMetadata) and metadata.repairs:
            yield _found(Code.METADATA_REPAIRED, "; ".join(metadata.repairs), METADATA_FILE)
        if isinstance(metadata, TableMetadata) and metadata.misspelt:
            yield _found(Code.METADATA_KEY_UNKNOWN, "; ".join(metadata.misspelt), METADATA_FILE)
        if detail := assumed(self.observed):
            yield _found(Code.FILE_FORMAT_ASSUMED, detail, METADATA_FILE)
        for file in self.observed.landed:
            if is_ahead(self.observed, file):
                detail = f"its time, {at_second(file.modified)}, lies in the future"
                yield _found(Code.FILE_TIME_AHEAD, detail, file.name)
        rules = table_rules(self.observed, self.limits, self.observed.at)
        if isinstance(rules, Pause):
            yield replace(_stopped(rules), file=METADATA_FILE)
        for file in self.observed.ledger.reused:
            yield _found(Code.SEQUENCE_REUSED, "used before; never read, never moved", file.name)
        yield from self._gaps()
        yield from self._files(rules)

    def _gaps(self) -> Iterator[FolderFinding]:
        numbered: dict[str, list[tuple[Sequence, LandedFile]]] = {}
        has_ledger = self.observed.naming.has_ledger
        for file in self.observed.files.values():
            number = file.number if has_ledger else file.sequence
            if number is not None and not self._is_done(file):
                numbered.setdefault(file.partition, []).append((number, file))
        for partition, files in sorted(numbered.items()):
            yield from self._gaps_in(partition, files)

    def _gaps_in(
        self, partition: str, files: list[tuple[Sequence, LandedFile]]
    ) -> Iterator[FolderFinding]:
        where = f"{partition}/" if partition else ""
        expected = self._first(partition, min(number for number, _ in files))
        for number, file in sorted(files, key=lambda item: item[0]):
            while number > expected and (skip := self._given_up(Sequence(expected), partition)):
                expected = min(skip.last + 1, number)
            if number > expected:
                numbers = f"{where}{file_stem(expected)}"
                if number > expected + 1:
                    numbers += f" to {file_stem(number - 1)}"
                yield FolderFinding(
                    WaitKind.GAP,
                    f"{numbers} missing; {file.name} and what follows would wait for it",
                    "Publish it: numbers start at 1, and only archived ones may be absent.",
                    file.name,
                )
            expected = max(expected, number + 1)

    def _first(self, partition: str, lowest: int) -> int:
        """The number that a partition must begin with: 1, unless earlier files were archived."""
        if self._applied is not None:
            views = self._applied.ledger.partitions
            own = next((view.applied for view in views if view.name == partition), None)
            return (own or 0) + 1 if self.observed.naming.has_ledger else self._applied.applied + 1
        if self.archived is None:
            return 1
        there = (file for file in self.archived if file.partition == partition)
        last = max((file.number or file.sequence for file in there), default=0)
        # Archives are purged after a while, from below: what is gone there is no gap.
        return last + 1 if last else lowest

    @property
    def _applied(self) -> ObservedState | None:
        """What the mirror observes, where it goes on from what it has applied of this folder."""
        seen = self.seen
        if seen is None or seen.live is None or seen.control.asks_for(RequestKind.RESEED):
            return None
        return seen

    def _is_done(self, file: LandedFile) -> bool:
        """Whether the mirror has applied this very file, or passes over it."""
        seen = self.seen
        if seen is None or seen.record is None:
            return False
        if seen.record.skipped_file(file.name, file.etag):
            return True
        if not seen.naming.has_ledger and seen.record.skipped(file.sequence, file.etag):
            return True
        if self._applied is None:
            return False
        if not seen.naming.has_ledger:
            return file.sequence <= seen.applied
        return any(
            manifest.name == file.name for manifest in seen.record.applied_files(seen.applied)
        )

    def _given_up(self, number: Sequence, partition: str) -> Skip | None:
        if self.seen is None or self.seen.record is None:
            return None
        if self.seen.naming.has_ledger:
            return self.seen.record.skipped(number, None, partition)
        return self.seen.record.skipped(number, None)

    def _files(self, rules: FrozenOptions | Stop) -> Iterator[FolderFinding]:
        # Without rules a file is checked by itself alone.
        frozen = replace(
            rules if isinstance(rules, FrozenOptions) else FrozenOptions(),
            text=text_of(self.observed),
        )
        policy = self.observed.policy
        how = read_rules(frozen, policy if isinstance(policy, TablePolicy) else TablePolicy())
        kind = BatchKind.REPLACE if self._applied is None else BatchKind.EXTEND
        own = own_columns(self.observed, frozen, kind)
        knows_keys = not isinstance(self.observed.metadata, Broken)
        schema: TableSchema | None = None
        if self._applied is not None and isinstance(self._applied.log, TableLog):
            schema = own.deletes.before(self._applied.log.schema)
        for landed in self.observed.files.values():
            if self._is_done(landed):
                continue
            file = landed
            if not landed.is_folder and not landed.twin:
                file = _with_facts(self.inspector, landed, self.observed)
            stop = check_file(self.observed, file, frozen, self.limits, self.observed.at)
            stop = stop or reserved_column(self.observed, file, own.groups)
            file = adapted(self.observed, frozen, schema or TableSchema(), file)
            merged = stop or merge_file(self.observed, schema or TableSchema(), file)
            if isinstance(merged, TableSchema):
                merged = wrong_time_column(self.observed, file, merged, own.deletes) or merged
            if isinstance(merged, TableSchema):
                schema = own.after(merged)
            else:
                yield replace(_stopped(merged), file=file.name)
            if stop is None and file.facts is not None:
                found = list(self.rows.findings(file.path, file.facts, how))
                yield from (_found(broken.code, broken.detail, file.name) for broken in found)
                if any(broken.code is Code.FILE_UNREADABLE for broken in found):
                    continue  # its markers are not to be had either
                markers = MarkerRules(
                    frozen.key_columns or (() if knows_keys else None),
                    file.facts.schema.names,
                    frozen.version_column,
                )
                yield from self._marker_values(file, file.facts, how, markers)
        if schema is not None and not schema.columns:
            detail = "no file has a typed column yet, so no table could be created"
            yield FolderFinding(WaitKind.SCHEMA, detail, "Publish a file with the table's columns.")

    def _marker_values(
        self, file: LandedFile, facts: FileFacts, how: ReadRules, rules: MarkerRules
    ) -> Iterator[FolderFinding]:
        """The first wrong marker of a file; a writer that is wrong once is wrong throughout."""
        column = facts.marker
        if column is None:
            return
        try:
            markers = self.rows.markers(file.path, facts, how)
            for number, value in enumerate(markers, start=1):
                read = rules.read(value, f"row {number} has {column} = {shown(value)}")
                if isinstance(read, Broken):
                    yield _found(read.code, read.detail, file.name)
                    return
        except ValueError as error:
            yield _found(Code.FILE_UNREADABLE, f"{column} cannot be read: {error}", file.name)


def _found(code: Code, detail: str, file: str | None) -> FolderFinding:
    return FolderFinding(code, detail, SOLUTIONS[code], file, stops=code not in WARNINGS)


def _stopped(stop: Stop) -> FolderFinding:
    match stop:
        case Pause(problem):
            found = _found(problem.code, problem.detail, problem.file)
            return replace(found, remedy=problem.solution)
        case Wait(waiting):
            remedy = SOLUTIONS[Code.FILE_INCOMPLETE]
            return FolderFinding(waiting.kind, waiting.detail, remedy)
