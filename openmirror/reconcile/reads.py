"""The reads that a full and a partial observation have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace

from openmirror.errors import AccessDenied, ConditionFailed, DocumentUnreadable, NotThere
from openmirror.plan.facts import Completeness, FileFacts, LandedFile
from openmirror.plan.file_format import text_of
from openmirror.plan.history import policy_of_history
from openmirror.plan.needs import needs_archive
from openmirror.plan.observed import ObservedState, TableBeside
from openmirror.plan.transitions.followed import skips_followed
from openmirror.plan.transitions.rebuilt import has_forgotten, made_anew, remembered
from openmirror.ports import Absent, Entry, FileStore
from openmirror.protocol.metadata import TableMetadata, parse_metadata
from openmirror.protocol.names import (
    METADATA_FILE,
    ETag,
    Incarnation,
    TableFolder,
    name_of,
    table_name,
)
from openmirror.protocol.rules import Broken
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.landed_files import list_landed
from openmirror.reconcile.ledger_files import read_entries
from openmirror.reconcile.ledger_order import in_ledger_order
from openmirror.reconcile.mirror_reads import MirrorRead, read_mirror
from openmirror.reconcile.mirrors import policy_for
from openmirror.reconcile.refusals import refused_place
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.ledger import LedgerEntry


@dataclass(frozen=True)
class Observation:
    """An observed state, and the ETag under which its control document may be written."""

    observed: ObservedState
    etag: ETag | Absent


def first_reads(
    ports: RootPorts, folder: TableFolder, known: MirrorRead | None = None
) -> Observation:
    """What every observation begins with: incarnation, control document, settings of the mirror.

    With what is `known` of the mirror these are not read. Raises DocumentUnreadable.
    """
    incarnation = ports.store.incarnation(layout.table_folder(folder))
    stored = Documents(ports.store).table(folder)
    mirror = known or read_mirror(ports.store, folder.mirror)
    name = name_of(folder, mirror.default_schema)
    table = layout.delta_table(folder.mirror, name)
    policy = policy_for(mirror.settings, table_name(folder.path, mirror.default_schema))
    current = None
    if folder.is_history:
        # Before the listing: what it has applied is then in the folder, or in the archive.
        current = _read_current(ports, folder.current, mirror.default_schema)
        policy = policy if isinstance(policy, Broken) else policy_of_history(policy)
    control = stored.value
    if current is not None and incarnation is not None:
        control = skips_followed(control, current.control, incarnation)
    observed = ObservedState(
        folder=folder,
        name=name,
        table=table,
        at=ports.clock(),
        incarnation=incarnation,
        control=control,
        policy=policy,
        policy_etag=mirror.settings_etag,
        mirror_hold=mirror.document.hold,
        current=current,
    )
    return Observation(observed, stored.etag)


def _read_current(ports: RootPorts, folder: TableFolder, default_schema: str) -> TableBeside:
    place = layout.delta_table(folder.mirror, name_of(folder, default_schema))
    log = ports.logs.read(place)
    # Behind the log: what was decided before its commits is in the document then.
    return TableBeside(log, Documents(ports.store).table(folder).value)


def read_metadata(
    store: FileStore, landing: StorePath
) -> tuple[TableMetadata | Broken | None, ETag | None]:
    """What `_metadata.json` declares, None for an empty one or one that is still being copied.

    One that is refused breaks a rule, as one that makes no sense does. Raises NotThere without the
    file.
    """
    try:
        content = store.read(layout.join(landing, METADATA_FILE))
    except AccessDenied as error:
        return refused_place(error), None
    if content.growing or not content.data.strip():
        return None, content.etag
    return parse_metadata(content.data), content.etag


def with_archive(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """The observed state with archived files where needed, and without names used before."""
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


def inspected(ports: RootPorts, file: LandedFile, observed: ObservedState) -> LandedFile:
    """The file with its facts; raises ConditionFailed when it has another content by now.

    What is refused of it is a rule that it breaks: everything before it is applied.
    """
    entry = Entry(file.name, file.is_folder, file.size, file.modified, file.etag)
    try:
        facts = ports.inspector.inspect(file.path, entry, text_of(observed))
    except AccessDenied as error:
        broken = refused_place(error)
        facts = FileFacts(etag=file.etag, completeness=Completeness.COMPLETE, broken=broken)
    if facts.etag != file.etag:
        raise ConditionFailed(f"{file.path} changed while it was inspected")
    return replace(file, facts=facts)


def rebuilt(ports: RootPorts, seen: Observation) -> ObservedState:
    """The observed state; its control document is rebuilt if log or ledger know more epochs.

    Raises DocumentUnreadable when the ledger is lost as well: then nothing shows which of the
    files in the folder were applied.
    """
    observed = seen.observed
    entries: list[LedgerEntry] = []
    has_decided = observed.control.epoch > 0
    if (
        observed.naming.has_ledger
        and observed.incarnation
        and (not has_decided or has_forgotten(observed))
    ):
        entries = read_entries(ports.store, observed.folder, observed.incarnation)
    control = made_anew(observed, entries)
    # What was decided since it was read is in the log or the ledger, and not in this one.
    if (entries or control != observed.control) and is_rewritten(ports, seen):
        raise ConditionFailed(f"the control document of {observed.folder} was written meanwhile")
    observed = replace(observed, control=control)
    if has_forgotten(observed):
        known = remembered(observed, entries)
        if known is None:
            place = layout.ledger(observed.folder, observed.incarnation or Incarnation(""))
            raise DocumentUnreadable(
                f"{place} does not show which files were applied, and neither does the control "
                "document; delete the folder and create it again, with all its data"
            )
        observed = replace(observed, control=known)
    return observed


def is_rewritten(ports: RootPorts, seen: Observation) -> bool:
    """Whether the control document was written since, so that ledger entries may be newer."""
    return Documents(ports.store).table(seen.observed.folder).etag != seen.etag
