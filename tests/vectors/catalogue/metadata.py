"""§4: what `_metadata.json` declares, and how it may be written."""

from __future__ import annotations

import json

from tests.vectors.catalogue.words import (
    Item,
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

_V = "m id:int64 v:string"
_SEEN = "id:long v:string"
_KEYED = json.dumps({"keyColumns": ["id"]})
# Only a table with keys may upsert, and only one with keys ends with a single row.
_TWICE = file(1, _V, (4, 1, "a"), (4, 1, "b"))


def _read(name: str, title: str, written: Item, *warnings: str, protocol: str = "4.1") -> Vector:
    """Metadata that must be read as declaring the key column `id`."""
    return vector(
        name,
        title,
        protocol,
        written,
        _TWICE,
        expected=expect(_SEEN, (1, "b"), applied=1, warnings=warnings),
    )


def _refused(
    name: str, title: str, written: Item, code: str = "MetadataInvalid", protocol: str = "4.1"
) -> Vector:
    """Metadata that stops its table before the first file."""
    return vector(
        name, title, protocol, written, _TWICE, expected=expect(applied=0, state=paused(code))
    )


CASES = [
    _read(
        "metadata/byte-order-mark",
        "A byte order mark is passed over",
        meta(b"\xef\xbb\xbf" + _KEYED.encode()),
    ),
    _read(
        "metadata/utf-16",
        "UTF-16 that begins with a byte order mark is read",
        meta(_KEYED.encode("utf-16")),
    ),
    _read(
        "metadata/keys-in-any-casing",
        "The names of keys are matched without regard to case",
        meta({"KEYCOLUMNS": ["id"], "FileDetectionStrategy": "sequentialfilename"}),
        protocol="4.1 4.2",
    ),
    _read(
        "metadata/microsofts-own-slips",
        "A backslash alone in quotes and an unquoted word stand in Microsoft's examples",
        meta(
            b'{\n  "keyColumns" : [ "id" ],\n  "FileFormat": "Parquet",\n'
            b'  "FileFormatTypeProperties": { "EscapeCharacter": "\\" },\n'
            b'  "fileDetectionStrategy": SequentialFileName\n}\n'
        ),
        "MetadataRepaired",
        protocol="4.1 4.3",
    ),
    _read(
        "metadata/comma-before-a-bracket",
        "A comma too much has one reading",
        meta(b'{"keyColumns": ["id",],}'),
        "MetadataRepaired",
    ),
    _read(
        "metadata/backslash-that-escapes-nothing",
        "So has a backslash that escapes nothing",
        meta(b'{"keyColumns": ["id"], "note": "C:\\data\\queue"}'),
        "MetadataRepaired",
    ),
    _read(
        "metadata/invisible-blanks",
        "Blanks that JSON does not know, as a page has them that code is copied from, are blanks",
        meta('{\n\u2003\u2003"keyColumns":\u00a0["id"]\u200b}'.encode()),
        "MetadataRepaired",
    ),
    _read(
        "metadata/unknown-keys",
        "Unknown keys have no effect",
        meta({"keyColumns": ["id"], "comment": "v", "schemaVersion": {"a": [1]}}),
        protocol="4.2",
    ),
    _read(
        "metadata/a-misspelt-key",
        "A key that is close to a known one has no effect either, and is a warning",
        meta({"keyColumns": ["id"], "conditionalColumn": "v", "FileFormatType": 1}),
        "MetadataKeyUnknown",
        protocol="4.2",
    ),
    _read(
        "metadata/flags-as-text",
        'Flags may be written as "false", "" or null',
        meta(
            {"keyColumns": ["id"], "isUpsertDefaultRowMarker": "False", "isPartitionEnabled": None}
        ),
        protocol="4.2",
    ),
    _refused(
        "metadata/key-twice-in-other-casing",
        "The same key twice in different casing has two readings",
        meta(b'{"keyColumns": ["id"], "KeyColumns": ["v"]}'),
    ),
    _refused(
        "metadata/not-json",
        "What has no certain reading is refused",
        meta(b'{"keyColumns": ["id" "v"]}'),
    ),
    _refused(
        "metadata/not-an-object", "The document is an object", meta(b'["id"]'), protocol="4.1 4.2"
    ),
    _refused(
        "metadata/key-column-named-twice",
        "A key column is named once, whatever its casing",
        keys("id", "ID"),
        protocol="4.2",
    ),
    _refused(
        "metadata/marker-as-key-column",
        "The row marker is no key",
        keys("id", "__ROWMARKER__"),
        protocol="4.2",
    ),
    _refused(
        "metadata/key-columns-as-text",
        "keyColumns is a list",
        meta({"keyColumns": "id"}),
        protocol="4.2",
    ),
    _read(
        "metadata/partitions-as-text",
        "Partition folders may be asked for in text, and nobody has to use them",
        keys("id", isPartitionEnabled="TRUE"),
        protocol="4.2",
    ),
    _read(
        "metadata/declared-parquet",
        "A declared format wins, in any casing",
        keys("id", fileFormat="PARQUET", SchemaDefinition={"Columns": []}),
        protocol="4.3",
    ),
    vector(
        "metadata/key-columns-of-one-empty-name",
        '[""] is how one publisher writes "none"',
        "4.2 5.1",
        meta({"keyColumns": [""]}),
        file(1, "id:int64", (1,), (1,)),
        expected=expect("id:long", (1,), (1,), applied=1),
    ),
    vector(
        "metadata/missing",
        "Without the file this is a table without keys, which takes inserts",
        "4.4",
        file(1, "m id:int64", (0, 1), (0, 1)),
        expected=expect("id:long", (1,), (1,), applied=1),
    ),
    vector(
        "metadata/empty",
        "A file of no bytes, or of blanks, is the same as none",
        "4.1 4.4",
        meta(b" \r\n"),
        file(1, "m id:int64", (0, 1), (0, 1)),
        expected=expect("id:long", (1,), (1,), applied=1),
    ),
    vector(
        "metadata/keys-declared-later",
        "Keys may be declared at any time, and count from the next batch on",
        "4.4 5.1",
        step(file(1, "id:int64 v:string", (1, "a"), (1, "b"), (2, "c"))),
        step(keys("id"), file(2, _V, (1, 1, "x"), (2, 2, None), (4, 3, "y"))),
        expected=expect(_SEEN, (1, "x"), (1, "x"), (3, "y"), applied=2),
    ),
    vector(
        "metadata/keys-declared-with-their-column",
        "A key column that comes with the keys is NULL in every row before it, and matches as such",
        "4.4 5.4",
        step(file(1, "v:string", ("a",), ("b",))),
        step(keys("id"), file(2, "m v:string id:int64", (4, "x", 7), (2, None, 8))),
        step(file(3, "m v:string id:int64", (1, "y", None), (1, "z", 7))),
        expected=expect("v:string id:long", ("y", None), ("y", None), ("z", 7), applied=3),
    ),
    vector(
        "metadata/keys-declared-for-a-paused-table",
        "Declaring the keys that an update needs resumes the table",
        "4.4 5.1",
        step(file(1, "id:int64 v:string", (1, "a")), file(2, _V, (1, 1, "x"))),
        step(keys("id")),
        expected=expect(_SEEN, (1, "x"), applied=2),
    ),
    vector(
        "metadata/keys-in-other-order-and-casing",
        "Order and casing of keyColumns may change",
        "4.4",
        step(keys("a", "b"), file(1, "m a:int64 b:string v:string", (4, 1, "x", "one"))),
        step(keys("B", "A"), file(2, "m a:int64 b:string v:string", (4, 1, "x", "two"))),
        expected=expect("a:long b:string v:string", (1, "x", "two"), applied=2),
    ),
    vector(
        "metadata/keys-changed",
        "Other key columns than those that rows were matched by stop the table",
        "4.4",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(keys("v"), file(2, _V, (1, 1, "b"))),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("KeyColumnsChanged")),
    ),
    vector(
        "metadata/keys-taken-away",
        "Taking the keys away is such a change",
        "4.4",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(meta({}), file(2, _V, (0, 1, "b"))),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("KeyColumnsChanged")),
    ),
    vector(
        "metadata/option-changed",
        "The other options never change in one incarnation of a folder",
        "4.4",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(keys("id", isUpsertDefaultRowMarker=True), file(2, "id:int64 v:string", (1, "b"))),
        expected=expect(_SEEN, (1, "a"), applied=1, state=paused("PinnedOptionChanged")),
    ),
    vector(
        "metadata/emptied-later",
        "Emptying the file changes nothing: the frozen options go on",
        "4.4",
        step(keys("id"), file(1, _V, (0, 1, "a"))),
        step(meta(b""), file(2, _V, (1, 1, "b"))),
        expected=expect(_SEEN, (1, "b"), applied=2),
    ),
    vector(
        "metadata/mended",
        "A table that its metadata stopped goes on when they change",
        "4.1 4.4",
        step(meta(b'{"keyColumns": '), _TWICE),
        step(keys("id")),
        expected=expect(_SEEN, (1, "b"), applied=1),
    ),
    vector(
        "metadata/partner-events",
        "Nothing depends on _partnerEvents.json, whatever it says",
        "4.5",
        raw("_partnerEvents.json", b"{ not json", folder=""),
        raw("_partnerEvents.json", b'{"partnerName": "Contoso"}'),
        keys("id"),
        _TWICE,
        expected=expect(_SEEN, (1, "b"), applied=1),
    ),
]
