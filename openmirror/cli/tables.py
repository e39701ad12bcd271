"""From what an operator types to mirrors and table folders."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from openmirror.errors import CannotStart, UnknownName, WrongRequest
from openmirror.operate import finding
from openmirror.operate.finding import Names, find_mirror, known_mirrors
from openmirror.ports import FileStore
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import TableFolder
from openmirror.table import layout

__all__ = ["Names", "choose_mirrors", "find_table", "known_mirrors", "no_mirrors"]


def choose_mirrors(store: FileStore, wanted: list[str] | None, root: object) -> list[str]:
    """The mirrors to work on.

    Raises CannotStart for a root without any, a usage error for one that is not there.
    """
    known = known_mirrors(store)
    if not known and not wanted:
        raise CannotStart(no_mirrors(root))
    try:
        return [find_mirror(store, mirror, root) for mirror in wanted or ()] or known
    except UnknownName as error:
        raise typer.BadParameter(str(error)) from None


def no_mirrors(root: object) -> str:
    """What to say of a root that holds nothing yet."""
    zone = layout.landing_zone("<mirror>")
    begin = "A mirror begins with its landing zone"
    if isinstance(root, AccountUrl):
        return f"{root} holds no mirror. {begin}: the folder {zone}, its container first"
    return f"{root} holds no mirror. {begin}: mkdir -p {root}/{zone}"


def find_table(store: FileStore, chosen: Iterable[str], text: str) -> TableFolder:
    """The landing folder of the table that an operator means; raises a usage error otherwise."""
    try:
        return finding.find_table(store, chosen, text)
    except (UnknownName, WrongRequest) as error:
        raise typer.BadParameter(str(error)) from None
