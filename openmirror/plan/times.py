"""From when a file's waits count: from its own time, unless that lies ahead of the store's clock.

A file's time is what its publisher's machine says, or whatever a copy has kept. One that lies ahead
would hold its table until then. So it counts from the first observation that saw this content,
which the control document keeps. What is ordered by time keeps the file's own (PROTOCOL §3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice

from openmirror.plan.facts import Completeness, LandedFile
from openmirror.plan.observed import ObservedState
from openmirror.table.control import FirstSeen

MOST_AHEAD = timedelta(minutes=1)
"""Two clocks may differ by as much; a file's time is believed so far."""
MOST_FIRST_SEEN = 1000
"""So many the control document keeps; those behind them are noted once it has room."""


def is_ahead(observed: ObservedState, file: LandedFile) -> bool:
    """Whether a file's time lies in the future of the store that it lies in."""
    return file.modified > observed.at + MOST_AHEAD


def counted_from(observed: ObservedState, file: LandedFile) -> datetime:
    """When a file was written, as far as waits are concerned."""
    first = observed.control.first_seen.get(file.name)
    if first is not None and first.etag == file.etag:
        return min(file.modified, first.at)
    return observed.at if is_ahead(observed, file) else file.modified


def first_seen(observed: ObservedState) -> Mapping[str, FirstSeen]:
    """What the control document has to keep after this observation.

    Only a listing knows the times of files: without one, what is known stays.
    """
    known = observed.control.first_seen
    if not observed.landed:
        return known
    kept: dict[str, FirstSeen] = {}
    new: dict[str, FirstSeen] = {}
    for file in _pending(observed):
        before = known.get(file.name)
        if before is not None and before.etag == file.etag:
            kept[file.name] = before
        elif is_ahead(observed, file) and _waits_by_time(observed, file):
            new[file.name] = FirstSeen(file.etag, observed.at)
    room = max(0, MOST_FIRST_SEEN - len(kept))
    return {**kept, **dict(islice(new.items(), room))}


def _pending(observed: ObservedState) -> Iterator[LandedFile]:
    """Files that are to be read: those behind the applied ones, and what a reseed has inspected."""
    return (
        file
        for file in observed.files.values()
        if file.sequence > observed.applied or file.facts is not None
    )


def _waits_by_time(observed: ObservedState, file: LandedFile) -> bool:
    """Whether something of this file ends with time; a Parquet file is complete or it is not."""
    if observed.metadata is None and (observed.record is None or observed.record.frozen is None):
        return True  # a new folder waits for its `_metadata.json`
    facts = file.facts
    unfinished = facts is not None and facts.completeness is Completeness.INCOMPLETE
    return facts is not None and (facts.needs_quiet_period or unfinished)
