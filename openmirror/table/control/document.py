"""The control document of one landing folder, with all values that are not of one incarnation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from openmirror.errors import Problem
from openmirror.protocol.names import ETag, Incarnation
from openmirror.protocol.sequence import Position
from openmirror.table.control.batch import DecidedBatch, ManifestEntry
from openmirror.table.control.incarnation_record import IncarnationRecord
from openmirror.table.control.maintenance import Maintenance
from openmirror.table.log import AppId, Totals

VERSION = 1
"""The format of control documents and of mirrors' documents."""


@dataclass(frozen=True)
class Hold:
    """A table held by hand."""

    since: datetime
    by: str
    why: str = ""


class RequestKind(StrEnum):
    """What an operator has asked the runner to do."""

    RESEED = "reseed"
    UNDROP = "undrop"
    ADOPT = "adopt"


@dataclass(frozen=True)
class Request:
    """An operator's request that the runner carries out."""

    kind: RequestKind
    at: datetime
    by: str
    why: str = ""


@dataclass(frozen=True)
class Failures:
    """Attempts in a row that ended in an error on the same files."""

    count: int
    files: tuple[ManifestEntry, ...]
    at: datetime
    error: str


@dataclass(frozen=True)
class Applied:
    """A copy of what the log has applied, never ahead of it."""

    app_id: AppId
    position: Position
    totals: Totals = Totals()
    at: datetime | None = None


@dataclass(frozen=True)
class Dropped:
    """A table that was dropped and is retained."""

    incarnation: Incarnation
    at: datetime


class BeginReason(StrEnum):
    """Why a history began with the rows of its current table."""

    TURNED_ON = "turned-on"
    """Its policy was set while the table had data."""
    LOST = "lost"
    """Its Delta table was gone."""
    GAP = "gap"
    """Files that it still needed were gone, which the current table had applied."""
    ASKED = "asked"
    """An operator asked for a reseed."""


@dataclass(frozen=True)
class Begun:
    """When a history last began with the rows of its current table."""

    at: datetime
    position: Position
    why: BeginReason


@dataclass(frozen=True)
class FirstSeen:
    """When a content was first seen of a file whose own time lies in the future."""

    etag: ETag
    at: datetime


@dataclass(frozen=True)
class Unregistered:
    """A table that the catalog does not have under its name."""

    since: datetime
    reason: str


@dataclass(frozen=True)
class Act:
    """Something an operator did to this table, kept for `history`."""

    at: datetime
    by: str
    what: str
    why: str = ""


@dataclass(frozen=True)
class Ended:
    """A problem that is over, kept for `history`."""

    problem: Problem
    at: datetime
    how: str
    """What ended it: what has changed, or what an operator did."""


@dataclass(frozen=True, kw_only=True)
class ControlDocument:
    """Everything decided about one landing folder."""

    version: int = VERSION
    folder: str
    epoch: int = 0
    """The highest epoch number that was ever decided."""
    epochs: tuple[AppId, ...] = ()
    """Every epoch that may still have a runner somewhere, to be fenced before another opens."""
    decided: DecidedBatch | None = None
    record: IncarnationRecord | None = None
    former: tuple[IncarnationRecord, ...] = ()
    """Records of earlier incarnations, newest first: a folder taken away may be put back."""
    applied: Applied | None = None
    hold: Hold | None = None
    problem: Problem | None = None
    failures: Failures | None = None
    request: Request | None = None
    missing_since: datetime | None = None
    dropped: Dropped | None = None
    rebuilt: datetime | None = None
    """When this document was rebuilt beside a log that already had an epoch of ours."""
    first_seen: Mapping[str, FirstSeen] = field(default_factory=dict)
    """By name, for pending files whose time lies in the future: their waits count from here."""
    unregistered: Unregistered | None = None
    acts: tuple[Act, ...] = field(default=())
    ended: tuple[Ended, ...] = ()
    """The last problems that are over, oldest first."""
    drops: tuple[Dropped, ...] = ()
    """The last times that the table was dropped, oldest first, for `history`."""
    maintenance: Maintenance | None = None
    """None until the table's files were surveyed."""
    hard_deletes: Act | None = None
    """An operator allowed that the rows go which are marked as deleted, until they are gone."""

    begun: Begun | None = None
    """Of a history alone; None where it follows its folder from the first file on."""

    def record_of(self, incarnation: Incarnation) -> IncarnationRecord:
        """What is known of this incarnation: nothing yet for a new one."""
        records = (self.record, *self.former)
        known = (
            record for record in records if record is not None and record.incarnation == incarnation
        )
        return next(known, IncarnationRecord(incarnation=incarnation))

    def asks_for(self, kind: RequestKind) -> bool:
        """Whether an operator's request of this kind is open."""
        return self.request is not None and self.request.kind is kind
