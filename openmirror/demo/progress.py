"""What is known of each table while the demo runs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from openmirror.demo.source import TABLES
from openmirror.progress.context import folder_of
from openmirror.progress.tables import BatchCommitted, BatchStarted, TablePaused
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.protocol.sequence import ChangeFileName, parse_change_file
from openmirror.table import layout


@dataclass(kw_only=True)
class TableFigures:
    """One table so far."""

    published: int = 0
    applied: int = 0
    commits: int = 0
    changes: int = 0
    lags: list[float] = field(default_factory=list)
    """For each commit: from the landing of its oldest file to the commit."""
    busy: float = 0.0
    """Seconds spent on it, from the first read of its files to the commit."""
    since: float | None = None
    """When the batch underway began."""

    def lag(self, share: float) -> float:
        """The lag that this share of all commits did not exceed."""
        return sorted(self.lags)[max(0, ceil(share * len(self.lags)) - 1)] if self.lags else 0.0

    @property
    def throughput(self) -> float:
        """Changes applied in a second of work on this table."""
        return self.changes / self.busy if self.busy else 0.0


class Tracker:
    """Watches the services; its figures may be read at any time."""

    def __init__(self, root: Path, mirror: str) -> None:
        self._folders = {
            name: root / layout.table_folder(TableFolder(mirror, TablePath("", name)))
            for name in TABLES
        }
        self._lock = threading.Lock()
        self._figures = {name: TableFigures() for name in TABLES}
        self.trouble: str | None = None
        """What keeps a table from going on, once something does."""

    def __call__(self, event: ProgressEvent) -> None:
        """Take in one event, from whatever thread."""
        folder = folder_of(event)
        name = folder.path.table if folder else ""
        with self._lock:
            figures = self._figures.get(name)
            if figures is None:
                return
            match event:
                case BatchStarted():
                    figures.since = time.monotonic()
                case BatchCommitted():
                    self._committed(figures, event)
                case TablePaused(code=code, detail=detail):
                    self.trouble = f"{name} is paused by {code.value}: {detail}"

    def _committed(self, figures: TableFigures, event: BatchCommitted) -> None:
        figures.applied = event.last
        figures.commits += 1
        figures.changes += event.rows
        if event.lag_seconds is not None:
            figures.lags.append(event.lag_seconds)
        if figures.since is not None:
            figures.busy += time.monotonic() - figures.since
            figures.since = None

    def is_behind(self, table: str) -> bool:
        """Whether something of this table is not applied yet, as far as was heard."""
        figures = self.figures(table)
        return figures.applied != figures.published

    def figures(self, table: str) -> TableFigures:
        """How a table stands now."""
        published = _last_number(self._folders[table])
        with self._lock:
            figures = self._figures[table]
            figures.published = published
            return figures


def _last_number(folder: Path) -> int:
    """The newest change file; the archive has only older ones."""
    try:
        names = [parse_change_file(path.name) for path in folder.iterdir()]
    except FileNotFoundError:
        return 0
    return max((name.sequence for name in names if isinstance(name, ChangeFileName)), default=0)
