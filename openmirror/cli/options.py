"""Options that many verbs have, and what they mean together."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from openmirror.operate.requests import Operator
    from openmirror.settings import Settings

RootOption = Annotated[
    # Not a Path, which would make `https:/` of `https://`.
    str | None,
    typer.Option(
        "--root",
        metavar="FOLDER",
        help="Folder that holds `landing` and `lake`, or https:// URL of a storage account.  "
        "[env: OPENMIRROR_ROOT]",
        show_default=False,
    ),
]
Mirrors = Annotated[
    list[str] | None,
    typer.Option(
        "--mirror", metavar="NAME", help="Only this mirror; may be repeated. Default: all."
    ),
]
OneTable = Annotated[str, typer.Argument(help="[mirror/]schema.table", metavar="TABLE")]
Tables = Annotated[list[str], typer.Argument(help="[mirror/]schema.table", metavar="TABLE")]
SomeTables = Annotated[
    list[str] | None, typer.Argument(help="[mirror/]schema.table", metavar="TABLE")
]
WholeMirrors = Annotated[
    list[str] | None,
    typer.Option(
        "--mirror",
        metavar="NAME",
        help="Without TABLE: this whole mirror; may be repeated. With TABLE: only this mirror's.",
    ),
]
Why = Annotated[
    str, typer.Option("--why", metavar="TEXT", help="The reason, kept in the table's history.")
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show errors in full, with Spark's own class names."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def settings_for(
    root: str | None,
    env: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> Settings:
    """The settings of this run; `options` are those of the command line, by the setting's name."""
    from openmirror.settings import Settings

    return Settings.load(os.environ if env is None else env, {"root": root, **(options or {})})


def account_key() -> str | None:
    """The key of a zone's account that is no identity's, as an emulator's."""
    return os.environ.get("OPENMIRROR_ACCOUNT_KEY") or None


def operator(why: str = "") -> Operator:
    """Who asks: the user of the operating system, whatever the environment claims."""
    from openmirror.operate.requests import Operator

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number that has no name
        name = f"uid {os.getuid()}"
    return Operator(name, why)
