"""The verbs of `openmirror cdc` that ask a database, or leave it: `check` and `drop`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.cdc_verbs import DatabaseArgument, need_packages, stream_name, with_password
from openmirror.cli.console import result_console, say
from openmirror.cli.options import Json

if TYPE_CHECKING:
    from openmirror.cdc.postgresql.settings import StreamSettings

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
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="SCHEMA.TABLE", help="As for `cdc run`."),
    ] = None,
    as_text: Annotated[
        list[str] | None,
        typer.Option("--as-text", metavar="SCHEMA.TABLE.COLUMN", help="As for `cdc run`."),
    ] = None,
    without_column: Annotated[
        list[str] | None,
        typer.Option("--without-column", metavar="SCHEMA.TABLE.COLUMN", help="As for `cdc run`."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a database for everything that mirroring it needs; nothing is changed in it.

    Each finding comes with the statement that mends it. Errors keep `cdc run` from starting;
    warnings name what is left out, or may go wrong later. Exit code 1 if there is an error.

    \b
    Example:
      openmirror cdc check postgresql://reader:secret@db.example/shop
      openmirror cdc check postgresql://reader@db.example/shop --table 'sales.*' --json
    """
    need_packages("psycopg")
    from openmirror.cdc.postgresql.preparing import check as checked
    from openmirror.cdc.postgresql.requirements import FindingLevel
    from openmirror.cli.source_findings import source_findings_table

    settings = replace(
        _settings(database, stream),
        tables=tuple(table or ()),
        excluded=tuple(exclude or ()),
        as_text=tuple(as_text or ()),
        without_columns=tuple(without_column or ()),
    )
    found = checked(settings)
    if as_json:
        typer.echo(json.dumps({"data": [asdict(one) for one in found]}, indent=2))
    elif found:
        result_console().print(source_findings_table(found))
    if any(one.level is FindingLevel.ERROR for one in found):
        raise typer.Exit(1)
    if not as_json:
        say(f"{settings.url} can be mirrored: openmirror cdc run")


def drop(
    database: DatabaseArgument,
    stream: StreamOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Drop a stream's replication slot and publication, for a database that is left for good.

    While they are there and nothing reads the slot, the database keeps its log, until its disk is
    full. Only what `cdc run` made for this stream is dropped. Tables and landing zone stay. Another
    `cdc run` loads every table anew.

    \b
    Example:
      openmirror cdc drop postgresql://reader:secret@db.example/shop
    """
    need_packages("psycopg")
    from openmirror.cdc.postgresql.leaving import leave, left_behind

    settings = _settings(database, stream)
    there = left_behind(settings)
    if not there:
        say(f"{settings.url} has neither slot nor publication {settings.slot}")
        return
    what = " and the ".join(there)
    if not yes:
        typer.confirm(f"Drop the {what} {settings.slot} of {settings.url}?", abort=True)
    leave(settings)
    say(f"dropped the {what} {settings.slot} of {settings.url}; tables and landing zone stay")


def _settings(database: str, stream: str | None) -> StreamSettings:
    from openmirror.cdc.postgresql.settings import DatabaseUrl, StreamSettings

    url = with_password(DatabaseUrl.parse(database))
    name = stream or stream_name(url.database)
    return StreamSettings(url=url, stream=name)
