"""A load's file against a simulated history: rows of different moments, and changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.load_file import LoadFile, resolution_of
from openmirror.cdc.postgresql.load_state import ChangePart, LoadState, RereadPart, RowPart
from openmirror.cdc.postgresql.partial_rows import RowKey, resolved
from openmirror.cdc.postgresql.placed_rows import COMMIT_COLUMN, NUMBER_COLUMN
from openmirror.cdc.postgresql.places import LogPlace, Lsn
from openmirror.cdc.postgresql.staging import StagedPieces
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.partial_updates import absent_columns, marker_of_partial_update
from openmirror.protocol.rows import Change, ChangeFile, Marker, NoRowToUpdate, interpret
from openmirror.protocol.schema import Column, ColumnType, TableSchema
from openmirror.stores.memory.files import MemoryStore
from openmirror.table.layout import StorePath
from tests.harness.clock import Clock

COLUMNS = TableSchema(
    (
        Column("id", ColumnType("integer")),
        Column("small", ColumnType("integer")),
        Column("big", ColumnType("integer")),
    )
)
PARTIAL = marker_of_partial_update(["big"])
KEYS = 6
Rows = dict[int, tuple[int, int]]
Logged = tuple[int, int | None, int | None, str, int, int]
"""id, small, big, marker, commit, number."""


@dataclass
class History:
    """A table's states after each transaction, and its log."""

    states: list[Rows]
    log: list[list[Logged]] = field(default_factory=list)

    def changes(self, after: int, through: int) -> list[Logged]:
        return [change for changes in self.log[after:through] for change in changes]


def history(random: Random, transactions: int) -> History:
    first = {key: (key, 100 + key) for key in range(KEYS) if random.random() < 0.7}
    made = History([first])
    for at in range(1, transactions + 1):
        rows, changes = dict(made.states[-1]), list[Logged]()
        for _ in range(random.choice((1, 1, 2, 3))):
            for row in _statement(random, rows, at):
                changes.append((*row, at * 10, len(changes) + 1))
        made.states.append(rows)
        made.log.append(changes)
    return made


def _statement(
    random: Random, rows: Rows, at: int
) -> list[tuple[int, int | None, int | None, str]]:
    key, value = random.randrange(KEYS), random.randrange(1000)
    if random.random() < 0.03:
        rows.clear()
        return [(0, None, None, "100")]
    if key not in rows:
        rows[key] = (value, value + 1000 * at)
        return [(key, *rows[key], "4")]
    what = random.choice(("delete", "small", "small", "big", "move", "move", "move"))
    if what == "delete":
        del rows[key]
        return [(key, None, None, "2")]
    if what == "small":
        rows[key] = (value, rows[key][1])
        return [(key, value, None, PARTIAL)]
    if what == "big":
        rows[key] = (value, value + 1000 * at)
        return [(key, *rows[key], "4")]
    free = [other for other in range(KEYS) if other not in rows]
    if not free:
        return []
    to = random.choice(free)
    rows[to] = (value, rows.pop(key)[1])
    return [(key, None, None, "2"), (to, value, None, PARTIAL)]


class Loaded:
    """A load of a simulated table, whose parts lie in a store."""

    def __init__(self, made: History, random: Random, begins: int = 0) -> None:
        self.history = made
        self.random = random
        self.begins = begins
        """How many transactions come before the first mark."""
        self.pieces = StagedPieces(MemoryStore(Clock()), StorePath("load"))
        self.high = max(made.states[begins], default=None)
        texts = None if self.high is None else (str(self.high).encode(),)
        state = LoadState(number="1", definition={}, fingerprint=Fingerprint("{}"))
        self.state = state.begun(LogPlace(Lsn(begins * 10 + 5), 1), texts, 0)

    def read_ranges(self, until: int) -> None:
        high, after = self.high, None
        while high is not None and after != high:
            through = self.random.randint(0 if after is None else after + 1, high)
            rows = self.history.states[self.random.randint(self.begins, until)]
            keys = [k for k in sorted(rows) if (after is None or k > after) and k <= through]
            name = self.pieces.write("rows", _rows_table(rows, keys))
            part = RowPart(
                file=name,
                after=None if after is None else (str(after).encode(),),
                through=(str(through).encode(),),
                rows=len(keys),
            )
            self.state = self.state.with_ranges(part)
            after = through

    def stage(self, after: int, through: int) -> None:
        changes = self.history.changes(after, through)
        while changes:
            many = self.random.randint(1, len(changes))
            piece, changes = changes[:many], changes[many:]
            is_partial = any(row[3] == PARTIAL for row in piece)
            part = ChangePart(
                file=self.pieces.write("changes", changes_table(piece)),
                begins=LogPlace(Lsn(piece[0][4]), piece[0][5]),
                through=LogPlace(Lsn(piece[-1][4]), piece[-1][5]),
                rows=len(piece),
                has_partial=is_partial,
                has_truncate=any(row[3] == "100" for row in piece),
            )
            self.state = self.state.with_changes(part.through, part)

    def read_again(self, needed: dict[RowKey, LogPlace], at: int) -> None:
        rows = self.history.states[at]
        found = {key: place for key, place in needed.items() if key[0] in rows}
        table = _rows_table(rows, [key[0] for key in found])
        table = table.append_column(
            COMMIT_COLUMN, pa.array([p.commit for p in found.values()], "int64")
        )
        table = table.append_column(
            NUMBER_COLUMN, pa.array([p.number for p in found.values()], "int64")
        )
        name = self.pieces.write("again", table)
        self.state = self.state.with_rereads(RereadPart(file=name, rows=len(found)))

    def file(self, begins_empty: bool) -> LoadFile:
        return LoadFile(
            pieces=self.pieces,
            state=self.state,
            resolution=resolution_of(self.pieces, self.state, ["id"]),
            columns=COLUMNS,
            begins_empty=begins_empty,
        )


def _rows_table(rows: Rows, keys: list[int]) -> pa.Table:
    columns = {
        "id": keys,
        "small": [rows[key][0] for key in keys],
        "big": [rows[key][1] for key in keys],
    }
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def changes_table(changes: list[Logged]) -> pa.Table:
    ids, smalls, bigs, markers, commits, numbers = map(list, zip(*changes, strict=True))
    is_text = PARTIAL in markers
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "small": pa.array(smalls, pa.int32()),
            "big": pa.array(bigs, pa.int32()),
            ROW_MARKER_COLUMN: (
                pa.array(markers, pa.string())
                if is_text
                else pa.array(list(map(int, markers)), pa.int32())
            ),
            COMMIT_COLUMN: pa.array(commits, pa.int64()),
            NUMBER_COLUMN: pa.array(numbers, pa.int64()),
        }
    )


def _change(row: dict[str, object]) -> Change:
    marker = str(row.pop(ROW_MARKER_COLUMN))
    absent = absent_columns(marker)
    if absent:
        return Change(Marker.PARTIAL_UPDATE, row, frozenset(absent))
    return Change(Marker(int(marker)), row)


def applied(file: LoadFile, before: list[Change] = []) -> Rows:  # noqa: B006
    """The rows of the mirror after the file, by the plain interpreter."""
    pieces = list(file.tables())
    assert all(piece.schema == file.schema for piece in pieces)
    changes = [*before, *(_change(row) for piece in pieces for row in piece.to_pylist())]
    table = interpret([ChangeFile(COLUMNS.names, changes)], ["id"])
    return {row["id"]: (row["small"], row["big"]) for row in table.rows}


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_rows_of_different_moments_and_changes_give_the_table_of_the_last_mark(seed: int) -> None:
    _check(seed)


@pytest.mark.soak
@settings(max_examples=3_000, deadline=None)
@given(st.integers(0, 2**48))
def test_many_histories(seed: int) -> None:
    _check(seed)


def _check(seed: int) -> None:
    random = Random(seed)
    made = history(random, 40)
    begins = random.randint(0, 3)
    through = random.randint(begins, 20)
    load = Loaded(made, random, begins)
    load.read_ranges(through)
    load.stage(0, through)
    while needed := dict(resolution_of(load.pieces, load.state, ["id"]).needed):
        assert through < 40
        later = random.randint(through, min(40, through + 2))
        load.read_again(needed, later)
        after, through = through, random.randint(later, min(40, later + 3))
        load.stage(after, through)
        if through == 40:
            break
    else:
        empty = random.random() < 0.5
        old = [] if empty else [Change(Marker.UPSERT, {"id": 99, "small": 1, "big": 1})]
        assert applied(load.file(empty), old) == made.states[through]


def _moved(more: list[Logged]) -> tuple[dict[RowKey, LogPlace], frozenset[int]]:
    """Key 1 is read, and its row moves to key 2, which no range has."""
    changes = [(1, None, None, "2", 10, 1), (2, 7, None, PARTIAL, 10, 1), *more]
    rows = _rows_table({1: (1, 101)}, [1])
    found = resolved(["id"], lambda: [rows], lambda: [changes_table(changes)], {})
    return dict(found.needed), found.dropped


def test_a_key_that_no_range_had_is_read_once_more() -> None:
    assert _moved([]) == ({(2,): LogPlace(Lsn(10), 1)}, frozenset())


def test_it_is_read_for_the_last_update_without_base() -> None:
    assert _moved([(2, 8, None, PARTIAL, 20, 1)]) == ({(2,): LogPlace(Lsn(20), 1)}, frozenset())


@pytest.mark.parametrize("later", [(2, None, None, "2", 20, 1), (2, 9, 9, "4", 20, 1)])
def test_it_is_dropped_where_a_later_change_needs_no_base(later: Logged) -> None:
    assert _moved([later]) == ({}, frozenset({1}))


def test_a_base_ends_with_a_delete() -> None:
    changes = [(1, None, None, "2", 10, 1), (1, 7, None, PARTIAL, 10, 2)]
    rows = _rows_table({1: (1, 101)}, [1])
    found = resolved(["id"], lambda: [rows], lambda: [changes_table(changes)], {})
    assert found.needed == {(1,): LogPlace(Lsn(10), 2)}


def test_a_truncate_ends_all_that_came_before() -> None:
    changes: list[Logged] = [
        (2, 7, None, PARTIAL, 10, 1),
        (0, None, None, "100", 20, 1),
        (3, 1, 1, "4", 30, 1),
        (3, None, None, "2", 40, 1),
        (4, 2, None, PARTIAL, 40, 1),
    ]
    rows = _rows_table({2: (1, 1), 4: (1, 1)}, [2, 4])
    found = resolved(["id"], lambda: [rows], lambda: [changes_table(changes)], {})
    assert found.truncated_at == LogPlace(Lsn(20), 1)
    assert found.needed == {(4,): LogPlace(Lsn(40), 1)}


def test_keys_compare_as_in_the_protocol() -> None:
    rows = pa.table({"id": pa.array([0.0, float("nan")])})
    changes = pa.table(
        {
            "id": pa.array([-0.0, float("nan"), 1.0]),
            ROW_MARKER_COLUMN: [PARTIAL] * 3,
            COMMIT_COLUMN: [10, 10, 10],
            NUMBER_COLUMN: [1, 2, 3],
        }
    )
    found = resolved(["id"], lambda: [rows], lambda: [changes], {})
    assert found.needed == {(1.0,): LogPlace(Lsn(10), 3)}


def _two_moves() -> Loaded:
    """Key 2 gets the row of key 1, loses it, and gets that of key 3; no range has any of these."""
    load = Loaded(History([{1: (1, 101), 3: (3, 103)}]), Random(1))
    moves: list[list[Logged]] = [
        [(1, None, None, "2", 10, 1), (2, 7, None, PARTIAL, 10, 1)],
        [(2, None, None, "2", 20, 1)],
        [(3, None, None, "2", 30, 1), (2, 9, None, PARTIAL, 30, 1)],
        [(2, 10, None, PARTIAL, 40, 1)],
    ]
    load.history.log += moves
    load.history.states += [
        {2: (7, 101), 3: (3, 103)},
        {3: (3, 103)},
        {2: (9, 103)},
        {2: (10, 103)},
    ]
    load.read_ranges(0)
    load.stage(0, 3)
    return load


def test_a_row_that_was_read_once_more_stands_for_the_changes_before_it() -> None:
    load = _two_moves()
    needed = dict(resolution_of(load.pieces, load.state, ["id"]).needed)
    assert needed == {(2,): LogPlace(Lsn(30), 1)}
    load.read_again(needed, 4)
    load.stage(3, 4)
    assert not resolution_of(load.pieces, load.state, ["id"]).needed
    assert applied(load.file(True)) == {2: (10, 103)}


def test_without_the_key_read_once_more_no_mirror_takes_the_file() -> None:
    random = Random(1)
    load = Loaded(History([{1: (1, 101)}]), random)
    load.history.log.append([(1, None, None, "2", 10, 1), (2, 7, None, PARTIAL, 10, 1)])
    load.read_ranges(0)
    load.stage(0, 1)
    with pytest.raises(NoRowToUpdate):
        applied(load.file(True))
