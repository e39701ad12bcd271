"""What status shows of a mirror beside its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from openmirror.errors import SOLUTIONS
from openmirror.protocol.partner import Partner
from openmirror.protocol.relay_reports import RelayReport, RelayState
from openmirror.protocol.rules import Code
from openmirror.protocol.streams import STREAMS_FOLDER, StreamDocument
from openmirror.status.words import Warn, at_second
from openmirror.table import layout

_SHORT = 0.5
"""Of what a stream still holds: one that needs more of it may soon need what is gone."""


@dataclass(frozen=True, kw_only=True)
class StreamNote:
    """A database's stream that is landed in a mirror, as its document and its relay say."""

    name: str
    document: StreamDocument | None = None
    """None while nothing of it has landed."""
    written_at: datetime | None = None
    """When a relay last wrote it: at the latest some seconds after it had landed something."""
    relay: RelayReport | None = None
    """None where no relay has reported."""
    is_declared: bool = False
    """Whether `mirroring.json` says that it is landed."""

    def down(self, now: datetime) -> str | None:
        """Why it is landed no further, as far as anybody knows; None where it is."""
        relay = self.relay
        if relay is None or relay.state is RelayState.ENDED:
            return "mirroring.json declares it, and nobody lands it" if self.is_declared else None
        if relay.state is RelayState.FAILED:
            return f"it is landed no further since {at_second(relay.since)}: {relay.detail}"
        if relay.is_silent(now):
            return f"nothing was heard of its relay since {at_second(relay.at)}, and it did not end"
        if relay.state is RelayState.WAITING:
            since = at_second(relay.since)
            return f"it is not landed since {since}, and tried again: {relay.detail}"
        return None

    @property
    def retention_used(self) -> float:
        """The part of what the stream still holds that has not landed; 0 where nothing goes.

        At 1 the oldest record that is needed is the next one to go.
        """
        relay, document = self.relay, self.document
        if relay is None or document is None or not relay.begins or relay.end is None:
            return 0.0
        held = relay.end - relay.begins
        return min(1.0, max(0, relay.end - document.needed_from) / held) if held > 0 else 0.0

    @property
    def slot_too_large(self) -> int | None:
        """Bytes that its database keeps for it, where these are too many."""
        relay = self.relay
        if relay is None or relay.source_keeps is None or relay.source_limit is None:
            return None
        return relay.source_keeps if relay.source_keeps > relay.source_limit else None


@dataclass(frozen=True, kw_only=True)
class MirrorNotes:
    """Who publishes into a mirror, and what lies where it feeds no table."""

    mirror: str
    partner: Partner | None = None
    warnings: tuple[Warn, ...] = ()
    """Of what was sent, and is not applied."""
    streams: tuple[StreamNote, ...] = ()
    of_relays: tuple[Warn, ...] = ()
    """What keeps streams from being landed, or soon may."""


def stream_warnings(mirror: str, stream: StreamNote, now: datetime) -> Iterator[Warn]:
    """What keeps one stream from being landed, or soon may."""
    file = layout.join(layout.landing_zone(mirror), STREAMS_FOLDER, f"{stream.name}.json")
    if why := stream.down(now):
        code, detail = Code.STREAM_DOWN, f"stream {stream.name}: {why}"
        yield Warn(code, detail, SOLUTIONS[code], file)
    if stream.retention_used > _SHORT:
        code, part = Code.STREAM_RETENTION_SHORT, f"{stream.retention_used:.0%}"
        detail = f"stream {stream.name}: {part} of what its topic still holds has not landed"
        yield Warn(code, detail, SOLUTIONS[code], file)
    if (kept := stream.slot_too_large) is not None:
        code = Code.STREAM_SLOT_GROWS
        detail = (
            f"stream {stream.name}: its database keeps {kept / 2**30:.1f} GiB of its log for it"
        )
        yield Warn(code, detail, SOLUTIONS[code], file)


def publisher_text(partner: Partner) -> str:
    """A publisher in its own words: `Contoso (SQL 2019)`; empty when it says nothing."""
    source = " ".join(filter(None, (partner.source_type, partner.source_version)))
    if partner.name and source:
        return f"{partner.name} ({source})"
    return partner.name or source
