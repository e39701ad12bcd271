"""The verbs that only read: status, history, validate. They need neither Spark nor a lock."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import result_console, say
from openmirror.cli.options import Json, Mirrors, OneTable, RootOption, Verbose, settings_for

if TYPE_CHECKING:
    from openmirror.protocol.names import TableFolder
    from openmirror.reconcile.root_ports import RootPorts
    from openmirror.runtime.draining import DrainResult

EXIT_FAILED = 1
EXIT_FOUND = 3


def status(
    root: RootOption = None,
    mirror: Mirrors = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show how every table stands, and what to do about those that do not go on.

    Works beside a running `openmirror up`, and without one.

    \b
    Examples:
      openmirror status --root ~/mirrors
      openmirror status --json | jq '.data[] | select(.status == "Failed")'
    """
    from openmirror import wiring
    from openmirror.cli.maintenance_lines import maintained_tables
    from openmirror.cli.status_table import (
        misplaced,
        print_status,
        publishers,
        relays,
        streams,
        troubles,
    )
    from openmirror.cli.tables import choose_mirrors, known_mirrors, no_mirrors
    from openmirror.operate.mirror_notes import all_notes, mirror_notes
    from openmirror.operate.report import statuses
    from openmirror.status import to_json

    settings = settings_for(root)
    ports = wiring.root_ports(settings)
    if not mirror and not known_mirrors(ports.store):
        say(no_mirrors(settings.root))
        chosen, found = [], []
    else:
        chosen = choose_mirrors(ports.store, mirror, settings.root)
        found = statuses(ports, chosen)
    now = ports.clock()
    if mirror:
        notes = [mirror_notes(ports.store, name, now) for name in chosen]
    else:
        notes = all_notes(ports.store, chosen, now)
    if as_json:
        typer.echo(json.dumps(to_json(found, notes), indent=1, ensure_ascii=False))
        return
    console = result_console()
    if found:
        print_status(console, found, with_mirror=len(chosen) > 1)
    elif chosen:
        console.print("no tables yet: publishers make a folder for each in the landing zone")
    kept = maintained_tables(found, now) if verbose else ()
    stopped = troubles(found, now, verbose=verbose)
    landed = streams(notes, now)
    for text in (*publishers(notes), *landed, *stopped, *misplaced(notes), *relays(notes), *kept):
        console.print(f"\n{text}", soft_wrap=True, markup=False)


def history(
    table: OneTable,
    root: RootOption = None,
    mirror: Mirrors = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="So many lines, newest first.")] = 20,
    as_json: Json = False,
) -> None:
    """List what happened to a table: its commits, and what operators did.

    \b
    Example:
      openmirror history sales/dbo.orders --limit 5
    """
    from openmirror import wiring
    from openmirror.cli.history_lines import history_json, history_lines
    from openmirror.cli.tables import Names, choose_mirrors, find_table
    from openmirror.operate.report import history as history_of

    settings = settings_for(root)
    ports = wiring.root_ports(settings)
    chosen = choose_mirrors(ports.store, mirror, settings.root)
    folder = find_table(ports.store, chosen, table)
    lines = history_of(ports, wiring.history_reader(ports), folder, limit)
    if as_json:
        typer.echo(json.dumps(history_json(lines), indent=1, ensure_ascii=False))
    elif lines:
        for text in history_lines(lines):
            result_console().print(text, soft_wrap=True, markup=False)
    else:
        typer.echo(f"nothing has happened to {Names(ports.store)(folder)} yet")


def validate(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A table folder on disk, in a landing zone or anywhere else.",
            exists=True,
            file_okay=False,
            metavar="FOLDER",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check a table folder as a mirror would, and say everything that is wrong with it.

    For publishers: needs no mirror, and changes nothing. In a folder that a mirror of this machine
    has, files are checked against its table and its options. Exit code 0 when a mirror would apply
    all of it, 3 when a table would stop or wait.

    \b
    Example:
      openmirror validate ./LandingZone/Sales.schema/Orders
    """
    from openmirror import wiring
    from openmirror.cli.findings_table import validated_json, validated_lines
    from openmirror.errors import Malformed

    try:
        checked = wiring.validate_on_disk(settings_for(None), folder)
    except Malformed as error:
        raise typer.BadParameter(str(error)) from None
    if as_json:
        typer.echo(json.dumps(validated_json(checked), indent=1, ensure_ascii=False))
    else:
        for line in validated_lines(checked, str(folder)):
            typer.echo(line)
    if any(finding.stops for finding in checked.findings):
        raise typer.Exit(EXIT_FOUND)


def refuse_wrong_settings(ports: RootPorts, chosen: list[str]) -> None:
    """Say which mirrors cannot go on as their mirroring.json is; the others do.

    Raises CannotStart when there are no others.
    """
    from openmirror.errors import CannotStart
    from openmirror.reconcile.mirrors import wrong_settings

    wrong = wrong_settings(ports.store, chosen)
    mistakes = [f"{mirror}: {detail}" for mirror, detail in wrong.items()]
    if mistakes and len(mistakes) == len(chosen):
        raise CannotStart("\n".join(mistakes))
    for text in mistakes:
        say(f"{text}; its tables stand still until it is mended")


def warn_of_stopped(ports: RootPorts, chosen: list[str]) -> None:
    """Say which tables will not go on by themselves, before others do."""
    from openmirror.cli.status_table import misplaced, troubles
    from openmirror.operate.mirror_notes import mirror_notes
    from openmirror.operate.report import statuses

    now = ports.clock()
    for text in troubles(statuses(ports, chosen), now, only_stopped=True):
        say(text)
    for text in misplaced(mirror_notes(ports.store, mirror, now) for mirror in chosen):
        say(text)


def report_stopped(
    result: DrainResult,
    name: Callable[[TableFolder], str],
    now: datetime,
    *,
    verbose: bool = False,
) -> None:
    """Say what a drain could not apply, why, and what to do."""
    from openmirror.cli.status_table import misplaced, wait_text
    from openmirror.plan.decisions import Pause
    from openmirror.runtime.isolation import UnreadableTable
    from openmirror.status import Word, plain_text

    for folder, outcome in sorted(result.stopped.items(), key=lambda item: item[0]):
        if isinstance(outcome, Pause):
            problem = outcome.problem
            where = f"{problem.file}: " if problem.file else ""
            text = f"{name(folder)} is paused by {problem.code}: {where}{problem.detail}"
            say(text if verbose else plain_text(text))
            say(f"  {problem.solution}")
        else:
            say(f"{name(folder)} {wait_text(outcome.waiting, name(folder), now)}")
    for folder, notices in sorted(result.never_read.items(), key=lambda item: item[0]):
        for notice in notices:
            say(f"{name(folder)}: {notice.code}\n  {notice.file}: {notice.detail}")
            say(f"  {notice.solution}")
    for text in misplaced(result.notes):
        say(text)
    for folder, left in sorted(result.outcomes.items(), key=lambda item: item[0]):
        if isinstance(left, UnreadableTable):
            say(f"{name(folder)} cannot be observed ({Word.TABLE_UNREADABLE}): {left.reason}")
            say("  `openmirror status` says what to do; nothing of it was touched.")
    for mirror, reason in result.unreadable_mirrors.items():
        say(f"the landing zone of {mirror} cannot be listed, nothing of it was touched: {reason}")
    for place, reason in result.unlisted.items():
        say(f"{place} cannot be listed, nothing in it was touched: {reason}")
    if result.unwritten:
        say(f"the status files for publishers cannot be written: {result.unwritten}")
