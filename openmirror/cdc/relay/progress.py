"""How far one stream has landed in one table, as the footers of its files carry it forward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from openmirror.cdc.relay.connector_snapshots import SnapshotPlace
from openmirror.cdc.relay.source_order import SeenChanges
from openmirror.errors import OtherPublisher
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.protocol.streams import Offset, StreamIdentity


@dataclass(frozen=True, kw_only=True)
class TableProgress:
    """What the newest footer says of a stream."""

    identity: StreamIdentity
    through: Offset
    """All records of this table below it have landed."""
    seen: SeenChanges
    columns: TableSchema
    """The table's columns by the schema that its newest records declare."""
    snapshot: SnapshotPlace | None = None
    """Where in the source's log the newest snapshot of the connector's own was taken."""
    database: str | None = None
    """The source's database; None for a footer of an older version."""

    def as_json(self) -> dict[str, object]:
        """As a footer has it (PROTOCOL §13.4)."""
        return {
            "identity": self.identity,
            "through": self.through,
            "seen": self.seen.as_json(),
            "columns": [[column.name, column.type] for column in self.columns.columns],
            # Read by versions that took such snapshots: null says that the table never had one.
            "resnapshot": None,
            "snapshot": None if self.snapshot is None else list(self.snapshot),
            "database": self.database,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read it; raises OtherPublisher for what this version does not know."""
        try:
            return cls(
                identity=StreamIdentity(document["identity"]),
                through=Offset(int(document["through"])),
                seen=SeenChanges.from_json(document["seen"]),
                columns=TableSchema(
                    tuple(Column(name, ColumnType(kind)) for name, kind in document["columns"])
                ),
                snapshot=_place(document.get("snapshot")),
                database=document.get("database"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OtherPublisher(
                f"a footer's progress of a stream cannot be read ({error!r}): another program "
                "wrote it, or a newer version"
            ) from error


def _place(numbers: Iterable[Any] | None) -> SnapshotPlace | None:
    return None if numbers is None else tuple(map(int, numbers))
