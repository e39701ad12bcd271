"""Plain work, which most events announce: a good file that comes next, or one behind such a file.

Seeing that reads little, may know a mirror's documents from some seconds before, and the
only answer is a wake-up: one too many costs an observation. Whatever is not sure is left to the
partial observation, which takes nothing from here.
"""

from __future__ import annotations

from dataclasses import replace

from openmirror.errors import NotThere
from openmirror.ingress.partial_observation import (
    file_at,
    missing_before,
    missing_in_partition,
    numbered,
    with_metadata,
    with_naming,
    with_next,
)
from openmirror.plan import ObservedState, plan
from openmirror.plan.decisions import Apply, Replace
from openmirror.plan.facts import LandedFile
from openmirror.plan.file_format import text_of
from openmirror.plan.holding import held
from openmirror.plan.needs import reads_from
from openmirror.plan.ordering import UNORDERED
from openmirror.ports import Entry
from openmirror.protocol.names import ETag, TableFolder
from openmirror.protocol.naming_scheme import ParsedName, read_name
from openmirror.protocol.sequence import ChangeFileName, next_sequence
from openmirror.reconcile.reads import first_reads, rebuilt
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.log import BrokenLog

_ANY_CONTENT = ETag("")
"""Of a file that nobody has asked for: its facts are read, and say which content they are of."""


def is_plain_work(ports: RootPorts, folder: TableFolder, announced: str, size: int | None) -> bool:
    """Whether a file that an event announced, of so many bytes, is plainly work for a runner.

    Raises what the store raises, DocumentUnreadable, and ConditionFailed when something changed
    meanwhile.
    """
    mirror = ports.mirrors.recent(ports.store, folder.mirror, ports.seconds())
    seen = first_reads(ports, folder, mirror)
    observed = seen.observed
    control = observed.control
    if observed.incarnation is None or control.problem or control.request or held(observed):
        return False
    if observed.record is None or observed.record.frozen is None:
        # What is frozen counts whatever it says now; a change of it has an event of its own.
        observed = with_metadata(ports, observed)
    observed = with_naming(observed, announced)
    if not isinstance(read_name(observed.naming, announced), ParsedName):
        return False
    if observed.naming.has_ledger:
        return _is_new(ports, observed, announced)
    own = numbered(observed, announced)
    # Whether a retained table has to be brought back does not matter: that is work as well.
    observed = rebuilt(
        ports, replace(seen, observed=replace(observed, log=ports.logs.read(observed.table)))
    )
    if own is None or isinstance(observed.log, BrokenLog):
        return False
    following = next_sequence(reads_from(observed))
    if own.sequence < following:
        return False
    if own.sequence > following:
        if missing_before(ports, observed, own) is not None:
            return False
    elif size:
        try:
            file = _inspected(ports, observed, own, size)
        except NotThere:
            return False
        observed = replace(observed, files={**observed.files, file.sequence: file})
    observed = with_next(ports, observed, own)
    return isinstance(plan(observed, ports.limits, observed.at), Apply | Replace)


def _is_new(ports: RootPorts, observed: ObservedState, announced: str) -> bool:
    """Whether a file of a table with a ledger lies there, and no batch has one of its name."""
    batches = observed.record.batches if observed.record else ()
    if any(manifest.name == announced for batch in batches for manifest in batch.files):
        return False
    there = file_at(ports, observed, announced, UNORDERED)
    return there is not None and missing_in_partition(ports, observed, announced) is None


def _inspected(
    ports: RootPorts, observed: ObservedState, name: ChangeFileName, size: int
) -> LandedFile:
    """The announced file by its own reads, which say which content they are of."""
    path = layout.join(layout.table_folder(observed.folder), str(name))
    entry = Entry(str(name), False, size, observed.at, _ANY_CONTENT)
    facts = ports.inspector.inspect(path, entry, text_of(observed))
    return LandedFile(
        sequence=name.sequence,
        name=str(name),
        path=path,
        etag=facts.etag,
        size=size,
        modified=observed.at,
        facts=facts,
    )
