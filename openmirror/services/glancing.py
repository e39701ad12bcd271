"""`glance`: a look at the few files that one event concerns, at a cost flat in the folder's size.

It reads what a look reads, in the same order, except for the listing: instead of all files it sees
the announced one, the one before it, the next to apply, and the one that the table is paused over.
A plan of it may miss what other files would say, and never sees what is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from openmirror import layout
from openmirror.errors import NotThere
from openmirror.layout import StorePath, join
from openmirror.plan.facts import LandedFile
from openmirror.plan.filing import filing_of_look
from openmirror.plan.look import Look
from openmirror.plan.needs import decided_files, reads_from
from openmirror.plan.numbering import number_of
from openmirror.ports import ABSENT
from openmirror.protocol.filing import FiledAs, read_name
from openmirror.protocol.names import TableFolder
from openmirror.protocol.sequence import (
    START,
    ChangeFileName,
    NotAChangeFile,
    Sequence,
    next_sequence,
    parse_change_file,
)
from openmirror.services.logs import with_logs
from openmirror.services.looking import (
    Seen,
    first_reads,
    inspected,
    read_metadata,
    rebuilt,
)
from openmirror.services.parts import Parts
from openmirror.tablelog import BrokenLog


@dataclass(frozen=True)
class Glance:
    """A look at a few files, and the number that is missing before the announced one."""

    seen: Seen
    missing: Sequence | None = None
    not_a_change_file: str | None = None
    """Why the announced name means nothing in this table."""

    @property
    def look(self) -> Look:
        """What was seen; its `files` are far from all."""
        return self.seen.look

    def shows(self, announced: str) -> bool:
        """Whether the announced file lies in the folder."""
        return any(file.name == announced for file in self.look.files.values())


def glance_at(parts: Parts, folder: TableFolder, announced: str | None) -> Glance:
    """See what one event may have changed for a table; the name is given from its folder on.

    Raises DocumentUnreadable; ConditionFailed or NotThere when something changed underfoot.
    """
    seen = first_reads(parts, folder)
    look = seen.look
    if look.incarnation is None:
        return Glance(replace(seen, look=with_logs(parts, look)))
    landing = layout.table_folder(folder)
    look = _with_metadata(parts, look, landing)
    look = replace(look, filing=filing_of_look(look))
    read = read_name(look.filing, announced) if announced is not None else None
    if isinstance(read, NotAChangeFile):
        return Glance(replace(seen, look=look), not_a_change_file=read.reason)
    standing = look.control.problem
    paused_over = standing.file if standing else None
    if look.filing.has_ledger:
        names = dict.fromkeys(name for name in (announced, paused_over) if name)
        look = with_logs(parts, _with_names(parts, look, landing, list(names)))
        missing = _missing_in_partition(parts, look, landing, announced) if announced else None
        return Glance(replace(seen, look=look), missing if seen.etag is not ABSENT else None)
    own = _numbered(look, announced)
    for name in (own, _numbered(look, paused_over)):
        if name is not None:
            look = _with_file(parts, look, landing, name)
    # As in every look, applied is read after the files that may be pending.
    look = rebuilt(parts, with_logs(parts, look), seen.etag)
    if isinstance(look.log, BrokenLog):
        return Glance(replace(seen, look=look))
    missing = _missing_before(parts, look, landing, own)
    look = _with_next(parts, look, landing, own)
    return Glance(replace(seen, look=look), missing)


def _numbered(look: Look, name: str | None) -> ChangeFileName | None:
    parsed = parse_change_file(name, look.filing.extension) if name else None
    return parsed if isinstance(parsed, ChangeFileName) else None


def _with_names(parts: Parts, look: Look, landing: StorePath, names: list[str]) -> Look:
    """The look with these files at any place: only a whole look knows the ledger's order."""
    files: dict[Sequence, LandedFile] = {}
    for number, name in enumerate(names, start=1):
        if isinstance(read_name(look.filing, name), FiledAs):
            file = _at(parts, look, landing, name, Sequence(number))
            files |= {file.sequence: file} if file else {}
    return replace(look, files=files)


def _with_metadata(parts: Parts, look: Look, landing: StorePath) -> Look:
    try:
        metadata, etag = read_metadata(parts.store, landing)
    except NotThere:
        return look
    return replace(look, metadata=metadata, metadata_etag=etag)


def _with_file(parts: Parts, look: Look, landing: StorePath, name: ChangeFileName) -> Look:
    file = _file(parts, look, landing, name)
    return look if file is None else replace(look, files={**look.files, name.sequence: file})


def _file(parts: Parts, look: Look, landing: StorePath, name: ChangeFileName) -> LandedFile | None:
    return _at(parts, look, landing, str(name), name.sequence)


def _at(
    parts: Parts, look: Look, landing: StorePath, name: str, sequence: Sequence
) -> LandedFile | None:
    """One file as it lies there, without reading it."""
    path = join(landing, *name.split("/"))
    try:
        content = parts.store.read(path, 0, 0)
    except NotThere:
        return None
    return LandedFile(
        sequence=sequence,
        name=name,
        path=path,
        etag=content.etag,
        size=content.size,
        # Only a listing knows its age. As if just written: what ends with time is the sweep's.
        modified=look.at,
    )


def _missing_before(
    parts: Parts, look: Look, landing: StorePath, announced: ChangeFileName | None
) -> Sequence | None:
    """The number before the announced file, when it is neither there, applied nor skipped."""
    assert look.life is not None
    if announced is None or announced.sequence <= next_sequence(reads_from(look)):
        return None
    before = Sequence(announced.sequence - 1)
    if before <= look.life.archived_through or look.life.skipped(before, None):
        return None
    if before in look.files or _file(parts, look, landing, replace(announced, sequence=before)):
        return None
    return before


def _missing_in_partition(
    parts: Parts, look: Look, landing: StorePath, announced: str
) -> Sequence | None:
    """The same among a partition's own numbers."""
    partition, number = number_of(look, announced)
    if number is None or number == next_sequence(START) or look.life is None:
        return None
    before = Sequence(number - 1)
    known = {look.life.partitions.get(partition)}
    for batch in look.life.batches:
        own = (number_of(look, digest.name) for digest in batch.files)
        known |= {counted for of, counted in own if of == partition}
    if any(counted is not None and before <= counted for counted in known):
        return None
    if look.life.skipped(before, None, partition):
        return None
    extension = layout.name_of(StorePath(announced)).partition(".")[2]
    name = "/".join([*filter(None, [partition]), str(ChangeFileName(before, extension))])
    return None if _at(parts, look, landing, name, before) else before


def _with_next(
    parts: Parts, look: Look, landing: StorePath, announced: ChangeFileName | None
) -> Look:
    """The look with the file that comes next, inspected; unchanged where a number is missing."""
    life = look.life
    assert life is not None
    extension = announced.extension if announced else look.filing.extension
    sequence = next_sequence(reads_from(look))
    # Each turn passes over one skip of an operator, or ends.
    while True:
        file = look.files.get(sequence)
        if file is None:
            look = _with_file(parts, look, landing, ChangeFileName(sequence, extension))
            file = look.files.get(sequence)
        skip = life.skipped(sequence, file.etag if file else None)
        if skip is None:
            break
        ahead = Sequence((sequence if file else skip.last) + 1)
        is_inside = announced is not None and sequence < announced.sequence < ahead
        sequence = announced.sequence if announced and is_inside else ahead
    return _with_facts(parts, look, sequence)


def _with_facts(parts: Parts, look: Look, following: Sequence) -> Look:
    """Inspect the file that comes next, and those of a decided batch that are in sight."""
    wanted = {following, *(digest.sequence for digest in decided_files(look))}
    known = {
        number: inspected(parts, file, look) if number in wanted else file
        for number, file in look.files.items()
    }
    return replace(look, files=known)
