"""What happens, as lines that a person can follow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from openmirror.cli.console import clock_time
from openmirror.cli.event_lines import file_range, line_of
from openmirror.progress.context import folder_of, subject_of
from openmirror.progress.runner import (
    FileWatchFailed,
    LeaseOperationFailed,
    PeriodicTaskFailed,
    QueueOperationFailed,
)
from openmirror.progress.tables import (
    AttemptFailed,
    BatchCommitted,
    BatchStarted,
    ControlDocumentInvalid,
    FilesNeverRead,
    MirrorUnreadable,
    TableContended,
    TableDropped,
    TablePaused,
    TableUnreadable,
    TableWaiting,
)
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder
from openmirror.status import plain_text


class Reporter:
    """Writes one line for each thing worth knowing, from whatever thread it comes.

    On a terminal it also shows what is being applied just now.
    """

    def __init__(
        self,
        console: Console,
        name: Callable[[TableFolder], str],
        now: Callable[[], datetime],
        *,
        verbose: bool = False,
    ) -> None:
        self._verbose = verbose
        self._console = console
        self._name = name
        self._now = now
        self._lock = threading.Lock()
        self._applying: dict[TableFolder, str] = {}
        self._last: dict[tuple[str, type[ProgressEvent]], str] = {}
        self._live: Status | None = Status("", console=console) if console.is_terminal else None
        self.commits = 0
        self.rows = 0

    def live(self) -> AbstractContextManager[object]:
        """Show what is being applied while this lasts."""
        return self._live or nullcontext()

    def say(self, text: str) -> None:
        """One line of its own."""
        with self._lock:
            self._line(text)

    def __call__(self, event: ProgressEvent) -> None:
        """The sink that services report to."""
        with self._lock:
            self._report(event)

    def _report(self, event: ProgressEvent) -> None:
        folder = folder_of(event)
        who = self._name(folder) if folder else subject_of(event)
        if folder is not None:
            self._follow(folder, who, event)
        if isinstance(event, BatchCommitted):
            self.commits += 1
            self.rows += event.rows
            self._forget(who)
        text = line_of(event, self._now())
        if text is None:
            return
        text = text if self._verbose else plain_text(text)
        if isinstance(event, _REPEATED):
            if self._last.get((who, type(event))) == text:
                return
            self._last[who, type(event)] = text
        self._line(f"{who}  {text}")

    def _line(self, text: str) -> None:
        now = self._now()
        self._console.print(f"[dim]{clock_time(now, now)}[/]  {escape(text)}", soft_wrap=True)

    def _forget(self, who: str) -> None:
        for kind in _REPEATED:
            self._last.pop((who, kind), None)

    def _follow(self, folder: TableFolder, who: str, event: ProgressEvent) -> None:
        if isinstance(event, BatchStarted):
            self._applying[folder] = f"{who} {file_range(event)}"
        elif isinstance(event, _ENDS):
            self._applying.pop(folder, None)
        if self._live is not None:
            busy = ", ".join(self._applying.values())
            self._live.update(escape(f"applying {busy}" if busy else "observing"))


_REPEATED = (
    FilesNeverRead,
    TableWaiting,
    TableUnreadable,
    ControlDocumentInvalid,
    MirrorUnreadable,
    LeaseOperationFailed,
    QueueOperationFailed,
    PeriodicTaskFailed,
    FileWatchFailed,
)
"""Emitted by every pass for as long as they last, and worth a line once."""
_ENDS = (
    BatchCommitted,
    TablePaused,
    AttemptFailed,
    TableWaiting,
    TableUnreadable,
    ControlDocumentInvalid,
    TableContended,
    TableDropped,
)
"""After these no batch of the table is underway."""
