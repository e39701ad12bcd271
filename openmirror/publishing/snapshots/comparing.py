"""What changed between two snapshots of a table, found out of core by DuckDB.

Of the last snapshot only its keys are known, with a hash of each row. Keys are equal as PROTOCOL
§5.4 has it: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0, text and bytes compare byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.errors import OpenmirrorError, WrongRequest
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.schema import Column, TableSchema
from openmirror.publishing.snapshots.columns_sql import (
    equalised,
    file_sql,
    row_hash,
    text_sql,
    widened,
)
from openmirror.publishing.snapshots.spooling import Spool, restored

_BATCH_ROWS = 1 << 17
_EXAMPLES = 5


class ComparisonFailed(OpenmirrorError):
    """DuckDB could not compare: most often the disk or the memory that it may use is full."""


class DuplicateKeys(WrongRequest):
    """A snapshot has a key twice, so nobody could say which row is the table's."""


@dataclass(frozen=True)
class Resources:
    """What a comparison may use of this machine."""

    memory: int = 512 << 20
    """Bytes for DuckDB; what does not fit is kept in files."""
    threads: int = 2


@dataclass(frozen=True)
class KeptKeys:
    """Keys and row hashes of the last snapshot, as local files."""

    files: Sequence[Path]
    columns: TableSchema
    """The key columns, in the order of `k0`, `k1` … of the files."""


@dataclass(frozen=True)
class Differences:
    """How many rows of each kind a comparison found."""

    added: int
    changed: int
    deleted: int

    @property
    def total(self) -> int:
        """Change rows that have to be published."""
        return self.added + self.changed + self.deleted


def compare(
    new: Spool, old: KeptKeys | None, key: Sequence[str], temp: Path, resources: Resources
) -> SnapshotComparison:
    """Compare a snapshot with the one before, or with nothing.

    `temp` is a folder for what does not fit into memory. Raises WrongRequest where a key column is
    missing or a row marker is there, DuplicateKeys with examples, ComparisonFailed.
    """
    if (marker := new.columns.find(ROW_MARKER_COLUMN)) is not None:
        raise WrongRequest(
            f"the snapshot has a column {marker.name}: rows that say what they do are changes, and "
            "no snapshot. Publish them without --snapshot"
        )
    keys = key_columns(new.columns, key)
    connection = duckdb.connect()
    try:
        with _reported(temp):
            return _opened(connection, new, old, keys, temp, resources)
    except BaseException:
        connection.close()
        raise


def _opened(
    connection: duckdb.DuckDBPyConnection,
    new: Spool,
    old: KeptKeys | None,
    keys: TableSchema,
    temp: Path,
    resources: Resources,
) -> SnapshotComparison:
    connection.execute(f"SET memory_limit = '{resources.memory // (1 << 20)}MiB'")
    connection.execute(f"SET threads = {resources.threads}")
    connection.execute(f"SET temp_directory = {text_sql(str(temp / 'duckdb'))}")
    connection.execute("SET preserve_insertion_order = false")
    comparison = SnapshotComparison(connection, new, keys, temp)
    comparison.find(old)
    return comparison


@contextmanager
def _reported(temp: Path) -> Iterator[None]:
    """DuckDB's errors as one of ours, which says where it works."""
    try:
        yield
    except duckdb.Error as error:
        words = str(error).strip().splitlines()[0]
        raise ComparisonFailed(
            f"the comparison failed: {words}. It works below {temp}; TMPDIR chooses another disk"
        ) from error


def key_columns(columns: TableSchema, key: Sequence[str]) -> TableSchema:
    """The key columns with their types; raises WrongRequest for one that is not there."""
    found = []
    for name in key:
        column = columns.find(name)
        if column is None:
            there = ", ".join(columns.names)
            raise WrongRequest(
                f"the snapshot has no column {name!r} with values, which is a key column; it has "
                f"{there} (PROTOCOL §5.1)"
            )
        found.append(column)
    return TableSchema(tuple(found))


class SnapshotComparison:
    """An open comparison, whose rows can be read; close it."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, new: Spool, keys: TableSchema, temp: Path
    ) -> None:
        self._sql = connection
        self._new = new
        self._keys = keys
        self._kept = temp / "keys.parquet"
        self._is_first = True
        self.differences = Differences(new.rows, 0, 0)
        """What was found."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of memory and files."""
        self._sql.close()

    @property
    def keys(self) -> TableSchema:
        """The key columns, with the types that the new state has them in."""
        return self._keys

    def find(self, old: KeptKeys | None) -> None:
        """Compare; raises DuplicateKeys."""
        self._keep_keys()
        self._need_unique()
        if old is None or not old.files:
            return  # the table has no rows
        self._is_first = False
        self._join(old)
        counts: dict[str, int] = dict(
            self._sql.execute("SELECT kind, count(*) FROM changes GROUP BY kind").fetchall()
        )
        self.differences = Differences(
            counts.get("added", 0), counts.get("changed", 0), counts.get("deleted", 0)
        )

    def state(self) -> Iterator[pa.RecordBatch]:
        """Keys and row hashes of the new snapshot: `k0`, `k1` …, `h0`, `h1`."""
        names = ", ".join([*self._key_names, "h0", "h1"])
        yield from self._batches(f"SELECT {names} FROM {file_sql(self._kept)}")

    def plan(self) -> Iterator[pa.RecordBatch]:
        """The change rows: deletes, which have the key columns alone, then all others.

        Columns are the table's; the last is the row marker. A first snapshot is inserts, since the
        table has no rows; so is one after an empty one. All others upsert.
        """
        if self._is_first:
            yield from self._rows(Marker.INSERT, "true")
            return
        yield from self._deletes()
        yield from self._rows(
            Marker.UPSERT, "file_row_number IN (SELECT n FROM changes WHERE kind <> 'deleted')"
        )

    @property
    def _key_names(self) -> list[str]:
        return [f"k{at}" for at in range(len(self._keys.columns))]

    def _keep_keys(self) -> None:
        places = [self._place(column) for column in self._keys.columns]
        keys = [
            f"{equalised(f'c{at}', column.type)} AS k{number}"
            for number, (at, column) in enumerate(zip(places, self._keys.columns, strict=True))
        ]
        others = [
            (f"c{at}", column)
            for at, column in enumerate(self._new.columns.columns)
            if at not in places
        ]
        self._sql.execute(
            f"COPY (SELECT n, {', '.join(self._key_names)}, "
            "(h >> 64)::UBIGINT AS h0, (h & 18446744073709551615::UHUGEINT)::UBIGINT AS h1 "
            f"FROM (SELECT file_row_number AS n, {', '.join(keys)}, {row_hash(others)} AS h "
            f"FROM {file_sql(self._new.path, numbered=True)})) "
            f"TO {text_sql(str(self._kept))} (FORMAT parquet, COMPRESSION lz4_raw)"
        )

    def _place(self, column: Column) -> int:
        folded = [fold_case(name) for name in self._new.columns.names]
        return folded.index(fold_case(column.name))

    def _need_unique(self) -> None:
        names = ", ".join(self._key_names)
        found: Any = self._sql.sql(
            f"SELECT {names}, count(*) AS rows FROM {file_sql(self._kept)} GROUP BY {names} "
            f"HAVING count(*) > 1 LIMIT {_EXAMPLES}"
        ).to_arrow_table()
        if found.num_rows == 0:
            return
        examples = [
            f"{self._shown(found, row)} ({found.column('rows')[row]} rows)"
            for row in range(found.num_rows)
        ]
        raise DuplicateKeys(
            f"a snapshot has one row for each key ({', '.join(self._keys.names)}), and this one "
            f"has several for {'; '.join(examples)}. Remove the repeated rows, or name more "
            "columns with --key"
        )

    def _shown(self, found: pa.Table, row: int) -> str:
        values = []
        for name, column in zip(self._key_names, self._keys.columns, strict=True):
            value = restored(found.column(name).slice(row, 1), column.type)[0].as_py()
            text = "NULL" if value is None else str(value)
            values.append(text if len(text) <= 60 else f"{text[:60]}…")
        return ", ".join(values)

    def _join(self, old: KeptKeys) -> None:
        before = [
            f"{widened(f'k{at}', was.type, now.type)} AS k{at}"
            for at, (was, now) in enumerate(
                zip(old.columns.columns, self._keys.columns, strict=True)
            )
        ]
        same = " AND ".join(f"n.{k} IS NOT DISTINCT FROM o.{k}" for k in self._key_names)
        self._sql.execute(
            "CREATE TEMP TABLE changes AS SELECT n.n, "
            + ", ".join(f"o.{k}" for k in self._key_names)
            + ", CASE WHEN n.n IS NULL THEN 'deleted' WHEN o.h0 IS NULL THEN 'added' "
            "ELSE 'changed' END AS kind "
            f"FROM {file_sql(self._kept)} n FULL JOIN "
            f"(SELECT {', '.join(before)}, h0, h1 FROM {file_sql(*old.files)}) o ON {same} "
            "WHERE n.n IS NULL OR o.h0 IS NULL OR n.h0 <> o.h0 OR n.h1 <> o.h1"
        )

    def _deletes(self) -> Iterator[pa.RecordBatch]:
        names = ", ".join(self._key_names)
        query = f"SELECT {names} FROM changes WHERE kind = 'deleted'"
        for batch in self._batches(query):
            arrays = [
                restored(array, column.type)
                for array, column in zip(batch.columns, self._keys.columns, strict=True)
            ]
            yield _marked(arrays, self._keys.names, Marker.DELETE)

    def _rows(self, marker: Marker, where: str) -> Iterator[pa.RecordBatch]:
        columns = self._new.columns.columns
        names = ", ".join(f"c{at}" for at in range(len(columns)))
        query = f"SELECT {names} FROM {file_sql(self._new.path, numbered=True)} WHERE {where}"
        for batch in self._batches(query):
            arrays = [
                restored(array, column.type)
                for array, column in zip(batch.columns, columns, strict=True)
            ]
            yield _marked(arrays, self._new.columns.names, marker)

    def _batches(self, query: str) -> Iterator[pa.RecordBatch]:
        with _reported(self._kept.parent):
            reader: pa.RecordBatchReader = self._sql.sql(query).to_arrow_reader(_BATCH_ROWS)
            yield from reader


def _marked(arrays: list[Any], names: Sequence[str], marker: Marker) -> pa.RecordBatch:
    count = len(arrays[0])
    return pa.record_batch(
        [*arrays, pa.repeat(pa.scalar(marker.value, pa.int8()), count)],
        names=[*names, ROW_MARKER_COLUMN],
    )
