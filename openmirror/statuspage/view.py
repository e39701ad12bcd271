"""What the page says, in the order in which a person wants to know it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from openmirror.durations import short
from openmirror.protocol.counts import counted
from openmirror.status import (
    MirrorNotes,
    OnHold,
    StageWord,
    TableStatus,
    Trouble,
    Warn,
    WasDropped,
    Word,
    plain_text,
    publisher_text,
    shown_names,
    wait_remedy,
)


class Tone(StrEnum):
    """How much something asks for a person; also the name of its icon and its colour."""

    ERROR = "error"
    WAITING = "waiting"
    HELD = "held"
    BUSY = "busy"
    GOOD = "good"
    GONE = "gone"


_ORDER = list(Tone)


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One thing to know about a table: a problem, a wait or a warning."""

    tone: Tone
    title: str
    detail: str
    remedy: str
    file: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One table."""

    name: str
    """Empty for a mirror that cannot be read."""
    word: str
    tone: Tone
    applied: str
    pending: int
    lag: str
    changes: int
    committed: datetime | None
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class GivenUp:
    """One message that nobody could deliver or handle."""

    name: str
    at: datetime
    reason: str


@dataclass(frozen=True)
class Undelivered:
    """Messages that were given up and wait for a person."""

    count: int = 0
    newest: tuple[GivenUp, ...] = ()
    unreadable: str = ""
    """Why it is not known; empty when it is."""


@dataclass(frozen=True, kw_only=True)
class MirrorView:
    """One mirror: its heading, and a page of its tables."""

    name: str
    word: str
    tone: Tone
    heartbeat: datetime | None
    trouble: Trouble | None
    rows: tuple[TableRow, ...]
    summary: tuple[tuple[Tone, str, int], ...]
    """How many tables are in each state."""
    more: str | None = None
    """Where the tables that follow are shown."""
    publisher: str = ""
    """Who publishes, in its own words."""
    remarks: tuple[Remark, ...] = ()
    """What lies where it feeds no table."""


MOST_WAITS = 10
"""Of the partitions of one table that wait, so many are listed one by one."""

_MIRROR_TONES = {"Running": Tone.GOOD, "Initialized": Tone.BUSY, "Stopped": Tone.ERROR}


def mirror_view(
    name: str,
    word: str,
    heartbeat: datetime | None,
    trouble: Trouble | None,
    tables: Sequence[TableStatus],
    more: str | None = None,
    notes: MirrorNotes | None = None,
) -> MirrorView:
    """A mirror with the tables that ask for a person first."""
    names = shown_names(tables)
    made = [_row(table, names[table.folder]) for table in tables]
    rows = sorted(made, key=lambda row: (_ORDER.index(row.tone), row.name.lower()))
    counted = Counter((row.tone, row.word) for row in rows)
    summary = sorted(counted.items(), key=lambda item: (_ORDER.index(item[0][0]), item[0][1]))
    return MirrorView(
        name=name,
        word=word,
        tone=_tone_of(word, trouble),
        heartbeat=heartbeat,
        trouble=trouble,
        rows=tuple(rows),
        summary=tuple((tone, label, count) for (tone, label), count in summary),
        more=more,
        publisher=publisher_text(notes.partner) if notes and notes.partner else "",
        remarks=tuple(_warned(warn, Tone.WAITING) for warn in (*notes.warnings, *notes.of_relays))
        if notes
        else (),
    )


def _warned(warning: Warn, tone: Tone) -> Remark:
    return Remark(
        tone=tone,
        title=warning.code,
        detail=warning.detail,
        remedy=warning.solution,
        file=warning.file,
    )


def _tone_of(word: str, trouble: Trouble | None) -> Tone:
    if trouble is None:
        return _MIRROR_TONES.get(word, Tone.BUSY)
    return Tone.HELD if trouble.code == Word.HELD else Tone.ERROR


def _row(table: TableStatus, name: str) -> TableRow:
    tone, word = _state(table)
    return TableRow(
        name=name.partition("/")[2],
        word=word,
        tone=tone,
        applied=str(table.applied),
        pending=table.pending_files,
        lag=short(table.lag_seconds) if table.pending_files else "",
        changes=table.totals.operations,
        committed=table.synced_at,
        remarks=tuple(_remarks(table, name)),
    )


_TONES = {
    StageWord.PAUSED: Tone.ERROR,
    StageWord.UNREADABLE: Tone.ERROR,
    StageWord.HELD: Tone.HELD,
    StageWord.DROPPED: Tone.GONE,
    StageWord.WAITING: Tone.WAITING,
    StageWord.REPLICATING: Tone.GOOD,
}


def _state(table: TableStatus) -> tuple[Tone, str]:
    return _TONES.get(table.word, Tone.BUSY), table.word.value


def _remarks(table: TableStatus, name: str) -> Iterator[Remark]:
    if trouble := table.problem:
        yield Remark(
            tone=Tone.ERROR,
            title=trouble.code,
            detail=plain_text(trouble.detail),
            remedy=trouble.solution,
            file=trouble.file,
            since=trouble.since,
        )
    waits = [table.waiting_for.waiting] if table.waiting_for else []
    waits += table.other_waits
    for waiting in waits[:MOST_WAITS]:
        number = f" at {waiting.sequence}" if waiting.sequence is not None else ""
        where = f" in {waiting.partition}" if waiting.partition else ""
        yield Remark(
            tone=Tone.WAITING,
            title=f"{waiting.kind.value}{number}{where}",
            detail=waiting.detail,
            remedy=wait_remedy(waiting, name),
            file=waiting.file,
            since=waiting.since,
            until=waiting.until,
        )
    if more := len(waits[MOST_WAITS:]):
        waiting_more = counted(more, "more partition", "more partitions")
        detail = f"{waiting_more} of this table {'waits' if more == 1 else 'wait'}"
        yield Remark(
            tone=Tone.WAITING,
            title="and more",
            detail=detail,
            remedy="`openmirror status --json` lists them.",
        )
    for warning in table.warnings:
        held = isinstance(table.stage, OnHold | WasDropped)
        yield _warned(warning, Tone.HELD if held else Tone.WAITING)


def worst(mirrors: Iterable[MirrorView], undelivered: Undelivered) -> Tone:
    """What the page as a whole asks for."""
    tones = [
        tone
        for mirror in mirrors
        for tone in (
            mirror.tone,
            *(row.tone for row in mirror.rows),
            *(remark.tone for remark in mirror.remarks),
        )
    ]
    if undelivered.count or undelivered.unreadable:
        tones.append(Tone.ERROR)
    return min(tones, key=_ORDER.index, default=Tone.GOOD)
