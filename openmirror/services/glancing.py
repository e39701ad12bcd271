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
from openmirror.plan.look import Look
from openmirror.plan.needs import decided_files, reads_from
from openmirror.protocol.names import TableFolder
from openmirror.protocol.sequence import (
    ChangeFileName,
    Sequence,
    next_sequence,
    parse_change_file,
)
from openmirror.services.looking import (
    Seen,
    first_reads,
    inspected,
    read_metadata,
    rebuilt,
    with_logs,
)
from openmirror.services.parts import Parts
from openmirror.tablelog import BrokenLog


@dataclass(frozen=True)
class Glance:
    """A look at a few files, and the number that is missing before the announced one."""

    seen: Seen
    missing: Sequence | None = None

    @property
    def look(self) -> Look:
        """What was seen; its `files` are far from all."""
        return self.seen.look

    def shows(self, announced: ChangeFileName) -> bool:
        """Whether the announced file lies in the folder."""
        file = self.look.files.get(announced.sequence)
        return file is not None and file.name == str(announced)


def glance_at(parts: Parts, folder: TableFolder, announced: ChangeFileName | None) -> Glance:
    """See what one event may have changed for a table.

    Raises DocumentUnreadable; ConditionFailed or NotThere when something changed underfoot.
    """
    seen = first_reads(parts, folder)
    look = seen.look
    if look.incarnation is None:
        return Glance(replace(seen, look=with_logs(parts, look)))
    landing = layout.table_folder(folder)
    look = _with_metadata(parts, look, landing)
    standing = look.control.problem
    paused_over = parse_change_file(standing.file) if standing and standing.file else None
    for name in (announced, paused_over):
        if isinstance(name, ChangeFileName):
            look = _with_file(parts, look, landing, name)
    # As in every look, applied is read after the files that may be pending.
    look = rebuilt(with_logs(parts, look), seen.etag)
    if isinstance(look.log, BrokenLog):
        return Glance(replace(seen, look=look))
    missing = _missing_before(parts, look, landing, announced)
    look = _with_next(parts, look, landing, announced)
    return Glance(replace(seen, look=look), missing)


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
    """One file as it lies there, without reading it."""
    path = join(landing, str(name))
    try:
        content = parts.store.read(path, 0, 0)
    except NotThere:
        return None
    return LandedFile(
        sequence=name.sequence,
        name=str(name),
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


def _with_next(
    parts: Parts, look: Look, landing: StorePath, announced: ChangeFileName | None
) -> Look:
    """The look with the file that comes next, inspected; unchanged where a number is missing."""
    life = look.life
    assert life is not None
    extension = announced.extension if announced else "parquet"
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
        number: inspected(parts, file) if number in wanted else file
        for number, file in look.files.items()
    }
    return replace(look, files=known)
