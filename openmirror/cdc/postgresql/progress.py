"""How far a stream has landed in one table, as the footers of its files say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from openmirror.cdc.postgresql.definitions import Oid
from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.shapes import TableShape
from openmirror.errors import OtherPublisher
from openmirror.protocol.schema import ColumnType
from openmirror.protocol.streams import StreamIdentity
from openmirror.publishing.newest import ZoneState


@dataclass(frozen=True)
class SentColumn:
    """A column as the log sent it."""

    name: str
    delta: ColumnType
    type: Oid
    modifier: int


def sent_columns(shape: TableShape) -> tuple[SentColumn, ...]:
    """Return the mirrored columns of a shape."""
    return tuple(SentColumn(c.name, c.reading.type, c.type, c.modifier) for c in shape.columns)


@dataclass(frozen=True, kw_only=True)
class LogProgress:
    """The progress of a stream in one table, as the newest footer has it (PROTOCOL §13.4)."""

    identity: StreamIdentity
    place: LogPlace
    """Every change of this table up to here, inclusive, has landed."""
    columns: tuple[SentColumn, ...]
    """The table's columns as the newest rows were sent, without those of lineage."""
    load: str
    """The number of the newest load, by which the table began."""
    fingerprint: Fingerprint
    """The table in the catalogue, as it was read behind the newest rows."""

    def as_json(self) -> dict[str, object]:
        """Return the progress as a footer has it."""
        return {
            "identity": self.identity,
            "place": list(self.place),
            "columns": [[c.name, c.delta, c.type, c.modifier] for c in self.columns],
            "load": self.load,
            "definition": self.fingerprint,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read a footer's progress. Raises OtherPublisher for what this version does not know."""
        try:
            commit, number = document["place"]
            columns = tuple(
                SentColumn(str(name), ColumnType(delta), int(kind), int(modifier))
                for name, delta, kind, modifier in document["columns"]
            )
            return cls(
                identity=StreamIdentity(document["identity"]),
                place=LogPlace(Lsn(int(commit)), int(number)),
                columns=columns,
                load=str(document["load"]),
                fingerprint=Fingerprint(str(document["definition"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OtherPublisher(
                f"a footer's progress of a stream cannot be read ({error!r}): another program "
                "wrote it, or another version"
            ) from error


def is_of_stream(state: ZoneState, stream: str) -> bool:
    """Return whether any identity of the stream has landed in a folder."""
    return state.carried is not None and stream in state.carried.streams


def progress_in(state: ZoneState, stream: str, identity: StreamIdentity) -> LogProgress | None:
    """Return how far this stream has landed in a folder.

    None where it has not landed there, or only by another identity or an older version.
    Raises OtherPublisher for progress of this stream that cannot be read.
    """
    found = state.carried.streams.get(stream) if state.carried is not None else None
    if found is None or found.get("identity") != identity:
        return None
    return LogProgress.from_json(found)
