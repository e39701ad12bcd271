"""Numbers of which there is no file."""

from __future__ import annotations

from openmirror.plan.observed import ObservedState
from openmirror.protocol.sequence import START, Position, Sequence, next_sequence


def first_missing(
    observed: ObservedState, through: Position, after: Position = START
) -> Sequence | None:
    """The first number behind a position and up to another one, neither there nor skipped."""
    record, sequence = observed.record, next_sequence(after)
    while sequence <= through:
        if sequence not in observed.files:
            skip = record.skipped(sequence, None) if record else None
            if skip is None:
                return sequence
            sequence = skip.last
        sequence = Sequence(sequence + 1)
    return None
