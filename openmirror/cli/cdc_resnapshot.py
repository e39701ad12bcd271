"""`openmirror cdc resnapshot`: one table of a database begins anew."""

from __future__ import annotations

from typing import Annotated

import typer

from openmirror.cli.cdc_verbs import need_packages, stream_name
from openmirror.cli.console import say
from openmirror.cli.landing_target import ZoneOption, need_one_target
from openmirror.cli.options import RootOption, account_key, settings_for
from openmirror.errors import WrongRequest


def resnapshot(
    table: Annotated[
        str,
        typer.Argument(metavar="SCHEMA.TABLE", help="A table that this stream has landed."),
    ],
    mirror: Annotated[
        str | None,
        typer.Option(
            "--mirror",
            metavar="NAME",
            help="The mirror that has the table. Default: the root's only one.",
            show_default=False,
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
) -> None:
    """Take a new snapshot of one table, which then begins anew from it.

    For a table that has stopped, or whose rows are in doubt. `cdc run` reads its rows, now or when
    it is run again, while the changes of all tables go on. The table itself changes no more until
    all its rows have come, and then in one commit: no reader ever sees half of it.

    The rows are read once, range by range of the primary key, each in a short transaction that
    gives way to others.

    \b
    Example:
      openmirror cdc resnapshot public.orders --root ~/mirrors
      openmirror cdc resnapshot public.orders --mirror shop --root ~/mirrors
    """
    need_packages()
    from openmirror.publishing.naming import table_path
    from openmirror.wiring.cdc import want_load
    from openmirror.wiring.stream_zones import only_mirror, stream_zone

    settings = settings_for(root)
    need_one_target(settings, zone, root, mirror)
    if zone is None:
        mirror = mirror or only_mirror(settings)
    if stream is None and mirror is None:
        raise WrongRequest("name the stream of the zone with --stream")
    named = stream or stream_name(mirror or "")
    path = table_path(table)
    with stream_zone(settings, mirror or "", zone, account_key()) as into:
        is_new = want_load(into, named, path)
    if is_new:
        say(f"a new snapshot of {table} is asked for: `openmirror cdc run` takes it")
    else:
        say(f"a new snapshot of {table} was asked for already, and has not landed yet")
