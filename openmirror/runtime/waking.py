"""Which tables a wake-up is for: it names a landing folder, and that may feed two."""

from __future__ import annotations

from openmirror.errors import is_of_one_place
from openmirror.plan.history import is_wanted
from openmirror.protocol.names import TableFolder, name_of
from openmirror.reconcile.mirrors import policy_for
from openmirror.reconcile.root_ports import RootPorts


def tables_of(ports: RootPorts, folder: TableFolder) -> tuple[TableFolder, ...]:
    """The tables that this folder feeds, as its mirror was some seconds ago.

    A history that is not woken by this is found by the next sweep.
    """
    if folder.is_history:
        return (folder,)
    try:
        mirror = ports.mirrors.recent(ports.store, folder.mirror, ports.seconds())
    except Exception as error:
        if not is_of_one_place(error):
            raise
        return (folder,)  # whoever reconciles it reports what is wrong
    policy = policy_for(mirror.settings, name_of(folder, mirror.default_schema))
    return (folder, folder.history) if is_wanted(policy) else (folder,)
