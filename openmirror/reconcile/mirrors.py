"""One mirror as a whole: its settings, its document, its bulk-drop guard."""

from __future__ import annotations

from collections.abc import Iterable

from openmirror.errors import ConditionFailed
from openmirror.mirroring import Mirroring
from openmirror.plan.mirror import ObservedMirror, plan_mirror
from openmirror.plan.observed import TablePolicy
from openmirror.plan.transitions.confirmed import used_up
from openmirror.ports import ABSENT, FileStore
from openmirror.protocol.names import TableFolder, TableName
from openmirror.protocol.rules import Broken
from openmirror.reconcile.discovery import known_folders, landed_folders
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.mirror_reads import read_mirror, read_settings
from openmirror.reconcile.root_ports import RootPorts
from openmirror.table import layout
from openmirror.table.control import MirrorDocument


def policy_for(settings: Mirroring | Broken, name: TableName) -> TablePolicy | Broken:
    """The policy that the settings of a mirror give one table, or the rule that they break."""
    return settings if isinstance(settings, Broken) else settings.policy_of(name)


def wrong_settings(store: FileStore, mirrors: Iterable[str]) -> dict[str, str]:
    """The mirrors whose mirroring.json is refused, and what is wrong with each."""
    read = {mirror: read_settings(store, mirror)[0] for mirror in mirrors}
    return {
        mirror: settings.detail for mirror, settings in read.items() if isinstance(settings, Broken)
    }


def default_schema(store: FileStore, mirror: str) -> str:
    """The mirror's frozen default schema, or the one that would be frozen now; reads only."""
    return read_mirror(store, mirror).default_schema


def _declared_schema(store: FileStore, mirror: str) -> str | None:
    settings, _ = read_settings(store, mirror)
    return None if isinstance(settings, Broken) else settings.default_schema


def open_mirror(store: FileStore, mirror: str) -> MirrorDocument:
    """Freeze the default schema and the landing zone's identity when a mirror is first used."""
    documents = Documents(store)
    stored = documents.mirror(mirror)
    if stored.etag is not ABSENT:
        return stored.value
    schema = _declared_schema(store, mirror)
    if schema is None:
        return stored.value  # not frozen yet: every table of the mirror shows what is wrong
    zone = store.incarnation(layout.landing_zone(mirror))
    value = MirrorDocument(default_schema=schema, zone=zone)
    try:
        return documents.save_mirror(mirror, value, ABSENT).value
    except ConditionFailed:
        return documents.mirror(mirror).value


def take_confirmation(store: FileStore, folder: TableFolder) -> None:
    """Use up an operator's confirmation: a table that comes back must not be dropped by it."""
    documents = Documents(store)
    stored = documents.mirror(folder.mirror)
    left = used_up(stored.value, folder)
    if left != stored.value:
        documents.save_mirror(folder.mirror, left, stored.etag)


def bulk_drop_guard(ports: RootPorts, mirror: str) -> frozenset[TableFolder]:
    """The tables of a mirror that may not be dropped before a person has confirmed it.

    Tables of a schema that cannot be listed count as missing: one too many only asks too often.
    """
    documents = Documents(ports.store)
    document = documents.mirror(mirror).value
    tables = frozenset(
        folder
        for folder, etag in known_folders(ports.store, mirror).items()
        if ports.recorded.holds(documents, folder, etag)
    )
    zone = ports.store.incarnation(layout.landing_zone(mirror))
    confirmed = frozenset(f for f in tables if str(f.path) in document.confirmed_drops)
    return plan_mirror(
        ObservedMirror(
            tables=tables,
            missing=tables - landed_folders(ports.store, mirror),
            confirmed=confirmed,
            zone_is_known=document.zone in (None, zone),
        )
    )
