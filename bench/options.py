"""Options that would be ignored where they stand, and so are refused."""

from __future__ import annotations

import typer


def refuse_given(ctx: typer.Context, why: str, *names: str) -> None:
    """Refuse options of these names, or any option, of a command line that would ignore them.

    Raises typer.BadParameter.
    """
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        is_named = not names or parameter.name in names
        if is_named and source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(why, ctx, parameter)
