"""A partial observation: the few files that one event concerns, at a cost that is always the same.

It reads what a full observation reads, in the same order, except for the listing: instead of all
files it reads the announced one, the one before it, the next to apply, and the one that the table
is paused over. A plan of it may miss what other files would show, and never sees what is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from openmirror.errors import NotThere
from openmirror.plan.facts import LandedFile
from openmirror.plan.file_format import format_of, is_open
from openmirror.plan.naming import naming_of_observed
from openmirror.plan.needs import decided_files, reads_from
from openmirror.plan.observed import ObservedState
from openmirror.plan.ordering import number_of
from openmirror.ports import ABSENT
from openmirror.protocol.names import TableFolder
from openmirror.protocol.naming_scheme import ParsedName, read_name
from openmirror.protocol.sequence import (
    START,
    ChangeFileName,
    NotAChangeFile,
    Sequence,
    next_sequence,
    parse_change_file,
)
from openmirror.reconcile.delta_logs import with_logs
from openmirror.reconcile.reads import (
    Observation,
    first_reads,
    inspected,
    read_metadata,
    rebuilt,
)
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from openmirror.table.log import BrokenLog


@dataclass(frozen=True)
class PartialObservation:
    """The observed state with a few files, and the number missing before the announced one."""

    seen: Observation
    missing: Sequence | None = None
    not_a_change_file: str | None = None
    """Why the announced name means nothing in this table."""

    @property
    def observed(self) -> ObservedState:
        """What was seen; its `files` are far from all."""
        return self.seen.observed

    def shows(self, announced: str) -> bool:
        """Whether the announced file lies in the folder."""
        return any(file.name == announced for file in self.observed.files.values())


def observe_partially(
    ports: RootPorts, folder: TableFolder, announced: str | None
) -> PartialObservation:
    """Observe what one event may have changed; `announced` is a path relative to the table folder.

    Raises DocumentUnreadable; ConditionFailed or NotThere when something changed meanwhile.
    """
    seen = first_reads(ports, folder)
    observed = seen.observed
    if observed.incarnation is None:
        return PartialObservation(replace(seen, observed=with_logs(ports, observed)))
    observed = with_naming(with_metadata(ports, observed), announced)
    read = read_name(observed.naming, announced) if announced is not None else None
    if isinstance(read, NotAChangeFile):
        return PartialObservation(replace(seen, observed=observed), not_a_change_file=read.reason)
    recorded = observed.control.problem
    paused_over = recorded.file if recorded else None
    if observed.naming.has_ledger:
        names = dict.fromkeys(name for name in (announced, paused_over) if name)
        observed = with_logs(ports, _with_names(ports, observed, list(names)))
        missing = missing_in_partition(ports, observed, announced) if announced else None
        return PartialObservation(
            replace(seen, observed=observed), missing if seen.etag is not ABSENT else None
        )
    own = numbered(observed, announced)
    for name in (own, numbered(observed, paused_over)):
        if name is not None:
            observed = _with_file(ports, observed, name)
    # As in every observation, applied is read after the files that may be pending.
    observed = rebuilt(ports, replace(seen, observed=with_logs(ports, observed)))
    if isinstance(observed.log, BrokenLog):
        return PartialObservation(replace(seen, observed=observed))
    missing = missing_before(ports, observed, own)
    observed = with_next(ports, observed, own)
    return PartialObservation(replace(seen, observed=observed), missing)


def numbered(observed: ObservedState, name: str | None) -> ChangeFileName | None:
    """A name as that of a numbered change file; None when it is none."""
    parsed = parse_change_file(name, observed.naming.extension) if name else None
    return parsed if isinstance(parsed, ChangeFileName) else None


def _with_names(ports: RootPorts, observed: ObservedState, names: list[str]) -> ObservedState:
    """The observed state with these files in any order: only a full observation knows theirs."""
    files: dict[Sequence, LandedFile] = {}
    for number, name in enumerate(names, start=1):
        if isinstance(read_name(observed.naming, name), ParsedName):
            file = file_at(ports, observed, name, Sequence(number))
            files |= {file.sequence: file} if file else {}
    return replace(observed, files=files)


def with_metadata(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The observed state with what `_metadata.json` declares, if it is there."""
    try:
        metadata, etag = read_metadata(ports.store, layout.table_folder(observed.folder))
    except NotThere:
        return observed
    return replace(observed, metadata=metadata, metadata_etag=etag)


def with_naming(observed: ObservedState, announced: str | None) -> ObservedState:
    """The observed state with the rules by which its files are found."""
    if announced is not None and is_open(observed):
        # Only a full observation sees which file is first; what was announced is taken for it.
        found = format_of(naming_of_observed(observed), [(announced, observed.at.timestamp())])
        observed = replace(observed, found_format=found)
    return replace(observed, naming=naming_of_observed(observed))


def _with_file(ports: RootPorts, observed: ObservedState, name: ChangeFileName) -> ObservedState:
    file = _file(ports, observed, name)
    return (
        observed
        if file is None
        else replace(observed, files={**observed.files, name.sequence: file})
    )


def _file(ports: RootPorts, observed: ObservedState, name: ChangeFileName) -> LandedFile | None:
    return file_at(ports, observed, str(name), name.sequence)


def file_at(
    ports: RootPorts, observed: ObservedState, name: str, sequence: Sequence
) -> LandedFile | None:
    """One file of the table folder as it lies there, without reading it; None without one."""
    path = join(layout.table_folder(observed.folder), *name.split("/"))
    try:
        content = ports.store.read(path, 0, 0)
    except NotThere:
        return None
    return LandedFile(
        sequence=sequence,
        name=name,
        path=path,
        etag=content.etag,
        size=content.size,
        # Only a listing knows its age. As if just written: what ends with time is the sweep's.
        modified=observed.at,
    )


def missing_before(
    ports: RootPorts, observed: ObservedState, announced: ChangeFileName | None
) -> Sequence | None:
    """The number before the announced file, when it is neither there, applied nor skipped."""
    assert observed.record is not None
    if announced is None or announced.sequence <= next_sequence(reads_from(observed)):
        return None
    before = Sequence(announced.sequence - 1)
    if before <= observed.record.archived_through or observed.record.skipped(before, None):
        return None
    if before in observed.files or _file(ports, observed, replace(announced, sequence=before)):
        return None
    return before


def missing_in_partition(
    ports: RootPorts, observed: ObservedState, announced: str
) -> Sequence | None:
    """The same among the numbers of the announced file's own partition."""
    partition, number = number_of(observed, announced)
    if number is None or number == next_sequence(START) or observed.record is None:
        return None
    before = Sequence(number - 1)
    known = {observed.record.partitions.get(partition)}
    for batch in observed.record.batches:
        own = (number_of(observed, manifest.name) for manifest in batch.files)
        known |= {counted for of, counted in own if of == partition}
    if any(counted is not None and before <= counted for counted in known):
        return None
    if observed.record.skipped(before, None, partition):
        return None
    extension = layout.name_of(StorePath(announced)).partition(".")[2]
    name = "/".join([*filter(None, [partition]), str(ChangeFileName(before, extension))])
    return None if file_at(ports, observed, name, before) else before


def with_next(
    ports: RootPorts, observed: ObservedState, announced: ChangeFileName | None
) -> ObservedState:
    """The observed state with the next file inspected; unchanged where a number is missing."""
    record = observed.record
    assert record is not None
    extension = announced.extension if announced else observed.naming.extension
    sequence = next_sequence(reads_from(observed))
    # Each turn passes over one skip of an operator, or ends.
    while True:
        file = observed.files.get(sequence)
        if file is None:
            observed = _with_file(ports, observed, ChangeFileName(sequence, extension))
            file = observed.files.get(sequence)
        skip = record.skipped(sequence, file.etag if file else None)
        if skip is None:
            break
        ahead = Sequence((sequence if file else skip.last) + 1)
        is_inside = announced is not None and sequence < announced.sequence < ahead
        sequence = announced.sequence if announced and is_inside else ahead
    return _with_facts(ports, observed, sequence)


def _with_facts(ports: RootPorts, observed: ObservedState, following: Sequence) -> ObservedState:
    """Inspect the file that comes next, and those of a decided batch that are in sight."""
    wanted = {following, *(manifest.sequence for manifest in decided_files(observed))}
    known = {
        number: inspected(ports, file, observed) if number in wanted else file
        for number, file in observed.files.items()
    }
    return replace(observed, files=known)
