"""`_snapshot/state.json`: which snapshot a table is, and which one it is about to be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openmirror.protocol.names import Incarnation
from openmirror.protocol.schema import Column, ColumnType, TableSchema

VERSION = 1


@dataclass(frozen=True)
class KeptPart:
    """One Parquet file of a snapshot's folder, by which damage is noticed."""

    name: str
    rows: int
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True, kw_only=True)
class SnapshotState:
    """What is kept of one snapshot."""

    number: int
    """1, 2, 3 …: the position of the source `snapshot`."""
    folder: str
    """Of this snapshot alone, below `_snapshot`."""
    keys: TableSchema
    """The key columns, in the order of `k0`, `k1` … of the parts."""
    rows: int
    """Of the table."""
    parts: tuple[KeptPart, ...]
    """Keys and row hashes."""
    published: int
    """Change rows of this incarnation of the folder, once this snapshot has landed whole."""


@dataclass(frozen=True)
class OpenPlan:
    """A snapshot whose differences land, or are about to."""

    snapshot: SnapshotState
    parts: tuple[KeptPart, ...]
    """Change rows, in the order in which they land."""

    @property
    def rows(self) -> int:
        """Change rows."""
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True)
class SnapshotDocument:
    """The whole file."""

    incarnation: Incarnation | None
    """Of the table folder that it was written in."""
    current: SnapshotState | None = None
    """The last snapshot that landed whole; None before the first."""
    open: OpenPlan | None = None
    """What must land before anything else is compared."""

    @property
    def newest(self) -> SnapshotState | None:
        """The snapshot that the table is once nothing is open."""
        return self.open.snapshot if self.open is not None else self.current

    def as_json(self) -> bytes:
        """The file's bytes."""
        document = {
            "version": VERSION,
            "incarnation": self.incarnation,
            "current": self.current and _state_json(self.current),
            "open": self.open
            and {
                "snapshot": _state_json(self.open.snapshot),
                "parts": [_part_json(part) for part in self.open.parts],
            },
        }
        return json.dumps(document, indent=1, ensure_ascii=False).encode()


def parse_document(data: bytes) -> SnapshotDocument:
    """Read the file; ValueError for what this version does not understand."""
    try:
        document = json.loads(data)
        if document["version"] != VERSION:
            raise ValueError(f"version {document['version']!r} is not known here")
        current, plan = document["current"], document["open"]
        return SnapshotDocument(
            document["incarnation"],
            current and _state(current),
            plan and OpenPlan(_state(plan["snapshot"]), _parts(plan["parts"])),
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _state_json(state: SnapshotState) -> Mapping[str, Any]:
    return {
        "number": state.number,
        "folder": state.folder,
        "keys": [[column.name, column.type] for column in state.keys.columns],
        "rows": state.rows,
        "parts": [_part_json(part) for part in state.parts],
        "published": state.published,
    }


def _state(document: Mapping[str, Any]) -> SnapshotState:
    return SnapshotState(
        number=int(document["number"]),
        folder=str(document["folder"]),
        keys=TableSchema(tuple(Column(name, ColumnType(kind)) for name, kind in document["keys"])),
        rows=int(document["rows"]),
        parts=_parts(document["parts"]),
        published=int(document["published"]),
    )


def _part_json(part: KeptPart) -> Mapping[str, Any]:
    return {"name": part.name, "rows": part.rows, "size": part.size, "sha256": part.sha256}


def _parts(documents: Sequence[Mapping[str, Any]]) -> tuple[KeptPart, ...]:
    return tuple(
        KeptPart(str(d["name"]), int(d["rows"]), int(d["size"]), str(d["sha256"]))
        for d in documents
    )
