"""The verbs of `openmirror cdc`: live databases as publishers."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.cli.console import say
from openmirror.cli.mirror_underway import begin_mirror, make_zone, need_mirror_name
from openmirror.cli.options import RootOption, Verbose, settings_for
from openmirror.errors import CannotStart
from openmirror.runtime.stop_signals import exit_now

if TYPE_CHECKING:
    from openmirror.cdc.capture.settings import DatabaseUrl
    from openmirror.wiring.cdc import LocalStream, RelayWishes

_EXTRA = "openmirror[local,cdc]"
_PACKAGES = ("jpype", "psycopg")
_SHORTEST, _LONGEST = timedelta(seconds=0.2), timedelta(seconds=60)
SECONDS_TO_STOP = 10.0
ABANDONED = "abandoned a batch; the next run applies it, exactly once"

DatabaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="postgresql://user:password@host:5432/database. The password may stand in PGPASSWORD "
        "instead.",
    ),
]
TriggerOption = Annotated[
    str, typer.Option("--trigger", metavar="TIME", help="How often changes are landed.")
]
RetryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--retry",
        metavar="SCHEMA.TABLE",
        help="Let this table, which has stopped, go on from there; may be repeated.",
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
    trigger: TriggerOption = "1s",
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            help="Give the stream up and begin with a new snapshot: the tables that it landed are "
            "made anew, and changed in one commit each.",
        ),
    ] = False,
    retry: RetryOption = None,
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
    from openmirror.wiring.cdc import LocalStream, RelayWishes

    settings = settings_for(root)
    url = with_password(DatabaseUrl.parse(database))
    name = mirror or url.database
    into = LocalStream(settings, name, stream or stream_name(name))
    again = tuple(map(table_path, retry or ()))
    wishes = RelayWishes(interval(trigger), anew=anew, retry=again)
    _mirror(into, url, tuple(table or ()), wishes, verbose=verbose)
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


def _mirror(
    stream: LocalStream,
    url: DatabaseUrl,
    tables: tuple[str, ...],
    wishes: RelayWishes,
    *,
    verbose: bool,
) -> None:
    from openmirror import wiring
    from openmirror.cdc.capture.settings import CaptureSettings
    from openmirror.cdc.capture.signals import SnapshotSignals
    from openmirror.cdc.spool.reader import SpoolReader
    from openmirror.wiring import cdc as wired

    settings, mirror = stream.settings, stream.mirror
    need_mirror_name(mirror)
    wanted = CaptureSettings(
        url=url,
        stream=stream.name,
        spool=stream.spool,
        tables=tables,
        anew=wishes.anew,
    )
    with wiring.locked(settings, say), ExitStack() as parts:
        make_zone(wiring.local_root(settings), mirror)
        capture = parts.enter_context(wired.capturing(settings, wanted, say))
        here = begin_mirror(parts, settings, mirror, verbose=verbose)
        relay = parts.enter_context(
            wired.relaying(
                stream,
                SpoolReader(stream.spool),
                here.spark,
                wishes,
                here.landed,
                here.lines.trouble,
            )
        )
        here.lines.begin(relay.stopped)
        here.reporter.say(f"mirroring {url} into {mirror}; Ctrl-C stops")
        parts.enter_context(here.reporter.live())
        signals = SnapshotSignals(stream.spool)
        while not here.stop.is_set():
            here.running.serve(0.2)
            relay.check()
            capture.check()
            here.lines.asked(signals.ask(relay.resnapshots, capture.starts))
        relay.stop(SECONDS_TO_STOP)
        if here.running.stop():
            say(ABANDONED)
            capture.stop()
            # Spark would only be in the way of ending; a process may die anywhere.
            exit_now(0)


def need_packages(*packages: str) -> None:
    """Raise CannotStart where one is not installed; by default those that `cdc run` needs."""
    for package in packages or _PACKAGES:
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


def interval(text: str) -> timedelta:
    """How often changes are landed; raises BadParameter for what is none, or out of bounds."""
    try:
        every = durations.parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"--trigger {text}: {error}") from None
    if not _SHORTEST <= every <= _LONGEST:
        raise typer.BadParameter(f"--trigger {text}: between 0.2s and 60s")
    return every
