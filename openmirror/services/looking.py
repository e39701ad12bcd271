"""`look`: reading everything a plan depends on, in the order that makes it true."""

from __future__ import annotations

from dataclasses import dataclass, replace

from openmirror import layout
from openmirror.errors import ConditionFailed, DocumentUnreadable, NotThere
from openmirror.layout import StorePath
from openmirror.ledger import LedgerEntry
from openmirror.plan.cut import lane_of, pending
from openmirror.plan.facts import Completeness, LandedFile
from openmirror.plan.filing import filing_of_look, text_of
from openmirror.plan.look import Look
from openmirror.plan.needs import decided_files, needs_archive, reads_from
from openmirror.plan.numbering import placed
from openmirror.plan.transitions.rebuilt import has_forgotten, made_anew, remembered
from openmirror.ports import ABSENT, Absent, Entry, FileStore, Listing
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import METADATA_FILE, ETag, Incarnation, TableFolder, table_name
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence
from openmirror.services.discovery import landed_folders
from openmirror.services.documents import Documents
from openmirror.services.landed import list_landed, sorted_out
from openmirror.services.ledgers import read_entries
from openmirror.services.logs import with_logs, with_mirror
from openmirror.services.mirrors import default_schema, policy_for, read_settings
from openmirror.services.ordering import in_ledger_order
from openmirror.services.parts import Parts


@dataclass(frozen=True)
class Seen:
    """A look, and the ETag under which its control document may be written."""

    look: Look
    etag: ETag | Absent


MOST_LOOKS = 20
"""A table that changes under so many looks in a row is somebody's error."""


def look_at(parts: Parts, folder: TableFolder, *, listing_last: bool = False) -> Seen:
    """One true look at a table; looks again while it changes underfoot.

    Order of reads: incarnation, control document, listing, applied, incarnation again. Applied
    comes after the listing, because a file is only moved away after it was applied. Cleanup asks
    for `listing_last`: there, what is absent must have been moved before.

    Raises NotThere when the landing zone itself cannot be listed, ConditionFailed when the table
    never stood still.
    """
    for _ in range(MOST_LOOKS):
        seen = _look_once(parts, folder, listing_last)
        if seen is not None:
            return seen
    raise ConditionFailed(f"{folder} changed under {MOST_LOOKS} looks in a row")


def _look_once(parts: Parts, folder: TableFolder, listing_last: bool) -> Seen | None:
    store = parts.store
    landing = layout.table_folder(folder)
    seen = first_reads(parts, folder)
    look, incarnation = seen.look, seen.look.incarnation
    try:
        if listing_last:
            look = _with_listing(parts, with_logs(parts, look), landing)
        else:
            look = with_logs(parts, _with_listing(parts, look, landing))
        look = placed(rebuilt(parts, look, seen.etag))
        look = _with_facts(parts, with_archive(parts, look))
        look = with_mirror(parts, look)
    except ConditionFailed:
        return None
    except NotThere:
        if incarnation is None and store.incarnation(landing) is None:
            raise  # the zone itself cannot be listed
        return None  # the folder, or a file of it, has gone since it was listed
    if look.ledger.is_read and _is_rewritten(parts, seen):
        return None
    if store.incarnation(landing) != incarnation:
        return None
    return Seen(look, seen.etag)


def _is_rewritten(parts: Parts, seen: Seen) -> bool:
    """Whether entries of the ledger may be newer than the document that was read before them."""
    return Documents(parts.store).table(seen.look.folder).etag != seen.etag


def first_reads(parts: Parts, folder: TableFolder) -> Seen:
    """What every look begins with: incarnation, control document, settings of the mirror.

    Raises DocumentUnreadable.
    """
    store, documents = parts.store, Documents(parts.store)
    incarnation = store.incarnation(layout.table_folder(folder))
    stored = documents.table(folder)
    # Settings before the schema that they name: settings that are mended between the two reads
    # then cannot pass together with a schema from before.
    settings, policy_etag = read_settings(store, folder.mirror)
    name = table_name(folder.path, default_schema(store, folder.mirror))
    table = layout.delta_table(folder.mirror, name)
    look = Look(
        folder=folder,
        name=name,
        table=table,
        at=parts.clock(),
        incarnation=incarnation,
        control=stored.value,
        policy=policy_for(settings, name),
        policy_etag=policy_etag,
    )
    return Seen(look, stored.etag)


def _with_listing(parts: Parts, look: Look, landing: StorePath) -> Look:
    if look.incarnation is None:
        # The zone must be readable, and say itself that the folder is gone.
        if look.folder in landed_folders(parts.store, look.folder.mirror):
            raise ConditionFailed(f"{landing} has come back")
        return look
    listing = parts.store.list_folder(landing)
    metadata, etag = _metadata(parts, landing, listing)
    look = replace(look, at=listing.at, metadata=metadata, metadata_etag=etag)
    look = replace(look, filing=filing_of_look(look))
    landed = sorted_out(parts.store, landing, listing, look.filing)
    return replace(look, landed=landed.files, oddities=landed.oddities)


def _metadata(
    parts: Parts, landing: StorePath, listing: Listing
) -> tuple[TableMetadata | Broken | None, ETag | None]:
    entry = next((e for e in listing.entries if e.name == METADATA_FILE and not e.is_folder), None)
    if entry is None:
        return None, None
    return read_metadata(parts.store, landing)


def read_metadata(
    store: FileStore, landing: StorePath
) -> tuple[TableMetadata | Broken | None, ETag | None]:
    """What `_metadata.json` says, None for an empty one; raises NotThere without the file."""
    content = store.read(layout.join(landing, METADATA_FILE))
    if not content.data.strip():
        return None, content.etag
    return parse_metadata(content.data), content.etag


def with_archive(parts: Parts, look: Look) -> Look:
    """The look with archived files where the table needs them, and without names used before."""
    if look.incarnation is None:
        return look
    if look.filing.has_ledger:
        return in_ledger_order(parts, look)
    if not needs_archive(look):
        return look
    archive = layout.archive_folder(look.folder)
    try:
        listed = list_landed(parts.store, archive, look.filing)
    except NotThere:
        return look
    # The archived content is the one that was applied; a number that came again is not read.
    through = look.life.archived_through if look.life else 0
    landed = {number: file for number, file in look.files.items() if number > through}
    # A move that died half way has left one file under both names: it is still to be moved.
    archived = {
        file.sequence: file
        for file in listed.files
        if file.sequence not in landed or landed[file.sequence].etag != file.etag
    }
    return replace(look, files=dict(sorted({**landed, **archived}.items())))


def _with_facts(parts: Parts, look: Look) -> Look:
    """Inspect as many pending files as the next batch can hold, and those that are decided."""
    if look.life is None:
        return look
    known: dict[Sequence, LandedFile] = {}
    rows = size = count = 0
    passed: set[str] = set()
    for item in pending(look, look.life, reads_from(look)):
        if not isinstance(item, LandedFile) or item.is_folder or item.twin:
            break
        if lane_of(look, item) in passed:
            continue
        seen = known[item.sequence] = inspected(parts, item, look)
        assert seen.facts is not None
        unready = seen.facts.completeness is not Completeness.COMPLETE or seen.facts.broken
        if unready and look.filing.has_ledger:
            passed.add(lane_of(look, item))
            continue
        rows, size, count = rows + seen.facts.rows, size + seen.size, count + 1
        over = rows > parts.limits.batch_rows or size > parts.limits.batch_bytes
        if unready or over or count > parts.limits.batch_files:
            break
    for digest in decided_files(look):
        file = look.files.get(digest.sequence)
        if file and file.sequence not in known and not file.is_folder:
            known[file.sequence] = inspected(parts, file, look)
    return replace(look, files={**look.files, **known})


def inspected(parts: Parts, file: LandedFile, look: Look) -> LandedFile:
    """The file with its facts; raises ConditionFailed when it has another content by now."""
    entry = Entry(file.name, file.is_folder, file.size, file.modified, file.etag)
    facts = parts.inspector.inspect(file.path, entry, text_of(look))
    if facts.etag != file.etag:
        raise ConditionFailed(f"{file.path} changed while it was looked at")
    return replace(file, facts=facts)


def rebuilt(parts: Parts, look: Look, etag: ETag | Absent) -> Look:
    """A control document that is lost beside a log or a ledger of ours is made anew.

    Raises DocumentUnreadable when the ledger is lost as well: nobody knows then which of the files
    in the folder were applied.
    """
    entries: list[LedgerEntry] = []
    if look.filing.has_ledger and look.incarnation and (etag is ABSENT or has_forgotten(look)):
        entries = read_entries(parts.store, look.folder, look.incarnation)
    if entries and _is_rewritten(parts, Seen(look, etag)):
        raise ConditionFailed(f"the control document of {look.folder} was written meanwhile")
    if etag is ABSENT:
        look = replace(look, control=made_anew(look, entries))
    if has_forgotten(look):
        control = remembered(look, entries)
        if control is None:
            place = layout.ledger(look.folder, look.incarnation or Incarnation(""))
            raise DocumentUnreadable(
                f"{place} does not tell which files were applied, and neither does the control "
                "document; delete the folder and create it again, with all its data"
            )
        look = replace(look, control=control)
    return look
