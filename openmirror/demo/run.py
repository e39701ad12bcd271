"""The demo as a whole: publish in another process, mirror in this one, show, compare."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console

from openmirror import wiring
from openmirror.demo import checking, place, report
from openmirror.demo.form import Form
from openmirror.demo.live import Screen
from openmirror.demo.progress import Tracker
from openmirror.demo.publisher import MIRROR
from openmirror.demo.publishing import DemoFailed, PublisherProcess, publishing
from openmirror.demo.scope import Scope
from openmirror.demo.source import TABLES, read_source
from openmirror.operate.report import statuses
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.stop_signals import AFTER_BATCHES, exit_now, stop_signals
from openmirror.settings import Settings
from openmirror.status import TableStatus

EXIT_FAILED = 1
_PATIENCE = 120.0
"""Seconds without a commit, after which tables that are not done never will be."""


def run_demo(root: Path, scope: Scope, console: Console, form: Form) -> int:
    """Run the demo; 0 when every table came out right, 1 when not. Raises OpenmirrorError."""
    root = root.absolute()
    place.claim(root)
    settings = Settings.load(os.environ, {"root": root})
    started = time.monotonic()
    try:
        with wiring.locked(settings):
            place.empty(root, MIRROR)
            report.greet(console, root, scope, form.how)
            tracker = Tracker(root, MIRROR)
            tables = _mirror_all(root, scope, console, tracker, form)
            took = time.monotonic() - started
            is_right = _conclude(root, scope, console, tracker, tables)
    except DemoFailed as error:
        console.print(f"The demo failed: {error}", style="red", markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        console.print("Interrupted.")
    else:
        form.passed(console)
        console.print(
            f"Mirrored in {took:.0f} s, compared in {time.monotonic() - started - took:.0f} s.\n"
        )
        form.next_steps(console, root)
        return 0 if is_right else EXIT_FAILED
    console.print(f"What there is lies in {root}; another run begins anew.", soft_wrap=True)
    return EXIT_FAILED


def _mirror_all(
    root: Path, scope: Scope, console: Console, tracker: Tracker, form: Form
) -> list[TableStatus]:
    """Run the publisher and everything that mirrors until all that was published is applied."""
    screen = Screen(console, tracker, scope)
    with form.open(root, screen, console) as opened:
        screen.say("starting Spark")
        with (
            publishing(opened.root, scope, screen.hear, opened.key) as publisher,
            screen.shown(),
            opened.start() as running,
            stop_signals(message=AFTER_BATCHES) as stop,
        ):
            screen.say("mirroring")
            done = _Done(opened.ports, publisher, tracker)
            while not stop.is_set() and not done():
                running.serve(0.2)
            publisher.end()
            if running.stop():
                # Spark would only be in the way of ending; a process may die anywhere.
                console.print("Interrupted; what was underway is not committed.")
                exit_now(EXIT_FAILED)
            if stop.is_set():
                raise KeyboardInterrupt
            screen.say("everything that was published is applied")
        return done.tables


class _Done:
    """Whether everything that the publisher wrote is applied; raises DemoFailed if it cannot be."""

    def __init__(self, ports: RootPorts, publisher: PublisherProcess, tracker: Tracker) -> None:
        self._ports = ports
        self._publisher = publisher
        self._tracker = tracker
        self._commits = 0
        self._moved = time.monotonic()
        self.tables: list[TableStatus] = []

    def __call__(self) -> bool:
        if self._tracker.trouble:
            raise DemoFailed(self._tracker.trouble)
        now = time.monotonic()
        commits = sum(self._tracker.figures(table).commits for table in TABLES)
        if commits > self._commits:
            self._commits, self._moved = commits, now
        if not self._publisher.has_ended():
            return False
        if now > self._moved + _PATIENCE:
            raise DemoFailed(f"nothing was committed for {_PATIENCE:.0f} s")
        if any(self._tracker.is_behind(table) for table in TABLES):
            return False
        self.tables = statuses(self._ports, [MIRROR])
        return all(table.applied and not table.pending_files for table in self.tables)


def _conclude(
    root: Path, scope: Scope, console: Console, tracker: Tracker, tables: list[TableStatus]
) -> bool:
    """Show the figures, a query and the comparison; whether every table is right."""
    verdicts = list(checking.check(root, MIRROR, read_source(), scope))
    console.print(report.figures(tables, verdicts, tracker))
    console.print("Which airlines are the least punctual? Asked of the Delta tables, by deltalake:")
    console.print(checking.WORST_AIRLINES, style="dim", markup=False, soft_wrap=True)
    found = checking.query(root, MIRROR, checking.WORST_AIRLINES, "flights", "airlines")
    console.print(report.answer(found))
    console.print("Each table against the same computed from the source by DuckDB:")
    report.show_verdicts(console, verdicts)
    return not any(verdict.difference for verdict in verdicts)
