"""What the verbs of `openmirror cdc` share: their group, options and small rules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror import durations
from openmirror.errors import CannotStart

if TYPE_CHECKING:
    from openmirror.cdc.postgresql.settings import DatabaseUrl

_EXTRA_OF_DATABASES = "openmirror[local,cdc]"
_EXTRA_OF_TOPICS = "openmirror[local,kafka]"
_PACKAGES_OF_DATABASES = ("psycopg", "numpy")
_PACKAGES_OF_TOPICS = ("confluent_kafka", "fastavro", "orjson", "azure.schemaregistry")

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
        help="Let this table, which has stopped, go on: behind the stop in a topic, by a new load "
        "in a database's log; may be repeated.",
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


def need_packages(*packages: str) -> None:
    """Raise CannotStart where one is not installed; by default those that `cdc run` needs."""
    _need(packages or _PACKAGES_OF_DATABASES, _EXTRA_OF_DATABASES)


def need_packages_of_topics() -> None:
    """Raise CannotStart where a package is not installed that `cdc follow` needs."""
    _need(_PACKAGES_OF_TOPICS, _EXTRA_OF_TOPICS)


def _need(packages: Iterable[str], extra: str) -> None:
    for package in packages:
        try:
            import_module(package)
        except ImportError as error:
            raise CannotStart(f"this needs {package}: pip install '{extra}'") from error


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
