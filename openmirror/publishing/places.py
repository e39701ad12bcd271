"""Where a landing zone is: a folder of this machine, or one of a storage account or of OneLake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from openmirror.errors import CannotStart, WrongRequest
from openmirror.ports import FileStore
from openmirror.ports.zone_url import ZoneUrl, need_zone_itself
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath, landing_zone, path_in_zone

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

ZoneCredential: TypeAlias = "TokenCredential | str"
"""Any credential of azure-identity, or the key of an account."""


@dataclass(frozen=True)
class ZonePlace:
    """A landing zone's path in its store."""

    store: FileStore
    path: StorePath
    close: Callable[[], None]
    """Lets go of the store's connections."""


def zone_place(zone: str | Path, credential: ZoneCredential | None = None) -> ZonePlace:
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
    try:
        need_zone_itself(folder.parts)
    except ValueError as error:
        raise WrongRequest(f"{folder} is no landing zone: {error}") from None
    zone = path_in_zone(folder.parts)
    if zone is not None:
        return ZonePlace(LocalStore(Path(*zone.root)), landing_zone(zone.mirror), _nothing)
    if not folder.name:
        raise WrongRequest(f"{folder} is no landing zone: name a folder below the root")
    lock = folder / "_publishing.lock"
    return ZonePlace(LocalStore(folder.parent, lock=lock), StorePath(folder.name), _nothing)


def _nothing() -> None:
    """A folder has nothing to let go of."""
