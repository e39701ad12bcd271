"""Folders of a landing zone that feed the same table, noticed without a listing for each table."""

from __future__ import annotations

import time
from threading import Lock

from openmirror.ports import FileStore
from openmirror.protocol.names import TableName, TablePath, table_name
from openmirror.publishing.naming import need_no_other, table_folders
from openmirror.table.layout import StorePath

_LISTED_FOR = 30.0
"""Seconds for which a listing is good. A schema of ten thousand tables is listed now and then, not
once for each of them."""

_Folders = dict[TableName, list[TablePath]]


class OwnNames:
    """The names of the tables that one stream lands in. Several threads may ask."""

    def __init__(self, store: FileStore, zone: StorePath, default_schema: str) -> None:
        self._store = store
        self._zone = zone
        self._default_schema = default_schema
        self._lock = Lock()
        self._claimed: dict[TableName, TablePath] = {}
        """The stream's own folders, which may not be there yet."""
        self._listed: dict[str, tuple[float, _Folders]] = {}
        """By case-folded schema: when its folders were listed, and what they feed."""

    def need(self, path: TablePath) -> None:
        """Raise PublishRefused where another folder feeds the same table (PROTOCOL §2.2).

        Raises what the store raises as well.
        """
        name = table_name(path, self._default_schema)
        with self._lock:
            claimed = self._claimed.get(name.folded, path)
            if any(other != path for other in self._folders(name.folded, _LISTED_FOR)):
                # The other folder may have been deleted meanwhile.
                need_no_other(path, self._folders(name.folded, 0.0), name)
            need_no_other(path, [claimed], name)
            self._claimed[name.folded] = path

    def _folders(self, folded: TableName, good_for: float) -> list[TablePath]:
        now = time.monotonic()
        listed = self._listed.get(folded.schema)
        if listed is None or now - listed[0] >= good_for:
            found: _Folders = {}
            for path in table_folders(self._store, self._zone, folded.schema, self._default_schema):
                feeds = table_name(path, self._default_schema).folded
                found.setdefault(feeds, []).append(path)
            listed = self._listed[folded.schema] = now, found
        return listed[1].get(folded, [])
