"""§5.6: a version column, which keeps rows from being overwritten by older changes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.vectors.catalogue.words import (
    Item,
    Vector,
    expect,
    file,
    keys,
    meta,
    paused,
    step,
    vector,
)

_V = "m id:int64 seq:int64 v:string"
_SEEN = "id:long seq:long v:string"
_VERSION_COLUMN = {"ConditionalUpdateColumn": "seq"}


def _versioned(*names: str, **more: Any) -> Item:
    return keys(*(names or ("id",)), **{**_VERSION_COLUMN, **more})


def _after(
    name: str,
    title: str,
    before: list[tuple[int, int | None, str]],
    changes: list[tuple[int, int, int | None, str | None]],
    *rows: tuple[Any, ...],
) -> Vector:
    """A file of rows, then a file of changes to them."""
    return vector(
        f"version-columns/{name}",
        title,
        "5.3 5.6",
        _versioned(),
        file(1, "id:int64 seq:int64 v:string", *before),
        file(2, _V, *changes),
        expected=expect(_SEEN, *rows, applied=2),
    )


def _of_type(
    name: str, kind: str, seen: str, low: Any, high: Any, shown: tuple[Any, Any]
) -> Vector:
    """Rows with each of two versions, and an upsert with each of them over each."""
    one, two = shown
    return vector(
        f"version-columns/of-{name}",
        f"A version of type {seen}: {one} is lower than {two}",
        "5.4 5.6",
        step(
            _versioned(),
            file(1, f"id:int64 seq:{kind}", (1, low), (2, low), (3, high), (4, high), (5, None)),
        ),
        step(
            file(
                2,
                f"m id:int64 seq:{kind} late:int64",
                (4, 1, low, 1),
                (4, 2, high, 1),
                (4, 3, low, 1),
                (4, 4, high, 1),
                (4, 5, low, 1),
            )
        ),
        expected=expect(
            f"id:long seq:{seen} late:long",
            (1, one, 1),
            (2, two, 1),
            (3, two, None),
            (4, two, 1),
            (5, one, 1),
            applied=2,
        ),
    )


def _timestamps(number: int, marker: int | None, *rows: tuple[int, int, int]) -> Item:
    """Rows of an id, a version so many microseconds after a moment, and a value."""
    moment = datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)
    columns: list[tuple[str, Any]] = [
        ("id", "int64"),
        ("at", pa.timestamp("us", tz="UTC")),
        ("v", "int64"),
    ]
    cells: list[tuple[Any, ...]] = [(key, moment.replace(microsecond=us), v) for key, us, v in rows]
    if marker is None:
        return file(number, columns, *cells)
    return file(number, [("__rowMarker__", "int32"), *columns], *((marker, *c) for c in cells))


def _refused(name: str, title: str, metadata: Item, code: str, protocol: str = "4.2") -> Vector:
    return vector(
        f"version-columns/{name}",
        title,
        protocol,
        metadata,
        file(1, "id:int64 v:string", (1, "a")),
        expected=expect(applied=0, state=paused(code)),
    )


CASES = [
    _after(
        "older-updates-do-not-count",
        "An update or upsert counts when its value is not lower than the row's",
        [(1, 5, "a"), (2, 5, "b"), (3, 5, "c"), (4, 5, "d")],
        [(1, 1, 4, "x"), (4, 2, 4, "x"), (1, 3, 5, "same"), (4, 4, 6, "newer")],
        (1, 5, "a"),
        (2, 5, "b"),
        (3, 5, "same"),
        (4, 6, "newer"),
    ),
    _after(
        "older-deletes-do-not-count",
        "So does a delete",
        [(1, 5, "a"), (2, 5, "b"), (3, 5, "c")],
        [(2, 1, 4, None), (2, 2, 5, None), (2, 3, 6, None)],
        (1, 5, "a"),
    ),
    _after(
        "deletes-without-a-value",
        "A delete without a value counts for every row",
        [(1, 5, "a"), (1, None, "b"), (2, 5, "c")],
        [(2, 1, None, None)],
        (2, 5, "c"),
    ),
    vector(
        "version-columns/deletes-with-only-the-keys",
        "A delete from a file without the column counts for every row",
        "5.1 5.6",
        _versioned(),
        file(1, "id:int64 seq:int64 v:string", (1, 5, "a"), (2, 5, "b")),
        file(2, "m id:int64", (2, 1)),
        expected=expect(_SEEN, (2, 5, "b"), applied=2),
    ),
    _after(
        "null-is-lowest",
        "A row's NULL gives way to anything; an update's NULL counts over NULL alone",
        [(1, None, "a"), (2, None, "b"), (3, None, "c"), (4, -5, "d")],
        [(1, 1, -9, "x"), (4, 2, None, "y"), (2, 3, -9, None), (1, 4, None, "z")],
        (1, -9, "x"),
        (2, None, "y"),
        (4, -5, "d"),
    ),
    _after(
        "inserts-compare-no-versions",
        "An insert adds a row, however old",
        [(1, 5, "a")],
        [(0, 1, 1, "b"), (0, 1, None, "c")],
        (1, 5, "a"),
        (1, 1, "b"),
        (1, None, "c"),
    ),
    _after(
        "rows-of-a-key-one-by-one",
        "With several rows of a key, a change counts for some and leaves the others",
        [(1, 3, "a"), (1, 9, "b"), (2, 3, "c"), (2, 9, "d"), (3, 3, "e"), (3, 3, "f")],
        [(1, 1, 5, "x"), (2, 2, 5, None), (4, 3, 3, "z")],
        (1, 5, "x"),
        (1, 9, "b"),
        (2, 9, "d"),
        (3, 3, "z"),
        (3, 3, "z"),
    ),
    _after(
        "an-update-that-counts-for-no-row",
        "An update adds a row only when no row has the key, whether it counts for it or not",
        [(1, 9, "a"), (2, 9, "b")],
        [(1, 1, 1, "x"), (4, 3, 1, "new"), (2, 2, 9, None), (1, 2, 1, "again")],
        (1, 9, "a"),
        (2, 1, "again"),
        (3, 1, "new"),
    ),
    vector(
        "version-columns/a-delete-that-leaves-some",
        "Rows of 3 and 9, a delete at 5 and an update at 1 leave 9",
        "5.5 5.6",
        step(
            _versioned(),
            file(1, _V, (0, 1, 3, "a"), (0, 1, 9, "b"), (0, 2, 3, "c"), (0, 3, None, "d")),
        ),
        step(
            file(2, _V, (2, 1, 5, None), (1, 1, 1, "x"), (2, 2, 5, None), (1, 2, 1, "y")),
            file(3, _V, (1, 3, 2, "e"), (2, 3, 1, None), (1, 3, 2, "f")),
        ),
        expected=expect(_SEEN, (1, 9, "b"), (2, 1, "y"), (3, 2, "f"), applied=3),
    ),
    vector(
        "version-columns/changes-of-a-batch-in-any-order",
        "The greatest version wins, and the last change among equals",
        "5.5 5.6",
        step(
            _versioned(),
            file(1, _V, (0, 1, 4, "a"), (0, 2, 8, "b"), (0, 3, 1, "c"), (0, 4, 1, "d")),
        ),
        step(
            file(2, _V, (1, 1, 6, "x"), (1, 1, 6, "y"), (4, 1, 5, "z"), (1, 2, 7, "x")),
            file(3, _V, (0, 3, 5, "e"), (1, 3, 3, "x"), (0, 3, 2, "f"), (2, 4, 1, None)),
            file(4, _V, (1, 5, 2, "g"), (1, 5, 1, "h"), (0, 4, 7, "i"), (2, 4, 6, None)),
        ),
        expected=expect(
            _SEEN,
            (1, 6, "y"),
            (2, 8, "b"),
            (3, 3, "x"),
            (3, 5, "e"),
            (3, 2, "f"),
            (4, 7, "i"),
            (5, 2, "g"),
            applied=4,
        ),
    ),
    vector(
        "version-columns/a-file-without-the-column",
        "Its rows are NULL there: its updates count only where the row is NULL too",
        "5.6 6.2",
        _versioned(),
        file(1, "id:int64 seq:int64 v:string", (1, 5, "a"), (2, None, "b")),
        file(2, "m id:int64 v:string", (1, 1, "x"), (1, 2, "y"), (1, 3, "z")),
        expected=expect(_SEEN, (1, 5, "a"), (2, None, "y"), (3, None, "z"), applied=2),
    ),
    vector(
        "version-columns/a-column-that-comes-later",
        "Rows from before the column are NULL there, and give way to anything",
        "5.6 6.2",
        step(_versioned(), file(1, "id:int64", (1,), (2,), (3,))),
        step(file(2, "m id:int64 seq:int64", (1, 1, -9), (2, 2, -9), (1, 1, -10), (1, 3, None))),
        expected=expect("id:long seq:long", (1, -9), (3, None), applied=2),
    ),
    vector(
        "version-columns/a-column-that-never-comes",
        "Without the column no versions are compared",
        "5.6",
        _versioned(),
        file(1, "id:int64 v:string", (1, "a"), (2, "b")),
        file(2, "m id:int64 v:string", (1, 1, "x"), (2, 2, None)),
        expected=expect("id:long v:string", (1, "x"), applied=2),
    ),
    vector(
        "version-columns/a-column-that-grows",
        "Values are compared in the type that the column has grown to",
        "5.6 6.3",
        step(_versioned(), file(1, "id:int64 seq:int32", (1, 5), (2, 5), (3, 5))),
        step(
            file(2, "m id:int64 seq:int32", (1, 1, 4), (2, 3, 4)),
            file(3, "m id:int64 seq:int64", (1, 2, 2**31), (1, 1, -(2**31) - 1)),
        ),
        expected=expect("id:long seq:long", (1, 5), (2, 2**31), (3, 5), applied=3),
    ),
    vector(
        "version-columns/name-in-any-casing",
        "The column is found in any casing",
        "4.2 5.6 6.1",
        step(
            keys("id", conditionalUpdateColumn="SEQ"), file(1, "id:int64 Seq:int64", (1, 5), (2, 5))
        ),
        step(_versioned(), file(2, "m id:int64 seq:int64", (1, 1, 4), (1, 2, 6))),
        expected=expect("id:long Seq:long", (1, 5), (2, 6), applied=2),
    ),
    vector(
        "version-columns/a-key-column-as-version-column",
        "Rows of one key all have the same version, so every change counts",
        "5.6",
        _versioned("id", "seq"),
        file(1, "id:int64 seq:int64 v:string", (1, None, "a"), (1, 5, "b")),
        file(2, _V, (1, 1, None, "x"), (2, 1, 5, None), (1, 1, 4, "y")),
        expected=expect(_SEEN, (1, None, "x"), (1, 4, "y"), applied=2),
    ),
    vector(
        "version-columns/upsert-by-default",
        "Rows without a marker that are upserts compare versions as upserts do",
        "5.2 5.6",
        _versioned(isUpsertDefaultRowMarker=True),
        file(1, "id:int64 seq:int64 v:string", (1, 5, "a"), (2, 5, "b")),
        file(2, "id:int64 seq:int64 v:string", (1, 4, "x"), (2, 6, "y"), (3, 1, "z")),
        expected=expect(_SEEN, (1, 5, "a"), (2, 6, "y"), (3, 1, "z"), applied=2),
    ),
    _of_type("text", "string", "string", "Z", "a", ("Z", "a")),
    _of_type(
        "text-beyond-ascii", "string", "string", "\uff5e", "\U0001f600", ("\uff5e", "\U0001f600")
    ),
    _of_type("bytes", "binary", "binary", b"\x7f\xff", b"\x80", ("7fff", "80")),
    _of_type("nan", "double", "double", float("inf"), float("nan"), ("Infinity", "NaN")),
    _of_type(
        "decimals",
        "decimal(38,2)",
        "decimal(38,2)",
        Decimal("-0.01"),
        Decimal(0),
        ("-0.01", "0.00"),
    ),
    _of_type(
        "dates", "date32", "date", date(1, 1, 1), date(9999, 12, 31), ("0001-01-01", "9999-12-31")
    ),
    _of_type("booleans", "bool", "boolean", False, True, (False, True)),
    vector(
        "version-columns/of-timestamps-and-negative-zero",
        "Microseconds count; -0.0 and 0.0 are equal",
        "5.4 5.6",
        step(
            keys("id", ConditionalUpdateColumn="at"),
            _timestamps(1, None, (1, 1, 0), (2, 1, 0)),
            file(1, "id:int64 seq:double v:string", (1, 0.0, "a"), (2, -0.0, "b"), folder="Zero"),
            _versioned(folder="Zero"),
        ),
        step(
            _timestamps(2, 1, (1, 0, 9), (2, 1, 9)),
            file(
                2,
                "m id:int64 seq:double v:string",
                (1, 1, -0.0, "x"),
                (1, 2, 0.0, "y"),
                folder="Zero",
            ),
        ),
        expected=(
            expect(
                "id:long at:timestamp v:long",
                (1, "2024-02-29T23:59:59.000001Z", 0),
                (2, "2024-02-29T23:59:59.000001Z", 9),
                applied=2,
            ),
            expect(
                "id:long seq:double v:string",
                (1, 0.0, "x"),
                (2, 0.0, "y"),
                applied=2,
                folder="Zero",
            ),
        ),
    ),
    _refused(
        "without-keys",
        "ConditionalUpdateColumn needs keys",
        keys(**_VERSION_COLUMN),
        "KeyColumnsUndeclared",
        "4.2 5.6",
    ),
    _refused(
        "the-marker-as-version-column",
        "The row marker cannot be the version column",
        keys("id", ConditionalUpdateColumn="__ROWMARKER__"),
        "MetadataInvalid",
    ),
    _refused(
        "a-list-as-version-column",
        "ConditionalUpdateColumn is one name",
        keys("id", ConditionalUpdateColumn=["seq"]),
        "MetadataInvalid",
    ),
    vector(
        "version-columns/no-name",
        "An empty name, or null, is none",
        "4.2",
        step(keys("id", ConditionalUpdateColumn=""), file(1, _V, (0, 1, 5, "a"))),
        step(keys("id", ConditionalUpdateColumn=None), file(2, _V, (1, 1, 4, "b"))),
        expected=expect(_SEEN, (1, 4, "b"), applied=2),
    ),
    vector(
        "version-columns/changed-later",
        "The version column never changes in one incarnation of a folder",
        "4.4 5.6",
        step(_versioned(), file(1, _V, (0, 1, 5, "a"))),
        step(keys("id"), file(2, _V, (1, 1, 4, "b"))),
        expected=expect(_SEEN, (1, 5, "a"), applied=1, state=paused("PinnedOptionChanged")),
    ),
    vector(
        "version-columns/declared-later",
        "Nor is one declared for a table that was applied without",
        "4.4 5.6",
        step(meta({"keyColumns": ["id"]}), file(1, _V, (0, 1, 5, "a"))),
        step(_versioned(), file(2, _V, (1, 1, 4, "b"))),
        expected=expect(_SEEN, (1, 5, "a"), applied=1, state=paused("PinnedOptionChanged")),
    ),
]
