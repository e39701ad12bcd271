"""`status` for people: one table that fits a terminal, then what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rich import box
from rich.table import Table
from rich.text import Text

from openmirror.cli.console import clock_time, short
from openmirror.plan.decisions import Waiting
from openmirror.status import (
    OnHold,
    Paused,
    TableStatus,
    Unreadable,
    Waits,
    WasDropped,
    message_of,
    wait_remedy,
)

MOST_PARTITIONS = 10
"""Of those that wait, so many are listed one by one."""

_STYLES = {Paused: "red", Unreadable: "red", Waits: "yellow", OnHold: "yellow", WasDropped: "dim"}


def status_table(tables: Iterable[TableStatus], *, with_mirror: bool) -> Table:
    """One line for each table."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), expand=False)
    shown.add_column("table", overflow="fold", max_width=28)
    shown.add_column("state", no_wrap=True)
    for figure in ("applied", "pending", "lag", "changes"):
        shown.add_column(figure, justify="right", no_wrap=True)
    shown.add_column("what to know", overflow="fold")
    for table in tables:
        name = name_of(table, with_mirror=with_mirror)
        shown.add_row(
            Text(name),
            Text(table.status.value, style=_STYLES.get(type(table.stage), "")),
            str(table.applied),
            str(table.pending_files),
            short(table.lag_seconds) if table.pending_files else "-",
            f"{table.totals.operations:,}",
            Text(in_brief(table)),
        )
    return shown


def name_of(table: TableStatus, *, with_mirror: bool) -> str:
    """How an operator would type it; a mirror that cannot be read has no table to name."""
    if not table.name.table:
        return f"{table.folder.mirror}/"
    return f"{table.folder.mirror}/{table.name}" if with_mirror else str(table.name)


def in_brief(table: TableStatus) -> str:
    """The one thing that matters most, in a few words."""
    if table.problem:
        return table.problem.code
    if isinstance(table.stage, OnHold):
        return f"held by {table.stage.hold.by}"
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
    tables: Iterable[TableStatus], now: datetime, *, only_stopped: bool = False
) -> Iterator[str]:
    """For each table that does not simply go on: why, since when, and what to do."""
    for table in tables:
        name = name_of(table, with_mirror=True)
        if table.problem:
            since = f" since {clock_time(table.problem.since, now)}" if table.problem.since else ""
            yield f"{name} is paused by {table.problem.code}{since}\n  {message_of(table.problem)}"
        elif table.waiting_for:
            yield f"{name} {wait_text(table.waiting_for.waiting, name, now)}"
        yield from _of_partitions(table, name, now)
        for warning in table.warnings:
            if only_stopped and not isinstance(table.stage, OnHold):
                continue
            where = (
                f"{warning.file}: " if warning.file and warning.file not in warning.detail else ""
            )
            yield f"{name}: {warning.code}\n  {where}{warning.detail}. {warning.solution}"


def _of_partitions(table: TableStatus, name: str, now: datetime) -> Iterator[str]:
    waits = table.other_waits
    for waiting in waits[:MOST_PARTITIONS]:
        which = waiting.partition or "outside of every partition"
        yield f"{name}, {which}, {wait_text(waiting, name, now)}"
    if len(waits) > MOST_PARTITIONS:
        more = len(waits) - MOST_PARTITIONS
        yield f"{name}: {more} more partition(s) wait\n  `openmirror status --json` lists them."


def wait_text(waiting: Waiting, name: str, now: datetime) -> str:
    """Since when, until when, for what, and what ends it."""
    until = f" until {clock_time(waiting.until, now)} at most" if waiting.until else ""
    since = clock_time(waiting.since, now)
    return f"waits since {since}{until}: {waiting.detail}\n  {wait_remedy(waiting, name)}"
