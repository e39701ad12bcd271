"""The stream's document in the landing zone: from where it is read on, and which tables stopped.

`_streams/<stream>.json`, written under its ETag, so that several relays of one stream agree. A
table's own files say what of it has landed; this says only what need not be read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from openmirror.cdc.records import START, Offset, StreamIdentity
from openmirror.cdc.stops import StopCode, StopReason
from openmirror.errors import WrongRequest
from openmirror.protocol.names import TablePath
from openmirror.table.layout import StorePath, join

_VERSION = 1
_FOLDER = "_streams"


@dataclass(frozen=True)
class StoppedTable:
    """Where a table stopped."""

    at: Offset
    """Its first record that did not land."""
    stop: StopReason


@dataclass(frozen=True)
class StreamDocument:
    """What every relay of the stream agrees on."""

    identity: StreamIdentity
    complete_to: Offset = START
    """Every record below it has landed, but for those of tables that stopped."""
    tables: frozenset[TablePath] = frozenset()
    """Those that files of this stream landed in."""
    stopped: Mapping[TablePath, StoppedTable] = field(default_factory=dict)
    is_snapshot_open: bool = False
    """Whether rows of a first snapshot have landed, and its end has not."""

    @property
    def needed_from(self) -> Offset:
        """The first record that may have to be read again."""
        kept = [t.at for t in self.stopped.values() if not t.stop.code.needs_snapshot]
        return min([self.complete_to, *kept])

    def advanced(
        self,
        complete_to: Offset,
        tables: Iterable[TablePath],
        stopped: Mapping[TablePath, StoppedTable],
        is_snapshot_open: bool | None = None,
    ) -> Self:
        """After a batch: nothing that another relay has written goes back by it.

        With `is_snapshot_open` of None that stays as it is.
        """
        earliest = dict(stopped)
        for path, there in self.stopped.items():
            if path not in earliest or there.at <= earliest[path].at:
                earliest[path] = there
        return replace(
            self,
            complete_to=max(self.complete_to, complete_to),
            tables=self.tables.union(tables),
            stopped=earliest,
            is_snapshot_open=(
                self.is_snapshot_open if is_snapshot_open is None else is_snapshot_open
            ),
        )

    def resumed(self, path: TablePath) -> Self:
        """A table goes on."""
        return replace(self, stopped={p: s for p, s in self.stopped.items() if p != path})

    def as_json(self) -> bytes:
        """The document's content."""
        document = {
            "version": _VERSION,
            "identity": self.identity,
            "completeTo": self.complete_to,
            "snapshotOpen": self.is_snapshot_open,
            "tables": sorted(map(_path_json, self.tables)),
            "stopped": [
                {
                    "table": _path_json(path),
                    "at": table.at,
                    "code": table.stop.code,
                    "detail": table.stop.detail,
                    "remedy": table.stop.remedy,
                }
                for path, table in sorted(self.stopped.items(), key=lambda item: str(item[0]))
            ],
        }
        return json.dumps(document, indent=2, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, content: bytes, place: StorePath) -> Self:
        """Read it; raises WrongRequest for what this version does not know."""
        try:
            document = json.loads(content)
            known = document["version"] == _VERSION
        except (ValueError, TypeError, KeyError) as error:
            raise _unreadable(place, str(error)) from error
        if not known:
            raise _unreadable(place, f"version {document['version']!r}")
        try:
            return cls(
                identity=StreamIdentity(document["identity"]),
                complete_to=Offset(int(document["completeTo"])),
                tables=frozenset(map(_path, document["tables"])),
                stopped={_path(of["table"]): _stopped(of) for of in document["stopped"]},
                is_snapshot_open=bool(document["snapshotOpen"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _unreadable(place, str(error)) from error


def _unreadable(place: StorePath, why: str) -> WrongRequest:
    return WrongRequest(
        f"{place} cannot be read ({why}): a newer version wrote it, or it was changed by hand. "
        "Remove it: the stream is then read from its beginning, and what has landed of it does not "
        "land again"
    )


def document_path(zone: StorePath, stream: str) -> StorePath:
    """Where the document of a stream lies."""
    return join(zone, _FOLDER, f"{stream}.json")


def _path_json(path: TablePath) -> list[str]:
    return [path.schema, path.table]


def _path(document: list[str]) -> TablePath:
    schema, table = document
    return TablePath(schema, table)


def _stopped(document: Mapping[str, Any]) -> StoppedTable:
    stop = StopReason(StopCode(document["code"]), str(document["detail"]), str(document["remedy"]))
    return StoppedTable(Offset(int(document["at"])), stop)
