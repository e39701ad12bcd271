"""Leases as Azure has them: pure transitions from one state of a lease to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from openmirror.emulator.errors import Fault, RefusedCall

_SHORTEST, _LONGEST, _ENDLESS = 15, 60, -1
_LONGEST_BREAK = 60


class LeaseState(StrEnum):
    """What `x-ms-lease-state` says."""

    AVAILABLE = "available"
    LEASED = "leased"
    EXPIRED = "expired"
    BREAKING = "breaking"
    BROKEN = "broken"


@dataclass(frozen=True)
class FileLease:
    """A lease that was taken and not released; times are seconds since 1970."""

    id: str
    seconds: int
    """How long it lasts; -1 without end."""
    until: float
    breaks: float | None = None
    """When it is broken, once somebody has asked for that."""


def state_of(lease: FileLease | None, now: float) -> LeaseState:
    """The state that clients see."""
    if lease is None:
        return LeaseState.AVAILABLE
    if lease.breaks is not None:
        return LeaseState.BREAKING if now < lease.breaks else LeaseState.BROKEN
    return LeaseState.LEASED if now < lease.until else LeaseState.EXPIRED


def is_held(lease: FileLease | None, now: float) -> bool:
    """Whether writers need its id."""
    return state_of(lease, now) in (LeaseState.LEASED, LeaseState.BREAKING)


def acquire(lease: FileLease | None, lease_id: str, seconds: int, now: float) -> FileLease:
    """Take it; raises Refused while somebody else has it, or for a duration that is not allowed."""
    if seconds != _ENDLESS and not _SHORTEST <= seconds <= _LONGEST:
        raise RefusedCall(Fault.INVALID_HEADER, "x-ms-lease-duration is -1, or 15 to 60 seconds")
    state = state_of(lease, now)
    same = lease is not None and lease.id == lease_id
    if state is LeaseState.BREAKING and same:
        raise RefusedCall(Fault.LEASE_BREAKING)
    if state is LeaseState.BREAKING or (state is LeaseState.LEASED and not same):
        raise RefusedCall(Fault.LEASE_PRESENT)
    return FileLease(lease_id, seconds, _end(seconds, now))


def renew(lease: FileLease | None, lease_id: str, now: float) -> FileLease:
    """Begin its time anew; raises Refused when it is another's, or was broken."""
    if lease is None or lease.id != lease_id:
        raise RefusedCall(Fault.LEASE_ID_WRONG)
    if lease.breaks is not None:
        raise RefusedCall(Fault.LEASE_BROKEN)
    return replace(lease, until=_end(lease.seconds, now))


def change(lease: FileLease | None, lease_id: str, proposed: str, now: float) -> FileLease:
    """Give it another id; raises Refused unless it is held under one of the two."""
    state = state_of(lease, now)
    if lease is None or state in (LeaseState.EXPIRED, LeaseState.BROKEN):
        raise RefusedCall(Fault.LEASE_ABSENT)
    if lease.id not in (lease_id, proposed):
        raise RefusedCall(Fault.LEASE_ID_WRONG)
    if state is LeaseState.BREAKING:
        raise RefusedCall(Fault.LEASE_BREAKING_CHANGE)
    return replace(lease, id=proposed)


def release(lease: FileLease | None, lease_id: str) -> None:
    """Let others have it; raises Refused when it is another's."""
    if lease is None or lease.id != lease_id:
        raise RefusedCall(Fault.LEASE_ID_WRONG)


def break_(lease: FileLease | None, period: int | None, now: float) -> tuple[FileLease, int]:
    """End it after a while whoever holds it; answers how many seconds are left."""
    if period is not None and not 0 <= period <= _LONGEST_BREAK:
        raise RefusedCall(Fault.INVALID_HEADER, "x-ms-lease-break-period is 0 to 60 seconds")
    state = state_of(lease, now)
    if lease is None:
        raise RefusedCall(Fault.LEASE_ABSENT)
    if state in (LeaseState.BROKEN, LeaseState.EXPIRED):
        return replace(lease, breaks=now), 0
    if state is LeaseState.BREAKING and lease.breaks is not None:
        end = lease.breaks if period is None else min(lease.breaks, now + period)
    elif lease.seconds == _ENDLESS:
        end = now + (period or 0)
    else:
        end = lease.until if period is None else min(lease.until, now + period)
    return replace(lease, breaks=end), math.ceil(end - now)


def check_write(lease: FileLease | None, lease_id: str | None, now: float) -> FileLease | None:
    """Whether a write with this id may go on, and the lease after it; raises Refused.

    A write ends a lease that nobody holds any more.
    """
    state = state_of(lease, now)
    if lease is not None and is_held(lease, now):
        if lease_id is None:
            raise RefusedCall(Fault.LEASE_ID_MISSING)
        if lease_id != lease.id:
            raise RefusedCall(Fault.LEASE_ID_OTHER)
        return lease
    if lease_id is not None:
        raise RefusedCall(Fault.LEASE_LOST if state is LeaseState.EXPIRED else Fault.LEASE_NONE)
    return None


def _end(seconds: int, now: float) -> float:
    return math.inf if seconds == _ENDLESS else now + seconds
