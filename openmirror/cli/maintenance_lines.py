"""A table's maintenance for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from rich.filesize import decimal

from openmirror.cli.console import clock_time
from openmirror.plan.maintenance_steps import (
    Compact,
    MaintenanceStep,
    Nothing,
    Purge,
    RemoveMarked,
    Vacuum,
)
from openmirror.protocol.counts import counted
from openmirror.status import TableStatus, shown_names
from openmirror.table.control import Maintenance


def maintained_tables(tables: Iterable[TableStatus], now: datetime) -> Iterator[str]:
    """A line for each table whose files were surveyed."""
    every = list(tables)
    names = shown_names(every)
    for table in every:
        if table.maintenance is not None:
            yield f"{names[table.folder]}: {in_words(table.maintenance, now)}"


def in_words(known: Maintenance, now: datetime) -> str:
    """Files, live and dead; what is due; and what ran last."""
    parts = []
    if found := known.found:
        parts.append(f"{counted(found.files, 'file')}, {decimal(found.bytes)}")
        if found.dead_files:
            parts.append(f"{found.dead_files} dead, {decimal(found.dead_bytes)}")
        if found.due and not known.again:
            parts.append(f"{found.due.value} is due")
        elif found.remark and not known.again:
            parts.append(found.remark)
    for what, done in (("compacted", known.compacted), ("vacuumed", known.vacuumed)):
        if done:
            parts.append(f"{what} {clock_time(done.at, now)}")
    if known.removed_through:
        parts.append(f"marked rows removed up to {clock_time(known.removed_through, now)}")
    if known.asked:
        parts.append(f"asked for by {known.asked.by}")
    for failed in filter(None, (known.failed, known.failed_removal)):
        parts.append(f"failed {failed.count} times, the last: {failed.error}")
    return "; ".join(parts) or "its files were not surveyed yet"


def planned(step: MaintenanceStep | Nothing) -> str:
    """What the next step would do."""
    match step:
        case Compact():
            return f"would compact {counted(step.files, 'file')}, {decimal(step.bytes)}"
        case Purge():
            return (
                f"would write {counted(step.files, 'file')} anew without their deleted rows, "
                f"{decimal(step.bytes)}"
            )
        case Vacuum(full=full):
            which = ", and files that no version names" if full else ""
            return (
                f"would delete what left the table {step.hours} hours ago: "
                f"{counted(step.files, 'file')} that the log still names, {decimal(step.bytes)}"
                f"{which}"
            )
        case RemoveMarked():
            return (
                f"would remove rows that were marked as deleted before {step.before:%Y-%m-%d %H:%M}"
            )
        case Nothing(remark=remark):
            return f"nothing to do{': ' if remark else ''}{remark}"
