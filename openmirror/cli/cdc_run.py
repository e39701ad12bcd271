"""`openmirror cdc run`: a database captured on this machine, without a broker."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.cdc_verbs import (
    DatabaseArgument,
    RetryOption,
    SpoolOption,
    TriggerOption,
    interval,
    need_packages,
    spool_folder,
    stream_name,
    with_password,
)
from openmirror.cli.console import say
from openmirror.cli.landing_target import (
    ZoneOption,
    landing_target,
    need_mirror_name,
    need_one_target,
)
from openmirror.cli.landing_underway import SECONDS_TO_STOP, begin_landing
from openmirror.cli.options import RootOption, Verbose, settings_for

if TYPE_CHECKING:
    from openmirror.cdc.capture.settings import CaptureSettings
    from openmirror.settings import Settings
    from openmirror.wiring.cdc import RelayWishes


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
        spool=spool_folder(settings, name, named, zone, spool),
        tables=tuple(table or ()),
        anew=anew,
    )
    _run(settings, name, zone, wanted, wishes, verbose=verbose)
    say("stopped")


def _run(
    settings: Settings,
    mirror: str,
    zone: str | None,
    wanted: CaptureSettings,
    wishes: RelayWishes,
    *,
    verbose: bool,
) -> None:
    from openmirror.cdc.spool.reader import SpoolReader
    from openmirror.wiring import cdc as wired

    with ExitStack() as parts:
        target = landing_target(parts, settings, mirror, zone)
        capture = parts.enter_context(wired.capturing(settings, wanted, say))
        here = begin_landing(parts, settings, target, verbose=verbose)
        source = SpoolReader(wanted.spool)
        waiting = parts.enter_context(wired.measuring(settings, wanted, source))
        relay = parts.enter_context(
            wired.relaying(
                *(here.zone, wanted.stream, source, here.spark, wishes),
                *(here.landed, here.lines.trouble),
                waiting=waiting,
            )
        )
        here.lines.begin(relay.stopped)
        here.say(f"mirroring {wanted.url}; Ctrl-C stops")
        parts.enter_context(here.live())
        while not here.stop.is_set():
            here.serve(0.2)
            relay.check()
            capture.check(relay.resnapshots)
        relay.stop(SECONDS_TO_STOP)
        capture.stop()
        here.end()
