"""Where a landing zone is: a folder of this machine, or one of a storage account or of OneLake."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

from openmirror.errors import CannotStart, WrongRequest
from openmirror.ports import FileStore
from openmirror.ports.storage_account import AccountUrl
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import LANDING, ZONE, StorePath

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

ZoneCredential: TypeAlias = "TokenCredential | str"
"""Any credential of azure-identity, or the key of an account."""

_SHAPES = (
    "a folder, https://<account>.dfs.core.windows.net/<container>/<path>, "
    "abfss://<container>@<account>.dfs.core.windows.net/<path>, or "
    "https://onelake.dfs.fabric.microsoft.com/<workspace>/<item>/Files/LandingZone"
)
_EMULATOR = re.compile(r"/[a-z0-9][a-z0-9-]*(?=/)")


@dataclass(frozen=True)
class ZonePlace:
    """A landing zone's path in its store."""

    store: FileStore
    path: StorePath
    close: Callable[[], None]
    """Lets go of the store's connections."""


@dataclass(frozen=True)
class ZoneUrl:
    """A landing zone on a storage account, or in OneLake, which is one to its clients."""

    account: AccountUrl
    path: StorePath
    """The container (in OneLake the workspace) and the path in it."""

    @classmethod
    def parse(cls, text: str) -> ZoneUrl:
        """Read a URL as people copy it; ValueError says what one looks like."""
        parts = urlsplit(text.strip())
        if parts.query or parts.fragment:
            raise ValueError(f"{text!r} has a query, or a #: write {_SHAPES}")
        host, path = parts.netloc, parts.path
        if parts.scheme in ("abfs", "abfss"):
            container, at, host = host.rpartition("@")
            if not at or not container:
                raise ValueError(f"{text!r} names no container: write {_SHAPES}")
            path = f"/{container}{path}"
        elif parts.scheme not in ("http", "https"):
            raise ValueError(f"{text!r} is no landing zone: write {_SHAPES}")
        scheme = {"abfss": "https", "abfs": "https"}.get(parts.scheme, parts.scheme)
        name = ""
        if _is_emulator(scheme, parts.hostname or ""):
            found = _EMULATOR.match(path)
            name = found[0] if found else ""
            path = path.removeprefix(name)
        account = AccountUrl.parse(f"{scheme}://{host.replace('.blob.', '.dfs.', 1)}{name}")
        parted = [unquote(part) for part in path.split("/") if part]
        if len(parted) < 2:
            raise ValueError(f"{text!r} names no folder of a container: write {_SHAPES}")
        return cls(account, StorePath("/".join(parted)))


def zone_place(zone: str | Path, credential: TokenCredential | str | None = None) -> ZonePlace:
    """Open the store of a landing zone.

    `credential` is any credential of azure-identity, or an account's key; None is the identity of
    the environment. Raises WrongRequest for what is no landing zone, CannotStart without the
    packages that an account needs or where no token may be sent.
    """
    if isinstance(zone, Path) or "://" not in zone:
        return _local(Path(zone))
    try:
        url = ZoneUrl.parse(zone)
    except ValueError as error:
        raise WrongRequest(str(error)) from error
    try:
        from openmirror.stores.azure.store import AzureStore
    except ImportError as error:
        raise CannotStart(
            f"{zone} needs the Azure SDK ({error}): pip install 'openmirror[publish]'"
        ) from error
    key = credential if isinstance(credential, str) else None
    given = None if isinstance(credential, str) else credential
    store = AzureStore.connect(url.account, key, given)
    return ZonePlace(store, url.path, store.close)


def _local(folder: Path) -> ZonePlace:
    """A folder; a mirror's own zone is reached from its root, under whose lock a mirror writes."""
    folder = folder.expanduser().resolve()
    parts = folder.parts
    depth = len(ZONE) + 2
    if parts[-len(ZONE) :] == ZONE and len(parts) > depth and parts[-depth] == LANDING:
        root = Path(*parts[:-depth])
        return ZonePlace(LocalStore(root), StorePath("/".join(parts[-depth:])), _nothing)
    if len(parts) < 2:
        raise WrongRequest(f"{folder} is no landing zone: name a folder below the root")
    lock = folder / "_publishing.lock"
    return ZonePlace(LocalStore(folder.parent, lock=lock), StorePath(folder.name), _nothing)


def _nothing() -> None:
    """A folder has nothing to let go of."""


def _is_emulator(scheme: str, host: str) -> bool:
    """Whether the account stands in the path: as in AccountUrl, no account in Azure has that."""
    is_address = re.fullmatch(r"[0-9.]+|.*:.*", host) is not None
    return scheme == "http" and (is_address or "." not in host)
