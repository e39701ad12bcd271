"""What mirroring.json says of a mirror's tables, and of single ones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from tests.vectors.catalogue.words import (
    Vector,
    expect,
    file,
    keys,
    meta,
    paused,
    raw,
    step,
    vector,
)

_NTZ = pa.timestamp("us")
_UTC = pa.timestamp("us", "UTC")
_AT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
_AT_NS = 1_709_251_199_123_456_000
_ZONED = "2024-02-29T23:59:59.123456Z"
_ZONELESS = "2024-02-29T23:59:59.123456"


def _ours(**switches: Any) -> dict[str, Any]:
    return {"openmirror": switches}


_PLAIN = _AT.replace(tzinfo=None)
_OLD = datetime(1850, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None)


def _untouched(name: str, title: str, settings: dict[str, Any]) -> Vector:
    """A table with every kind of commit, whose rows this switch has no say in."""
    return vector(
        f"policy/{name}",
        title,
        "5.1 6.2 6.3",
        step(keys("id"), file(1, "id:int64 v:string", (1, "a"), (2, "b"), (3, "c"))),
        step(file(2, "id:int64 v:string m", (2, "B", 1), (9, "i", 4))),
        step(file(3, "id:int64 m", (1, 2))),
        step(file(4, "id:int64 v:string w:int32", (5, "e", 1))),
        step(file(5, "id:int64 w:int64", (6, 2**40)), file(6, "id:int64 m", (9, 2))),
        expected=expect(
            "id:long v:string w:long",
            (2, "B", None),
            (3, "c", None),
            (5, "e", 1),
            (6, None, 2**40),
            applied=6,
        ),
        settings=settings,
    )


CASES = [
    vector(
        "policy/inserts-as-upserts",
        "Where inserts are upserts no insert makes a second row, with a marker or without",
        "5.1 5.2",
        keys("id"),
        file(1, "id:int64 v:string", (1, "a"), (1, "b"), (2, "c")),
        file(2, "id:int64 v:string m", (2, "d", 0), (3, "e", 0), (3, "f", 0), (None, "n", 0)),
        file(3, "id:int64 v:string m", (3, None, 2), (3, "g", 0), (None, "N", 0)),
        expected=expect("id:long v:string", (1, "b"), (2, "d"), (3, "g"), (None, "N"), applied=3),
        settings=_ours(insert="upsert"),
    ),
    vector(
        "policy/inserts-as-upserts-without-keys",
        "A table without key columns has nothing to find rows by: inserts stay inserts",
        "5.1",
        file(1, "id:int64", (1,), (1,)),
        file(2, "id:int64 m", (1, 0)),
        expected=expect("id:long", (1,), (1,), (1,), applied=2),
        settings=_ours(insert="upsert"),
    ),
    vector(
        "policy/one-table-otherwise",
        "What is set for one table, in any casing, wins over what is set for the mirror",
        "5.1 2.2",
        keys("id"),
        file(1, "id:int64", (1,), (1,)),
        keys("id", folder="dbo.schema/Or.ders"),
        file(1, "id:int64", (1,), (1,), folder="dbo.schema/Or.ders"),
        expected=(
            expect("id:long", (1,), (1,), applied=1),
            expect(
                "id:long",
                (1,),
                applied=1,
                folder="dbo.schema/Or.ders",
                table="dbo.`Or.ders`",
            ),
        ),
        settings=_ours(
            insert="upsert",
            tables={"DBO.orders": {"insert": "as-is"}, "sales.not_there": {"typeChange": "stop"}},
        ),
    ),
    vector(
        "policy/zoneless-timestamps",
        "Timestamps without a zone stay without; a date grows to one",
        "6.3 6.5",
        step(
            file(
                1,
                [("id", "int64"), ("at", _NTZ), ("ms", pa.timestamp("ms")), ("day", "date32")],
                (1, _PLAIN, _PLAIN.replace(microsecond=123000), date(2024, 2, 29)),
            )
        ),
        step(
            file(
                2,
                [("id", "int64"), ("at", _NTZ), ("day", _NTZ), ("utc", _UTC)],
                (2, _OLD, _PLAIN, _AT),
            ),
            file(3, [("id", "int64"), ("utc", _NTZ)], (3, _PLAIN)),
        ),
        expected=expect(
            "id:long at:timestamp_ntz ms:timestamp_ntz day:timestamp_ntz utc:timestamp",
            (1, _ZONELESS, "2024-02-29T23:59:59.123000", "2024-02-29T00:00:00.000000", None),
            (2, "1850-01-01T12:00:00.000000", None, _ZONELESS, _ZONED),
            (3, None, None, None, _ZONED),
            applied=3,
        ),
        settings=_ours(zonelessTimestamps="ntz"),
    ),
    *(
        vector(
            f"policy/binary-text-{name}",
            title,
            "4.6",
            meta(
                {
                    "FileFormat": "CSV",
                    "SchemaDefinition": {"Columns": [{"Name": "v", "DataType": "ByteArray"}]},
                }
            ),
            raw(f"{1:020d}.csv", written),
            expected=expected,
            settings=settings,
        )
        for name, title, settings, written, expected in (
            (
                "undeclared",
                "Bytes that may be hexadecimal or base64 stop the table until somebody says which",
                None,
                b"id,v\n1,AP8=\n2,0x4F6D21\n3,0x12\n",
                expect(applied=0, state=paused("ValueInvalid", f"{1:020d}.csv")),
            ),
            (
                "in-hexadecimal",
                "Where bytes are in hexadecimal, a prefix means nothing",
                _ours(binaryText="hex"),
                b"id,v\n1,0x4F6D\n2,\\xdead\n3,00ff\n4,0x\n5,\n",
                expect(
                    "id:string v:binary",
                    *(("1", "4f6d"), ("2", "dead"), ("3", "00ff"), ("4", ""), ("5", None)),
                    applied=1,
                ),
            ),
            (
                "in-base64",
                "Where bytes are in base64, 0 and x are digits like any other",
                _ours(tables={"dbo.Orders": {"binaryText": "base64"}}),
                b"id,v\n1,AP8=\n2,0x12\n",
                expect("id:string v:binary", ("1", "00ff"), ("2", "d31d76"), applied=1),
            ),
        )
    ),
    vector(
        "policy/whole-floats",
        "Integers that a writer made floats of, for a NULL among them, are integers again",
        "6.3",
        step(keys("id"), file(1, "id:int64 n:int32 b:int8", (1, 1, 1))),
        step(
            file(2, "id:double n:double b:float", (1.0, None, 5.0), (2.0, -7.0, None)),
            file(3, "id:int64 n:double x:double", (3, 2147483647.0, 1.5)),
        ),
        step(file(4, "id:int64 n:double", (4, 2147483648.0))),
        expected=expect(
            "id:long n:integer b:byte x:double",
            *((1, 1, 1, None), (1, None, 5, None), (2, -7, None, None), (3, 2147483647, None, 1.5)),
            applied=3,
            state=paused("ValueInvalid", 4),
        ),
        settings=_ours(wholeFloats="integer"),
    ),
    vector(
        "policy/whole-floats-that-are-not",
        "A float that is not whole is none of them",
        "6.3",
        keys("id"),
        file(1, "id:int64 n:int64", (1, 1)),
        file(2, "id:int64 n:double", (2, 2.0), (3, 2.5)),
        expected=expect("id:long n:long", (1, 1), applied=1, state=paused("ValueInvalid", 2)),
        settings=_ours(wholeFloats="integer"),
    ),
    vector(
        "policy/fractions-refused",
        "Where fractions are refused, what is finer than a microsecond stops the table",
        "6.5",
        file(1, [("at", pa.timestamp("ns"))], (_AT_NS,)),
        file(2, [("at", pa.timestamp("ns"))], (_AT_NS + 1,)),
        expected=expect("at:timestamp", (_ZONED,), applied=1, state=paused("ValueInvalid", 2)),
        settings=_ours(fractions="refuse"),
    ),
    vector(
        "policy/fractions-accepted",
        "Where it is accepted that they are truncated, there is no warning",
        "6.5",
        file(1, [("at", pa.timestamp("ns"))], (_AT_NS + 999,)),
        expected=expect("at:timestamp", (_ZONED,), applied=1),
        settings=_ours(tables={"dbo.orders": {"fractions": "truncate"}}),
    ),
    *(
        vector(
            f"policy/fractions-of-text-{name}",
            title,
            "4.6 6.5",
            meta(
                {
                    "keyColumns": key_columns,
                    "FileFormat": "CSV",
                    "SchemaDefinition": {
                        "Columns": [
                            {"Name": "at", "DataType": "DateTime"},
                            {"Name": "time", "DataType": "ITime"},
                        ]
                    },
                }
            ),
            raw(
                f"{1:020d}.csv",
                b"at,time\n2024-02-29 23:59:59.1234567,23:59:59.9999999\n"
                b"2024-02-29T23:59:59.123456999+00:00,\n",
            ),
            expected=expected,
        )
        for name, title, key_columns, expected in (
            (
                "truncated",
                "datetime2(7) of SQL Server in text loses its seventh digit, and its table says so",
                [],
                expect(
                    "at:timestamp time:string",
                    (_ZONED, "23:59:59.999999"),
                    (_ZONED, None),
                    applied=1,
                    warnings=("FractionsTruncated",),
                ),
            ),
            (
                "as-a-key",
                "In a key column of text they are refused, or two keys would be one",
                ["at"],
                expect(applied=0, state=paused("ValueInvalid", f"{1:020d}.csv")),
            ),
        )
    ),
    vector(
        "policy/zoned-values-in-a-zoneless-column",
        "A column without a zone takes no values with one",
        "6.3 6.5",
        file(1, [("id", "int64"), ("at", _NTZ)], (1, _PLAIN)),
        file(2, [("id", "int64"), ("at", _UTC)], (2, _AT)),
        expected=expect(
            "id:long at:timestamp_ntz",
            (1, _ZONELESS),
            applied=1,
            state=paused("SchemaMergeFailure", 2),
        ),
        settings=_ours(zonelessTimestamps="ntz"),
    ),
    _untouched(
        "deletion-vectors",
        "Deletion vectors change how files are written, and no row",
        _ours(deletionVectors=True),
    ),
    _untouched(
        "change-data-feed",
        "A change data feed is written beside the table, and changes no row",
        {"properties": {"target": {"typeProperties": {"enableDeltaChangeDataFeed": True}}}},
    ),
    _untouched(
        "clustering",
        "Clustering lays files out, and changes no row; a column may come later",
        _ours(clustering=["W", "id"]),
    ),
]
