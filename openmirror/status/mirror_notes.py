"""What status shows of a mirror beside its tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from openmirror.protocol.partner import Partner
from openmirror.protocol.streams import StreamDocument
from openmirror.status.words import Warn


@dataclass(frozen=True)
class StreamNote:
    """A database's stream that is landed in a mirror, as its document says."""

    name: str
    document: StreamDocument
    written_at: datetime
    """When a relay last wrote it: at the latest some seconds after it had landed something."""


@dataclass(frozen=True, kw_only=True)
class MirrorNotes:
    """Who publishes into a mirror, and what lies where it feeds no table."""

    mirror: str
    partner: Partner | None = None
    warnings: tuple[Warn, ...] = ()
    streams: tuple[StreamNote, ...] = ()


def publisher_text(partner: Partner) -> str:
    """A publisher in its own words: `Contoso (SQL 2019)`; empty when it says nothing."""
    source = " ".join(filter(None, (partner.source_type, partner.source_version)))
    if partner.name and source:
        return f"{partner.name} ({source})"
    return partner.name or source
