"""`status` for people: what fits a terminal of every table, then what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from openmirror.cli.console import clock_time, short
from openmirror.plan.decisions import HeldBy, Waiting
from openmirror.protocol.counts import counted
from openmirror.protocol.relay_reports import RelayState
from openmirror.protocol.rules import Code
from openmirror.protocol.streams import StreamDocument
from openmirror.status import (
    MirrorNotes,
    OnHold,
    Paused,
    StreamNote,
    TableStatus,
    Unreadable,
    Waits,
    Warn,
    WasDropped,
    Word,
    message_of,
    plain_text,
    publisher_text,
    shown_names,
    wait_remedy,
)

MOST_PARTITIONS = 10
"""Of those that wait, so many are listed one by one."""

_STYLES = {Paused: "red", Unreadable: "red", Waits: "yellow", OnHold: "yellow", WasDropped: "dim"}
_HEADS = ("table", "state", "applied", "pending", "lag", "changes", "what to know")
_BETWEEN = 2
"""Blanks between two columns."""


def print_status(console: Console, tables: Sequence[TableStatus], *, with_mirror: bool) -> None:
    """One line for each table; where the terminal is too narrow for that, a few lines for each.

    No name and no code is ever broken: it may be copied from here.
    """
    names = shown_names(tables)
    rows = [_cells(table, names[table.folder], with_mirror=with_mirror) for table in tables]
    widths = [max(len(row[at]) for row in (_HEADS, *rows)) for at in range(len(_HEADS) - 1)]
    longest = max(len(word) for row in (_HEADS, *rows) for word in row[-1].split(" "))
    if sum(widths) + longest + _BETWEEN * len(widths) <= console.width:
        console.print(_as_table(tables, rows, longest))
        return
    for table, row in zip(tables, rows, strict=True):
        name, state, applied, pending, lag, _, brief = row
        console.print(f"\n{name}", soft_wrap=True, markup=False)
        behind = f", {lag} behind" if table.pending_files else ""
        counts = counted(table.totals.operations, "change")
        text = Text(f"  {state}", style=_STYLES.get(type(table.stage), ""))
        text.append(f"  applied {applied}, {pending} pending{behind}, {counts}", style="default")
        console.print(text, soft_wrap=True)
        if brief:
            console.print(f"  {brief}", soft_wrap=True, markup=False)


def _as_table(
    tables: Sequence[TableStatus], rows: Sequence[tuple[str, ...]], longest: int
) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), expand=False)
    for head in _HEADS[:2]:
        shown.add_column(head, no_wrap=True)
    for head in _HEADS[2:-1]:
        shown.add_column(head, justify="right", no_wrap=True)
    shown.add_column(_HEADS[-1], min_width=longest)
    for table, (name, state, *figures) in zip(tables, rows, strict=True):
        style = _STYLES.get(type(table.stage), "")
        shown.add_row(Text(name), Text(state, style=style), *(Text(cell) for cell in figures))
    return shown


def _cells(table: TableStatus, name: str, *, with_mirror: bool) -> tuple[str, ...]:
    # A folder's own path is only understood with its mirror.
    own = str(table.name) if not with_mirror and name.endswith(f"/{table.name}") else name
    return (
        own if table.name.table else name,
        table.status.value,
        str(table.applied),
        str(table.pending_files),
        short(table.lag_seconds) if table.pending_files else "-",
        f"{table.totals.operations:,}",
        in_brief(table),
    )


def in_brief(table: TableStatus) -> str:
    """The one thing that matters most, in a few words."""
    if table.problem:
        return table.problem.code
    if isinstance(table.stage, OnHold):
        return f"held by {table.stage.by}"
    if isinstance(table.stage, WasDropped):
        return "dropped"
    if table.waiting_for:
        waiting = table.waiting_for.waiting
        others = len(table.other_waits)
        return f"waits: {what_for(waiting)}" + (f", and {others} more" if others else "")
    if table.other_waits:
        return f"waits: {what_for(table.other_waits[0])}"
    return table.warnings[0].code if table.warnings else ""


def what_for(waiting: Waiting) -> str:
    """The kind of a wait, and where."""
    number = f" {waiting.sequence}" if waiting.sequence is not None else ""
    return waiting.kind.value + number + (f" in {waiting.partition}" if waiting.partition else "")


def troubles(
    tables: Sequence[TableStatus],
    now: datetime,
    *,
    only_stopped: bool = False,
    verbose: bool = False,
) -> Iterator[str]:
    """For each table that does not simply go on: why, since when, and what to do.

    What holds many tables of a mirror alike is one text for all of them.
    Names of Java's classes are only in it if `verbose`.
    """
    shared = Counter((table.folder.mirror, warn) for table in tables for warn in _shared(table))
    for (mirror, warning), count in shared.items():
        yield f"{mirror}: {warning.code}, {counted(count, 'table')}\n  {_text_of(warning)}"
    names = shown_names(tables)
    for table in tables:
        for text in _troubles_of(table, names[table.folder], now, only_stopped=only_stopped):
            yield text if verbose else plain_text(text)


def _troubles_of(
    table: TableStatus, name: str, now: datetime, *, only_stopped: bool
) -> Iterator[str]:
    if table.problem:
        since = f" since {clock_time(table.problem.since, now)}" if table.problem.since else ""
        yield f"{name} is paused by {table.problem.code}{since}\n  {message_of(table.problem)}"
    elif table.waiting_for:
        yield f"{name} {wait_text(table.waiting_for.waiting, name, now)}"
    yield from _of_partitions(table, name, now)
    shared = _shared(table)
    for warning in table.warnings:
        is_shown = isinstance(table.stage, OnHold) or warning.code == Code.FILE_NEVER_READ
        if warning in shared or (only_stopped and not is_shown):
            continue
        yield f"{name}: {warning.code}\n  {_text_of(warning)}"


def _shared(table: TableStatus) -> tuple[Warn, ...]:
    """What holds the table together with others of its mirror."""
    if not isinstance(table.stage, OnHold) or table.stage.scope is HeldBy.TABLE:
        return ()
    return tuple(warning for warning in table.warnings if warning.code == Word.HELD)


def _text_of(warning: Warn) -> str:
    where = f"{warning.file}: " if warning.file and warning.file not in warning.detail else ""
    return f"{where}{warning.detail}. {warning.solution}"


def publishers(mirrors: Iterable[MirrorNotes]) -> Iterator[str]:
    """Who publishes into each mirror, where somebody says so."""
    for notes in mirrors:
        if notes.partner and (who := publisher_text(notes.partner)):
            yield f"{notes.mirror}: published by {who}"


def streams(mirrors: Iterable[MirrorNotes], now: datetime) -> Iterator[str]:
    """How far each database's stream has landed."""
    for notes in mirrors:
        for stream in notes.streams:
            parts = [*_landed(stream, now), *_relayed(stream, now)]
            yield f"{notes.mirror}: stream {stream.name}, {'; '.join(parts)}"


def _landed(stream: StreamNote, now: datetime) -> Iterator[str]:
    document, written_at = stream.document, stream.written_at
    if document is None or written_at is None:
        yield "nothing of it has landed"
        return
    tables = counted(len(document.tables), "table")
    as_of = clock_time(written_at, now)
    yield f"{tables}, landed up to {_landed_to(document)}, as of {as_of}"
    if document.is_snapshot_open:
        yield "its first snapshot has not ended"
    for path in sorted(document.resnapshots):
        yield f"a new snapshot of {path} is awaited"
    if document.log is not None:
        for name, why in sorted(document.log.left_out.items()):
            yield f"{name} is left out: {why}"


def _landed_to(document: StreamDocument) -> str:
    """Return how far a stream has landed: a record's number, or an LSN as PostgreSQL writes it."""
    at = document.complete_to
    return f"record {at}" if document.log is None else f"{at >> 32:X}/{at & 0xFFFFFFFF:X}"


def _relayed(stream: StreamNote, now: datetime) -> Iterator[str]:
    """What its relay is doing; what is wrong with it stands elsewhere."""
    relay = stream.relay
    if relay is None or stream.down(now):
        return
    if relay.state is RelayState.ENDED:
        yield f"its relay ended at {clock_time(relay.at, now)}"
    elif not relay.records_behind and not (relay.next is None and relay.bytes_behind):
        yield "up to date"
    else:
        seconds = relay.seconds_behind
        behind = f", {short(seconds)} behind the database" if seconds is not None else ""
        size = "" if relay.bytes_behind is None else decimal(relay.bytes_behind)
        if relay.records_behind is not None:
            size = counted(relay.records_behind, "record") + (f" ({size})" if size else "")
        yield f"{size} to go{behind}"
    if relay.source_keeps is not None:
        yield f"its database keeps {decimal(relay.source_keeps)} of its log"


def relays(mirrors: Iterable[MirrorNotes]) -> Iterator[str]:
    """What keeps streams from being landed, and what to do."""
    for notes in mirrors:
        for warning in notes.of_relays:
            yield f"{notes.mirror}: {warning.code}\n  {warning.detail}. {warning.solution}"


def misplaced(mirrors: Iterable[MirrorNotes]) -> Iterator[str]:
    """What of each mirror lies where it feeds no table, and what to do."""
    for notes in mirrors:
        for warning in notes.warnings:
            head = f"{notes.mirror}: {warning.code}"
            yield f"{head}\n  {warning.file}: {warning.detail}. {warning.solution}"


def _of_partitions(table: TableStatus, name: str, now: datetime) -> Iterator[str]:
    waits = table.other_waits
    for waiting in waits[:MOST_PARTITIONS]:
        which = waiting.partition or "outside of every partition"
        yield f"{name}, {which}, {wait_text(waiting, name, now)}"
    if len(waits) > MOST_PARTITIONS:
        more = counted(len(waits) - MOST_PARTITIONS, "more partition waits", "more partitions wait")
        yield f"{name}: {more}\n  `openmirror status --json` lists them."


def wait_text(waiting: Waiting, name: str, now: datetime) -> str:
    """Since when, until when, for what, and what ends it."""
    until = f" until {clock_time(waiting.until, now)} at most" if waiting.until else ""
    since = clock_time(waiting.since, now)
    where = f"{waiting.file}: " if waiting.file and waiting.file not in waiting.detail else ""
    return f"waits since {since}{until}: {where}{waiting.detail}\n  {wait_remedy(waiting, name)}"
