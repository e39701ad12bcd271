"""Parts of converted change files that a runner left behind when it was killed."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from openmirror.errors import NotThere
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout

_KEPT = timedelta(days=1)
"""Far longer than any batch takes to be read; after it, its parts are deleted at once."""


def clear_leftovers(ports: RootPorts, mirror: str, *, dry_run: bool = False) -> tuple[str, ...]:
    """Delete what conversions of a mirror left behind a day ago; with `dry_run` only list it.

    Returns the names of their folders. Nothing that is decided or applied depends on them.
    """
    folder = layout.conversions(mirror)
    try:
        listing = ports.store.list_folder(folder)
    except NotThere:
        return ()
    left = tuple(
        entry.name
        for entry in listing.entries
        if entry.is_folder and entry.modified + _KEPT <= listing.at
    )
    for name in () if dry_run else left:
        with suppress(NotThere):  # another cleanup was quicker
            ports.store.delete_folder(layout.join(folder, name))
    return left
