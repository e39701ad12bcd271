"""The verbs that ask for something: written into control documents, carried out by the runner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import say
from openmirror.cli.options import (
    Mirrors,
    OneTable,
    RootOption,
    SomeTables,
    Tables,
    WholeMirrors,
    Why,
    operator,
    settings_for,
)
from openmirror.errors import AccessDenied, DocumentUnreadable, WrongRequest
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder
from openmirror.protocol.naming_scheme import Through, name_within
from openmirror.protocol.sequence import LAST_SEQUENCE, Sequence

if TYPE_CHECKING:
    from openmirror.reconcile.root_ports import RootPorts

EXIT_FAILED = 1


def pause(
    tables: SomeTables = None,
    root: RootOption = None,
    mirror: WholeMirrors = None,
    why: Why = "",
) -> None:
    """Hold tables, or whole mirrors: nothing happens to them until they are resumed.

    A batch that is underway is still committed. A mirror is held with all its tables, and with
    those that come later.

    \b
    Examples:
      openmirror pause sales/dbo.orders --why "nightly load of the warehouse"
      openmirror pause --mirror sales --why "the warehouse moves"
    """
    from openmirror.operate import requests

    _tables_or_mirrors(tables, mirror)
    asked = _Asked(root, mirror)
    if not tables:
        for whole in asked.mirrors:
            requests.hold_mirror(asked.ports, whole, operator(why))
            say(f"mirror {whole} held. From its next observation on the runner leaves it alone.")
        return
    for folder in asked.tables(tables):
        requests.hold(asked.ports, folder, operator(why))
        asked.done(folder, "held", "From its next observation on the runner leaves it alone.")


def resume(
    tables: SomeTables = None,
    root: RootOption = None,
    mirror: WholeMirrors = None,
    why: Why = "",
) -> None:
    """Let held tables, or held mirrors, go on.

    A table that is held by itself stays so when its mirror is resumed.

    \b
    Examples:
      openmirror resume dbo.orders
      openmirror resume --mirror sales
    """
    from openmirror.operate import requests

    _tables_or_mirrors(tables, mirror)
    asked = _Asked(root, mirror)
    if not tables:
        for whole in asked.mirrors:
            requests.resume_mirror(asked.ports, whole, operator(why))
            say(f"mirror {whole} resumed. {asked.when('goes on')}")
        return
    for folder in asked.tables(tables):
        requests.resume(asked.ports, folder, operator(why))
        asked.done(folder, "resumed", asked.when("goes on"))


def retry(tables: Tables, root: RootOption = None, mirror: Mirrors = None, why: Why = "") -> None:
    """Try paused tables again, once the cause of their problem is gone.

    Not needed after a bad file was replaced or _metadata.json was changed: that is noticed.

    \b
    Example:
      openmirror retry dbo.orders
    """
    from openmirror.operate import requests

    asked = _Asked(root, mirror)
    for folder in asked.tables(tables):
        requests.retry(asked.ports, folder, operator(why))
        asked.done(folder, "will be tried again", asked.when("tries it"))


def skip(
    table: OneTable,
    why: Annotated[
        str,
        typer.Option("--why", metavar="TEXT", help="The reason, kept in the table's history."),
    ],
    file: Annotated[
        str | None, typer.Option("--file", metavar="NAME", help="A bad file to pass over.")
    ] = None,
    through: Annotated[
        str | None,
        typer.Option(
            "--through",
            metavar="N",
            help="Give up the missing numbers up to this one, or up to one of a partition: "
            "Year=2024/12.",
        ),
    ] = None,
    root: RootOption = None,
    mirror: Mirrors = None,
) -> None:
    """Pass over a bad file, or over numbers that will never come.

    A file that is replaced later is no longer the one that was skipped, and is read. For a file
    that was overwritten after it was applied, --file accepts what was applied.

    \b
    Examples:
      openmirror skip dbo.orders --file 00000000000000000007.parquet --why "test data"
      openmirror skip dbo.orders --through 9 --why "lost in the outage of May 3"
      openmirror skip dbo.orders --through Year=2024/9 --why "lost in the outage of May 3"
    """
    from openmirror.operate import requests

    if (file is None) == (through is None):
        raise typer.BadParameter("give either --file NAME or --through N")
    if not why.strip():
        raise typer.BadParameter("--why must say why: changes are lost for good")
    try:
        up_to = Through.parse(through or "1")
    except ValueError as error:
        raise typer.BadParameter(f"--through: {error}") from error
    asked = _Asked(root, mirror)
    folder = asked.tables([table])[0]
    if file is not None:
        requests.skip_file(asked.ports, folder, name_within(file), operator(why))
        what = f"passes over {name_within(file)}"
    else:
        requests.skip_through(asked.ports, folder, up_to, operator(why))
        what = f"passes over what is missing up to {up_to}"
    asked.done(folder, what, asked.when("goes on behind it"))


def reseed(
    table: OneTable,
    through: Annotated[
        int | None,
        typer.Option(
            "--through",
            metavar="N",
            min=1,
            max=LAST_SEQUENCE,
            help="As it was after this file, and hold it there; a ledger number, where names give "
            "no order (`openmirror as-of --file` says it).",
        ),
    ] = None,
    root: RootOption = None,
    mirror: Mirrors = None,
    why: Why = "",
) -> None:
    """Rebuild a table from its folder and archive, as a whole or as it was after file N.

    Refused, naming the first missing file, unless every file from 1 on is there or was skipped.
    Readers see the old rows until the first batch replaces them in one commit. With --through
    the table is held once it has come there; `openmirror resume` has it go on with the next file.

    \b
    Examples:
      openmirror reseed dbo.orders --why "keys were declared wrong"
      openmirror reseed dbo.orders --through 41 --why "what was sold before the return?"
    """
    from openmirror.operate import requests

    asked = _Asked(root, mirror)
    folder = asked.tables([table])[0]
    number = None if through is None else Sequence(through)
    requests.reseed(asked.ports, folder, operator(why), number)
    held = "" if through is None else f" through {through}, and held there"
    asked.done(folder, f"will be rebuilt{held}", asked.when("rebuilds it"))


def undrop(table: OneTable, root: RootOption = None, mirror: Mirrors = None, why: Why = "") -> None:
    """Bring a dropped table back, held, until its retention ends.

    \b
    Example:
      openmirror undrop sales/dbo.orders
    """
    from openmirror.operate import requests

    asked = _Asked(root, mirror)
    folder = asked.tables([table])[0]
    requests.undrop(asked.ports, folder, operator(why))
    asked.done(folder, "will come back, held", asked.when("brings it back"))


def confirm_drops(root: RootOption = None, mirror: Mirrors = None, why: Why = "") -> None:
    """Allow the drops that `status` asks about.

    Many tables of a mirror that disappear at once are only dropped after a person confirms it:
    their folders may be gone by mistake, such as a landing zone that is not mounted.

    \b
    Example:
      openmirror confirm-drops --mirror sales
    """
    from openmirror.operate import requests

    asked = _Asked(root, mirror)
    confirmed = [
        folder
        for chosen in asked.mirrors
        for folder in requests.confirm_drops(asked.ports, chosen, operator(why))
    ]
    for folder in confirmed:
        asked.done(folder, "may be dropped", asked.when("drops it"))
    if not confirmed:
        say("no drop waits for a confirmation")


def confirm_hard_deletes(
    table: OneTable, root: RootOption = None, mirror: Mirrors = None, why: Why = ""
) -> None:
    """Allow that rows go which are marked as deleted, for `delete: hard` in mirroring.json.

    A table that has marked rows goes on marking until then. They are removed for good once it has
    nothing to do, or with its next batch, which takes the column _deleted_at away as well.

    \b
    Example:
      openmirror confirm-hard-deletes dbo.orders --why "kept for the audit of 2025 alone"
    """
    from openmirror.operate import requests

    asked = _Asked(root, mirror)
    folder = asked.tables([table])[0]
    requests.confirm_hard_deletes(asked.ports, folder, operator(why))
    asked.done(folder, "will have hard deletes", "with its next batch")


def adopt(
    tables: SomeTables = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every table of the chosen mirrors.")
    ] = False,
    root: RootOption = None,
    mirror: Mirrors = None,
    why: Why = "",
) -> None:
    """Continue the tables of a root that was copied, renamed or restored from a backup.

    Their rows stay as they are, and the files in the landing zone are taken for those that were
    applied.

    \b
    Example:
      openmirror adopt --all --root /restored/mirrors --why "restored from backup"
    """
    from openmirror.operate import requests

    if bool(tables) == every:
        raise typer.BadParameter("give the tables, or --all")
    asked = _Asked(root, mirror)
    if tables:
        for folder in asked.tables(tables):
            requests.adopt(asked.ports, folder, operator(why))
            asked.done(folder, "will be adopted", asked.when("continues it"))
        return
    refused = 0
    for folder in asked.all_tables():
        try:
            requests.adopt(asked.ports, folder, operator(why))
            asked.done(folder, "will be adopted", asked.when("continues it"))
        except (AccessDenied, DocumentUnreadable, WrongRequest) as error:
            refused += 1
            say(f"{asked.name(folder)}: left alone: {error}")
    if refused and refused == len(asked.all_tables()):
        raise typer.Exit(EXIT_FAILED)


def _tables_or_mirrors(tables: list[str] | None, mirrors: list[str] | None) -> None:
    if not tables and not mirrors:
        raise typer.BadParameter("give the tables, or --mirror to mean all of a mirror")


class _Asked:
    """A root as these verbs use it."""

    def __init__(self, root: str | None, wanted: list[str] | None) -> None:
        from openmirror import wiring
        from openmirror.cli.tables import Names, choose_mirrors
        from openmirror.reconcile.mirrors import open_mirror

        self._settings = settings_for(root)
        self.ports: RootPorts = wiring.root_ports(self._settings)
        self.mirrors = choose_mirrors(self.ports.store, wanted, self._settings.root)
        for mirror in self.mirrors:
            with suppress(AccessDenied):  # its tables report it, if one of them is meant
                open_mirror(self.ports.store, mirror)
        self.name: Callable[[TableFolder], str] = Names(self.ports.store)

    def tables(self, texts: list[str]) -> list[TableFolder]:
        """All of them, before anything is done to the first."""
        from openmirror.cli.tables import find_table

        return [find_table(self.ports.store, self.mirrors, text) for text in texts]

    def all_tables(self) -> list[TableFolder]:
        """Every table of the chosen mirrors."""
        from openmirror.reconcile.discovery import discover

        return [f for mirror in self.mirrors for f in discover(self.ports.store, mirror)]

    def done(self, folder: TableFolder, what: str, then: str) -> None:
        """Say what was written, who acts on it and when."""
        say(f"{self.name(folder)} {what}. {then}")

    def when(self, does: str) -> str:
        """Who carries a request out, and when."""
        seconds = self._settings.sweep_interval.total_seconds()
        if isinstance(self._settings.root, AccountUrl):
            return f"The Spark runner {does}, started by the next sweep if none is active."
        return (
            f"A running `openmirror up` {does} within {seconds:g} s; without one, the next "
            "`openmirror drain` does."
        )
