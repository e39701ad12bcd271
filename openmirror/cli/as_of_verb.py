"""`openmirror as-of`: which version of a table holds which files, and what reads it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import result_console
from openmirror.cli.options import Json, Mirrors, OneTable, RootOption, settings_for
from openmirror.protocol.names import Incarnation
from openmirror.protocol.sequence import LAST_SEQUENCE, Sequence

if TYPE_CHECKING:
    from openmirror.operate.as_of import UpTo

EXIT_FOUND = 3


def as_of(
    table: OneTable,
    sequence: Annotated[
        int | None,
        typer.Option(
            "--sequence",
            metavar="N",
            min=1,
            max=LAST_SEQUENCE,
            help="The files up to this number; a ledger number, where names give no order.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="NAME", help="The files up to this one, by its name."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", metavar="T", help="A moment with its zone, such as 2026-03-05T14:30:00Z."
        ),
    ] = None,
    incarnation: Annotated[
        str | None,
        typer.Option(
            "--incarnation",
            metavar="ID",
            help="With --sequence or --file: of an earlier incarnation of the table folder.",
        ),
    ] = None,
    root: RootOption = None,
    mirror: Mirrors = None,
    as_json: Json = False,
) -> None:
    """Say which Delta version holds exactly the files up to N, or stood at a time.

    Reads the table's log and lists its files; needs no Spark, and changes nothing. Prints the
    statement that reads the version. Exit code 0 when a version holds exactly that and can be
    read, 3 when none does: then it says which come next, what is gone and what is left.

    \b
    Examples:
      openmirror as-of sales/dbo.orders --sequence 41
      openmirror as-of dbo.orders --time 2026-03-05T14:30:00Z --json
    """
    from openmirror import wiring
    from openmirror.cli.as_of_lines import past_json, past_lines
    from openmirror.cli.tables import Names, choose_mirrors, find_table
    from openmirror.operate.as_of import as_of as answered
    from openmirror.ports.storage_account import AccountUrl

    asked = _asked(sequence, file, time, incarnation)
    settings = settings_for(root)
    ports = wiring.root_ports(settings)
    folder = find_table(ports.store, choose_mirrors(ports.store, mirror, settings.root), table)
    answer = answered(ports, wiring.past_reader(ports), folder, asked)
    place = settings.root_given()
    place = place if isinstance(place, AccountUrl) else Path(place).resolve()
    if as_json:
        typer.echo(json.dumps(past_json(answer, place), indent=1, ensure_ascii=False))
    else:
        for line in past_lines(answer, Names(ports.store)(folder), place):
            result_console().print(line, soft_wrap=True, markup=False, highlight=False)
    if not answer.as_of.is_exact:
        raise typer.Exit(EXIT_FOUND)


def _asked(
    sequence: int | None, file: str | None, time: str | None, incarnation: str | None
) -> UpTo | datetime:
    from openmirror.operate.as_of import UpTo

    if sum(option is not None for option in (sequence, file, time)) != 1:
        raise typer.BadParameter("give one of --sequence N, --file NAME and --time T")
    if time is None:
        return UpTo(
            sequence=Sequence(sequence) if sequence is not None else None,
            file=file or "",
            incarnation=Incarnation(incarnation) if incarnation is not None else None,
        )
    if incarnation is not None:
        raise typer.BadParameter(
            "--incarnation goes with --sequence or --file; at a time the table had only one"
        )
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        raise typer.BadParameter(
            f"--time: {time!r} is no moment such as 2026-03-05T14:30:00Z"
        ) from None
    if moment.tzinfo is None:
        raise typer.BadParameter(
            f"--time: say in which zone {time} is, as in 2026-03-05T14:30:00Z (UTC) and "
            "2026-03-05T14:30:00+01:00"
        )
    return moment
