"""`observe`: everything that a plan depends on, read in an order that makes it consistent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

from openmirror.errors import ConditionFailed, NotThere
from openmirror.plan.cut import pending, sequence_group_of
from openmirror.plan.facts import Completeness, LandedFile
from openmirror.plan.needs import decided_files, ends_at_limits, reads_from
from openmirror.plan.observed import ObservedState
from openmirror.plan.ordering import in_order
from openmirror.ports import Listing
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import METADATA_FILE, ETag, TableFolder
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence
from openmirror.reconcile.checksums import compared
from openmirror.reconcile.concurrently import ahead
from openmirror.reconcile.delta_logs import with_logs, with_mirror
from openmirror.reconcile.discovery import is_landed
from openmirror.reconcile.landed_files import with_landed
from openmirror.reconcile.laps import Laps
from openmirror.reconcile.reads import (
    Observation,
    first_reads,
    inspected,
    is_rewritten,
    read_metadata,
    rebuilt,
    with_archive,
)
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.table.phases import Phase

MOST_OBSERVATIONS = 20
"""A table that changes during so many observations in a row is somebody's error."""


def observe(
    ports: RootPorts, folder: TableFolder, laps: Laps | None = None, *, listing_last: bool = False
) -> Observation:
    """One consistent observation of a table; starts over while the table changes meanwhile.

    Order of reads: incarnation, control document, listing, applied, incarnation again. Applied
    comes after the listing, because a file is only moved away after it was applied. Cleanup asks
    for `listing_last`: there, what is absent must have been moved before. `laps` learns what
    takes how long.

    Raises NotThere when the landing zone itself cannot be listed, DocumentUnreadable when the
    control document cannot be read, ConditionFailed when the table changed each time, AccessDenied
    when something that every plan needs is refused; a change file or _metadata.json that is refused
    is observed as such.
    """
    laps = laps or Laps(ports.clock, ports.seconds)
    for _ in range(MOST_OBSERVATIONS):
        seen = _observe_once(ports, folder, laps, listing_last)
        laps.end(Phase.LIST)
        if seen is not None:
            return seen
    raise ConditionFailed(f"{folder} changed during {MOST_OBSERVATIONS} observations in a row")


def _observe_once(
    ports: RootPorts, folder: TableFolder, laps: Laps, listing_last: bool
) -> Observation | None:
    store = ports.store
    landing = layout.table_folder(folder)
    seen = first_reads(ports, folder)
    observed, incarnation = seen.observed, seen.observed.incarnation
    try:
        if listing_last:
            observed = _with_listing(ports, with_logs(ports, observed), landing)
        else:
            observed = with_logs(ports, _with_listing(ports, observed, landing))
        observed = in_order(rebuilt(ports, replace(seen, observed=observed)))
        observed = compared(ports, with_archive(ports, observed))
        laps.end(Phase.LIST)
        observed = _with_facts(ports, observed)
        laps.end(Phase.INSPECT)
        observed = with_mirror(ports, observed)
    except ConditionFailed:
        return None
    except NotThere:
        if incarnation is None and store.incarnation(landing) is None:
            raise  # the zone itself cannot be listed
        return None  # the folder, or a file of it, has gone since it was listed
    if observed.ledger.is_read and is_rewritten(ports, seen):
        return None
    if store.incarnation(landing) != incarnation:
        return None
    return Observation(observed, seen.etag)


def _with_listing(ports: RootPorts, observed: ObservedState, landing: StorePath) -> ObservedState:
    if observed.incarnation is None:
        # Only a zone that can be listed shows that the folder is gone.
        if is_landed(ports.store, observed.folder):
            raise ConditionFailed(f"{landing} has come back")
        return observed
    listing = ports.store.list_folder(landing)
    metadata, etag = _metadata(ports, landing, listing)
    observed = replace(observed, at=listing.at, metadata=metadata, metadata_etag=etag)
    return with_landed(ports.store, landing, listing, observed)


def _metadata(
    ports: RootPorts, landing: StorePath, listing: Listing
) -> tuple[TableMetadata | Broken | None, ETag | None]:
    entry = next((e for e in listing.entries if e.name == METADATA_FILE and not e.is_folder), None)
    if entry is None:
        return None, None
    return read_metadata(ports.store, landing)


def _to_inspect(observed: ObservedState) -> Iterator[LandedFile]:
    """Pending files in order, up to what ends every batch."""
    assert observed.record is not None
    for item in pending(observed, observed.record, reads_from(observed)):
        if not isinstance(item, LandedFile) or item.is_folder or item.twin:
            break
        yield item


def _with_facts(ports: RootPorts, observed: ObservedState) -> ObservedState:
    """Inspect as many pending files as the next batch can hold, and those that are decided."""
    if observed.record is None:
        return observed
    known: dict[Sequence, LandedFile] = {}
    rows = size = count = 0
    passed: set[str] = set()
    group_of = partial(sequence_group_of, observed)
    has_limits = ends_at_limits(observed)
    wanted = (file for file in _to_inspect(observed) if group_of(file) not in passed)
    with closing(ahead(ports, wanted, lambda file: inspected(ports, file, observed))) as found:
        for listed, seen in found:
            if group_of(listed) in passed:
                continue
            known[listed.sequence] = seen
            assert seen.facts is not None
            unready = seen.facts.completeness is not Completeness.COMPLETE or seen.facts.broken
            if unready and observed.naming.has_ledger:
                passed.add(group_of(listed))
                continue
            rows, size, count = rows + seen.facts.rows, size + seen.size, count + 1
            has_limits = has_limits or bool(seen.facts.schema.columns)
            if unready or (has_limits and ports.limits.are_passed_by(count, rows, size)):
                break
    for entry in decided_files(observed):
        file = observed.files.get(entry.sequence)
        if file and file.sequence not in known and not file.is_folder:
            known[file.sequence] = inspected(ports, file, observed)
    return replace(observed, files={**observed.files, **known})
