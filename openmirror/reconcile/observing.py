"""`look`: reading everything a plan depends on, in the order that makes it true."""

from __future__ import annotations

from dataclasses import dataclass, replace

from openmirror.errors import ConditionFailed, DocumentUnreadable, NotThere
from openmirror.plan.cut import pending, sequence_group_of
from openmirror.plan.facts import Completeness, LandedFile
from openmirror.plan.naming import naming_of_observed, text_of
from openmirror.plan.needs import decided_files, needs_archive, reads_from
from openmirror.plan.observed import ObservedState
from openmirror.plan.ordering import in_order
from openmirror.plan.transitions.rebuilt import has_forgotten, made_anew, remembered
from openmirror.ports import ABSENT, Absent, Entry, FileStore, Listing
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import METADATA_FILE, ETag, Incarnation, TableFolder, table_name
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.delta_logs import with_logs, with_mirror
from openmirror.reconcile.discovery import landed_folders
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.landed_files import list_landed, sorted_out
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.ledger_order import in_ledger_order
from openmirror.reconcile.mirrors import default_schema, policy_for, read_settings
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.ledger import LedgerEntry


@dataclass(frozen=True)
class Observation:
    """A look, and the ETag under which its control document may be written."""

    observed: ObservedState
    etag: ETag | Absent


MOST_OBSERVATIONS = 20
"""A table that changes under so many looks in a row is somebody's error."""


def observe(ports: RootPorts, folder: TableFolder, *, listing_last: bool = False) -> Observation:
    """One true look at a table; looks again while it changes underfoot.

    Order of reads: incarnation, control document, listing, applied, incarnation again. Applied
    comes after the listing, because a file is only moved away after it was applied. Cleanup asks
    for `listing_last`: there, what is absent must have been moved before.

    Raises NotThere when the landing zone itself cannot be listed, ConditionFailed when the table
    never stood still.
    """
    for _ in range(MOST_OBSERVATIONS):
        seen = _observe_once(ports, folder, listing_last)
        if seen is not None:
            return seen
    raise ConditionFailed(f"{folder} changed under {MOST_OBSERVATIONS} looks in a row")


def _observe_once(ports: RootPorts, folder: TableFolder, listing_last: bool) -> Observation | None:
    store = ports.store
    landing = layout.table_folder(folder)
    seen = first_reads(ports, folder)
    observed, incarnation = seen.observed, seen.observed.incarnation
    try:
        if listing_last:
            observed = _with_listing(ports, with_logs(ports, observed), landing)
        else:
            observed = with_logs(ports, _with_listing(ports, observed, landing))
        observed = in_order(rebuilt(ports, observed, seen.etag))
        observed = _with_facts(ports, with_archive(ports, observed))
        observed = with_mirror(ports, observed)
    except ConditionFailed:
        return None
    except NotThere:
        if incarnation is None and store.incarnation(landing) is None:
            raise  # the zone itself cannot be listed
        return None  # the folder, or a file of it, has gone since it was listed
    if observed.ledger.is_read and _is_rewritten(ports, seen):
        return None
    if store.incarnation(landing) != incarnation:
        return None
    return Observation(observed, seen.etag)


def _is_rewritten(ports: RootPorts, seen: Observation) -> bool:
    """Whether entries of the ledger may be newer than the document that was read before them."""
    return Documents(ports.store).table(seen.observed.folder).etag != seen.etag


def first_reads(ports: RootPorts, folder: TableFolder) -> Observation:
    """What every look begins with: incarnation, control document, settings of the mirror.

    Raises DocumentUnreadable.
    """
    store, documents = ports.store, Documents(ports.store)
    incarnation = store.incarnation(layout.table_folder(folder))
    stored = documents.table(folder)
    # Settings before the schema that they name: settings that are mended between the two reads
    # then cannot pass together with a schema from before.
    settings, policy_etag = read_settings(store, folder.mirror)
    name = table_name(folder.path, default_schema(store, folder.mirror))
    table = layout.delta_table(folder.mirror, name)
    observed = ObservedState(
        folder=folder,
        name=name,
        table=table,
        at=ports.clock(),
        incarnation=incarnation,
        control=stored.value,
        policy=policy_for(settings, name),
        policy_etag=policy_etag,
    )
    return Observation(observed, stored.etag)


def _with_listing(ports: RootPorts, observed: ObservedState, landing: StorePath) -> ObservedState:
    if observed.incarnation is None:
        # The zone must be readable, and say itself that the folder is gone.
        if observed.folder in landed_folders(ports.store, observed.folder.mirror):
            raise ConditionFailed(f"{landing} has come back")
        return observed
    listing = ports.store.list_folder(landing)
    metadata, etag = _metadata(ports, landing, listing)
    observed = replace(observed, at=listing.at, metadata=metadata, metadata_etag=etag)
    observed = replace(observed, naming=naming_of_observed(observed))
    landed = sorted_out(ports.store, landing, listing, observed.naming)
    return replace(observed, landed=landed.files, unexpected_names=landed.unexpected_names)


def _metadata(
    ports: RootPorts, landing: StorePath, listing: Listing
) -> tuple[TableMetadata | Broken | None, ETag | None]:
    entry = next((e for e in listing.entries if e.name == METADATA_FILE and not e.is_folder), None)
    if entry is None:
        return None, None
    return read_metadata(ports.store, landing)


def read_metadata(
    store: FileStore, landing: StorePath
) -> tuple[TableMetadata | Broken | None, ETag | None]:
    """What `_metadata.json` says, None for an empty one; raises NotThere without the file."""
    content = store.read(layout.join(landing, METADATA_FILE))
    if not content.data.strip():
        return None, content.etag
    return parse_metadata(content.data), content.etag


def with_archive(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The look with archived files where the table needs them, and without names used before."""
    if observed.incarnation is None:
        return observed
    if observed.naming.has_ledger:
        return in_ledger_order(ports, observed)
    if not needs_archive(observed):
        return observed
    archive = layout.archive_folder(observed.folder)
    try:
        listed = list_landed(ports.store, archive, observed.naming)
    except NotThere:
        return observed
    # The archived content is the one that was applied; a number that came again is not read.
    through = observed.record.archived_through if observed.record else 0
    landed = {number: file for number, file in observed.files.items() if number > through}
    # A move that died half way has left one file under both names: it is still to be moved.
    archived = {
        file.sequence: file
        for file in listed.files
        if file.sequence not in landed or landed[file.sequence].etag != file.etag
    }
    return replace(observed, files=dict(sorted({**landed, **archived}.items())))


def _with_facts(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """Inspect as many pending files as the next batch can hold, and those that are decided."""
    if observed.record is None:
        return observed
    known: dict[Sequence, LandedFile] = {}
    rows = size = count = 0
    passed: set[str] = set()
    for item in pending(observed, observed.record, reads_from(observed)):
        if not isinstance(item, LandedFile) or item.is_folder or item.twin:
            break
        if sequence_group_of(observed, item) in passed:
            continue
        seen = known[item.sequence] = inspected(ports, item, observed)
        assert seen.facts is not None
        unready = seen.facts.completeness is not Completeness.COMPLETE or seen.facts.broken
        if unready and observed.naming.has_ledger:
            passed.add(sequence_group_of(observed, item))
            continue
        rows, size, count = rows + seen.facts.rows, size + seen.size, count + 1
        over = rows > ports.limits.batch_rows or size > ports.limits.batch_bytes
        if unready or over or count > ports.limits.batch_files:
            break
    for entry in decided_files(observed):
        file = observed.files.get(entry.sequence)
        if file and file.sequence not in known and not file.is_folder:
            known[file.sequence] = inspected(ports, file, observed)
    return replace(observed, files={**observed.files, **known})


def inspected(ports: RootPorts, file: LandedFile, observed: ObservedState) -> LandedFile:
    """The file with its facts; raises ConditionFailed when it has another content by now."""
    entry = Entry(file.name, file.is_folder, file.size, file.modified, file.etag)
    facts = ports.inspector.inspect(file.path, entry, text_of(observed))
    if facts.etag != file.etag:
        raise ConditionFailed(f"{file.path} changed while it was looked at")
    return replace(file, facts=facts)


def rebuilt(ports: RootPorts, observed: ObservedState, etag: ETag | Absent) -> ObservedState:
    """A control document that is lost beside a log or a ledger of ours is made anew.

    Raises DocumentUnreadable when the ledger is lost as well: nobody knows then which of the files
    in the folder were applied.
    """
    entries: list[LedgerEntry] = []
    if (
        observed.naming.has_ledger
        and observed.incarnation
        and (etag is ABSENT or has_forgotten(observed))
    ):
        entries = read_entries(ports.store, observed.folder, observed.incarnation)
    if entries and _is_rewritten(ports, Observation(observed, etag)):
        raise ConditionFailed(f"the control document of {observed.folder} was written meanwhile")
    if etag is ABSENT:
        observed = replace(observed, control=made_anew(observed, entries))
    if has_forgotten(observed):
        control = remembered(observed, entries)
        if control is None:
            place = layout.ledger(observed.folder, observed.incarnation or Incarnation(""))
            raise DocumentUnreadable(
                f"{place} does not tell which files were applied, and neither does the control "
                "document; delete the folder and create it again, with all its data"
            )
        observed = replace(observed, control=control)
    return observed
