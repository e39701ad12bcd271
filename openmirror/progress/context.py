"""An event of progress as the fields of a structured log record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime
from enum import Enum

from openmirror.progress.base import MirrorEvent, TableEvent
from openmirror.progress.runner import MessageDeadLettered, QueueOperationFailed
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder

LogValue = str | int | float | bool


def folder_of(event: ProgressEvent) -> TableFolder | None:
    """The table that an event is about; None for a mirror's, and for a whole process's."""
    match event:
        case TableEvent(folder) | MessageDeadLettered(folder) | QueueOperationFailed(folder=folder):
            return folder
        case _:
            return None


def subject_of(event: ProgressEvent) -> str:
    """What an event is about, in one word of a log line: a table, a mirror, or `-`."""
    if isinstance(event, MirrorEvent):
        return event.mirror
    return str(folder_of(event) or "-")


def log_context(event: ProgressEvent) -> dict[str, LogValue]:
    """The fields of an event by name; what has no value is left out.

    A table is two fields, `mirror` and `landing_folder`; a time is ISO 8601 and an enumeration
    its value. The event's name and severity are not among them.
    """
    return {
        key: plain
        for field in fields(event)
        for key, plain in _plain(field.name, getattr(event, field.name))
    }


def detail_of(event: ProgressEvent) -> dict[str, LogValue]:
    """The log context without what `subject_of` says already."""
    context = log_context(event)
    if subject_of(event) == "-":
        return context
    return {key: value for key, value in context.items() if key not in _SUBJECT}


_SUBJECT = ("mirror", "landing_folder")


def _plain(key: str, value: object) -> Iterator[tuple[str, LogValue]]:
    match value:
        case None | "":
            return
        case TableFolder(mirror, path):
            yield from zip(_SUBJECT, (mirror, str(path)), strict=True)
        case datetime():
            yield key, value.isoformat()
        case Enum():
            yield key, value.value
        case str() | int() | float():
            yield key, value
        case _:
            raise TypeError(f"{key} is a {type(value).__name__}, which no log takes")
