"""Where text goes: what was asked for to stdout, everything about it to stderr."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


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


def short(seconds: float) -> str:
    """A duration that a column can hold: 0 s, 12 s, 5 min, 3 h, 9 d."""
    span = timedelta(seconds=seconds)
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if span >= timedelta(seconds=2 * unit):
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.1f} s" if 0 < seconds < 10 else f"{seconds:.0f} s"
