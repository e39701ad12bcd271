"""Streams of a database's changes in a landing zone, and the document of each (PROTOCOL §13.4).

`_streams/<stream>.json`, written under its ETag, so that several relays of one stream agree. A
table's own files say what of it has landed; this says only what need not be read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NewType, Self

from openmirror.protocol.names import TablePath

STREAMS_FOLDER = "_streams"
Offset = NewType("Offset", int)
"""A record's place in its stream, from 0."""
START = Offset(0)
_IDENTITY = re.compile(r"[0-9a-f]{32}\Z")


class StreamIdentity(str):
    """What a stream is called from its first record to its last: 32 hexadecimal digits.

    A stream that is made anew counts its offsets from 0 again, so offsets of two identities have
    nothing to do with each other. Raises ValueError for anything else.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> StreamIdentity:
        if not _IDENTITY.match(text):
            raise ValueError(f"{text!r} is no stream identity: 32 hexadecimal digits")
        return super().__new__(cls, text)


class StopCode(StrEnum):
    """What is wrong; each has its row in OPERATIONS."""

    RECORD_UNDECODABLE = "RecordUndecodable"
    """A record is no change envelope, or contradicts the schema that it declares."""
    SOURCE_VALUE_INVALID = "SourceValueInvalid"
    """A value has no place in its column's type."""
    SOURCE_TYPE_UNSUPPORTED = "SourceTypeUnsupported"
    """A column's type cannot be mirrored as the connector is configured."""
    VALUE_UNAVAILABLE = "ValueUnavailable"
    """The source's log does not have a value, and the connector sent its placeholder."""
    SOURCE_KEY_MISSING = "SourceKeyMissing"
    """The table has no key."""
    TRUNCATE_UNSUPPORTED = "TruncateUnsupported"
    """The source emptied the table."""
    RESNAPSHOT_NEEDED = "ResnapshotNeeded"
    """The source changed rows without an event for them."""
    EVENTS_LOST = "EventsLost"
    """Records are missing that the table needs."""
    CHANGE_REFUSED = "ChangeRefused"
    """The change breaks a rule of the landing zone."""

    @property
    def needs_snapshot(self) -> bool:
        """Whether the records that follow are of no use, so that nobody has to keep them."""
        return self in _NEED_SNAPSHOT


_NEED_SNAPSHOT = frozenset(
    {
        StopCode.SOURCE_KEY_MISSING,
        StopCode.TRUNCATE_UNSUPPORTED,
        StopCode.RESNAPSHOT_NEEDED,
        StopCode.EVENTS_LOST,
    }
)


@dataclass(frozen=True)
class StopReason:
    """Where a table stopped, and what to do."""

    code: StopCode
    detail: str
    remedy: str


_VERSION = 1
_OF_A_LOG = 2
"""The version of a document whose stream is a database's own log."""
_MOST_TO_INDENT = 1000
"""Tables of a document that is still indented, for people."""


@dataclass(frozen=True)
class StoppedTable:
    """Where a table stopped."""

    at: Offset
    """Its first record that did not land."""
    stop: StopReason

    def as_json(self) -> dict[str, object]:
        """As documents have it."""
        stop = self.stop
        return {"at": self.at, "code": stop.code, "detail": stop.detail, "remedy": stop.remedy}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read it; raises KeyError, TypeError or ValueError for anything else."""
        code = StopCode(document["code"])
        stop = StopReason(code, str(document["detail"]), str(document["remedy"]))
        return cls(Offset(int(document["at"])), stop)


@dataclass(frozen=True)
class Resnapshot:
    """A new snapshot of one table that was asked for, and has not landed."""

    number: str
    """What it is asked for by."""
    since: Offset | None = None
    """Where its rows begin; None before that."""
    attempts: int = 1


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """The database whose log a stream reads, and what of it is mirrored (PROTOCOL §13.4).

    Offsets of such a stream are LSNs, positions in the database's log.
    """

    system: str
    """The server's system identifier."""
    database: int
    """The database's OID."""
    timeline: int
    """The server's timeline when the stream was last begun or gone on with."""
    publication: int
    """The publication's OID: another one for a publication that was made again."""
    tables: Mapping[int, TablePath] = field(default_factory=dict)
    """The published tables, by their OIDs."""
    as_text: frozenset[str] = frozenset()
    """Columns that are mirrored as text, as `schema.table.column`."""
    without: frozenset[str] = frozenset()
    """Columns that are left out, likewise."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Tables and columns that are not mirrored, each with the reason."""

    def as_json(self) -> dict[str, object]:
        """Return the source as documents have it."""
        return {
            "system": self.system,
            "database": self.database,
            "timeline": self.timeline,
            "publication": self.publication,
            "tables": [[oid, *_path_json(path)] for oid, path in sorted(self.tables.items())],
            "asText": sorted(self.as_text),
            "without": sorted(self.without),
            "leftOut": dict(sorted(self.left_out.items())),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read a source. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            system=str(document["system"]),
            database=int(document["database"]),
            timeline=int(document["timeline"]),
            publication=int(document["publication"]),
            tables={
                int(oid): TablePath(schema, table) for oid, schema, table in document["tables"]
            },
            as_text=frozenset(map(str, document["asText"])),
            without=frozenset(map(str, document["without"])),
            left_out={str(name): str(why) for name, why in document["leftOut"].items()},
        )


@dataclass(frozen=True, kw_only=True)
class StreamDocument:
    """What every relay of the stream agrees on."""

    identity: StreamIdentity
    made: str = ""
    """The document's own number, another one for each that is made."""
    begins_at: Offset = START
    """The first record that could be read when the document was made."""
    complete_to: Offset = START
    """Every record below it has landed, but for those of tables that stopped."""
    tables: frozenset[TablePath] = frozenset()
    """Those that files of this stream landed in."""
    stopped: Mapping[TablePath, StoppedTable] = field(default_factory=dict)
    is_snapshot_open: bool = False
    """Whether rows of a first snapshot have landed, and its end has not."""
    resnapshots: Mapping[TablePath, Resnapshot] = field(default_factory=dict)
    """Tables whose rows come anew."""
    sources: Mapping[str, TablePath | None] = field(default_factory=dict)
    """Where those tables of the source land that do not land under their own names, or did not
    once; None for one that is left out."""
    log: LogSource | None = None
    """The database whose log the stream is; None for the records of a topic."""

    @property
    def needed_from(self) -> Offset:
        """The first record that may have to be read again."""
        kept = [t.at for t in self.stopped.values() if not t.stop.code.needs_snapshot]
        begun = [one.since for one in self.resnapshots.values() if one.since is not None]
        return min([self.complete_to, *kept, *begun])

    def begun_at(self, earliest: Offset) -> Self:
        """Of a stream whose records before that are gone."""
        return replace(self, begins_at=max(self.begins_at, earliest))

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

    def resumed(self, *paths: TablePath) -> Self:
        """Tables go on."""
        gone = frozenset(paths)
        return replace(self, stopped={p: s for p, s in self.stopped.items() if p not in gone})

    def wanting(self, path: TablePath, number: str) -> Self:
        """A new snapshot of a table is asked for; one that is already keeps its number."""
        return self.wanting_all({path: number})

    def wanting_all(self, numbers: Mapping[TablePath, str]) -> Self:
        """Return the document that asks for snapshots; one that it asks for keeps its number."""
        new = {path: Resnapshot(number) for path, number in numbers.items()}
        return replace(self, resnapshots={**new, **self.resnapshots}) if new else self

    def begun(self, since: Mapping[str, Offset]) -> Self:
        """Return the document with where the rows of snapshots begin, by their numbers.

        A snapshot that began before keeps its beginning.
        """
        found = {
            path: replace(one, since=since[one.number])
            if one.number in since and one.since is None
            else one
            for path, one in self.resnapshots.items()
        }
        return replace(self, resnapshots=found) if since else self

    def wanting_again(
        self, resnapshots: Mapping[TablePath, Resnapshot], anew: Callable[[], str]
    ) -> Self:
        """New snapshots that nobody here knows of are asked for once more, by other numbers."""
        again = {
            path: Resnapshot(anew(), None, one.attempts + 1)
            for path, one in resnapshots.items()
            if path not in self.resnapshots
        }
        return replace(self, resnapshots={**self.resnapshots, **again})

    def without_resnapshot(self, path: TablePath) -> Self:
        """A snapshot has landed, or is given up."""
        return self.without_resnapshots(path)

    def without_resnapshots(self, *paths: TablePath) -> Self:
        """Return the document once these snapshots have landed, or are given up."""
        gone = frozenset(paths)
        left = {p: one for p, one in self.resnapshots.items() if p not in gone}
        return replace(self, resnapshots=left)

    def as_json(self) -> bytes:
        """The document's content."""
        document: dict[str, object] = {
            "version": _VERSION if self.log is None else _OF_A_LOG,
            "identity": self.identity,
            "made": self.made,
            "beginsAt": self.begins_at,
            "completeTo": self.complete_to,
            "snapshotOpen": self.is_snapshot_open,
            "tables": sorted(map(_path_json, self.tables)),
            "stopped": [
                {"table": _path_json(path), **table.as_json()}
                for path, table in sorted(self.stopped.items(), key=lambda item: str(item[0]))
            ],
            "resnapshots": [
                {
                    "table": _path_json(path),
                    "number": one.number,
                    "since": one.since,
                    "attempts": one.attempts,
                }
                for path, one in sorted(self.resnapshots.items(), key=lambda item: str(item[0]))
            ],
            "sources": {
                source: path and _path_json(path) for source, path in sorted(self.sources.items())
            },
        }
        if self.log is not None:
            document["log"] = self.log.as_json()
        # Python's encoder of indented JSON takes ten times as long.
        indent = 2 if len(self.tables) + len(self.resnapshots) < _MOST_TO_INDENT else None
        text = json.dumps(document, indent=indent, ensure_ascii=False)
        # A byte of the source that is no text, such as of an enum's label, becomes JSON's escape.
        return text.encode(errors="backslashreplace")

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read it; raises ValueError for what this version does not know."""
        try:
            document = json.loads(content)
            if document["version"] in (_VERSION, _OF_A_LOG):
                is_of_log = document["version"] == _OF_A_LOG
                return cls(
                    identity=StreamIdentity(document["identity"]),
                    made=str(document.get("made", "")),
                    begins_at=Offset(int(document.get("beginsAt", START))),
                    complete_to=Offset(int(document["completeTo"])),
                    tables=frozenset(map(_path, document["tables"])),
                    stopped={
                        _path(of["table"]): StoppedTable.from_json(of) for of in document["stopped"]
                    },
                    is_snapshot_open=bool(document["snapshotOpen"]),
                    resnapshots={
                        _path(of["table"]): _resnapshot(of)
                        for of in document.get("resnapshots", ())
                    },
                    sources={
                        source: path and _path(path)
                        for source, path in document.get("sources", {}).items()
                    },
                    log=LogSource.from_json(document["log"]) if is_of_log else None,
                )
            why = f"version {document['version']!r}"
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            why = str(error)
        raise ValueError(f"it is no document of a stream that this version reads ({why})")


def _path_json(path: TablePath) -> list[str]:
    return [path.schema, path.table]


def _path(document: list[str]) -> TablePath:
    schema, table = document
    return TablePath(schema, table)


def _resnapshot(document: Mapping[str, Any]) -> Resnapshot:
    since = document["since"]
    begun = None if since is None else Offset(int(since))
    return Resnapshot(str(document["number"]), begun, int(document["attempts"]))
