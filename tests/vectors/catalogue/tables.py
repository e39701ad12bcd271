"""§7: what becomes of a table whose folder comes, goes, comes again, or has another name."""

from __future__ import annotations

from typing import Any

from tests.vectors.catalogue.words import (
    Settings,
    asked,
    deleted,
    expect,
    file,
    keys,
    meta,
    paused,
    raw,
    renamed,
    step,
    vector,
    waits,
)

_IN = "id:int64 city:string"
_OUT = "id:long city:string"
_FIRST = file(1, _IN, (1, "Oslo"))
_OLD = (1, "Oslo")
_NEW = (5, "Rome")


def _gone(applied: int, **of: str) -> dict[str, Any]:
    """A table that was dropped after so many files."""
    return expect(applied=applied, state="dropped", **of)


_DROP = [
    vector(
        "tables/added-later",
        "A folder that comes later is a table as any other",
        "7.1",
        step(keys("id"), _FIRST),
        step(keys("id", folder="Items"), file(1, _IN, (2, "Rome"), folder="Items")),
        expected=(
            expect(_OUT, _OLD, applied=1),
            expect(_OUT, (2, "Rome"), applied=1, folder="Items"),
        ),
    ),
    vector(
        "tables/folder-just-gone",
        "A folder that is missing once drops nothing yet",
        "7.2",
        step(keys("id"), _FIRST),
        step(deleted()),
        expected=expect(_OUT, _OLD, applied=1, state=waits("grace")),
    ),
    vector(
        "tables/dropped",
        "The table of a folder that is missing twice is dropped, and no other",
        "7.2",
        step(keys("id"), _FIRST, file(1, _IN, _OLD, folder="Items")),
        step(deleted()),
        step(file(2, _IN, _NEW, folder="Items")),
        expected=(_gone(1), expect(_OUT, _OLD, _NEW, applied=2, folder="Items")),
    ),
    vector(
        "tables/folder-that-comes-back",
        "The same folder, back before its table is dropped, goes on",
        "7.2 7.4",
        step(keys("id"), _FIRST),
        step(renamed("Orders", "_Orders")),
        step(renamed("_Orders", "Orders"), file(2, _IN, _NEW)),
        expected=expect(_OUT, _OLD, _NEW, applied=2),
    ),
    vector(
        "tables/folder-that-comes-back-late",
        "The same folder, back after its table was dropped, goes on with its rows",
        "7.2 7.4",
        step(keys("id"), _FIRST),
        step(renamed("Orders", "_Orders")),
        step(),
        step(renamed("_Orders", "Orders"), file(2, _IN, _NEW)),
        expected=expect(_OUT, _OLD, _NEW, applied=2),
    ),
    vector(
        "tables/held-and-gone",
        "A held table is not dropped",
        "7.2",
        step(keys("id"), _FIRST),
        step(asked("pause")),
        step(deleted()),
        step(),
        expected=expect(_OUT, _OLD, applied=1, state="held"),
    ),
    vector(
        "tables/dropped-before-it-was-a-table",
        "A folder that goes before its first change file leaves nothing",
        "7.2",
        step(_FIRST, keys("id", folder="Items")),
        step(deleted("Items")),
        step(),
        expected=expect(_OUT, _OLD, applied=1),
    ),
    vector(
        "tables/undropped",
        "A dropped table that was asked for is back with its rows, held",
        "7.3",
        step(keys("id"), _FIRST),
        step(deleted()),
        step(),
        step(asked("undrop")),
        expected=expect(_OUT, _OLD, applied=1, state="held"),
    ),
    vector(
        "tables/undropped-without-its-folder",
        "Let go without its folder it is dropped again",
        "7.3",
        step(keys("id"), _FIRST),
        step(deleted()),
        step(),
        step(asked("undrop")),
        step(asked("resume")),
        step(),
        expected=_gone(1),
    ),
    vector(
        "tables/undropped-with-its-folder",
        "Let go with the folder that it had, it goes on",
        "7.3 7.4",
        step(keys("id"), _FIRST),
        step(renamed("Orders", "_Orders")),
        step(),
        step(asked("undrop")),
        step(renamed("_Orders", "Orders"), file(2, _IN, _NEW), asked("resume")),
        expected=expect(_OUT, _OLD, _NEW, applied=2),
    ),
    vector(
        "tables/undropped-with-a-new-folder",
        "Let go with a new folder, it becomes what that says",
        "7.3 7.4",
        step(keys("id"), _FIRST),
        step(deleted()),
        step(),
        step(asked("undrop")),
        step(file(1, _IN, _NEW), asked("resume")),
        expected=expect(_OUT, _NEW, applied=1),
    ),
]

_RE_CREATED = [
    vector(
        "tables/re-created-at-once",
        "A folder that was deleted and made again between two observations is another incarnation",
        "7.4",
        step(keys("id"), _FIRST, file(2, _IN, (2, "Bern"))),
        step(deleted(), keys("id"), file(1, _IN, _NEW)),
        expected=expect(_OUT, _NEW, applied=1),
    ),
    vector(
        "tables/re-created-while-missed",
        "So is one that was missed before it came again",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted()),
        step(keys("id"), file(1, _IN, _NEW)),
        expected=expect(_OUT, _NEW, applied=1),
    ),
    vector(
        "tables/re-created-after-a-drop",
        "So is one that came again after its table was dropped",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted()),
        step(),
        step(keys("id"), file(1, _IN, _NEW)),
        expected=expect(_OUT, _NEW, applied=1),
    ),
    vector(
        "tables/re-created-twice",
        "Each incarnation starts from 1, and only the last one counts",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted(), keys("id"), file(1, _IN, (2, "Bern")), file(2, _IN, (3, "Riga"))),
        step(deleted(), keys("id"), file(1, _IN, _NEW)),
        expected=expect(_OUT, _NEW, applied=1),
    ),
    vector(
        "tables/re-created-and-empty",
        "Until the new folder has a file, the old table stays",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted(), keys("id")),
        expected=expect(_OUT, _OLD, applied=0),
    ),
    vector(
        "tables/re-created-without-the-first-file",
        "Until the new folder has its first file, the old table stays",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted(), keys("id"), file(2, _IN, _NEW)),
        expected=expect(_OUT, _OLD, applied=0, state=waits("gap", 1)),
    ),
    vector(
        "tables/re-created-with-a-bad-first-file",
        "Until the first file can be read, the old table stays",
        "7.4",
        step(keys("id"), _FIRST),
        step(
            deleted(),
            keys("id"),
            raw(f"{1:020d}.parquet", b"id,city\n5,Rome\n"),
            file(2, _IN, _NEW),
        ),
        expected=expect(_OUT, _OLD, applied=0, state=paused("FileUnreadable", 1)),
    ),
    vector(
        "tables/re-created-with-a-bad-row",
        "The same where only the rows of the first file are bad",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted(), keys("id"), file(1, f"m {_IN}", (3, *_NEW))),
        expected=expect(_OUT, _OLD, applied=0, state=paused("RowMarkerInvalid", 1)),
    ),
    vector(
        "tables/re-created-and-mended",
        "The new incarnation begins once its first file was replaced by a good one",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted(), keys("id"), file(1, f"m {_IN}", (3, *_NEW))),
        step(file(1, f"m {_IN}", (4, *_NEW))),
        expected=expect(_OUT, _NEW, applied=1),
    ),
    vector(
        "tables/re-created-with-a-bad-second-file",
        "Once the first file can be read, the table is the new one, as far as it is good",
        "7.4",
        step(keys("id"), _FIRST),
        step(deleted(), keys("id"), file(1, _IN, _NEW), raw(f"{2:020d}.parquet", b"no parquet")),
        expected=expect(_OUT, _NEW, applied=1, state=paused("FileUnreadable", 2)),
    ),
    vector(
        "tables/re-created-with-other-columns",
        "A new incarnation has the columns and types of its own files only",
        "7.4 6.2",
        step(keys("id"), file(1, "id:int64 city:string open:bool", (1, "Oslo", True))),
        step(deleted(), keys("city"), file(1, "city:int32 `no:double", (3, 0.5))),
        expected=expect("city:integer `no:double", (3, 0.5), applied=1),
    ),
    vector(
        "tables/re-created-with-other-keys",
        "A new incarnation matches rows by the keys that it declares",
        "7.4 4.4",
        step(keys("id"), _FIRST),
        step(
            deleted(),
            keys("city"),
            file(1, _IN, (1, "Oslo"), (1, "Rome")),
            file(2, f"m {_IN}", (1, 9, "Oslo"), (2, None, "Rome")),
        ),
        expected=expect(_OUT, (9, "Oslo"), applied=2),
    ),
    vector(
        "tables/re-created-without-keys",
        "A new incarnation without _metadata.json takes inserts only, whatever the old one had",
        "7.4 4.4",
        step(keys("id"), _FIRST),
        step(deleted(), file(1, _IN, _NEW, _NEW), file(2, f"m {_IN}", (2, *_NEW))),
        expected=expect(_OUT, _NEW, _NEW, applied=1, state=paused("KeyColumnsUndeclared", 2)),
    ),
    vector(
        "tables/re-created-with-another-default",
        "Frozen options are frozen no more in a new incarnation",
        "7.4 4.4 5.2",
        step(keys("id"), _FIRST),
        step(
            deleted(),
            keys("id", isUpsertDefaultRowMarker=True),
            file(1, _IN, _NEW, (5, "Turin")),
        ),
        expected=expect(_OUT, (5, "Turin"), applied=1),
    ),
    vector(
        "tables/re-created-as-text",
        "A new incarnation may be in another format",
        "7.4 4.3",
        step(keys("id"), _FIRST),
        step(
            deleted(),
            keys("id", FileFormat="CSV"),
            raw(f"{1:020d}.csv", b"id,city\r\n5,Rome\r\n"),
        ),
        expected=expect("id:string city:string", ("5", "Rome"), applied=1),
    ),
    vector(
        "tables/re-created-as-parquet",
        "And back",
        "7.4 4.3",
        step(keys("id", FileFormat="CSV"), raw(f"{1:020d}.csv", b"id,city\r\n5,Rome\r\n")),
        step(deleted(), keys("id"), _FIRST),
        expected=expect(_OUT, _OLD, applied=1),
    ),
    vector(
        "tables/re-created-after-a-problem",
        "A problem of the old incarnation is none of the new one",
        "7.4",
        step(keys("id"), _FIRST, file(2, "id:string city:string", ("x", "Rome"))),
        step(deleted(), keys("id"), file(1, "id:string city:string", ("x", "Rome"))),
        expected=expect("id:string city:string", ("x", "Rome"), applied=1),
    ),
    vector(
        "tables/re-created-while-held",
        "A held table does not change until it is let go",
        "7.4",
        step(keys("id"), _FIRST),
        step(asked("pause")),
        step(deleted(), keys("id"), file(1, _IN, _NEW)),
        expected=expect(_OUT, _OLD, applied=0, state="held"),
    ),
]

_RENAMED = [
    vector(
        "tables/renamed",
        "A folder with another name is another table, which begins with file 1",
        "7.5",
        step(keys("id"), _FIRST, file(2, _IN, _NEW)),
        step(renamed("Orders", "Items")),
        step(),
        expected=(_gone(2), expect(_OUT, _OLD, _NEW, applied=2, folder="Items")),
    ),
    vector(
        "tables/renamed-without-its-first-file",
        "It needs every file from 1 on",
        "7.5",
        step(keys("id"), _FIRST, file(2, _IN, _NEW)),
        step(renamed("Orders", "Items"), deleted(f"Items/{1:020d}.parquet")),
        step(),
        expected=(_gone(2), expect(applied=0, folder="Items", state=waits("gap", 1))),
    ),
    vector(
        "tables/renamed-to-another-schema",
        "The schema is a part of the name",
        "7.5 2.1",
        step(file(1, _IN, _OLD, folder="A.schema/Orders")),
        step(renamed("A.schema/Orders", "B.schema/Orders")),
        step(),
        expected=(
            _gone(1, folder="A.schema/Orders", table="A.Orders"),
            expect(_OUT, _OLD, applied=1, folder="B.schema/Orders", table="B.Orders"),
        ),
    ),
    vector(
        "tables/renamed-in-case-only",
        "While the table with the old spelling is there, the new one collides with it",
        "7.5 2.2",
        step(keys("id"), _FIRST),
        step(renamed("Orders", "ORDERS")),
        expected=(
            expect(_OUT, _OLD, applied=1, state=waits("grace")),
            expect(applied=0, folder="ORDERS", state=paused("TableNameCollision")),
        ),
    ),
    vector(
        "tables/renamed-in-case-only-at-last",
        "Once that was dropped, the new one takes its place",
        "7.5 2.2",
        step(keys("id"), _FIRST),
        step(renamed("Orders", "ORDERS")),
        step(),
        step(),
        expected=(_gone(1), expect(_OUT, _OLD, applied=1, folder="ORDERS")),
    ),
    vector(
        "tables/two-that-swap-names",
        "Each name goes with the folder that has it now",
        "7.5 7.4",
        step(keys("id"), _FIRST, file(1, "id:int64", (7,), folder="Items")),
        step(renamed("Orders", "_x"), renamed("Items", "Orders"), renamed("_x", "Items")),
        expected=(
            expect("id:long", (7,), applied=1),
            expect(_OUT, _OLD, applied=1, folder="Items"),
        ),
    ),
]

_REPAIRED = [
    vector(
        "tables/skipped-gap",
        "A number that is given up is passed over; those that are there are applied",
        "3.4",
        step(keys("id"), _FIRST, file(3, _IN, (3, "Bern")), file(5, _IN, _NEW)),
        step(asked("skip", through=4)),
        expected=expect(_OUT, _OLD, (3, "Bern"), _NEW, applied=5),
    ),
    vector(
        "tables/skipped-file",
        "A bad file that is given up is passed over",
        "3.6",
        step(keys("id"), _FIRST, raw(f"{2:020d}.parquet", b"bad"), file(3, _IN, _NEW)),
        step(asked("skip", file=2)),
        expected=expect(_OUT, _OLD, _NEW, applied=3),
    ),
    vector(
        "tables/reseeded",
        "A table that is built again has the keys that are declared now",
        "4.4",
        step(keys("id"), _FIRST, file(2, f"m {_IN}", (4, 2, "Oslo"))),
        step(keys("city")),
        step(asked("reseed")),
        expected=expect(_OUT, (2, "Oslo"), applied=2),
    ),
    vector(
        "tables/reseeded-through-a-file",
        "A table that is built again through a file is as it was after that file, and held there",
        "4.4",
        step(keys("id"), _FIRST, file(2, f"m {_IN}", (4, 2, "Oslo")), file(3, _IN, _NEW)),
        step(asked("reseed", through=2), file(4, _IN, (4, "Bonn"))),
        step(),
        expected=expect(_OUT, _OLD, (2, "Oslo"), applied=2, state="held"),
    ),
    vector(
        "tables/reseeded-through-a-file-and-resumed",
        "A table that was built again through a file goes on with the next one when it is resumed",
        "4.4",
        step(keys("id"), _FIRST, file(2, f"m {_IN}", (4, 2, "Oslo")), file(3, _IN, _NEW)),
        step(asked("reseed", through=1)),
        step(asked("resume"), file(4, f"m {_IN}", (2, 2, None))),
        expected=expect(_OUT, _OLD, _NEW, applied=4),
    ),
    vector(
        "tables/reseeded-through-a-gap",
        "What was given up is not waited for by a table that is built again through it",
        "3.4 4.4",
        step(keys("id"), _FIRST, file(3, _IN, (3, "Bern")), file(5, _IN, _NEW)),
        step(asked("skip", through=4)),
        step(asked("reseed", through=4)),
        expected=expect(_OUT, _OLD, (3, "Bern"), applied=3, state="held"),
    ),
]

_NAMED = [
    vector(
        "tables/one-name-in-two-schemas",
        "The same table name in several schemas is as many tables",
        "2.1 2.2",
        _FIRST,
        file(1, _IN, (2, "Rome"), folder="A.schema/Orders"),
        file(1, "x:int64", (3,), folder="B.schema/Orders"),
        expected=(
            expect(_OUT, _OLD, applied=1),
            expect(_OUT, (2, "Rome"), applied=1, folder="A.schema/Orders", table="A.Orders"),
            expect("x:long", (3,), applied=1, folder="B.schema/Orders", table="B.Orders"),
        ),
    ),
    vector(
        "tables/default-schema-is-frozen",
        "Tables stay where they are when the default schema has another name later",
        "2.2",
        step(_FIRST),
        step(
            Settings({"properties": {"target": {"typeProperties": {"defaultSchema": "raw"}}}}),
            file(2, _IN, _NEW),
            file(1, _IN, _OLD, folder="Items"),
        ),
        expected=(
            expect(_OUT, _OLD, _NEW, applied=2),
            expect(_OUT, _OLD, applied=1, folder="Items"),
        ),
    ),
    vector(
        "tables/names-that-differ-in-case-only",
        "Folders whose names differ in case only are one table: the first has it",
        "2.2",
        meta({"keyColumns": ["id"]}, folder="n1"),
        file(1, _IN, _OLD, folder="n1"),
        file(1, _IN, _NEW, folder="n2"),
        file(1, _IN, _OLD, folder="s1.schema/T"),
        file(1, _IN, _NEW, folder="s2.schema/T"),
        expected=(
            expect(_OUT, _OLD, applied=1, folder="Orders"),
            expect(applied=0, folder="orders", state=paused("TableNameCollision")),
            expect(_OUT, _OLD, applied=1, folder="A.schema/T", table="A.T"),
            expect(applied=0, folder="a.schema/T", table="a.T", state=paused("TableNameCollision")),
        ),
        names={"n1": "Orders", "n2": "orders", "s1.schema": "A.schema", "s2.schema": "a.schema"},
    ),
]

# Characters that mean something to a shell, a URL, SQL, Hadoop or Spark; none means anything here.
_ODD = (
    *(" leading and trailing ", "..dots. .", "a:b#c+d*e?f\"g'h", "a`b``c", "%", "a%20b%2Fc 100%"),
    *("a\\b\\", "a[1]{y,z}&b=c;d|e<f>", "~", "${HOME}", "-x,$x@^!(a)", "Orders.json", "caf\u00e9"),
    *("cafe\u0301", "\U0001f600\u00a0\u200b\u202eabc", "\u0130stanbul", "STRASSE", "stra\u00dfe"),
    *("a\tb\nc", "w" * 250),
)
_NAMED.append(
    vector(
        "tables/names-of-any-characters",
        "Any character may stand in a name, and means itself",
        "2.2",
        *(file(1, "id:int64", (n,), folder=f"n{n}") for n in range(len(_ODD))),
        expected=tuple(
            expect("id:long", (n,), applied=1, folder=name, table=f"dbo.{_quoted}")
            for n, name in enumerate(_ODD)
            for _quoted in [f"`{name.replace('`', '``')}`" if {".", "`"} & set(name) else name]
        ),
        names={f"n{n}": name for n, name in enumerate(_ODD)},
    )
)

CASES = [*_DROP, *_RE_CREATED, *_RENAMED, *_REPAIRED, *_NAMED]
