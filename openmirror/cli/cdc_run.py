"""`openmirror cdc run`: a PostgreSQL database, read without a connector or a broker."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.cli.cdc_verbs import (
    DatabaseArgument,
    RetryOption,
    TriggerOption,
    interval,
    need_packages,
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
    from openmirror.cdc.postgresql.settings import StreamSettings
    from openmirror.cdc.postgresql.stream import StreamLimits
    from openmirror.cdc.relay.relay import BatchReport
    from openmirror.cli.landing_underway import LandingUnderway
    from openmirror.settings import Settings


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
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="SCHEMA.TABLE",
            help="Leave this table out, * for any characters; may be repeated.",
        ),
    ] = None,
    as_text: Annotated[
        list[str] | None,
        typer.Option(
            "--as-text",
            metavar="SCHEMA.TABLE.COLUMN",
            help="Mirror this column as the database's own text; may be repeated, and is kept.",
        ),
    ] = None,
    without_column: Annotated[
        list[str] | None,
        typer.Option(
            "--without-column",
            metavar="SCHEMA.TABLE.COLUMN",
            help="Leave this column out; may be repeated, and is kept.",
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
    trigger: TriggerOption = "1s",
    range_time: Annotated[
        str,
        typer.Option(
            "--range-time",
            metavar="TIME",
            help="The longest transaction in which rows of a table are read.",
        ),
    ] = "10s",
    reload_below: Annotated[
        str,
        typer.Option(
            "--reload-below",
            metavar="SIZE",
            help="Load a table again by itself, when its definition changed its rows, only below "
            "this size in the database; a larger one stops until `cdc resnapshot`. 0: each stops.",
        ),
    ] = "20GB",
    reload_times: Annotated[
        int,
        typer.Option(
            "--reload-times",
            metavar="N",
            min=0,
            help="Such loads of one table within a day; a table that needs another one stops.",
        ),
    ] = 3,
    reload_at_once: Annotated[
        int,
        typer.Option("--reload-at-once", metavar="N", min=1, help="Such loads at the same time."),
    ] = 1,
    reload_within: Annotated[
        str | None,
        typer.Option(
            "--reload-within",
            metavar="HH:MM-HH:MM",
            help="The part of the day in which such loads may begin. Default: any time.",
            show_default=False,
        ),
    ] = None,
    anew: Annotated[
        bool,
        typer.Option(
            "--anew",
            help="Give the stream up and begin with a load of every table: each changes in one "
            "commit, and stays as it is until then.",
        ),
    ] = False,
    retry: RetryOption = None,
    verbose: Verbose = False,
) -> None:
    """Mirror a PostgreSQL database, until stopped: its rows first, then its log.

    Loads every table beside the log, then follows the log. Everything may be stopped or killed at
    any time, and goes on from there when it is run again. A table that cannot go on stops alone,
    by name, with a remedy; all others go on.

    The database needs wal_level = logical, and a user who may replicate and read the tables. It
    gets a replication slot and a publication, called openmirror_NAME. While this does not run, the
    slot keeps the database's log: drop both if it is never to run again (`cdc drop`).

    \b
    Example:
      openmirror cdc run postgresql://reader:secret@db.example/shop --root ~/mirrors
      openmirror cdc run postgresql://reader@db.example/shop --table 'sales.*' --trigger 5s
      openmirror cdc run postgresql://reader@db.example/shop --as-text public.prices.amount
      openmirror cdc run postgresql://reader@db.example/shop \\
        --zone https://contoso.dfs.core.windows.net/landing/shop/Files/LandingZone
    """
    need_packages()
    from openmirror.cdc.postgresql.reload_limits import ReloadLimits, ReloadWindow
    from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings
    from openmirror.cdc.postgresql.stream import StreamLimits
    from openmirror.publishing.naming import table_path
    from openmirror.settings import byte_size

    settings = settings_for(root)
    need_one_target(settings, zone, root, mirror)
    url = with_password(DatabaseUrl.parse(database))
    name = mirror or url.database
    if zone is None:
        need_mirror_name(name)
    wanted = StreamSettings(
        url=url,
        stream=stream or stream_name(name),
        tables=tuple(table or ()),
        excluded=tuple(exclude or ()),
        as_text=tuple(as_text or ()),
        without_columns=tuple(without_column or ()),
        anew=anew,
        range_seconds=range_seconds(range_time),
        again=tuple(map(table_path, retry or ())),
        reloads=ReloadLimits(
            below=byte_size(reload_below, "--reload-below"),
            a_day=reload_times,
            at_once=reload_at_once,
            within=None if reload_within is None else ReloadWindow.parse(reload_within),
        ),
    )
    limits = StreamLimits(trigger_seconds=interval(trigger).total_seconds())
    _run(settings, name, zone, wanted, limits, verbose=verbose)
    say("stopped")


def range_seconds(text: str) -> float:
    """Read the time that rows of a table may be read in one transaction. Raises BadParameter."""
    try:
        return durations.parse(text).total_seconds()
    except ValueError as error:
        raise typer.BadParameter(f"--range-time {text}: {error}") from None


def _run(
    settings: Settings,
    mirror: str,
    zone: str | None,
    wanted: StreamSettings,
    limits: StreamLimits,
    *,
    verbose: bool,
) -> None:
    from openmirror.wiring import cdc as wired

    with ExitStack() as parts:
        target = landing_target(parts, settings, mirror, zone)
        early = _Reports()
        stream = parts.enter_context(
            wired.reading_database(
                *(wanted, target.zone, limits, settings.slot_limit),
                *(early.landed, early.trouble, say),
            )
        )
        if target.mirror is not None:
            wired.remove_old_spool(settings, target.mirror, wanted.stream, say)
        # Rows are read while Spark starts, which takes longer than many first loads.
        here = begin_landing(parts, settings, target, needs_spark=False, verbose=verbose)
        here.lines.begin(stream.stopped)
        early.go_to(here)
        here.say(f"mirroring {wanted.url}; Ctrl-C stops")
        parts.enter_context(here.live())
        while not here.stop.is_set():
            here.serve(0.2)
            stream.check()
        stream.stop(SECONDS_TO_STOP)
        here.end()


class _Reports:
    """Keeps what a stream reports until there is somebody to hear it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[BatchReport] = []
        self._here: LandingUnderway | None = None

    def landed(self, report: BatchReport) -> None:
        """Take the report of one batch."""
        with self._lock:
            if self._here is None:
                self._waiting.append(report)
                return
        self._here.landed(report)

    def trouble(self, why: str) -> None:
        """Say what failed, and is tried again."""
        here = self._here
        say(f"not landed, and tried again: {why}") if here is None else here.lines.trouble(why)

    def go_to(self, here: LandingUnderway) -> None:
        """Hand on what has come, and everything that comes."""
        with self._lock:
            for report in self._waiting:
                here.landed(report)
            self._waiting.clear()
            self._here = here
