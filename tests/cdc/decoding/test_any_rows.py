"""Random rows of random tables, minted as records, decode to the rows that they were minted of."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openmirror.cdc.decoding.decoder import Decoder
from openmirror.protocol.names import fold_case
from tests.cdc.decoding.minted import MintedTable, Record, Tree, batch, column, compact
from tests.harness.examples import examples

DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIME = "io.debezium.time."
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Cell = tuple[Any, Any]
"""A value as JSON has it, and as its Delta type has it."""


def unscaled(number: int) -> str:
    length = (number + (number < 0)).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


def real(value: float) -> Cell:
    return (value if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"), value


def single(value: float) -> Cell:
    """As Java writes a 32-bit float: with the fewest digits that lead back to it."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    short = next(t for t in texts if struct.pack("f", float(t)) == struct.pack("f", value))
    return real(float(short))[0], value


def decimals(draw: st.DrawFn) -> tuple[Tree, st.SearchStrategy[Cell]]:
    digits = draw(st.integers(1, 38))
    scale = draw(st.integers(0, digits))
    parameters = {"scale": str(scale), "connect.decimal.precision": str(digits)}
    most = 10**digits - 1
    cells = st.integers(-most, most).map(lambda n: (unscaled(n), Decimal(f"{n}E-{scale}")))
    return column("", "bytes", DECIMAL, parameters=parameters), cells


def own_scale(cell: tuple[int, int]) -> Cell:
    number, scale = cell
    text = f"{Decimal(f'{number}E-{scale}'):f}"
    return {"scale": scale, "value": unscaled(number)}, bare(text)


def bare(number: str) -> str:
    """Without zeros that say nothing."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def moment(value: datetime) -> Cell:
    return (value.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1), value


def instant(value: datetime) -> Cell:
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z"), value


def clock(micros: int) -> Cell:
    seconds, fraction = divmod(micros, 10**6)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return micros, f"{text}.{fraction:06}" if fraction else text


def plain(kind: str, cells: st.SearchStrategy[Cell], meaning: str = "", **more: Any) -> Any:
    return lambda draw: (column("", kind, meaning, **more), cells)


def whole(bits: int) -> st.SearchStrategy[Cell]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1).map(lambda n: (n, n))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALED = [column("scale", "int32", optional=False), column("value", "bytes", optional=False)]
NUMBERS = st.tuples(st.integers(-(10**45), 10**45), st.integers(0, 50))
TYPES: list[Callable[[st.DrawFn], tuple[Tree, st.SearchStrategy[Cell]]]] = [
    plain("int16", whole(16)),
    plain("int32", whole(32)),
    plain("int64", whole(64)),
    plain("boolean", st.booleans().map(lambda b: (b, b))),
    plain("double", st.floats(allow_nan=False).map(real)),
    plain("float", st.floats(allow_nan=False, width=32).map(single)),
    plain("string", TEXT.map(lambda t: (t, t))),
    plain("bytes", st.binary(max_size=8).map(lambda b: (base64.b64encode(b).decode(), b))),
    plain("int32", st.dates().map(lambda d: ((d - date(1970, 1, 1)).days, d)), TIME + "Date"),
    plain("int64", st.datetimes().map(moment), TIME + "MicroTimestamp"),
    plain("int64", st.integers(0, 86_400 * 10**6).map(clock), TIME + "MicroTime"),
    plain("string", st.datetimes(timezones=st.just(UTC)).map(instant), TIME + "ZonedTimestamp"),
    plain("struct", NUMBERS.map(own_scale), "io.debezium.data.VariableScaleDecimal", fields=SCALED),
    plain("array", st.lists(TEXT, max_size=3).map(lambda t: (t, t)), items={"type": "string"}),
    decimals,
]


@dataclass(frozen=True)
class Case:
    records: list[Record]
    rows: dict[int, dict[str, Any]]
    """What each record's row is, by offset."""


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
STYLES: list[Callable[[Any], str]] = [
    compact,
    compact,
    lambda tree: json.dumps(tree, separators=(",", ":")),
    lambda tree: json.dumps(tree, ensure_ascii=False, indent=1),
]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    tables = []
    for number in range(draw(st.integers(1, 6))):
        names = draw(st.lists(NAMES, max_size=7, unique_by=fold_case))
        names = [name for name in names if not name.startswith("__") and fold_case(name) != "id"]
        types = [draw(st.sampled_from(TYPES))(draw) for _ in names]
        columns = [{**c, "field": name} for name, (c, _) in zip(names, types, strict=True)]
        key = column("id", "int32", optional=False)
        cells = dict(zip(names, (cell for _, cell in types), strict=True))
        tables.append((MintedTable([key, *columns], name=f"any{number}"), cells))
    records: list[Record] = []
    rows = {}
    for offset in range(draw(st.integers(1, 25))):
        table, cells = draw(st.sampled_from(tables))
        op = draw(st.sampled_from("crud"))
        row = {name: draw(st.none() | cell) or (None, None) for name, cell in cells.items()}
        written = {"id": offset} | {name: cell[0] for name, cell in row.items()}
        style = draw(st.sampled_from(STYLES))
        content = {"schema": table.envelope(), "payload": table.payload(op, written)}
        records.append((table.topic, table.key(written), style(content).encode(), {}))
        read = {name: None if op == "d" else cell[1] for name, cell in row.items()}
        rows[offset] = {"id": offset, **read}
    return Case(records, rows)


@given(case=cases())
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_rows_are_decoded_as_they_were(decoder: Decoder, case: Case) -> None:
    decoded = decoder.decode(batch(case.records))
    assert decoded.undecodable == ()
    found = {row["__offset"]: row for table in decoded.tables for row in table.rows.to_pylist()}
    assert found.keys() == case.rows.keys()
    for offset, row in case.rows.items():
        own = {name: v for name, v in found[offset].items() if not name.startswith("__")}
        assert own.keys() == row.keys()
        for name, value in row.items():
            # How the JSON of a list is spaced means nothing.
            assert (json.loads(own[name]) if isinstance(value, list) else own[name]) == value, name
