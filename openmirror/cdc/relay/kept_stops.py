"""Stops that a table's own folder remembers, for a stream's document that is lost.

What such a table has missed is forgotten in the stream: without its stop, it would go on behind the
gap, and nobody would know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from openmirror.errors import NotThere
from openmirror.ports import FileStore
from openmirror.protocol.names import SCHEMA_SUFFIX, TablePath, is_reserved
from openmirror.protocol.streams import StoppedTable, StreamIdentity
from openmirror.table.layout import StorePath, join

_PREFIX = "_stopped-"


def keep_stop(
    store: FileStore, folder: StorePath, stream: str, identity: StreamIdentity, stop: StoppedTable
) -> None:
    """Remember it, if the table has a folder: without one, nothing of it has landed."""
    if store.incarnation(folder) is None:
        return
    document = {"identity": identity, **stop.as_json()}
    store.write(_path(folder, stream), json.dumps(document, ensure_ascii=False).encode())


def forget_stop(store: FileStore, folder: StorePath, stream: str) -> None:
    """The table goes on."""
    try:
        store.delete_file(_path(folder, stream))
    except NotThere:
        return


def kept_stops(
    store: FileStore, zone: StorePath, stream: str, identity: StreamIdentity
) -> dict[TablePath, StoppedTable]:
    """The stops of a stream that tables' folders remember; what cannot be read counts as none."""
    found = {}
    for path in _tables(store, zone):
        try:
            content = store.read(_path(join(zone, *str(path).split("/")), stream)).data
            document = json.loads(content)
            if document["identity"] == identity:
                found[path] = StoppedTable.from_json(document)
        except (NotThere, ValueError, KeyError, TypeError):
            continue
    return found


def _path(folder: StorePath, stream: str) -> StorePath:
    return join(folder, f"{_PREFIX}{stream}.json")


def _tables(store: FileStore, zone: StorePath) -> Iterator[TablePath]:
    for name in _folders(store, zone):
        schema = name.removesuffix(SCHEMA_SUFFIX)
        if schema == name:
            yield TablePath("", name)
        elif schema:
            for table in _folders(store, join(zone, name)):
                yield TablePath(schema, table)


def _folders(store: FileStore, folder: StorePath) -> list[str]:
    try:
        entries = store.list_folder(folder).entries
    except NotThere:
        return []
    return [entry.name for entry in entries if entry.is_folder and not is_reserved(entry.name)]
