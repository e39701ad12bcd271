"""The address of a landing zone on a storage account or in OneLake, which is one to clients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from openmirror.ports.storage_account import AccountUrl
from openmirror.table.layout import ZONE, StorePath, path_in_zone

_SHAPES = (
    "https://<account>.dfs.core.windows.net/<container>/<path>, "
    "abfss://<container>@<account>.dfs.core.windows.net/<path>, or "
    "https://onelake.dfs.fabric.microsoft.com/<workspace>/<item>/Files/LandingZone"
)
_ONELAKE = ".fabric.microsoft.com"
_SCHEMES = {"https": "https", "abfss": "https", "abfs": "https", "http": "http"}


@dataclass(frozen=True)
class ZoneUrl:
    """A landing zone by its account and its path there."""

    account: AccountUrl
    path: StorePath
    """The container (in OneLake the workspace) and the path in it."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a URL as people copy it; ValueError says what one looks like, and shows no secret.

        An emulator has the account's name before the container.
        """
        try:
            parts = urlsplit(text.strip())
            path = _path(parts)
            account, below = _account(parts, path)
            _need_zone(parts, below)
        except ValueError as error:
            raise ValueError(
                f"{_shown(text)} is no address of a landing zone: {error}. Write {_SHAPES}"
            ) from None
        return cls(account, StorePath("/".join(below)))


def _shown(text: str) -> str:
    """Without what may be a secret: a password, a token, a user that is one."""
    kept = "" if not text.startswith("abfs") else r"\1@"
    return re.sub(r"(?<=//)([^/@:]*)[^/@]*@", kept, re.split("[?#]", text)[0])


def _path(parts: SplitResult) -> list[str]:
    """The container and the folders below it; on an emulator the account before them."""
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"it begins with {parts.scheme or 'no scheme'}")
    if parts.query or parts.fragment:
        raise ValueError("it has a query, or a #, and no token in a URL is ever used")
    found = [unquote(part) for part in parts.path.split("/") if part]
    if parts.scheme in ("abfs", "abfss"):
        if not parts.username or parts.password:
            raise ValueError("it names no container before the @")
        found.insert(0, unquote(parts.netloc.rpartition("@")[0]))
    elif "@" in parts.netloc:
        raise ValueError("it names a user")
    if wrong := next((p for p in found if p in (".", "..") or "/" in p or "\0" in p), None):
        raise ValueError(f"{wrong!r} is no name of a folder")
    return found


def _account(parts: SplitResult, path: list[str]) -> tuple[AccountUrl, list[str]]:
    """The account, and what is left of the path: AccountUrl knows which accounts stand in one."""
    host = parts.netloc.rpartition("@")[2].replace(".blob.", ".dfs.", 1)
    base = f"{_SCHEMES[parts.scheme]}://{host}"
    try:
        return AccountUrl.parse(base), path
    except ValueError as error:
        why = ValueError(f"its account must be {error}")
    if parts.scheme in ("abfs", "abfss") or not path:
        raise why
    try:
        return AccountUrl.parse(f"{base}/{path[0]}"), path[1:]
    except ValueError:
        raise why from None


def _need_zone(parts: SplitResult, path: list[str]) -> None:
    if (parts.hostname or "").endswith(_ONELAKE):
        if len(path) != 2 + len(ZONE) or tuple(path[2:]) != ZONE:
            raise ValueError(
                f"in OneLake it is the workspace, the mirrored database and {'/'.join(ZONE)}, in "
                f"this spelling, and nothing behind it"
            )
    elif len(path) < 2:
        raise ValueError("it names no folder of a container")
    need_zone_itself(path)


def need_zone_itself(parts: Sequence[str]) -> None:
    """Raise ValueError for a path inside of a mirror's landing zone, where none begins."""
    zone = path_in_zone(parts)
    if zone is not None and zone.below:
        raise ValueError(
            f"it lies inside the landing zone of the mirror {zone.mirror}, which ends in "
            f"{'/'.join(ZONE)}"
        )
