"""The verbs of `openmirror cdc`: live databases as publishers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.cli.console import say
from openmirror.cli.landing_underway import (
    SECONDS_TO_STOP,
    ZoneOption,
    account_key,
    begin_landing,
    landing_target,
    need_mirror_name,
    need_one_target,
)
from openmirror.cli.options import RootOption, Verbose, settings_for
from openmirror.errors import CannotStart, WrongRequest

if TYPE_CHECKING:
    from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
    from openmirror.settings import Settings
    from openmirror.wiring.cdc import RelayWishes, StreamZone

_EXTRA = "openmirror[local,cdc]"
_PACKAGES = ("jpype", "psycopg")
_SHORTEST, _LONGEST = timedelta(seconds=0.2), timedelta(seconds=60)

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
SpoolOption = Annotated[
    Path | None,
    typer.Option(
        "--spool",
        metavar="FOLDER",
        help="With --zone: where on this machine changes are kept until they have landed. It must "
        "stay between runs.",
        show_default=False,
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
    zone: ZoneOption = None,
    spool: SpoolOption = None,
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
      openmirror cdc run postgresql://reader@db.example/shop --spool ~/spools/shop \\
        --zone https://contoso.dfs.core.windows.net/landing/shop/Files/LandingZone
    """
    need_packages()
    from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl
    from openmirror.publishing.naming import table_path
    from openmirror.wiring.cdc import RelayWishes

    settings = settings_for(root)
    need_one_target(settings, zone, root, mirror)
    url = with_password(DatabaseUrl.parse(database))
    name = mirror or url.database
    if zone is None:
        need_mirror_name(name)
    named = stream or stream_name(name)
    again = tuple(map(table_path, retry or ()))
    wishes = RelayWishes(interval(trigger), anew=anew, retry=again)
    wanted = CaptureSettings(
        url=url,
        stream=named,
        spool=_spool(settings, name, named, zone, spool),
        tables=tuple(table or ()),
        anew=anew,
    )
    _run(settings, name, zone, wanted, wishes, verbose=verbose)
    say("stopped")


@cdc.command()
def resnapshot(
    table: Annotated[
        str,
        typer.Argument(metavar="SCHEMA.TABLE", help="A table that this stream has landed."),
    ],
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror", metavar="NAME", help="The mirror that has the table.", show_default=False
        ),
    ] = None,
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
    zone: ZoneOption = None,
    spool: SpoolOption = None,
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
    from openmirror.wiring.cdc import want_snapshot

    named = stream or (None if mirror is None else stream_name(mirror))
    if named is None or (mirror is None and zone is None):
        raise WrongRequest("name the mirror with --mirror, or the zone and --stream")
    settings = settings_for(root)
    need_one_target(settings, zone, root, mirror)
    kept = _spool(settings, mirror or "", named, zone, spool)
    path = table_path(table)
    with _zone(settings, mirror or "", zone) as into:
        is_new = want_snapshot(into, named, kept, path)
    if is_new:
        say(f"a new snapshot of {table} is asked for: `openmirror cdc run` takes it")
    else:
        say(f"a new snapshot of {table} was asked for already, and has not landed yet")


def _spool(
    settings: Settings, mirror: str, stream: str, zone: str | None, own: Path | None
) -> Path:
    """Where a captured stream is kept; raises WrongRequest where that is not clear."""
    from openmirror.wiring.cdc import spool_of_mirror

    if (zone is None) != (own is None):
        raise WrongRequest(
            "--zone and --spool go together: what is captured is kept in the folder of --spool, on "
            "this machine, until it has landed; a mirror of --root keeps it beside its tables"
        )
    return spool_of_mirror(settings, mirror, stream) if own is None else own.expanduser()


@contextmanager
def _zone(settings: Settings, mirror: str, zone: str | None) -> Iterator[StreamZone]:
    from openmirror.wiring.cdc import stream_zone_at, zone_of_mirror

    if zone is None:
        yield zone_of_mirror(settings, mirror)
        return
    with stream_zone_at(zone, account_key()) as at:
        yield at


def _run(
    settings: Settings,
    mirror: str,
    zone: str | None,
    wanted: CaptureSettings,
    wishes: RelayWishes,
    *,
    verbose: bool,
) -> None:
    from openmirror.cdc.capture.signals import SnapshotSignals
    from openmirror.cdc.spool.reader import SpoolReader
    from openmirror.wiring import cdc as wired

    with ExitStack() as parts:
        target = landing_target(parts, settings, mirror, zone)
        capture = parts.enter_context(wired.capturing(settings, wanted, say))
        here = begin_landing(parts, settings, target, verbose=verbose)
        source = SpoolReader(wanted.spool)
        relay = parts.enter_context(
            wired.relaying(
                *(here.zone, wanted.stream, source, here.spark, wishes),
                *(here.landed, here.lines.trouble),
            )
        )
        here.lines.begin(relay.stopped)
        here.say(f"mirroring {wanted.url}; Ctrl-C stops")
        parts.enter_context(here.live())
        signals = SnapshotSignals(wanted.spool)
        while not here.stop.is_set():
            here.serve(0.2)
            relay.check()
            capture.check()
            here.lines.asked(signals.ask(relay.resnapshots, capture.starts))
        relay.stop(SECONDS_TO_STOP)
        capture.stop()
        here.end()


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
