"""Whether each version of a table is what its database's stream had made of it by some record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from deltalake import DeltaTable

from openmirror.cdc.decoded import DecodedRows
from openmirror.cdc.decoding.decoder import Decoder
from openmirror.cdc.records import RecordSource
from openmirror.protocol.streams import Offset
from tests.zone import Mirror, bag

_CONTROL = "__"
_Key = tuple[object, ...]
_Row = Mapping[str, object]


class ReadRecords:
    """What was read of a stream by any relay, each record once."""

    def __init__(self) -> None:
        self._records: dict[int, pa.Table] = {}

    def keep(self, records: pa.Table) -> pa.Table:
        """The same records."""
        for row, offset in enumerate(records.column("offset").to_pylist()):
            self._records[offset] = records.slice(row, 1)
        return records

    def of_tables(self, mirror: Mirror) -> dict[str, list[DecodedRows]]:
        """The changes of each table, by its name."""
        decoded = Decoder(mirror.spark).decode(
            pa.concat_tables([self._records[at] for at in sorted(self._records)])
        )
        assert not decoded.undecodable
        found: dict[str, list[DecodedRows]] = {}
        for piece in decoded.tables:
            found.setdefault(piece.table.table, []).append(piece)
        return found


def keeping(source: type[RecordSource], records: ReadRecords) -> type[RecordSource]:
    """The same kind of source, whose records are kept."""

    class Kept(source):  # type: ignore[misc,valid-type]
        def read(self, start: Offset, most_records: int, most_bytes: int) -> pa.Table:
            return records.keep(super().read(start, most_records, most_bytes))

    return Kept


def versions_behind_the_first(
    mirror: Mirror, path: str, pieces: Sequence[DecodedRows], keys: Sequence[str]
) -> int:
    """How many versions of a table there are behind its first; each one is a prefix."""
    prefixes = set(_states(pieces, keys))
    versions = list(_versions(mirror, path))
    assert set(versions) <= prefixes, f"{path}: {[one in prefixes for one in versions]}"
    return len(versions) - 1


def fingerprint(rows: Iterable[_Row]) -> int:
    """The same for the same rows, in any order. A column that a row lacks is NULL."""
    present = ({name: cell for name, cell in row.items() if cell is not None} for row in rows)
    return sum(hash(str(bag([row]))) for row in present)


def _states(pieces: Sequence[DecodedRows], keys: Sequence[str]) -> Iterator[int]:
    """What a table holds after each record, but for those between the halves of a changed key.

    A snapshot begins by emptying it: its rows say the same place in the source's log.
    """
    records = [row for piece in pieces for row in piece.rows.to_pylist()]
    rows: dict[_Key, _Row] = {}
    held, snapshot = 0, None
    yield held
    for record in sorted(records, key=lambda one: one["__offset"]):
        op, place = record["__op"], record["__position"]
        if op == "t" or (op == "r" and place != snapshot):
            rows, held = {}, 0
            yield held
        if op == "r":
            snapshot = place
        if op != "t":
            own = {name: cell for name, cell in record.items() if not name.startswith(_CONTROL)}
            key = tuple(own[name] for name in keys)
            before = rows.pop(key, {})
            held -= fingerprint([before]) if before else 0
            if op != "d":
                own |= {name: before.get(name) for name in json.loads(record["__absent"] or "[]")}
                rows[key] = own
                held += fingerprint([own])
        if record["__pair"] != "newkey":
            yield held


def _versions(mirror: Mirror, path: str) -> Iterator[int]:
    for version in range(mirror.versions(path)):
        table = DeltaTable(mirror.delta_path(path), version=version)
        yield fingerprint(table.to_pyarrow_table().to_pylist())
