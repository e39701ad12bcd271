"""§6.5: Parquet types that engines do not read by themselves, and what has no column type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

from tests.vectors.catalogue.words import (
    Vector,
    expect,
    keys,
    mapped,
    paused,
    step,
    table_file,
    vector,
)

_NS, _ZONELESS_NS = pa.timestamp("ns", "UTC"), pa.timestamp("ns")
_SECOND = 1_000_000_000
_DAY = 24 * 60 * 60 * _SECOND
_UUID = bytes.fromhex("0123456789abcdef0123456789abcdef")


def _stops(name: str, title: str, good: pa.Array, kind: str, seen: str, bad: pa.Array) -> Vector:
    """A file that is fine, and one that is not."""
    return vector(
        f"types/{name}",
        title,
        "6.5",
        *(
            table_file(number, pa.table({"id": pa.array([number] * len(x)), "x": x}))
            for number, x in ((1, good), (2, bad), (3, good))
        ),
        expected=expect(f"id:long x:{kind}", (1, seen), applied=1, state=paused("ValueInvalid", 2)),
    )


_NESTED = pa.struct(
    [
        ("bool", pa.bool_()),
        ("int", pa.uint64()),
        ("float", pa.float64()),
        ("dec", pa.decimal256(40, 2)),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("date", pa.date32()),
        ("utc", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("ms")),
        ("time", pa.time64("us")),
        ("items", pa.list_(pa.struct([("n", pa.int32())]))),
    ]
)
_ALL = {
    "bool": True,
    "int": 2**64 - 1,
    "float": 0.1,
    "dec": Decimal("12345678901234567890123456789012345678.50"),
    "text": 'a "ü" \\ \n',
    "bytes": b"\x00\xff",
    "date": date(2024, 2, 29),
    "utc": datetime(2024, 2, 29, 23, 59, 59, 120000, tzinfo=UTC),
    "local": datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC).replace(tzinfo=None),
    "time": 86_399_000_000,
    "items": [{"n": 1}, None, {"n": None}],
}
_SHOWN = (
    '{"bool":true,"int":18446744073709551615,"float":0.1,'
    '"dec":12345678901234567890123456789012345678.50,"text":"a \\"ü\\" \\\\ \\n",'
    '"bytes":"AP8=","date":"2024-02-29","utc":"2024-02-29T23:59:59.120000Z",'
    '"local":"2024-02-29T23:59:59","time":"23:59:59","items":[{"n":1},null,{"n":null}]}'
)
_NULLS = dict.fromkeys(_ALL) | {"float": float("nan"), "items": []}
_NULLS_SHOWN = (
    '{"bool":null,"int":null,"float":"NaN","dec":null,"text":null,"bytes":null,"date":null,'
    '"utc":null,"local":null,"time":null,"items":[]}'
)
_MAP = pa.map_(pa.string(), pa.int64())

TYPES = [
    mapped(
        "types/nanoseconds",
        "Nanoseconds become microseconds where no digit is lost",
        {
            "utc": pa.array([1_709_251_199_123_456_000, -1000, None], _NS),
            "local": pa.array([1_709_251_199_000_000_000, 0, None], _ZONELESS_NS),
        },
        "utc:timestamp local:timestamp",
        ("2024-02-29T23:59:59.123456Z", "2024-02-29T23:59:59.000000Z"),
        ("1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z"),
        (None, None),
    ),
    vector(
        "types/nanoseconds-with-a-remainder",
        "A moment finer than a microsecond loses what is finer, and its table says so",
        "6.5",
        table_file(
            1,
            pa.table(
                {
                    "utc": pa.array([1001, None, -1], _NS),
                    "local": pa.array([999, -1000, -1001], _ZONELESS_NS),
                    "time": pa.array([1999, 0, None], pa.time64("ns")),
                }
            ),
        ),
        expected=expect(
            "utc:timestamp local:timestamp time:string",
            ("1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000000Z", "00:00:00.000001"),
            (None, "1969-12-31T23:59:59.999999Z", "00:00:00"),
            ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999998Z", None),
            applied=1,
            warnings=("FractionsTruncated",),
        ),
    ),
    *(
        vector(
            f"types/nanoseconds-of-{name}",
            f"{title} loses no digit, or it would be another's",
            "6.5 5.6",
            keys(*key_columns, **more),
            table_file(1, pa.table({"id": pa.array([1000], kind), "v": pa.array([1000], kind)})),
            table_file(2, pa.table({"id": pa.array([2000], kind), "v": pa.array([2001], kind)})),
            table_file(
                3,
                pa.table({"id": pa.array([2001], kind), "v": pa.array([3001], kind)}),
                **options,
            ),
            expected=expect(
                "id:timestamp v:timestamp",
                ("1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000001Z"),
                *second,
                applied=1 + len(second),
                state=paused("ValueInvalid", 2 + len(second)),
                warnings=("FractionsTruncated",) if second else (),
            ),
        )
        for name, title, key_columns, more, kind, options, second in (
            (
                "a-key",
                "A key column",
                ("ID",),
                {},
                _NS,
                {},
                (("1970-01-01T00:00:00.000002Z", "1970-01-01T00:00:00.000002Z"),),
            ),
            (
                "a-version",
                "The version column",
                ("id",),
                {"ConditionalUpdateColumn": "V"},
                _NS,
                {},
                (),
            ),
            (
                "a-key-in-int96",
                "A key column of INT96, which engines cut,",
                ("id",),
                {},
                _NS,
                {"use_deprecated_int96_timestamps": True},
                (("1970-01-01T00:00:00.000002Z", "1970-01-01T00:00:00.000002Z"),),
            ),
        )
    ),
    mapped(
        "types/times",
        "A time of day is text",
        {
            "ms": pa.array([0, 45_296_789, None], pa.time32("ms")),
            "us": pa.array([45_296_000_000, 1, None], pa.time64("us")),
            "ns": pa.array([_DAY - _SECOND, _DAY - 1000, None], pa.time64("ns")),
        },
        "ms:string us:string ns:string",
        ("00:00:00", "12:34:56", "23:59:59"),
        ("12:34:56.789000", "00:00:00.000001", "23:59:59.999999"),
        (None, None, None),
    ),
    _stops(
        "times-out-of-range",
        "A time of day lies within a day",
        pa.array([1], pa.time64("us")),
        "string",
        "00:00:00.000001",
        pa.array([_DAY // 1000], pa.time64("us")),
    ),
    mapped(
        "types/half-floats-and-uuids",
        "A half float becomes a float, a UUID text",
        {
            "h": pa.array([0.5, float("nan"), None], pa.float16()),
            "u": pa.array([_UUID, None, _UUID], pa.uuid()),
        },
        "h:float u:string",
        (0.5, "01234567-89ab-cdef-0123-456789abcdef"),
        ("NaN", None),
        (None, "01234567-89ab-cdef-0123-456789abcdef"),
    ),
    mapped(
        "types/nested",
        "Structs, lists and maps become JSON text",
        {
            "s": pa.array([_ALL, None, _NULLS], _NESTED),
            "l": pa.array([[[1], None, []], [], None], pa.list_(pa.list_(pa.int64()))),
            "m": pa.array([[("b", 1), ("a", None)], [], None], _MAP),
            "n": pa.array([[(1, "x")], None, [(-1, "y")]], pa.map_(pa.int32(), pa.string())),
        },
        "s:string l:string m:string n:string",
        (_SHOWN, "[[1],null,[]]", '{"b":1,"a":null}', '{"1":"x"}'),
        (None, "[]", "{}", None),
        (_NULLS_SHOWN, None, None, '{"-1":"y"}'),
    ),
    _stops(
        "nested-with-a-key-twice",
        "A map that has a key twice is no JSON object",
        pa.array([[("a", 1)]], _MAP),
        "string",
        '{"a":1}',
        pa.array([[("a", 1), ("a", 2)]], _MAP),
    ),
    mapped(
        "types/byte-stream-split",
        "However the data pages are encoded: BYTE_STREAM_SPLIT, in either kind of page",
        {
            "id": pa.array([1, None, 3], pa.int32()),
            "at": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
            "price": pa.array([0.5, None, -2.0]),
            "cost": pa.array([None, Decimal("1.50"), Decimal("-1")], pa.decimal128(38, 2)),
        },
        "id:integer at:timestamp price:double cost:decimal(38,2)",
        (1, "1970-01-01T00:00:00.000000Z", 0.5, None),
        (None, "1970-01-01T00:00:00.000001Z", None, "1.50"),
        (3, None, -2.0, "-1.00"),
        column_encoding=dict.fromkeys(("id", "at", "price", "cost"), "BYTE_STREAM_SPLIT"),
    ),
    mapped(
        "types/brotli",
        "However the data pages are compressed: Brotli",
        {"id": pa.array([1, 2]), "v": pa.array(["a", None])},
        "id:long v:string",
        *((1, "a"), (2, None)),
        compression="brotli",
    ),
    vector(
        "types/converted-among-others",
        "Markers and order count in such files as in any, and both kinds make one table",
        "6.5 5.1 3.5",
        step(
            keys("id"),
            table_file(
                1, pa.table({"id": [1, 2], "t": pa.array([1000, 2000], _NS), "v": ["a", "b"]})
            ),
            table_file(
                2,
                pa.table(
                    {
                        "__rowMarker__": [4, 1, 2, 4],
                        "id": [3, 1, 2, 1],
                        "t": pa.array([3, 4, None, 5], pa.timestamp("us", "UTC")),
                        "v": ["c", "A", None, "AA"],
                    }
                ),
            ),
            table_file(
                3,
                pa.table(
                    {
                        "id": [2, 3, 3],
                        "t": pa.array([6000, 7000, 8000], _NS),
                        "v": ["B", "C", "CC"],
                        "__rowMarker__": pa.array(["0", "2", "4"]),
                    }
                ),
            ),
        ),
        expected=expect(
            "id:long t:timestamp v:string",
            (1, "1970-01-01T00:00:00.000005Z", "AA"),
            (2, "1970-01-01T00:00:00.000006Z", "B"),
            (3, "1970-01-01T00:00:00.000008Z", "CC"),
            applied=3,
        ),
    ),
    vector(
        "types/decimal-of-39-digits-is-unsupported",
        "What has no column type stops the table",
        "6.5",
        table_file(1, pa.table({"id": [1], "x": pa.array([Decimal(1)], pa.decimal256(39, 0))})),
        expected=expect(applied=0, state=paused("ColumnTypeUnsupported", 1)),
    ),
]
