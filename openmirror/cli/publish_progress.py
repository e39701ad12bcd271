"""What `publish` is doing just now, on a terminal alone."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import typer

from openmirror.cli.console import progress_console

_STAGES = {
    "reading": "reading {name}: {rows:,} rows",
    "comparing": "comparing {rows:,} rows with the last snapshot",
    "writing": "writing {rows:,} changes as the next snapshot's plan",
    "finishing": "landing what an earlier run left: {rows:,} changes",
    "landing": "landing {rows:,} changes",
    "sending": "sending {name}: {rows:,} rows",
}


class PublishProgress:
    """A line that changes, and questions."""

    def __init__(self) -> None:
        console = progress_console()
        self._live = console.status("") if console.is_terminal else None
        self.name = ""
        """The file that is read or sent."""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def report(self, stage: str, rows: int) -> None:
        """What is being done, and with how many rows so far."""
        if self._live is not None:
            self._live.update(_STAGES[stage].format(name=self.name, rows=rows))

    def confirm(self, why: str) -> bool:
        """Ask a person; without one the answer is no."""
        if self._live is None:
            return False
        self._live.stop()
        allowed = typer.confirm(f"{why}. Publish it?", default=False, err=True)
        self._live.start()
        return allowed
