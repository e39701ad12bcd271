"""§13.4: what becomes of each type that a connector gives a column, in each of its modes."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from tests.cdc.decoding.minted import MintedTable, Tree, column
from tests.vectors.stream_words import StreamVector, stops, table

_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_CONNECT = "org.apache.kafka.connect.data."
_TIME = "io.debezium.time."
_DATA = "io.debezium.data."
_ID = column("id", "int32", optional=False)
_NINES = 10**38 - 1


def _bytes(content: bytes) -> str:
    return b64encode(content).decode()


def _unscaled(number: int) -> str:
    """As Java's BigInteger writes it: the fewest bytes."""
    length = (number + (number < 0)).bit_length() // 8 + 1
    return _bytes(number.to_bytes(length, "big", signed=True))


def _decimal(scale: int, precision: int | None = None) -> Tree:
    digits = {} if precision is None else {"connect.decimal.precision": str(precision)}
    return column("c", "bytes", _DECIMAL, parameters={"scale": str(scale), **digits})


def _array(items: Tree) -> Tree:
    return column("c", "array", items={k: v for k, v in items.items() if k != "field"})


_VARIABLE = column(
    "c",
    "struct",
    _DATA + "VariableScaleDecimal",
    fields=[column("scale", "int32", optional=False), column("value", "bytes", optional=False)],
)
_POINT = column(
    "c",
    "struct",
    _DATA + "geometry.Point",
    fields=[column("x", "double"), column("y", "double"), column("wkb", "bytes")],
)
_MAP = column(
    "c",
    "map",
    keys={"type": "string", "optional": False},
    values={"type": "string", "optional": True},
)
_TYPES: dict[str, tuple[Tree, str, dict[Any, Any]]] = {
    "int8": (column("c", "int8"), "byte", {-128: -128, 127: 127}),
    "int16": (column("c", "int16"), "short", {-32768: -32768}),
    "int32": (column("c", "int32"), "integer", {2147483647: 2147483647}),
    "int64": (
        column("c", "int64"),
        "long",
        {9223372036854775807: "9223372036854775807", -5: -5},
    ),
    "float": (column("c", "float"), "float", {0.5: 0.5, "NaN": "NaN", "-Infinity": "-Infinity"}),
    "double": (column("c", "double"), "double", {0.1: 0.1, "NaN": "NaN", "Infinity": "Infinity"}),
    "boolean": (column("c", "boolean"), "boolean", {True: True, False: False}),
    "string": (column("c", "string"), "string", {"": "", 'é 😀 "q" \\': 'é 😀 "q" \\'}),
    "bytes": (column("c", "bytes"), "binary", {_bytes(b"\0\xff"): "00ff", "": ""}),
    "bits": (
        column("c", "bytes", _DATA + "Bits", parameters={"length": "9"}),
        "binary",
        {_bytes(b"\1\1"): "0101"},
    ),
    "decimal": (
        _decimal(2, 10),
        "decimal(10,2)",
        {_unscaled(-150): "-1.50", _unscaled(128): "1.28", _bytes(b"\0\0\7"): "0.07"},
    ),
    "decimal-of-38-digits": (
        _decimal(38, 38),
        "decimal(38,38)",
        {_unscaled(-_NINES): f"-0.{_NINES}"},
    ),
    "decimal-of-more-scale-than-digits": (
        _decimal(5, 3),
        "decimal(5,5)",
        {_unscaled(999): "0.00999"},
    ),
    "decimal-of-money": (_decimal(2), "decimal(19,2)", {_unscaled(5): "0.05"}),
    "decimal-of-40-digits": (
        _decimal(2, 40),
        "string",
        {_unscaled(10**39): "1" + "0" * 37 + ".00", _unscaled(0): "0.00"},
    ),
    "date": (
        column("c", "int32", _TIME + "Date"),
        "date",
        {0: "1970-01-01", -719162: "0001-01-01", 2932896: "9999-12-31"},
    ),
    "date-in-text": (
        column("c", "string", _TIME + "IsoDate"),
        "date",
        {"2026-11-20Z": "2026-11-20"},
    ),
    "time-of-milliseconds": (
        column("c", "int32", _TIME + "Time"),
        "string",
        {3723400: "01:02:03.400000", 0: "00:00:00"},
    ),
    "time-of-microseconds": (
        column("c", "int64", _TIME + "MicroTime"),
        "string",
        {86400000000: "24:00:00", -3020399000000: "-838:59:59", 1: "00:00:00.000001"},
    ),
    "time-of-nanoseconds": (
        column("c", "int64", _TIME + "NanoTime"),
        "string",
        {3723456789100: "01:02:03.456789100", 3723000000000: "01:02:03"},
    ),
    "time-in-text": (
        column("c", "string", _TIME + "IsoTime"),
        "string",
        {"01:02:03.456Z": "01:02:03.456000", "01:02:03Z": "01:02:03"},
    ),
    "time-with-a-zone": (
        column("c", "string", _TIME + "ZonedTime"),
        "string",
        {"01:02:03+02:00": "01:02:03+02:00"},
    ),
    "timestamp-of-milliseconds": (
        column("c", "int64", _TIME + "Timestamp"),
        "timestamp",
        {-1: "1969-12-31T23:59:59.999000Z"},
    ),
    "timestamp-of-microseconds": (
        column("c", "int64", _TIME + "MicroTimestamp"),
        "timestamp",
        {
            1500000: "1970-01-01T00:00:01.500000Z",
            253402300799999999: "9999-12-31T23:59:59.999999Z",
        },
    ),
    "timestamp-in-text": (
        column("c", "string", _TIME + "IsoTimestamp"),
        "timestamp",
        {"2026-11-20T01:02:03.4Z": "2026-11-20T01:02:03.400000Z"},
    ),
    "timestamp-finer-than-microseconds": (
        column("c", "string", _TIME + "IsoTimestamp"),
        "timestamp",
        {"9999-12-31T23:59:59.9999999Z": "9999-12-31T23:59:59.999999Z"},
    ),
    "instant": (
        column("c", "string", _TIME + "ZonedTimestamp"),
        "timestamp",
        {
            "2026-11-20T01:02:03.456789+02:00": "2026-11-19T23:02:03.456789Z",
            "2026-11-20T01:02:03Z": "2026-11-20T01:02:03.000000Z",
        },
    ),
    "year": (column("c", "int32", _TIME + "Year"), "integer", {2155: 2155}),
    "interval-in-text": (
        column("c", "string", _TIME + "Interval"),
        "string",
        {"P1Y2M3DT4H5M6S": "P1Y2M3DT4H5M6S"},
    ),
    "uuid": (
        column("c", "string", _DATA + "Uuid"),
        "string",
        {"0e7f7b2c-0000-4000-8000-000000000001": "0e7f7b2c-0000-4000-8000-000000000001"},
    ),
    "enum": (
        column("c", "string", _DATA + "Enum", parameters={"allowed": "a,ü"}),
        "string",
        {"ü": "ü"},
    ),
    "enum-set": (column("c", "string", _DATA + "EnumSet"), "string", {"x,y": "x,y"}),
    "json": (column("c", "string", _DATA + "Json"), "string", {'{"a": 1.50}': '{"a": 1.50}'}),
    "xml": (column("c", "string", _DATA + "Xml"), "string", {"<a/>": "<a/>"}),
    "ltree": (column("c", "string", _DATA + "Ltree"), "string", {"a.b": "a.b"}),
    "tsvector": (column("c", "string", _DATA + "Tsvector"), "string", {"'a':1": "'a':1"}),
}
_NESTED: dict[str, tuple[Tree, list[tuple[Any, str | None]]]] = {
    "decimal-with-a-scale-of-its-own": (
        _VARIABLE,
        [
            ({"scale": 2, "value": _unscaled(-150)}, "-1.5"),
            ({"scale": -3, "value": _unscaled(7)}, "7000"),
            ({"scale": 0, "value": _unscaled(0)}, "0"),
        ],
    ),
    "array-of-text": (_array(column("c", "string")), [(["a", None, ""], '["a",null,""]')]),
    "array-of-numbers": (_array(column("c", "int32")), [([1, -2], "[1,-2]"), ([], "[]")]),
    "array-of-instants": (
        _array(column("c", "string", _TIME + "ZonedTimestamp")),
        [(["2026-11-20T01:02:03Z"], '["2026-11-20T01:02:03Z"]')],
    ),
    "map": (_MAP, [({"a": "1", "b": None}, '{"a":"1","b":null}')]),
    "point": (
        _POINT,
        [({"x": 1.5, "y": 2.5, "wkb": "AQE="}, '{"x":1.5,"y":2.5,"wkb":"AQE="}')],
    ),
}
_REFUSED: dict[str, tuple[Tree, Any]] = {
    "interval-in-numbers": (column("c", "int64", _TIME + "MicroDuration"), 5),
    "timestamp-of-nanoseconds": (column("c", "int64", _TIME + "NanoTimestamp"), 5),
    "connects-own-date": (column("c", "int32", _CONNECT + "Date"), 5),
    "connects-own-time": (column("c", "int32", _CONNECT + "Time"), 5),
    "connects-own-timestamp": (column("c", "int64", _CONNECT + "Timestamp"), 5),
    "decimal-without-a-scale": (column("c", "bytes", _DECIMAL), _unscaled(5)),
    "decimal-of-negative-scale": (_decimal(2046, 5), _unscaled(5)),
    "array-of-decimals": (_array(_decimal(2, 5)), [_unscaled(5)]),
    "array-of-dates": (_array(column("c", "int32", _TIME + "Date")), [5]),
    "type-that-nobody-knows": (column("c", "bytes", _DATA + "New"), ""),
}
_WITHOUT_A_PLACE: dict[str, tuple[Tree, str, Any]] = {
    "decimal-of-more-digits": (_decimal(1, 3), "decimal(3,1)", _unscaled(1000)),
    "date-beyond-the-years": (column("c", "int32", _TIME + "Date"), "date", 2932897),
    "date-of-no-calendar": (column("c", "string", _TIME + "IsoDate"), "date", "2026-02-30Z"),
    "time-of-more-than-838-hours": (
        column("c", "int64", _TIME + "MicroTime"),
        "string",
        839 * 3600 * 1_000_000,
    ),
    "timestamp-beyond-the-years": (
        column("c", "int64", _TIME + "MicroTimestamp"),
        "timestamp",
        253402300800000000,
    ),
    "instant-without-an-offset": (
        column("c", "string", _TIME + "ZonedTimestamp"),
        "timestamp",
        "2026-11-20T01:02:03",
    ),
    "instant-of-infinity": (
        column("c", "string", _TIME + "ZonedTimestamp"),
        "timestamp",
        "infinity",
    ),
}


def _typed(name: str, of: Tree, kind: str, values: list[tuple[Any, Any]]) -> StreamVector:
    minted = MintedTable([_ID, of])
    cells = [*values, (None, None)]
    return StreamVector(
        name=f"type-{name}",
        title=f"{name.replace('-', ' ')}: its Delta type is {kind}",
        records=[minted.change("r", {"id": n, "c": cell}) for n, (cell, _) in enumerate(cells)],
        tables=[table(f"id:integer c:{kind}", *((n, is_) for n, (_, is_) in enumerate(cells)))],
    )


CASES = [
    *(_typed(name, of, kind, list(values.items())) for name, (of, kind, values) in _TYPES.items()),
    *(_typed(name, of, "string", values) for name, (of, values) in _NESTED.items()),
    *(
        StreamVector(
            name=f"type-refused-{name}",
            title=f"{name.replace('-', ' ')}: its values would not be exact, so its table stops",
            records=[MintedTable([_ID, of]).change("r", {"id": 1, "c": cell})],
            stopped=[stops("SourceTypeUnsupported", 0)],
        )
        for name, (of, cell) in _REFUSED.items()
    ),
    *(
        StreamVector(
            name=f"value-refused-{name}",
            title=f"{name.replace('-', ' ')}: a value that has no place stops its table before it",
            records=[
                MintedTable([_ID, of]).change("r", {"id": n, "c": value})
                for n, value in enumerate([None, cell, None])
            ],
            tables=[table(f"id:integer c:{kind}", (0, None))],
            stopped=[stops("SourceValueInvalid", 1)],
        )
        for name, (of, kind, cell) in _WITHOUT_A_PLACE.items()
    ),
]
