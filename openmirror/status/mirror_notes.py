"""What status shows of a mirror beside its tables."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.protocol.partner import Partner
from openmirror.status.words import Warn


@dataclass(frozen=True, kw_only=True)
class MirrorNotes:
    """Who publishes into a mirror, and what lies where it feeds no table."""

    mirror: str
    partner: Partner | None = None
    warnings: tuple[Warn, ...] = ()


def publisher_text(partner: Partner) -> str:
    """A publisher in its own words: `Contoso (SQL 2019)`; empty when it says nothing."""
    source = " ".join(filter(None, (partner.source_type, partner.source_version)))
    if partner.name and source:
        return f"{partner.name} ({source})"
    return partner.name or source
