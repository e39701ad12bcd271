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
    paused,
    step,
    vector,
)

_NTZ = pa.timestamp("us")
_UTC = pa.timestamp("us", "UTC")
_AT = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
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
