"""An operator asked for something: what it does to the document at once.

Whether it may be asked is for the caller to say; each function takes it as granted. The `Act` says
who asks, when and why, and stands in the table's history afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from openmirror.plan.facts import LandedFile
from openmirror.plan.observed import ObservedState
from openmirror.plan.transitions.history import with_act, with_end
from openmirror.plan.transitions.incarnations import with_other_bytes, with_record
from openmirror.protocol.naming_scheme import Through
from openmirror.protocol.sequence import START, next_sequence
from openmirror.table.control import (
    Act,
    ControlDocument,
    Hold,
    IncarnationRecord,
    Request,
    RequestKind,
    Skip,
    StopAfter,
)


def acted(before: ControlDocument, after: ControlDocument, act: Act) -> ControlDocument:
    """What an act made of a document, with the act and the problem that it ended in its history."""
    after = with_act(after, act)
    if before.problem is None or after.problem is not None:
        return after
    return with_end(after, before.problem, act.at, f"{act.what}, by {act.by}")


def held(control: ControlDocument, act: Act) -> ControlDocument:
    """Nothing happens to the table until it is resumed."""
    return replace(control, hold=Hold(act.at, act.by, act.why))


def resumed(control: ControlDocument) -> ControlDocument:
    """The table goes on."""
    return replace(control, hold=None)


def with_stop(
    control: ControlDocument, record: IncarnationRecord, stop: StopAfter | None
) -> ControlDocument:
    """No file behind the stop is read, and the table is held there; None: all are."""
    if record.stops_after == stop:
        return control
    return with_record(control, replace(record, stops_after=stop))


def retried(control: ControlDocument) -> ControlDocument:
    """The recorded problem and its failures are forgotten: the table is checked anew."""
    return replace(control, problem=None, failures=None)


def asked(control: ControlDocument, kind: RequestKind, act: Act) -> ControlDocument:
    """A request waits for the runner; one that was open before is given up, with its stop."""
    if control.asks_for(RequestKind.RESEED) and control.record is not None:
        control = with_stop(control, control.record, None)
    return replace(control, request=Request(kind, act.at, act.by, act.why))


def hard_deletes_confirmed(control: ControlDocument, act: Act) -> ControlDocument:
    """The next batch removes the rows that are marked as deleted."""
    return replace(control, hard_deletes=act)


def skipped(
    observed: ObservedState, record: IncarnationRecord, file: LandedFile, act: Act
) -> ControlDocument:
    """A file is passed over as it is now, or what was applied of it is accepted.

    Up to the applied position its content was read already: then the manifest gets the present
    ETag. Beyond it the skip is bound to the ETag, so that a file that replaces it is read.
    """
    if file.sequence <= observed.applied:
        record = with_other_bytes(record, file.sequence, file.etag)
    else:
        number, name = file.sequence, file.name if observed.naming.has_ledger else None
        skip = Skip(
            first=number, last=number, by=act.by, at=act.at, why=act.why, etag=file.etag, name=name
        )
        record = replace(record, skips=(*record.skips, skip))
    return retried(with_record(observed.control, record))


def given_up(
    control: ControlDocument, record: IncarnationRecord, through: Through, act: Act
) -> ControlDocument:
    """Numbers are passed over while they are missing; files that are there are still applied."""
    # From 1 on: a reseed may need it, and numbers that are there are never passed over.
    first = next_sequence(START)
    skip = Skip(
        first=first,
        last=through.last,
        by=act.by,
        at=act.at,
        why=act.why,
        partition=through.partition,
    )
    record = replace(record, skips=(*record.skips, skip))
    return replace(with_record(control, record), problem=None)
