"""The plain interpreter over Arrow, as Spark's Python workers run it. Knows nothing of Spark.

Rows come sorted by key, sequence and row. Only markers and the guard's values are read; all other
values pass by as Arrow has them, whatever their types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa  # type: ignore[import-untyped]

from openmirror.protocol.rows import Change, ChangeFile, Marker, Value, interpret

KEY = ("key_sequence", "key_row")
"""Two numbers that stand for a row's key: where the key's first change is."""
_Batches = Iterator[pa.RecordBatch]


def interpreter_of(
    data: list[str], guard: str, marker: str, kind: str, delete: str, extra: str
) -> Callable[[_Batches], _Batches]:
    """For each key a row of kind `delete`, and as many of kind `extra` as it has in the end.

    `data` names the columns to pass on, `guard` one of them, `marker` the row markers' and `kind`
    the column to add.
    """

    def work(batches: _Batches) -> _Batches:
        for rows in whole_keys(batches):
            firsts, kept = _interpret(rows, guard, marker)
            kinds = pa.array([delete] * len(firsts) + [extra] * len(kept), pa.string())
            taken = rows.select(data).take(pa.array([*firsts, *kept], pa.int64()))
            yield from taken.append_column(kind, kinds).to_batches()

    return work


def whole_keys(batches: _Batches) -> Iterator[pa.Table]:
    """The same rows, cut where a key ends, however they came."""
    held: list[pa.RecordBatch] = []
    last: tuple[int, int] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        keys = _keys(batch)
        if held and keys[0] != last:
            yield pa.Table.from_batches(held)
            held = []
        cut = keys.index(keys[-1])
        if cut:
            yield pa.Table.from_batches([*held, batch.slice(0, cut)])
            held = []
        held.append(batch.slice(cut))
        last = keys[-1]
    if held:
        yield pa.Table.from_batches(held)


def _interpret(rows: pa.Table, guard: str, marker: str) -> tuple[list[int], list[int]]:
    """The first row of each key, and the rows that are left in the end."""
    keys = _keys(rows)
    columns = zip(keys, rows.column(marker).to_pylist(), orderable(rows.column(guard)), strict=True)
    changes = [
        Change(Marker(code), {"key": key, "guard": value, "at": at})
        for at, (key, code, value) in enumerate(columns)
    ]
    table = interpret([ChangeFile(("at",), changes)], ["key"], "guard")
    firsts = {key: at for at, key in reversed(list(enumerate(keys)))}
    return list(firsts.values()), [int(str(row["at"])) for row in table.rows]


def _keys(rows: pa.RecordBatch | pa.Table) -> list[tuple[int, int]]:
    sequences, numbers = (rows.column(name).to_pylist() for name in KEY)
    return list(zip(sequences, numbers, strict=True))


def orderable(column: pa.ChunkedArray) -> list[Value]:
    """Values that Python orders as PROTOCOL §5.4 compares: text by bytes, times of any year."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.cast(pa.large_binary())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date(kind):
        column = column.cast(pa.int32())
    values: list[Value] = column.to_pylist()
    return values
