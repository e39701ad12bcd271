"""What happens, as lines that a person can follow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from openmirror.cli.console import clock_time, short
from openmirror.ports import Progress
from openmirror.protocol.names import TableFolder


class Reporter:
    """Writes one line for each thing worth knowing, from whatever thread it comes.

    On a terminal it also shows what is being applied just now.
    """

    def __init__(
        self, console: Console, name: Callable[[TableFolder], str], now: Callable[[], datetime]
    ) -> None:
        self._console = console
        self._name = name
        self._now = now
        self._lock = threading.Lock()
        self._applying: dict[TableFolder, str] = {}
        self._said: dict[tuple[str, str], str] = {}
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

    def __call__(self, progress: Progress) -> None:
        """The watcher that services tell what they do."""
        with self._lock:
            self._told(progress.folder, progress.event, progress.detail)

    def _told(self, folder: TableFolder | None, event: str, detail: Mapping[str, Any]) -> None:
        who = self._name(folder) if folder else str(detail.get("mirror") or detail.get("what"))
        if folder is not None:
            self._follow(folder, who, event, detail)
        match event:
            case "applying":
                return
            case "committed":
                self.commits += 1
                self.rows += sum(detail["rows"].values())
                self._forget(who)
                text = committed(detail)
            case "paused":
                where = f"{detail['file']}: " if detail["file"] else ""
                text = f"paused by {detail['code']}: {where}{detail['detail']}"
            case "failed":
                text = f"attempt {detail['attempt']} failed: {detail['error']}"
            case "dropped":
                text = f"dropped, because its folder is gone; kept in {detail['moved_to']}"
            case "restored":
                text = "brought back" + (", held" if detail["held"] else "")
            case "cleaned":
                text = f"cleaned: {detail['moved']} archived, {detail['purged']} purged"
            case "waiting":
                if detail["kind"] in _PASSING:
                    return
                text = waits(detail, self._now())
            case _:
                text = str(detail.get("reason") or event)
        if event in _REPEATED:
            if self._said.get((who, event)) == text:
                return
            self._said[who, event] = text
        self._line(f"{who}  {text}")

    def _line(self, text: str) -> None:
        now = self._now()
        self._console.print(f"[dim]{clock_time(now, now)}[/]  {escape(text)}", soft_wrap=True)

    def _forget(self, who: str) -> None:
        for event in _REPEATED:
            self._said.pop((who, event), None)

    def _follow(self, folder: TableFolder, who: str, event: str, detail: Mapping[str, Any]) -> None:
        if event == "applying":
            self._applying[folder] = f"{who} {file_range(detail)}"
        elif event in _ENDS:
            self._applying.pop(folder, None)
        if self._live is not None:
            busy = ", ".join(self._applying.values())
            self._live.update(escape(f"applying {busy}" if busy else "looking"))


_PASSING = ("incomplete",)
"""Most files are incomplete for a moment while they are written."""
_REPEATED = ("waiting", "unreadable", "trouble")
"""Told by every pass for as long as they last, and worth a line once."""
_ENDS = ("committed", "paused", "failed", "waiting", "unreadable", "dropped")


def committed(detail: Mapping[str, Any]) -> str:
    """One commit: which files, which rows, how long it took and how far behind it was."""
    rows = detail["rows"]
    signs = (("inserts", "+"), ("updates", "~"), ("deletes", "-"))
    changes = " ".join(f"{sign}{rows[kind]:,}" for kind, sign in signs if rows.get(kind))
    replaced = "  whole table" if detail["kind"] == "replace" else ""
    lag = detail["lag_seconds"]
    behind = f", {short(lag)} after landing" if lag is not None else ""
    took = short(detail["seconds"])
    return f"{file_range(detail)}{replaced}  {changes or 'no rows'}  {took}{behind}"


def file_range(detail: Mapping[str, Any]) -> str:
    """`file 7` or `files 1-50`; numbers that were skipped are in between."""
    first, last = detail["first"], detail["last"]
    return f"file {last}" if first == last else f"files {first}-{last}"


def waits(detail: Mapping[str, Any], now: datetime) -> str:
    """What is waited for, and until when if it ends by itself."""
    until = detail["until"]
    ends = f", until {clock_time(until, now)} at most" if until else ""
    return f"waits{ends}: {detail['detail']}"
