"""Random histories of one table: change files as a publisher might write them, from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from openmirror.protocol.lineage import Lineage
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.partial_updates import marker_of_partial_update
from openmirror.protocol.rows import (
    PUBLISHED,
    Change,
    ChangeFile,
    Marker,
    SoftDeletes,
    Table,
    interpret,
)
from tests.harness.publishing import file_name

GROWTH = {
    pa.int8(): pa.int16(),
    pa.int16(): pa.int32(),
    pa.int32(): pa.int64(),
    pa.float32(): pa.float64(),
    pa.decimal128(6, 2): pa.decimal128(12, 3),
    pa.date32(): pa.timestamp("us", tz="UTC"),
}
KEY_TYPES = [pa.int32(), pa.int64(), pa.string(), pa.date32(), pa.float64(), pa.binary()]
VALUE_TYPES = [
    *KEY_TYPES,
    pa.int8(),
    pa.int16(),
    pa.float32(),
    pa.bool_(),
    pa.decimal128(6, 2),
    pa.timestamp("us", tz="UTC"),
    pa.timestamp("ms"),
]
MARKER_TYPES = [pa.int8(), pa.int32(), pa.int64(), pa.string(), pa.uint8()]
_PUBLISHED = sorted(PUBLISHED)
DECIDED = datetime(2100, 1, 1, tzinfo=UTC)
"""Stands for the time at which any batch was decided."""
_OF_BATCHES = ("_valid_from", "_valid_to")
_NAMES = ["id", "Name", "value", "a.b", "grün", "c d", "x`y", "ROW", "kind", "sequence", "c0"]


@dataclass
class _Column:
    name: str
    type: pa.DataType
    is_key: bool


@dataclass
class History:
    """Change files in order, both as Arrow tables to publish and as the interpreter's input."""

    seed: int
    key_columns: list[str]
    files: list[pa.Table] = field(default_factory=list)
    changes: list[ChangeFile] = field(default_factory=list)
    version_column: str | None = None

    def expected(self, soft: SoftDeletes | None = None, lineage: Lineage = Lineage.NONE) -> Table:
        """As Delta has them: a date that growth made a timestamp is that day's midnight.

        All of it is decided at `DECIDED`.
        """
        files = self.grown()
        return interpret(files, self.key_columns, self.version_column, soft, DECIDED, lineage)

    def grown(self) -> list[ChangeFile]:
        """The files with values as the table has them once its columns have grown."""
        times = {
            fold_case(field.name)
            for file in self.files
            for field in file.schema
            if pa.types.is_timestamp(field.type)
        }
        return [
            replace(file, changes=[_grown(change, times) for change in file.changes])
            for file in self.changes
        ]

    def expected_rows(
        self, soft: SoftDeletes | None = None, lineage: Lineage = Lineage.NONE
    ) -> list[dict[str, Any]]:
        return self.expected(soft, lineage).rows

    @property
    def metadata(self) -> dict[str, object]:
        version_column = (
            {"ConditionalUpdateColumn": self.version_column} if self.version_column else {}
        )
        return {"keyColumns": self.key_columns, **version_column}


def _grown(change: Change, times: set[str]) -> Change:
    row = {
        name: datetime(value.year, value.month, value.day, tzinfo=UTC)
        if name in times and isinstance(value, date) and not isinstance(value, datetime)
        else value
        for name, value in change.row.items()
    }
    return Change(change.marker, row, change.absent)


def random_history(
    seed: int,
    keys: int = 300,
    files: int = 6,
    rows: int = 500,
    *,
    versioned: bool = False,
    extended: bool = False,
) -> History:
    """A history in which hundreds of keys change side by side, each many times.

    One that is `extended` empties its table now and then, and updates leave columns as they are.
    """
    draw = random.Random(seed)
    columns = _first_columns(draw)
    history = History(seed, [column.name for column in columns if column.is_key])
    if versioned:
        history.version_column = _version_column(draw, columns)
    pool = [_key(draw, columns) for _ in range(draw.choice([3, keys // 10, keys]))]
    live: set[tuple[object, ...]] = set()
    for number in range(draw.randint(2, files)):
        if number:
            _evolve(draw, columns)
        few = rows if number else rows // 3
        _add_file(draw, history, columns, pool, few, live if extended else None)
    return history


def _first_columns(draw: random.Random) -> list[_Column]:
    names = draw.sample(_NAMES, draw.randint(2, 5))
    key_count = draw.choice([1, 1, 1, 2, 3][: len(names) + 1])
    return [
        _Column(name, draw.choice(KEY_TYPES if at < key_count else VALUE_TYPES), at < key_count)
        for at, name in enumerate(names[: max(key_count, len(names))])
    ]


def _version_column(draw: random.Random, columns: list[_Column]) -> str:
    """A column of any type, seldom a key, that may come with the first file or never."""
    others = [column.name for column in columns if not column.is_key]
    if others and draw.random() < 0.8:
        return draw.choice(others).upper()
    if draw.random() < 0.8:
        name = draw.choice([n for n in _NAMES if all(c.name != n for c in columns)])
        columns.append(_Column(name, draw.choice(VALUE_TYPES), False))
        return name
    return draw.choice([*_NAMES, "never there"])


def _evolve(draw: random.Random, columns: list[_Column]) -> None:
    if draw.random() < 0.3:
        free = [name for name in _NAMES if all(c.name != name for c in columns)]
        if free:
            columns.append(_Column(draw.choice(free), draw.choice(VALUE_TYPES), False))
    for column in columns:
        if draw.random() < 0.15 and column.type in GROWTH and not column.is_key:
            column.type = GROWTH[column.type]


def _key(draw: random.Random, columns: list[_Column]) -> dict[str, Any]:
    return {
        column.name: None if draw.random() < 0.05 else _value(draw, column.type)
        for column in columns
        if column.is_key
    }


def _add_file(
    draw: random.Random,
    history: History,
    columns: list[_Column],
    pool: list[dict[str, Any]],
    rows: int,
    live: set[tuple[object, ...]] | None,
) -> None:
    """`live` has the keys that are in the table, for histories with extensions."""
    has_marker = draw.random() < 0.85
    extended = live is not None and has_marker and draw.random() < 0.8
    absent = {c.name for c in columns if not c.is_key and draw.random() < 0.15}
    present = [column for column in columns if column.name not in absent]
    null_typed = {c.name for c in present if not c.is_key and draw.random() < 0.08}
    weights = draw.choice([(1, 1, 1, 1), (6, 1, 1, 1), (1, 6, 3, 1), (0, 1, 1, 6), (1, 0, 0, 0)])
    changes = []
    for _ in range(draw.choice([0, 1, rows, rows])):
        kind = draw.choices(_PUBLISHED, weights)[0] if has_marker else Marker.INSERT
        row = dict(draw.choice(pool))
        for column in present:
            if not column.is_key and column.name not in null_typed:
                row[column.name] = None if draw.random() < 0.1 else _value(draw, column.type)
        if history.version_column and kind is Marker.DELETE and draw.random() < 0.4:
            row = {name: v for name, v in row.items() if name in history.key_columns}
        left: list[str] = []
        if live is not None:
            key = tuple(_same(row[name]) for name in history.key_columns)
            leaves = [c.name for c in present if not c.is_key and c.name not in null_typed]
            if extended and key in live and leaves and draw.random() < 0.3:
                kind, left = (
                    Marker.PARTIAL_UPDATE,
                    draw.sample(leaves, draw.randint(1, len(leaves))),
                )
            elif extended and draw.random() < 1 / 400:
                kind = Marker.TRUNCATE
            _follow(live, key, kind)
        changes.append((kind, row, left))
    history.files.append(_arrow(draw, changes, present, null_typed, has_marker))
    history.changes.append(
        ChangeFile(
            tuple(c.name for c in present if c.name not in null_typed),
            [
                Change(
                    kind, {fold_case(k): v for k, v in row.items()}, frozenset(map(fold_case, left))
                )
                for kind, row, left in changes
            ],
            file_name(len(history.files)),
            len(history.files),
        )
    )


def _same(value: Any) -> object:
    """A key's value such that equal ones are equal here."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


def _follow(live: set[tuple[object, ...]], key: tuple[object, ...], kind: Marker) -> None:
    if kind is Marker.TRUNCATE:
        live.clear()
    elif kind is Marker.DELETE:
        live.discard(key)
    else:
        live.add(key)


def _arrow(
    draw: random.Random,
    changes: list[tuple[Marker, dict[str, Any], list[str]]],
    present: list[_Column],
    null_typed: set[str],
    has_marker: bool,
) -> pa.Table:
    arrays: list[tuple[str, pa.Array]] = []
    for column in present:
        name = column.name.upper() if draw.random() < 0.1 else column.name
        kind = pa.null() if column.name in null_typed else column.type
        values = [row.get(column.name) for _, row, _ in changes]
        arrays.append((name, pa.array(values, kind)))
    if has_marker:
        kind = draw.choice(MARKER_TYPES)
        codes = [marker.value for marker, _, _ in changes]
        if any(left for _, _, left in changes):
            kind = pa.string()
        texts = [_text(code, left) for code, _, left in changes] if kind == pa.string() else codes
        name = draw.choice([ROW_MARKER_COLUMN, ROW_MARKER_COLUMN.upper()])
        arrays.append((name, pa.array(texts, kind)))
    draw.shuffle(arrays)
    return pa.Table.from_arrays([array for _, array in arrays], [name for name, _ in arrays])


def _text(code: Marker, left: list[str]) -> str:
    return marker_of_partial_update(left) if left else str(code.value)


def _value(draw: random.Random, kind: pa.DataType) -> Any:
    if kind == pa.bool_():
        return draw.random() < 0.5
    if kind == pa.string():
        return draw.choice(["", "a", "ä", "A", " ", "'", "0"]) + str(draw.randint(0, 999))
    if kind == pa.binary():
        return draw.randbytes(draw.randint(0, 4))
    if pa.types.is_integer(kind):
        return draw.randint(-100, 100) if kind == pa.int8() else draw.randint(-9999, 9999)
    if pa.types.is_floating(kind):
        special = [float("nan"), 0.0, -0.0, float("inf")] if kind == pa.float64() else [0.0]
        return draw.choice(special) if draw.random() < 0.1 else draw.randint(-999, 999) / 4
    if pa.types.is_decimal(kind):
        return Decimal(draw.randint(-9999, 9999)).scaleb(-2)
    if pa.types.is_date(kind):
        return date(2013, 1, 1) + timedelta(days=draw.randint(0, 999))
    moment = datetime(2013, 1, 1, tzinfo=UTC) + timedelta(seconds=draw.randint(0, 10**8))
    return moment if kind.tz else moment.replace(tzinfo=None)


def version_with_decided(version: dict[str, Any]) -> dict[str, Any]:
    """A version of a row with `DECIDED` for the times of the batches that began and ended it."""
    of_batches = (name for name in _OF_BATCHES if version.get(name) is not None)
    return {**version, **dict.fromkeys(of_batches, DECIDED)}
