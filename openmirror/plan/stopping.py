"""A table that is rebuilt as it was after one of its files, and held there (`reseed --through`).

The stop stands in the record of the incarnation from the request on. No file behind it is read, and
a table that has come to it is held by it: whoever observes the table sees that, so nobody can go on
between the last commit and the write of the hold.
"""

from __future__ import annotations

from openmirror.plan.observed import ObservedState
from openmirror.plan.opening import is_being_replaced
from openmirror.protocol.sequence import Position, Sequence, next_sequence
from openmirror.table.control import Hold, RequestKind, StopAfter


def stop_of(observed: ObservedState) -> StopAfter | None:
    """Where the table stops on its way, if it does."""
    return observed.record.stops_after if observed.record else None


def hold_of_stop(observed: ObservedState) -> Hold | None:
    """The hold of a table that has come to its stop; None on the way there, or without one."""
    stop = stop_of(observed)
    # What the log has until the rebuilt table has landed is the table of before.
    is_before = observed.control.asks_for(RequestKind.RESEED) or is_being_replaced(observed)
    if stop is None or observed.live is None or is_before:
        return None
    if first_unread(observed, observed.applied, Position(stop.sequence)) is not None:
        return None
    why = f"rebuilt through {stop.sequence}" + (f": {stop.why}" if stop.why else "")
    return Hold(observed.at, stop.by, why)


def first_unread(observed: ObservedState, after: Position, through: Position) -> Sequence | None:
    """The first number behind a position and up to another one that is not passed over."""
    assert observed.record is not None
    sequence = next_sequence(after)
    while sequence <= through:
        file = observed.files.get(sequence)
        skip = observed.record.skipped(sequence, file.etag if file else None)
        if skip is None:
            return sequence
        # A skip may cover millions of numbers: step over those that are not there.
        behind = skip.last if file is None else sequence
        ahead = (n for n in observed.files if sequence < n <= behind)
        sequence = Sequence(min(ahead, default=behind + 1))
    return None


def rebuilt_through(observed: ObservedState) -> Position:
    """Up to which number a reseed needs every file."""
    stop = stop_of(observed)
    return Position(stop.sequence) if stop else observed.applied
