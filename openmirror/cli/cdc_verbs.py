"""The verbs of `openmirror cdc`: live databases as publishers."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.cli.console import progress_console, say
from openmirror.cli.named_wait import NamedWait
from openmirror.cli.options import RootOption, Verbose, settings_for
from openmirror.errors import CannotStart, WrongRequest
from openmirror.protocol.names import TableFolder, is_reserved
from openmirror.runtime.stop_signals import AFTER_BATCHES, exit_now, stop_signals
from openmirror.table.layout import landing_zone

if TYPE_CHECKING:
    from openmirror.cdc.capture.settings import DatabaseUrl
    from openmirror.cdc.relay.relay import BatchReport
    from openmirror.protocol.names import TablePath
    from openmirror.wiring.cdc import LocalStream

_STARTING = "starting Spark, which the first batch waits for"
_EXTRA = "openmirror[local,cdc]"
_PACKAGES = ("jpype", "psycopg")
_SHORTEST, _LONGEST = timedelta(seconds=0.2), timedelta(seconds=60)
_SECONDS_TO_STOP = 10.0

DatabaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="postgresql://user:password@host:5432/database. The password may stand in PGPASSWORD "
        "instead.",
    ),
]
cdc = typer.Typer(
    help="Live databases as publishers: what they commit is in Delta tables seconds later.\n\n"
    "\\b\n"
    "Example:\n"
    "  openmirror cdc run postgresql://reader:secret@db.example/shop --root ~/mirrors",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@cdc.command()
def run(
    database: DatabaseArgument,
    root: RootOption = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror",
            metavar="NAME",
            help="The mirror that gets the tables, made where there is none. Default: the "
            "database's name.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="SCHEMA.TABLE",
            help="Only this table, * for any characters; may be repeated. Default: every table "
            "that has a primary key.",
        ),
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream",
            metavar="NAME",
            help="What the replication slot is called by: openmirror_NAME. Default: the mirror's "
            "name.",
            show_default=False,
        ),
    ] = None,
    trigger: Annotated[
        str, typer.Option("--trigger", metavar="TIME", help="How often changes are landed.")
    ] = "1s",
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            help="Give the stream up and begin with a new snapshot: the tables that it landed are "
            "made anew, and changed in one commit each.",
        ),
    ] = False,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            "--retry",
            metavar="SCHEMA.TABLE",
            help="Let this table, which has stopped, go on from there; may be repeated.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Mirror a database, until stopped: capture, landing zone and Delta tables in one command.

    Takes a snapshot of the tables first, then follows the database's log. Everything may be
    stopped or killed at any time, and goes on from there when it is run again.

    The database needs wal_level = logical, and a user who may replicate and read the tables. It
    gets a replication slot and a publication, called openmirror_NAME. While this does not run, the
    slot keeps the database's log: drop both if it is never to run again.

    \\b
    Example:
      openmirror cdc run postgresql://reader:secret@db.example/shop --root ~/mirrors
      openmirror cdc run postgresql://reader@db.example/shop --table 'sales.*' --trigger 5s
    """
    need_packages()
    from openmirror.cdc.capture.settings import DatabaseUrl
    from openmirror.publishing.naming import table_path
    from openmirror.wiring.cdc import LocalStream

    settings = settings_for(root)
    url = with_password(DatabaseUrl.parse(database))
    name = mirror or url.database
    into = LocalStream(settings, name, stream or stream_name(name))
    again = tuple(map(table_path, retry or ()))
    _mirror(into, url, Wishes(tuple(table or ()), _interval(trigger), anew, again, verbose))
    say("stopped")


@cdc.command()
def resnapshot(
    table: Annotated[
        str,
        typer.Argument(metavar="SCHEMA.TABLE", help="A table that this stream has landed."),
    ],
    mirror: Annotated[
        str, typer.Option("--mirror", metavar="NAME", help="The mirror that has the table.")
    ],
    root: RootOption = None,
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream",
            metavar="NAME",
            help="The stream's name. Default: the mirror's name.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Take a new snapshot of one table, which then begins anew from it.

    For a table that has stopped and needs one, or whose rows are in doubt. `cdc run` takes it, now
    or when it is run again, beside the changes of all tables; other tables do not wait. The table
    itself changes no more until all its rows have come, and then in one commit: no reader ever sees
    half of it.

    The connector reads the table once, in portions, and writes nothing into the database.

    \b
    Example:
      openmirror cdc resnapshot public.orders --mirror shop --root ~/mirrors
    """
    need_packages()
    from openmirror.publishing.naming import table_path
    from openmirror.wiring.cdc import LocalStream, want_snapshot

    into = LocalStream(settings_for(root), mirror, stream or stream_name(mirror))
    path = table_path(table)
    if want_snapshot(into, path):
        say(f"a new snapshot of {table} is asked for: `openmirror cdc run` takes it")
    else:
        say(f"a new snapshot of {table} was asked for already, and has not landed yet")


@dataclass(frozen=True)
class Wishes:
    """How a database is to be mirrored."""

    tables: tuple[str, ...]
    every: timedelta
    anew: bool
    retry: tuple[TablePath, ...]
    verbose: bool


def _mirror(stream: LocalStream, url: DatabaseUrl, wishes: Wishes) -> None:
    from openmirror import wiring
    from openmirror.cdc.capture.settings import CaptureSettings
    from openmirror.cdc.capture.signals import SnapshotSignals
    from openmirror.cli.reporter import Reporter
    from openmirror.cli.stream_lines import StreamLines
    from openmirror.cli.tables import Names
    from openmirror.wiring import cdc as wired

    settings, mirror = stream.settings, stream.mirror
    _need_mirror_name(mirror)
    wanted = CaptureSettings(
        url=url,
        stream=stream.name,
        spool=stream.spool,
        tables=wishes.tables,
        anew=wishes.anew,
    )
    ports = wiring.local_ports(settings)
    names = Names(ports.store)
    reporter = Reporter(progress_console(), names, ports.clock, verbose=wishes.verbose)
    lines = StreamLines(reporter.say, time.monotonic, time.time)
    with wiring.locked(settings, say), ExitStack() as parts:
        _make_zone(wiring.local_root(settings), mirror)
        capture = parts.enter_context(wired.capturing(settings, wanted, say))
        with NamedWait(_STARTING).named():
            spark = parts.enter_context(wiring.local_spark(settings, say))
        stop = parts.enter_context(stop_signals(message=AFTER_BATCHES))
        running = parts.enter_context(
            wiring.up(
                settings,
                replace(ports, emit=reporter),
                wiring.engine_over(settings, spark),
                mirrors=lambda: [mirror],
                wanted=lambda name: name == mirror,
            )
        )

        def landed(report: BatchReport) -> None:
            for path in report.rows:
                running.wake(TableFolder(mirror, path))
            lines.landed(report)

        relay = parts.enter_context(
            wired.relaying(
                stream,
                spark,
                wishes.every,
                landed,
                lines.trouble,
                anew=wishes.anew,
                retry=wishes.retry,
            )
        )
        lines.begin(relay.stopped)
        reporter.say(f"mirroring {url} into {mirror}; Ctrl-C stops")
        parts.enter_context(reporter.live())
        signals = SnapshotSignals(stream.spool)
        while not stop.is_set():
            running.serve(0.2)
            relay.check()
            capture.check()
            lines.asked(signals.ask(relay.resnapshots, capture.starts))
        relay.stop(_SECONDS_TO_STOP)
        if running.stop():
            say("abandoned a batch; the next run applies it, exactly once")
            capture.stop()
            # Spark would only be in the way of ending; a process may die anywhere.
            exit_now(0)


def need_packages() -> None:
    """Raise CannotStart where live databases are not installed."""
    for package in _PACKAGES:
        try:
            import_module(package)
        except ImportError as error:
            raise CannotStart(f"this needs {package}: pip install '{_EXTRA}'") from error


def with_password(url: DatabaseUrl) -> DatabaseUrl:
    """The password of the environment where the URL has none, as PostgreSQL's own programs do."""
    return url if url.password else replace(url, password=os.environ.get("PGPASSWORD", ""))


def stream_name(mirror: str) -> str:
    """A stream's name by default: the mirror's, as PostgreSQL lets a slot be called."""
    name = re.sub(r"[^a-z0-9_]", "_", mirror.lower())[:40]
    return name if name[:1].isalpha() else f"m{name}"[:40]


def _interval(text: str) -> timedelta:
    try:
        every = durations.parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"--trigger {text}: {error}") from None
    if not _SHORTEST <= every <= _LONGEST:
        raise typer.BadParameter(f"--trigger {text}: between 0.2s and 60s")
    return every


def _need_mirror_name(mirror: str) -> None:
    """Raise WrongRequest for what cannot be a folder."""
    if "/" in mirror or mirror in ("", ".", "..") or is_reserved(mirror):
        raise WrongRequest(f"{mirror!r} cannot be a mirror's name: choose one with --mirror")


def _make_zone(root: Path, mirror: str) -> None:
    """A mirror begins with its landing zone."""
    zone = root / landing_zone(mirror)
    if not zone.is_dir():
        zone.mkdir(parents=True)
        say(f"made the landing zone {zone}")
