"""The verbs of `openmirror cdc` that ask a database, or leave it: `check` and `drop`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.cdc_verbs import DatabaseArgument, need_packages, stream_name, with_password
from openmirror.cli.console import result_console, say
from openmirror.cli.options import Json

if TYPE_CHECKING:
    from openmirror.cdc.capture.settings import CaptureSettings

_NO_SPOOL = Path()

StreamOption = Annotated[
    str | None,
    typer.Option(
        "--stream",
        metavar="NAME",
        help="What slot and publication are called by: openmirror_NAME. Default: the database's "
        "name, or what was given to `cdc run`.",
        show_default=False,
    ),
]


def check(
    database: DatabaseArgument,
    stream: StreamOption = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="SCHEMA.TABLE",
            help="As for `cdc run`; may be repeated, and * stands for any characters.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a database for all that capturing it needs; nothing is changed in it.

    Each finding comes with the statement that mends it. Errors keep `cdc run` from beginning;
    warnings name what is left out, or may go wrong later. Exit code 1 where there is an error.

    \b
    Example:
      openmirror cdc check postgresql://reader:secret@db.example/shop
      openmirror cdc check postgresql://reader@db.example/shop --table 'sales.*' --json
    """
    need_packages()
    from openmirror.cdc.capture.preparing import check as checked
    from openmirror.cdc.capture.requirements import FindingLevel
    from openmirror.cli.source_findings import source_findings_table

    settings = _settings(database, stream, tuple(table or ()))
    found = checked(settings)
    if as_json:
        typer.echo(json.dumps({"data": [asdict(one) for one in found]}, indent=2))
    elif found:
        result_console().print(source_findings_table(found))
    if any(one.level is FindingLevel.ERROR for one in found):
        raise typer.Exit(1)
    if not as_json:
        say(f"{settings.url} can be captured: openmirror cdc run")


def drop(
    database: DatabaseArgument,
    stream: StreamOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Drop a stream's replication slot and publication, for a database that is left for good.

    While they are there and nothing reads the slot, the database keeps its log, until its disk is
    full. Only what `cdc run` made for this stream is dropped. Tables, landing zone and spool stay;
    to mirror the database again takes a new snapshot: `cdc run --anew`.

    \b
    Example:
      openmirror cdc drop postgresql://reader:secret@db.example/shop
    """
    need_packages()
    from openmirror.cdc.capture.leaving import leave, left_behind

    settings = _settings(database, stream, ())
    there = left_behind(settings)
    if not there:
        say(f"{settings.url} has neither slot nor publication {settings.slot}")
        return
    what = " and the ".join(there)
    if not yes:
        typer.confirm(f"Drop the {what} {settings.slot} of {settings.url}?", abort=True)
    leave(settings)
    say(f"dropped the {what} {settings.slot} of {settings.url}; tables and landing zone stay")


def _settings(database: str, stream: str | None, tables: tuple[str, ...]) -> CaptureSettings:
    from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl

    url = with_password(DatabaseUrl.parse(database))
    name = stream or stream_name(url.database)
    return CaptureSettings(url=url, stream=name, spool=_NO_SPOOL, tables=tables)
