"""The landing zones that streams land in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from openmirror.cdc.stream_zone import StreamZone
from openmirror.errors import WrongRequest
from openmirror.operate.finding import known_mirrors
from openmirror.ports import FileStore
from openmirror.protocol.rows import EXTENSIONS
from openmirror.protocol.rules import Broken
from openmirror.publishing.advertised import advertised
from openmirror.publishing.places import zone_place
from openmirror.reconcile.mirror_reads import read_settings
from openmirror.settings import Settings
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import landing_zone
from openmirror.wiring.local import local_root


def zone_of_mirror(store: FileStore, mirror: str) -> StreamZone:
    """The zone of a mirror that this version applies; raises WrongRequest for wrong settings."""
    wanted, _ = read_settings(store, mirror)
    if isinstance(wanted, Broken):
        raise WrongRequest(f"mirror {mirror}: {wanted.detail}")
    return StreamZone(store, landing_zone(mirror), EXTENSIONS, wanted.lineage)


def only_mirror(settings: Settings) -> str:
    """Return the mirror of a local root that has no other. Raises WrongRequest where it has."""
    found = known_mirrors(LocalStore(local_root(settings)))
    if len(found) != 1:
        raise WrongRequest(f"name the mirror with --mirror: {', '.join(found) or 'there is none'}")
    return found[0]


@contextmanager
def stream_zone(
    settings: Settings, mirror: str, zone: str | None, key: str | None
) -> Iterator[StreamZone]:
    """The zone of a mirror of the local root, or one whose mirror runs elsewhere; for a block.

    `key`: the key of its account, where its store is no identity's. Raises what `zone_place` and
    the store do, and WrongRequest for a mirroring.json that is wrong.
    """
    if zone is None:
        yield zone_of_mirror(LocalStore(local_root(settings)), mirror)
        return
    place = zone_place(zone, key)
    try:
        wanted = advertised(place.store, place.path)
        yield StreamZone(place.store, place.path, wanted.takes, wanted.lineage)
    finally:
        place.close()
