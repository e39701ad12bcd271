"""The options that choose tables of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.errors import WrongRequest

if TYPE_CHECKING:
    from openmirror.mirroring import TableChoice

IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="SCHEMA.TABLE",
        help="Land these tables alone; * stands for any characters; may be repeated.",
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="SCHEMA.TABLE",
        help="Leave these tables out; * stands for any characters; may be repeated.",
    ),
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="SCHEMA.TABLE=SCHEMA.TABLE",
        help="Land a table under another name: crm.users=sales.people, or crm.*=sales.crm_*; may "
        "be repeated.",
    ),
]


def table_choice(
    include: list[str] | None, exclude: list[str] | None, names: list[str] | None
) -> TableChoice:
    """What the options say; raises WrongRequest."""
    from openmirror.mirroring import TableChoice

    found: dict[str, str] = {}
    for text in names or ():
        source, equals, target = text.partition("=")
        if not equals or source in found:
            raise WrongRequest(f"--name {text}: write SCHEMA.TABLE=SCHEMA.TABLE, once for a table")
        found[source] = target
    try:
        return TableChoice.of(include or (), exclude or (), found)
    except ValueError as error:
        raise WrongRequest(str(error)) from None
