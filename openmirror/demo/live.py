"""Live progress: a table that stays in its place on a terminal, a line per commit elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from openmirror.cli.console import short
from openmirror.cli.reporter import Reporter
from openmirror.demo.progress import Tracker
from openmirror.demo.scope import Scope
from openmirror.demo.source import TABLES
from openmirror.progress.base import Severity
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder


class Screen:
    """Shows what the publisher and the services report."""

    def __init__(self, console: Console, tracker: Tracker, scope: Scope) -> None:
        self._console = console
        self._tracker = tracker
        self._scope = scope
        self._lines = Reporter(console, _name, lambda: datetime.now(UTC))
        self._day: date | None = None
        self._now = "starting"

    def __call__(self, event: ProgressEvent) -> None:
        """The sink that the services report to."""
        self._tracker(event)
        # On a terminal the table says all that goes well.
        if not self._console.is_terminal or event.severity >= Severity.WARNING:
            self._lines(event)

    def say(self, text: str) -> None:
        """What happens now, in a line."""
        self._now = text
        if not self._console.is_terminal:
            self._lines.say(text)

    def hear(self, line: str) -> None:
        """Take in a line that the publisher wrote."""
        kind, _, text = line.partition(" ")
        if kind == "day":
            self._day = date.fromisoformat(text)
        elif kind == "news":
            self.say(f"publisher: {text}")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the table on the terminal while this lasts; its last state stays."""
        if not self._console.is_terminal:
            yield
            return
        with Live(get_renderable=self._render, console=self._console, refresh_per_second=4) as live:
            yield
            live.refresh()

    def _render(self) -> RenderableType:
        total = len(self._scope.days)
        passed = (self._day - self._scope.days_from).days + 1 if self._day else 0
        clock = Table.grid(padding=(0, 2))
        clock.add_column(width=len("initial loads"))
        clock.add_row(
            Text(f"{self._day:%d %b %Y}" if self._day else "initial loads"),
            ProgressBar(total=total, completed=passed, width=30),
            Text(self._now, style="dim", no_wrap=True, overflow="ellipsis"),
        )
        return Group(clock, _figures(self._tracker))


def _figures(tracker: Tracker) -> Table:
    # Fixed widths: figures that grow must not make the columns jump.
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("table", width=10)
    for name, width in (("published", 9), ("applied", 9), ("commits", 7), ("changes", 9)):
        shown.add_column(name, width=width, justify="right")
    shown.add_column("last lag", width=8, justify="right")
    shown.add_column("", width=8)
    for table in TABLES:
        now = tracker.figures(table)
        shown.add_row(
            table,
            f"{now.published:,}",
            f"{now.applied:,}",
            f"{now.commits:,}",
            f"{now.changes:,}",
            short(now.lags[-1]) if now.lags else "-",
            Text("applying" if now.since is not None else "", style="dim"),
        )
    return shown


def _name(folder: TableFolder) -> str:
    return f"{folder.path.table:<8}"
