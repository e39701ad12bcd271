"""What the verbs of `openmirror cdc` share: their group, options and small rules."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.errors import CannotStart, WrongRequest

if TYPE_CHECKING:
    from openmirror.cdc.capture.settings import DatabaseUrl
    from openmirror.settings import Settings

_EXTRA = "openmirror[local,cdc]"
_PACKAGES = ("jpype", "psycopg")

DatabaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="postgresql://user:password@host:5432/database. The password may stand in PGPASSWORD "
        "instead.",
    ),
]
TriggerOption = Annotated[
    str, typer.Option("--trigger", metavar="TIME", help="How often changes are landed.")
]
RetryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--retry",
        metavar="SCHEMA.TABLE",
        help="Let this table, which has stopped, go on from there; may be repeated.",
    ),
]
SpoolOption = Annotated[
    Path | None,
    typer.Option(
        "--spool",
        metavar="FOLDER",
        help="With --zone: where on this machine changes are kept until they have landed. It must "
        "stay between runs.",
        show_default=False,
    ),
]
cdc = typer.Typer(
    help="Live databases as publishers: what they commit is in Delta tables seconds later.\n\n"
    "\\b\n"
    "Example:\n"
    "  openmirror cdc run postgresql://reader:secret@db.example/shop --root ~/mirrors",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def spool_folder(
    settings: Settings, mirror: str, stream: str, zone: str | None, own: Path | None
) -> Path:
    """Where a captured stream is kept; raises WrongRequest where that is not clear."""
    from openmirror.wiring.cdc import spool_of_mirror

    if (zone is None) != (own is None):
        raise WrongRequest(
            "--zone and --spool go together: what is captured is kept in the folder of --spool, on "
            "this machine, until it has landed; a mirror of --root keeps it beside its tables"
        )
    return spool_of_mirror(settings, mirror, stream) if own is None else own.expanduser()


def need_packages(*packages: str) -> None:
    """Raise CannotStart where one is not installed; by default those that `cdc run` needs."""
    for package in packages or _PACKAGES:
        try:
            import_module(package)
        except ImportError as error:
            raise CannotStart(f"this needs {package}: pip install '{_EXTRA}'") from error


def with_password(url: DatabaseUrl) -> DatabaseUrl:
    """The password of the environment where the URL has none, as PostgreSQL's own programs do."""
    return url if url.password else replace(url, password=os.environ.get("PGPASSWORD", ""))


def stream_name(mirror: str) -> str:
    """A stream's name by default: the mirror's, as PostgreSQL lets a slot be called."""
    name = re.sub(r"[^a-z0-9_]", "_", mirror.lower())[:40]
    return name if name[:1].isalpha() else f"m{name}"[:40]


def interval(text: str) -> timedelta:
    """How often changes are landed; raises BadParameter for what is none, or out of bounds."""
    from openmirror.mirroring.document import LONGEST_TRIGGER, SHORTEST_TRIGGER

    try:
        every = durations.parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"--trigger {text}: {error}") from None
    if not SHORTEST_TRIGGER <= every <= LONGEST_TRIGGER:
        raise typer.BadParameter(f"--trigger {text}: between 0.2s and 60s")
    return every
