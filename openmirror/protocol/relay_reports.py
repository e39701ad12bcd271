"""What a relay says of itself beside its stream's document: `_streams/_relays/<stream>.json`.

Nothing is decided by it. It is what status, telemetry and alerts know of a relay, wherever that is
at work; so each report replaces the one before, under no ETag.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from openmirror.protocol.streams import Offset

RELAYS_FOLDER = "_relays"
"""Beside the documents of streams."""
REPORT_EVERY = timedelta(seconds=10)
"""How often a relay that has something to do says how far it is."""
REST_EVERY = timedelta(seconds=60)
"""How often one that has nothing to do says that it is at work."""
SILENT_AFTER = 3 * REST_EVERY
"""One that reports nothing for so long is not at work, whatever it reported last."""


class RelayState(StrEnum):
    """What a relay is doing."""

    LANDING = "landing"
    """It lands what comes."""
    WAITING = "waiting"
    """A service is away; it tries again."""
    FAILED = "failed"
    """It does not go on until a person has done something."""
    ENDED = "ended"
    """It was stopped."""


@dataclass(frozen=True, kw_only=True)
class RelayReport:
    """How a relay was, at one moment."""

    at: datetime
    state: RelayState
    since: datetime
    """When it began to be so."""
    detail: str = ""
    """What it waits for, or failed by, with the remedy."""
    begins: Offset | None = None
    """The first record that its stream still holds; None for one that loses none by itself."""
    next: Offset | None = None
    """The next one to be read."""
    end: Offset | None = None
    """The next one that will be written."""
    newest: datetime | None = None
    """The source's time of the newest change that was read."""
    bytes_behind: int | None = None
    """What the records from `next` on take up; None where nobody knows."""
    source_keeps: int | None = None
    """Bytes of its log that the source keeps for the stream; None where nobody knows."""
    source_limit: int | None = None
    """More of them than this are too many."""

    @property
    def records_behind(self) -> int | None:
        """Records that are there and have not been read; None where nobody knows."""
        if self.next is None or self.end is None:
            return None
        return max(0, self.end - self.next)

    @property
    def seconds_behind(self) -> float | None:
        """Age of the newest change that was read, while more are there; 0 when none is."""
        behind = self.bytes_behind if self.records_behind is None else self.records_behind
        if not behind:
            return None if behind is None else 0.0
        return max(0.0, (self.at - self.newest).total_seconds()) if self.newest else None

    def is_silent(self, now: datetime) -> bool:
        """Whether it is not at work any more, and did not say so."""
        return self.state is not RelayState.ENDED and now - self.at > SILENT_AFTER

    def as_json(self) -> bytes:
        """The file's content."""
        document = {
            "at": _text(self.at),
            "state": self.state,
            "since": _text(self.since),
            "detail": self.detail,
            "begins": self.begins,
            "next": self.next,
            "end": self.end,
            "newest": None if self.newest is None else _text(self.newest),
            "bytesBehind": self.bytes_behind,
            "sourceKeeps": self.source_keeps,
            "sourceLimit": self.source_limit,
        }
        return json.dumps(document, indent=2, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read it; raises ValueError for anything else."""
        try:
            document = json.loads(content)
            newest = document.get("newest")
            return cls(
                at=_moment(document["at"]),
                state=RelayState(document["state"]),
                since=_moment(document["since"]),
                detail=str(document.get("detail", "")),
                begins=_offset(document, "begins"),
                next=_offset(document, "next"),
                end=_offset(document, "end"),
                newest=None if newest is None else _moment(newest),
                bytes_behind=_number(document, "bytesBehind"),
                source_keeps=_number(document, "sourceKeeps"),
                source_limit=_number(document, "sourceLimit"),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"it is no report of a relay ({error!r})") from None


def _offset(document: Mapping[str, Any], name: str) -> Offset | None:
    value = _number(document, name)
    return None if value is None else Offset(value)


def _number(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    return None if value is None else int(value)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return moment
