"""`openmirror maintain`: now what is otherwise done when a table has nothing to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import progress_console, say
from openmirror.cli.options import Mirrors, RootOption, SomeTables, Why, operator, settings_for
from openmirror.errors import AccessDenied, DocumentUnreadable, RootLocked, WrongRequest
from openmirror.ports.storage_account import AccountUrl

if TYPE_CHECKING:
    from openmirror.protocol.names import TableFolder
    from openmirror.reconcile.root_ports import RootPorts
    from openmirror.settings import Settings

EXIT_FAILED = 1


def maintain(
    tables: SomeTables = None,
    root: RootOption = None,
    mirror: Mirrors = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Delete old files too that no version of the table names, as writers that were "
            "killed leave them. Only once every runner that was stopped has really ended.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done first.")
    ] = False,
    why: Why = "",
) -> None:
    """Compact tables, and delete files that left them long enough ago.

    A runner does this by itself, unless mirroring.json says `maintenance: off`. Here small debts
    are paid as well. Without tables, every one of the mirrors. On a local root that nobody works
    on it is done at once; else by whoever does.

    \b
    Examples:
      openmirror maintain dbo.orders --dry-run
      openmirror maintain --mirror sales
    """
    from openmirror import wiring
    from openmirror.cli.tables import Names, choose_mirrors, find_table
    from openmirror.operate import requests
    from openmirror.reconcile.discovery import discover

    settings = settings_for(root)
    ports = wiring.root_ports(settings)
    chosen = choose_mirrors(ports.store, mirror, settings.root)
    folders = [find_table(ports.store, chosen, text) for text in tables or ()]
    if not tables:
        folders = [folder for one in chosen for folder in discover(ports.store, one)]
    names = Names(ports.store)
    asked = []
    for folder in folders:
        try:
            if dry_run:
                typer.echo(f"{names(folder)}: {_would(ports, folder, full=full)}")
                continue
            requests.maintain(ports, folder, operator(why), full=full)
        except (AccessDenied, DocumentUnreadable, WrongRequest) as error:
            if tables:
                raise
            say(f"{names(folder)}: left alone: {error}")
            continue
        asked.append(folder)
    if isinstance(settings.root, AccountUrl):
        for folder in asked:
            say(
                f"{names(folder)} will be maintained by the Spark runner, started by the next "
                "sweep if none is active."
            )
    elif asked:
        _at_once(settings, ports, asked, names)


def _would(ports: RootPorts, folder: TableFolder, *, full: bool) -> str:
    from openmirror.cli.maintenance_lines import planned
    from openmirror.plan import plan
    from openmirror.plan.maintaining import is_safe, removal_due
    from openmirror.plan.transitions.maintained import asked_for, with_maintenance
    from openmirror.reconcile.maintaining import survey
    from openmirror.reconcile.observing import observe
    from openmirror.table.log import BrokenLog, TableLog

    observed = observe(ports, folder).observed
    control = with_maintenance(
        observed.control, lambda known: asked_for(known, observed.at, "", full=full)
    )
    observed = replace(observed, control=control)
    decision = plan(observed, ports.limits, observed.at)
    if isinstance(observed.log, TableLog) and not is_safe(observed, decision):
        return "nothing for now: `openmirror status` says what the table waits for"
    if removal := removal_due(observed, decision):
        return planned(removal)
    found = survey(ports, observed)
    if isinstance(found, BrokenLog):
        return f"nothing: its files cannot be read: {found.path}: {found.reason}"
    return planned(found.step) if found else "no table, or none whose log can be read"


def _at_once(
    settings: Settings, ports: RootPorts, folders: list[TableFolder], names: object
) -> None:
    """Do it here, unless another process works on this root: it does it then."""
    from openmirror import wiring
    from openmirror.cli.reporter import Reporter
    from openmirror.cli.tables import Names
    from openmirror.runtime.isolation import maintain_isolated

    assert isinstance(names, Names)
    reporter = Reporter(progress_console(), names, ports.clock)
    watched = replace(ports, emit=reporter)
    try:
        with (
            wiring.locked(settings, wait_seconds=0.0),
            wiring.local_engine(settings, say) as engine,
        ):
            for folder in folders:
                while maintain_isolated(watched, engine, folder):
                    pass
    except RootLocked:
        seconds = settings.sweep_interval.total_seconds()
        for folder in folders:
            say(
                f"{names(folder)} will be maintained by the process that works on this root, "
                f"within {seconds:g} s once the table has nothing to do."
            )
        return
    left = [folder for folder in folders if _is_left(ports, folder)]
    for folder in left:
        say(f"{names(folder)}: not done; `openmirror status` says what the table waits for")
    if left:
        raise typer.Exit(EXIT_FAILED)


def _is_left(ports: RootPorts, folder: TableFolder) -> bool:
    from openmirror.reconcile.documents import Documents

    known = Documents(ports.store).table(folder).value.maintenance
    return known is not None and bool(known.asked or known.failed_removal)
