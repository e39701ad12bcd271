"""What all events of progress have in common: a name, a severity and, mostly, a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from openmirror.protocol.names import TableFolder


class Severity(IntEnum):
    """What an event asks of a person; the values are the levels of Python's `logging`."""

    DEBUG = 10
    """A step on the way, of use when one message or one batch is followed."""
    INFO = 20
    """Something went as it was meant to."""
    WARNING = 30
    """Something failed or was lost; openmirror goes on, or tries again by itself."""
    ERROR = 40
    """A table, a mirror or a message is stopped until a person does something."""


@dataclass(frozen=True)
class Event:
    """Something that happened while tables were reconciled, as its own class says."""

    name: ClassVar[str]
    """What logs call it, in kebab case; queries rest on it, so it stays."""
    severity: ClassVar[Severity]


@dataclass(frozen=True)
class TableEvent(Event):
    """Something that happened to one table."""

    folder: TableFolder


@dataclass(frozen=True)
class MirrorEvent(Event):
    """Something that happened to a whole mirror."""

    mirror: str
