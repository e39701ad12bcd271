"""New snapshots of single tables, which a connector takes from its beginning on. Pure.

Debezium reads the rows of such a snapshot beside the changes of all tables. Asked for while it
runs, it begins on a thread of its own, beside the one that reads the log, and the two share one
connection and one buffer of rows (seen in 3.7: a closed result set, and a row may be lost between
them). What a connector finds in its own offsets as half done, it goes on with before it reads the
log, and on that thread alone. So a snapshot is asked for there, of one table at a time, and where
it begins is marked in the spool before the connector begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from openmirror.cdc.snapshot_marks import begun_mark
from openmirror.cdc.spool.writer import SpooledRecord
from openmirror.protocol.names import TablePath
from openmirror.protocol.streams import Resnapshot

_PLAIN = re.compile(r"""[^\s."'`]+\Z""")
_HALF_DONE = "incremental_snapshot"
"""What the names of its state begin with, in a connector's offset."""
_OF_A_TABLE = "INCREMENTAL"
"""How an offset says that it is that of a row which such a snapshot sent."""
_FIRST = ("snapshot", "snapshot_completed", "last_snapshot_record")
"""What an offset says of the first snapshot."""
_TABLES = f"{_HALF_DONE}_collections"
_NUMBER = f"{_HALF_DONE}_correlation_id"


def may_be_asked(path: TablePath) -> bool:
    """Whether a connector that begins with a snapshot of this table knows it by its name.

    It writes names into its offsets without quotes, and reads them as if none were missing.
    """
    return all(_PLAIN.match(name) for name in (path.schema, path.table))


@dataclass(frozen=True)
class AskedSnapshot:
    """One that a connector begins with."""

    number: str
    schema: str
    table: str

    @classmethod
    def first_of(cls, wanted: Mapping[TablePath, Resnapshot]) -> Self | None:
        """The one whose turn it is; they are taken one after another."""
        path = min(wanted, key=str, default=None)
        if path is None:
            return None
        return cls(wanted[path].number, path.schema, path.table)

    @property
    def path(self) -> TablePath:
        """Its table."""
        return TablePath(self.schema, self.table)

    def mark(self) -> SpooledRecord:
        """The record from which on its rows come."""
        topic, value = begun_mark(self.number)
        return SpooledRecord(topic=topic, key=None, value=value)


def is_in_snapshot(source: bytes | None) -> bool:
    """Whether a stream ends inside of its first snapshot.

    A row of a table's new snapshot says that a snapshot is not completed as well: it is not the
    first one.
    """
    if not source:
        return False
    offset = json.loads(source)["offset"]
    return offset.get("snapshot_completed") is False and offset.get("snapshot") != _OF_A_TABLE


def is_begun(source: bytes | None) -> bool:
    """Whether a stream has a place behind a whole first snapshot, to go on from."""
    return bool(source) and not is_in_snapshot(source)


def place_with(source: bytes, asked: AskedSnapshot | None) -> bytes:
    """A source's own place, from which a connector goes on, with this snapshot to take.

    Whatever else was half done there is forgotten: it is asked for anew if it is still wanted.
    """
    place = json.loads(source)
    offset = {k: v for k, v in place["offset"].items() if not k.startswith(_HALF_DONE)}
    if offset.get("snapshot") == _OF_A_TABLE:
        # Or the changes behind it would come as rows of a snapshot.
        offset = {k: v for k, v in offset.items() if k not in _FIRST}
    if asked is not None:
        table = {
            f"{_TABLES}_id": f"{asked.schema}.{asked.table}",
            f"{_TABLES}_additional_condition": None,
            f"{_TABLES}_surrogate_key": None,
            f"{_TABLES}_correlation_id": asked.number,
        }
        offset |= {_TABLES: json.dumps([table]), _NUMBER: asked.number}
    return json.dumps({**place, "offset": offset}).encode()
