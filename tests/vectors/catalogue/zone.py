"""§2: which folders are tables, and what they are called."""

from __future__ import annotations

from tests.vectors.catalogue.words import Vector, expect, file, keys, paused, raw, vector

_ROW = ("id:int64 city:string", (1, "Oslo"))
_SEEN = ("id:long city:string", (1, "Oslo"))


def _one(name: str, title: str, folder: str, table: str, protocol: str = "2.1 2.2") -> Vector:
    """A folder of some name that has one file, and the table that it feeds."""
    return vector(
        name,
        title,
        protocol,
        keys("id", folder=folder),
        file(1, *_ROW, folder=folder),
        expected=expect(*_SEEN, applied=1, folder=folder, table=table),
    )


CASES = [
    _one(
        "zone/table-folder", "A folder feeds a table of the default schema", "Orders", "dbo.Orders"
    ),
    _one(
        "zone/schema-folder",
        "A folder in a schema folder feeds a table of that schema",
        "Sales.schema/Orders",
        "Sales.Orders",
    ),
    vector(
        "zone/default-schema-of-the-settings",
        "mirroring.json names the schema of folders without one",
        "2.2",
        file(1, *_ROW),
        file(1, *_ROW, folder="dbo.schema/Orders"),
        expected=(
            expect(*_SEEN, applied=1, table="raw.Orders"),
            expect(*_SEEN, applied=1, folder="dbo.schema/Orders", table="dbo.Orders"),
        ),
        settings={"properties": {"target": {"typeProperties": {"defaultSchema": "raw"}}}},
    ),
    _one("zone/names-with-dots", "Dots are part of a name", "a.b.schema/c.d", "`a.b`.`c.d`"),
    _one(
        "zone/names-with-spaces",
        "Spaces are part of a name",
        "Sales 2024.schema/Order Lines",
        "Sales 2024.Order Lines",
    ),
    _one("zone/names-in-unicode", "Names may be in any script", "Größe 注文", "dbo.Größe 注文"),
    _one(
        "zone/names-with-percent", "A percent sign escapes nothing", "a%20b 100%", "dbo.a%20b 100%"
    ),
    _one(
        "zone/names-like-patterns",
        "Brackets, braces and number signs are characters like any other",
        "a[1]{x,y} #2 'q' & $z",
        "dbo.a[1]{x,y} #2 'q' & $z",
    ),
    _one(
        "zone/schema-suffix-in-other-case",
        "Only .schema in lower case makes a schema folder",
        "Sales.SCHEMA",
        "dbo.`Sales.SCHEMA`",
        "2.1",
    ),
    vector(
        "zone/folder-called-just-schema",
        "A folder called .schema is ignored with all it holds",
        "2.1",
        file(1, *_ROW),
        file(1, *_ROW, folder=".schema/Lost"),
        expected=expect(*_SEEN, applied=1),
    ),
    vector(
        "zone/reserved-names",
        "Whatever starts with an underscore is left alone, files and folders alike",
        "2.1 3.7",
        keys("id"),
        file(1, *_ROW),
        file(1, *_ROW, folder="_scratchPad/Orders"),
        file(1, *_ROW, folder="_staged"),
        file(1, *_ROW, folder="_x.schema/Orders"),
        file(1, *_ROW, folder="Sales.schema/_scratchPad"),
        file(2, *_ROW, folder="Orders/_scratchPad"),
        raw("_resume_token.pkl", b"\x80\x04."),
        raw("_00000000000000000002.parquet", b"PAR1 still uploading"),
        expected=expect(*_SEEN, applied=1),
    ),
    vector(
        "zone/no-table-below-a-table",
        "A folder in a table folder is no table, only an odd name",
        "2.1",
        file(1, *_ROW),
        file(1, *_ROW, folder="Orders/Inner"),
        expected=expect(*_SEEN, applied=1, warnings=("FileNeverRead",)),
    ),
    vector(
        "zone/loose-files",
        "Files beside the table folders mean nothing",
        "2.1",
        raw("readme.txt", b"hello", folder=""),
        file(1, "id:int64", (9,), folder="Sales.schema"),
        file(1, *_ROW, folder="Sales.schema/Orders"),
        expected=expect(*_SEEN, applied=1, folder="Sales.schema/Orders", table="Sales.Orders"),
    ),
    vector(
        "zone/no-table-without-a-change-file",
        "A folder with only _metadata.json makes no table yet",
        "2.1",
        keys("id"),
        expected=expect(applied=0),
    ),
    vector(
        "zone/two-folders-of-one-table",
        "The folder without a schema comes first; the other touches nothing",
        "2.2",
        file(1, *_ROW),
        file(1, "id:int64", (2,), folder="dbo.schema/Orders"),
        expected=(
            expect(*_SEEN, applied=1),
            expect(
                applied=0,
                state=paused("TableNameCollision"),
                folder="dbo.schema/Orders",
                table="dbo.Orders",
            ),
        ),
    ),
]
