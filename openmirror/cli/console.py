"""Where text goes: what was asked for to stdout, everything about it to stderr."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

import typer

from openmirror.durations import short
from openmirror.table.phases import Phases

if TYPE_CHECKING:
    from rich.console import Console


__all__ = [
    "clock_time",
    "progress_console",
    "result_console",
    "say",
    "say_error",
    "short",
    "where_time_went",
]

_SHOWN = 0.05
"""Seconds: what took less explains no delay."""


@cache
def progress_console() -> Console:
    """What happens meanwhile; a terminal shows it live."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def result_console() -> Console:
    """What was asked for."""
    from rich.console import Console

    return Console(highlight=False)


def say(text: str) -> None:
    """One line about what is being done."""
    typer.echo(text, err=True)


def say_error(text: str) -> None:
    """What went wrong, in its own words."""
    typer.echo(f"openmirror: {text}", err=True)


def clock_time(moment: datetime, now: datetime) -> str:
    """A moment in local time; with its date unless that is today."""
    local, today = moment.astimezone(), now.astimezone()
    return local.strftime("%H:%M:%S" if local.date() == today.date() else "%Y-%m-%d %H:%M:%S")


def where_time_went(wait_seconds: float | None, phases: Phases) -> str:
    """` (wait 1.2 s, read 0.3 s)`: what of a commit was long enough to be noticed, or nothing."""
    every = [("wait", wait_seconds or 0.0), *((phase.value, phases[phase]) for phase in phases)]
    shown = [f"{name} {short(spent)}" for name, spent in every if spent >= _SHOWN]
    return f" ({', '.join(shown)})" if shown else ""
