"""Where streams are to land: a mirror of the local root, or a zone whose mirror runs elsewhere."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openmirror.cli.console import say
from openmirror.cli.options import account_key
from openmirror.errors import WrongRequest
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.names import is_reserved
from openmirror.protocol.rows import EXTENSION_NAMES
from openmirror.table.layout import landing_zone

if TYPE_CHECKING:
    from openmirror.cdc.stream_zone import StreamZone
    from openmirror.settings import Settings

ZoneOption = Annotated[
    str | None,
    typer.Option(
        "--zone",
        metavar="ZONE",
        help="Land only, in a zone whose mirror runs elsewhere: a folder, or its URL on a storage "
        "account or OneLake. In place of --root and --mirror.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class LandingTarget:
    """Where streams are to land, and nobody else is at work."""

    zone: StreamZone
    mirror: str | None
    """The mirror of the local root that applies it; None where it runs elsewhere."""


def landing_target(
    parts: ExitStack, settings: Settings, mirror: str, zone: str | None
) -> LandingTarget:
    """A mirror of the local root, which is held from now on, or a zone; until `parts` end."""
    from openmirror import wiring
    from openmirror.wiring.stream_zones import stream_zone

    if zone is None:
        parts.enter_context(wiring.locked(settings, say))
        _make_zone(wiring.local_root(settings), mirror)
    at = parts.enter_context(stream_zone(settings, mirror, zone, account_key()))
    if zone is None:
        return LandingTarget(at, mirror)
    if missing := sorted(name for m, name in EXTENSION_NAMES.items() if m not in at.takes):
        say(
            f"the mirror of {zone} does not say that it takes {' and '.join(missing)}: a table "
            "that is emptied, or begins anew, stops; and so does one whose log leaves values out "
            "(docs/SOURCES.md)"
        )
    return LandingTarget(at, None)


def need_one_target(
    settings: Settings, zone: str | None, root: str | None, mirror: str | None
) -> None:
    """Raise WrongRequest where it is not clear, or not possible, who applies what lands."""
    if zone is not None and (root is not None or mirror is not None):
        raise WrongRequest(f"--zone {zone} has a mirror of its own: leave --root and --mirror out")
    if zone is None and isinstance(account := settings.root_given(), AccountUrl):
        place = f"{account}/{landing_zone(mirror or 'MIRROR')}"
        raise WrongRequest(
            f"the tables of {account} are applied by the runner there: land in its zone, with "
            f"--zone {place} and without --root"
        )


def need_mirror_name(mirror: str) -> None:
    """Raise WrongRequest for what cannot be a folder."""
    if "/" in mirror or mirror in ("", ".", "..") or is_reserved(mirror):
        raise WrongRequest(f"{mirror!r} cannot be a mirror's name: choose one with --mirror")


def _make_zone(root: Path, mirror: str) -> None:
    """A mirror begins with its landing zone."""
    zone = root / landing_zone(mirror)
    if not zone.is_dir():
        zone.mkdir(parents=True)
        say(f"made the landing zone {zone}")
